"""How one column writes its values: read a text, write a value the same way."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from macfm.table import FAMILIES

Bounds = tuple[Any, Any]
"""Least and greatest number or time that may fill a column, None where it is open."""

OPEN: Bounds = (None, None)

WHOLE = (round, math.floor, math.ceil)
"""Ways to a whole number, the nearest first."""

_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)").fullmatch
_FLOAT = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[+-]?(?:inf|Inf|INF|infinity|Infinity)"
).fullmatch
_COMMA = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch
_THOUSANDS_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+").fullmatch
_TELEPHONE = re.compile(r"\+[0-9]{7,}").fullmatch
_MOST_DIGITS = 18  # a longer integer may not fit into 64 bits; it is an identifier


def text_array(values: Sequence[str | None]) -> pd.api.extensions.ExtensionArray:
    """Texts in the type pandas itself gives them, None where missing."""
    if int(pd.__version__.split(".")[0]) < 3:
        return pd.array(np.array([*values, None], dtype=object)[:-1], dtype=object)
    return pd.array(values, dtype="str")


@dataclass(frozen=True)
class Style:
    """How the values of a column are written; this one is for text.

    A style is found from the distinct texts of a column by ``of`` (None if they are
    not of that kind), turns texts into typed values and values into such texts.
    """

    family = "string"

    @property
    def kind(self) -> str:
        """What a column of the file is called."""
        return FAMILIES[self.family].word

    @classmethod
    def of(cls, texts: Collection[str]) -> Style | None:
        """Return the style in which all texts are written, None if there is none."""
        return cls()

    def values(self, texts: Sequence[str]) -> list:
        """Return the typed value of each text."""
        return list(texts)

    def array(self, values: Sequence[Any]) -> Any:
        """Return the column of a frame; None is a missing cell."""
        return text_array(values)

    def render(self, values: Sequence[Any], bounds: Bounds = OPEN) -> list[str]:
        """Return values as texts in the style of the column.

        A number or time that lies within `bounds` does so as text, too.
        """
        return [str(value) for value in values]


@dataclass(frozen=True)
class TextStyle(Style):
    """Text as it stands."""


def _is_day(value: Any) -> bool:
    is_time = isinstance(value, pd.Timestamp)
    return is_time and value.tz is None and value == value.normalize()


@dataclass(frozen=True)
class EmptyStyle(Style):
    """A column without a single value; whatever fills it is written plainly."""

    family = "unknown"

    def array(self, values: Sequence[Any]) -> np.ndarray:
        """Return missing numbers."""
        return np.full(len(values), np.nan)

    def render(self, values: Sequence[Any], bounds: Bounds = OPEN) -> list[str]:
        """Return values as they are, and times that are all days as dates."""
        if values and all(map(_is_day, values)):
            return [str(value.date()) for value in values]
        return super().render(values, bounds)


@dataclass(frozen=True)
class IntegerStyle(Style):
    """Whole numbers without leading zeros."""

    #: ``".0"`` or ``",0"`` where integers with gaps were written as ``72.0`` or
    #: ``72,0``, else empty.
    suffix: str = ""
    family = "integer"

    @classmethod
    def of(cls, texts: Collection[str]) -> IntegerStyle | None:
        """Return the style, None for codes such as ``007`` and ``+4930123456``."""
        suffix = ""
        for end in (".0", ",0"):
            if texts and all(text.endswith(end) for text in texts):
                suffix = end
        whole = [text.removesuffix(suffix) for text in texts]
        if not all(map(_INTEGER, whole)) or any(map(_TELEPHONE, whole)):
            return None
        if any(_n_characters(text) > _MOST_DIGITS for text in whole):
            return None
        return cls(suffix)

    def values(self, texts: Sequence[str]) -> list[int]:
        """Return the integers."""
        return [int(text.removesuffix(self.suffix)) for text in texts]

    def array(self, values: Sequence[int | None]) -> pd.arrays.IntegerArray:
        """Return integers that may be missing."""
        missing = np.array([value is None for value in values], dtype=bool)
        plain = np.array([value or 0 for value in values], dtype=np.int64)
        return pd.arrays.IntegerArray(plain, missing)

    def render(self, values: Sequence[Any], bounds: Bounds = OPEN) -> list[str]:
        """Return the nearest integers within the bounds as text."""
        return [f"{rounded(value, WHOLE, bounds)}{self.suffix}" for value in values]


@dataclass(frozen=True)
class FloatStyle(Style):
    """Numbers with decimals."""

    #: Fewest and most decimals that the column shows; None writes all there are.
    least: int = 0
    most: int | None = None
    #: Most significant digits, where the column has exponents.
    digits: int | None = None
    #: Whether decimals stand behind a comma.
    comma: bool = False
    family = "float"

    @classmethod
    def of(
        cls, texts: Collection[str], *, comma_first: bool = False
    ) -> FloatStyle | None:
        """Return the style; thousands separators are not numbers.

        ``1,234`` alone may be a thousand or one and a bit: it is taken for decimals
        only with `comma_first`, as in files delimited by semicolons.
        """
        if any(map(_TELEPHONE, texts)):
            return None
        comma = not all(map(_FLOAT, texts))
        if comma:
            if not all(map(_COMMA, texts)):
                return None
            with_comma = [text for text in texts if "," in text]
            if not comma_first and all(map(_THOUSANDS_COMMA, with_comma)):
                return None
        finite = [text for text in texts if text[-1:] not in "fFyY"]
        places = [_decimals(text, "," if comma else ".") for text in finite]
        digits = None
        if any("e" in text or "E" in text for text in finite):
            digits = max(map(_significant, finite))
        least, most = (min(places), max(places)) if places else (0, None)
        return cls(least, most, digits, comma)

    def values(self, texts: Sequence[str]) -> list[float]:
        """Return the numbers."""
        if self.comma:
            return [float(text.replace(",", ".")) for text in texts]
        return [float(text) for text in texts]

    def array(self, values: Sequence[float | None]) -> np.ndarray:
        """Return float64 with NaN for missing cells."""
        return np.array(values, dtype=np.float64)

    def render(self, values: Sequence[Any], bounds: Bounds = OPEN) -> list[str]:
        """Return numbers with no more decimals than the column shows.

        Those that this would take out of the bounds get more.
        """
        texts = [self._within(float(value), bounds) for value in values]
        return [text.replace(".", ",") for text in texts] if self.comma else texts

    def _within(self, value: float, bounds: Bounds) -> str:
        style, text = self, self._text(value)
        while _is_inside(value, bounds) and not _is_inside(float(text), bounds):
            style = replace(
                style,
                most=None if style.most is None else style.most + 1,
                digits=None if style.digits is None else style.digits + 1,
            )
            text = style._text(value)
        return text

    def _text(self, value: float) -> str:
        if not math.isfinite(value):
            return str(value)
        if self.digits is not None:
            return f"{value:.{min(self.digits, 17)}g}"
        shortest = np.format_float_positional(value, trim="-")
        if self.most is None:
            return shortest
        whole, _, part = shortest.partition(".")
        if len(part) > self.most:
            whole, _, part = f"{value:.{self.most}f}".partition(".")
        part = part.rstrip("0").ljust(self.least, "0")
        text = f"{whole}.{part}" if part else whole
        return text.lstrip("-") if not text.strip("-0.") else text  # no -0.0


@dataclass(frozen=True)
class BooleanStyle(Style):
    """True and false in the words of the column."""

    true: str = "true"
    false: str = "false"
    family = "boolean"

    @classmethod
    def of(cls, texts: Collection[str]) -> BooleanStyle | None:
        """Return the style of a column of true and false, in any case of letters.

        Other pairs, such as yes and no, are text: nothing is gained by renaming them.
        """
        if not texts or not all(text.lower() in ("true", "false") for text in texts):
            return None
        case = next(f for f in (str.lower, str.upper, str.title) if _same(f, texts))
        return cls(case("true"), case("false"))

    def values(self, texts: Sequence[str]) -> list[bool]:
        """Return the booleans."""
        return [text.lower() == "true" for text in texts]

    def array(self, values: Sequence[bool | None]) -> pd.arrays.BooleanArray:
        """Return booleans that may be missing."""
        missing = np.array([value is None for value in values], dtype=bool)
        plain = np.array([bool(value) for value in values], dtype=bool)
        return pd.arrays.BooleanArray(plain, missing)

    def render(self, values: Sequence[Any], bounds: Bounds = OPEN) -> list[str]:
        """Return the column's own words."""
        return [self.true if value else self.false for value in values]


