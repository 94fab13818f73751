"""The group of all commands, its exit codes, and commands that are imported late."""

from __future__ import annotations

import importlib
import signal
import sys

import click

from macfm import __version__

# Exit codes: 0 done, 1 failure, 2 usage, 130 interrupted.
INTERRUPTED = 130

COMMANDS = {"bench": "macfm.cli._bench:bench"}


class LateGroup(click.Group):
    """A group that imports a command when it is asked for, so that help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, if there is one."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        return getattr(importlib.import_module(module), name)


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="macfm")
def macfm() -> None:
    """Fill the holes of a table, and tell how sure the filled values are."""


def main() -> None:
    """Run the command line and end the process."""
    # Being told to end cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        macfm.main(prog_name="macfm", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
