"""Groups of commands that are imported when they are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

import click


class Late(NamedTuple):
    """A command that is yet to be imported."""

    #: ``module:name`` of the command.
    place: str
    #: Its line in the list of commands.
    help: str


class LateGroup(click.Group):
    """A group whose help names its commands without importing them."""

    def __init__(self, *args: Any, late: Mapping[str, Late], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.late = late

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order they were given."""
        return [*self.late, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, imported now, or None."""
        if cmd_name not in self.late:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.late[cmd_name].place.partition(":")
        return getattr(importlib.import_module(module), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names, or say which is like it."""
        name, names = args[0], self.list_commands(ctx)
        known = name in names or name.startswith("-")
        if not known and not ctx.resilient_parsing:
            close = get_close_matches(name, names, n=1)
            meant = f"did you mean {close[0]}?" if close else "--help lists them"
            ctx.fail(f"No such command {name!r}; {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands with their lines."""
        rows = [(name, late.help) for name, late in self.late.items()]
        for name in super().list_commands(ctx):
            rows.append((name, self.commands[name].get_short_help_str(limit=80)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
