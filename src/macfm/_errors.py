"""Errors by what is at fault, and sentences that name parameters to any caller."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


class Said(str):
    """A sentence that names parameters, in Python's words until told otherwise.

    Parameters
    ----------
    template : str
        The sentence, with ``{name}`` where a parameter is named.
    **parameters
        The parameters and what to set them to, ``...`` for the bare name.

    Examples
    --------
    >>> said = Said("it names the rows; consider {ignore}", ignore=["id"])
    >>> str(said)
    "it names the rows; consider ignore=['id']"
    >>> said.told(lambda name, value: f"--{name} {','.join(value)}")
    'it names the rows; consider --ignore id'
    """

    template: str
    parameters: dict[str, Any]

    def __new__(cls, template: str, **parameters: Any) -> Said:
        """Write the sentence in Python's words."""
        self = super().__new__(cls, _told(template, parameters, _in_python))
        self.template, self.parameters = template, parameters
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.template,), self.parameters

    def told(self, words: Callable[[str, Any], str]) -> str:
        """Write the sentence with the parameters in other words."""
        return _told(self.template, self.parameters, words)


def _told(
    template: str, parameters: dict[str, Any], words: Callable[[str, Any], str]
) -> str:
    if not parameters:
        return template
    names = re.compile("{(" + "|".join(map(re.escape, parameters)) + ")}")
    return names.sub(lambda found: words(found[1], parameters[found[1]]), template)


def _in_python(name: str, value: Any) -> str:
    return name if value is ... else f"{name}={value!r}"


class MacfmError(ValueError):
    """Something that a user can put right; the message says how."""

    exit_code = 1
    """What a command ends with."""


class ParameterError(MacfmError):
    """A parameter that is out of its range or goes with another.

    Attributes
    ----------
    parameter : str
        Its name.
    """

    exit_code = 2

    def __init__(self, message: str, *, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class ColumnError(MacfmError):
    """A column that cannot be used as it is.

    Attributes
    ----------
    column : object
        Its name.
    """

    def __init__(self, message: str, *, column: Any = None) -> None:
        super().__init__(message)
        self.column = column


class UnfitError(MacfmError):
    """A table that does not fit the model it is given to."""

    exit_code = 3
