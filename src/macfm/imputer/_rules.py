"""What a parameter must be, in words and as a predicate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from macfm._errors import ParameterError


@dataclass(frozen=True)
class Rule:
    """What a value must be."""

    needed: str
    """In words, after “must be”."""
    holds: Callable[[Any], bool]
    """Whether a value is so."""

    def check(self, name: str, value: Any) -> None:
        """Refuse a value of the parameter called `name`."""
        if not self.holds(value):
            raise ParameterError(
                f"{name} must be {self.needed}, got {name}={value!r}", parameter=name
            )


def one_of(*names: str) -> Rule:
    """One of several words."""
    return Rule(f"one of {', '.join(map(repr, names))}", lambda v: v in names)


def integer(low: int) -> Rule:
    """A whole number from `low` on."""
    return Rule(
        f"an integer of at least {low}",
        lambda v: isinstance(v, Integral) and not isinstance(v, bool) and int(v) >= low,
    )


def _is_real(value: Any) -> bool:
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and math.isfinite(value)


def number(
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> Rule:
    """A finite number within an interval."""
    left, right = "(" if open_low else "[", ")" if open_high else "]"
    needed = f"a number in {left}{low:g}, {high:g}{right}"
    if high == math.inf:
        needed = f"a number {'above' if open_low else 'of at least'} {low:g}"

    def holds(value: Any) -> bool:
        if not _is_real(value):
            return False
        above = value > low if open_low else value >= low
        return above and (value < high if open_high else value <= high)

    return Rule(needed, holds)


def is_pair(value: Any) -> bool:
    """Whether a value is a pair of numbers."""
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all(_is_real(v) for v in value)
    )


FLAG = Rule("True or False", lambda v: isinstance(v, bool | np.bool_))