def number_style(
    texts: Collection[str], *, comma_first: bool = False
) -> IntegerStyle | FloatStyle | None:
    """Return the style of a column of numbers, None where a number would lose digits.

    So it would for identifiers of more than 18 digits and for 1e999.
    """
    style = IntegerStyle.of(texts) or FloatStyle.of(texts, comma_first=comma_first)
    return None if style is None or why_no_number(texts) else style


def why_no_number(texts: Collection[str]) -> str | None:
    """Say why texts that are written as numbers cannot be held as such, or None.

    >>> why_no_number(["12345678901234567890", "7"])
    "'12345678901234567890' has more digits than a number keeps"
    >>> why_no_number(["12345678901234567890", "7.5"])
    """
    longest = max(texts, key=_n_characters, default="")
    if _n_characters(longest) > _MOST_DIGITS and all(map(_INTEGER, texts)):
        return f"{_shown(longest)} has more digits than a number keeps"
    large = (t for t in texts if len(t) > 300 or "e" in t or "E" in t)
    for text in large:
        if _FLOAT(text) and math.isinf(float(text)) and text[-1:].isdigit():
            return f"{_shown(text)} is larger than a number can be"
    return None


def _n_characters(text: str) -> int:
    """Length of a number without its sign."""
    return len(text.lstrip("+-"))


def _shown(text: str) -> str:
    """A text in a message, cut short."""
    return repr(text if len(text) <= 40 else f"{text[:30]}...")


def rounded(value: Any, how: Sequence[Callable[[Any], Any]], bounds: Bounds) -> Any:
    """Round in the first way that keeps to the bounds, in the first one if none does.

    >>> rounded(2.6, (round, math.floor), (0, 2.7)), rounded(2.6, (round,), (4, 5))
    (2, 3)
    """
    ways = (way(value) for way in how)
    return next((found for found in ways if _is_inside(found, bounds)), how[0](value))


def _is_inside(value: Any, bounds: Bounds) -> bool:
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)


def _same(case: Any, texts: Collection[str]) -> bool:
    """Whether some text is in this case of letters."""
    return any(text == case(text) for text in texts) or case is str.title


def _decimals(text: str, point: str) -> int:
    part = text.partition(point)[2]
    return len(part) if part.isdigit() else len(re.split("[eE]", part)[0])


def _significant(text: str) -> int:
    mantissa = re.split("[eE]", text)[0]
    return max(1, len(re.sub(r"[^0-9]", "", mantissa).lstrip("0")))
