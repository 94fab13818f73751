"""Options from a TOML file; those given on the command line go first."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from macfm.cli._command import Polite, note
from macfm.cli._failures import USAGE, Failure

_NEVER = ("config", "help")
_TABLES = ("ordinal", "bounds", "leave", "derive", "set", "na-values")


def read_config(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> str | None:
    """Lay the file's values under the options of the command."""
    if value is None:
        return None
    try:
        given = tomllib.loads(Path(value).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failure(f"{value}: no such file") from None
    except OSError as error:
        raise Failure(f"{value}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"{value}: is not TOML: {error}", USAGE) from None
    ctx.default_map = {**(ctx.default_map or {}), **_defaults(ctx, given, value)}
    return value


def _long_names(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their long names, old ones among them."""
    found = {
        name: option
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
        if name.startswith("--")
    }
    if isinstance(command, Polite):
        found |= {old: found[new] for old, new in command.old.items()}
    names = {name.removeprefix("--"): option for name, option in found.items()}
    return {name: option for name, option in names.items() if name not in _NEVER}


def _all_names(ctx: click.Context) -> list[str]:
    """Long names of the options of all commands."""
    root = ctx.find_root().command
    commands = [ctx.command]
    if isinstance(root, click.Group):
        found = (root.get_command(ctx, name) for name in root.list_commands(ctx))
        commands += [command for command in found if command is not None]
    return sorted({name for command in commands for name in _long_names(command)})


def _defaults(
    ctx: click.Context, given: Mapping[str, Any], source: str
) -> dict[str, Any]:
    """Turn keys into the names click knows, and values into what it reads."""
    own, found = _long_names(ctx.command), {}
    for key, value in given.items():
        if key in own:
            new = max(own[key].opts, key=len).removeprefix("--")
            if key not in [name.removeprefix("--") for name in own[key].opts]:
                note(ctx, f"the key {key!r} of {source} is now {new!r}")
            found[own[key].name] = _as_given(key, value, own[key], source)
        elif key not in (names := _all_names(ctx)):
            close = get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "see --help for the keys"
            raise Failure(f"{source}: unknown key {key!r}; {hint}", USAGE)
    return found


def _as_given(key: str, value: Any, option: click.Option, source: str) -> Any:
    """Write a TOML value as it would be typed."""
    if isinstance(value, Mapping):
        if key not in _TABLES:
            raise Failure(f"{source}: {key!r} cannot be a table", USAGE)
        sign = ": " if key == "leave" else "="
        return [f"{name}{sign}{_typed(key, entry)}" for name, entry in value.items()]
    if option.multiple:
        return (
            [_plain(e) for e in value] if isinstance(value, list) else [_plain(value)]
        )
    if isinstance(value, list):
        raise Failure(f"{source}: {key!r} must be one value, not a list", USAGE)
    return value if option.is_flag else _plain(value)


def _typed(key: str, entry: Any) -> str:
    """One entry of a table, such as ``age = [0, 120]`` under ``[bounds]``."""
    between = {"ordinal": "<", "bounds": "..", "na-values": ","}
    if isinstance(entry, list) and key in between:
        return between[key].join(map(_plain, entry))
    return _plain(entry)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
