"""The library's parameters in the words of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from macfm._errors import ParameterError, Said
from macfm.cli import _parse

# Parameters whose option has another name; those that stand for themselves.
_OPTIONS = {
    "random_state": "--seed",
    "n_draws": "--draws",
    "n_threads": "--threads",
    "settings": "--set",
} | {
    name: f"--{name}"
    for name in (
        *("categorical", "numeric", "ordinal", "ignore", "only", "bounds", "leave"),
        *("derive", "id", "method", "methods", "preset", "budget", "device", "force"),
        *("draws", "repeats", "share", "seed", "threads", "quick", "target", "jobs"),
        *("datasets", "mechanisms", "rates", "masks", "rows", "ablations"),
    )
}
# How entries of a mapping by column are typed, and what stands between their parts.
_SIGNS = {"ordinal": ("=", "<"), "bounds": ("=", ":"), "leave": (": ", ""),
          "derive": (" = ", "")}  # fmt: skip


def flag(parameter: str, value: Any = ...) -> str:
    """Write a parameter and its value as they are typed in a shell.

    Parameters
    ----------
    parameter : str
        Its name in Python; one without an option of its own goes by ``--set``.
    value : object, default=...
        What it is set to; dots for the bare option.

    Examples
    --------
    >>> flag("ignore", ["a", "b"]), flag("only", ["in kg"]), flag("budget")
    ('--ignore a,b', "--only 'in kg'", '--budget')
    >>> flag("bounds", {"age": (0, None)}), flag("ordinal", {"stage": ["I", "II"]})
    ('--bounds age=0:', "--ordinal 'stage=I<II'")
    >>> flag("max_steps", 500), flag("max_steps"), flag("force", True)
    ('--set max_steps=500', '--set max_steps', '--force')
    """
    option = _OPTIONS.get(parameter)
    if option is None:
        typed = "" if value is ... else f"={_parse.unliteral(value)}"
        return f"--set {shlex.quote(parameter + typed)}"
    if value is ... or value is True:
        return option
    return " ".join(f"{option} {shlex.quote(t)}" for t in _typed(parameter, value))


def _typed(parameter: str, value: Any) -> list[str]:
    """Write a value as one option takes it, or as several do."""
    sign, between = _SIGNS.get(parameter, ("=", ","))
    if isinstance(value, Mapping):
        return [f"{n}{sign}{_joined(entry, between)}" for n, entry in value.items()]
    if parameter == "bounds":
        return [_joined(value, between)]
    if isinstance(value, list | tuple | set | frozenset):
        names = [str(name) for name in value]
        # A name that holds a comma is recognised where it stands alone.
        return names if any("," in name for name in names) else [",".join(names)]
    if _OPTIONS[parameter] == "--budget" and isinstance(value, int | float):
        return [f"{value:g}s"]
    return [_parse.unliteral(value)]


def _joined(entry: Any, between: str) -> str:
    if not isinstance(entry, list | tuple):
        return _parse.unliteral(entry)
    return between.join("" if part is None else str(part) for part in entry)


def in_flags(said: Any) -> str:
    """Write a sentence on one line, parameters that it names as options."""
    text = said.told(flag) if isinstance(said, Said) else str(said)
    return " ".join(text.split())


def told(error: BaseException) -> str:
    """Write the sentence of an error, the parameter at fault as an option.

    Examples
    --------
    >>> told(ParameterError("share must be positive, got -1", parameter="share"))
    '--share must be positive, got -1'
    >>> told(ParameterError("columns ['a'] are named twice", parameter="ignore"))
    "--ignore: columns ['a'] are named twice"
    """
    said = error.args[0] if error.args else ""
    text = in_flags(said if isinstance(said, Said) else str(error))
    parameter = error.parameter if isinstance(error, ParameterError) else ""
    if not parameter or isinstance(said, Said):
        return text
    name, rest = text[: len(parameter)], text[len(parameter) :]
    if name == parameter and not rest[:1].isidentifier():
        return flag(parameter) + rest
    return f"{flag(parameter)}: {text}"
