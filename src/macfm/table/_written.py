"""Amounts that are written out as text, as people and spreadsheets write them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from macfm._errors import Said
from macfm._warn import warn_user
from macfm.table._hints import CODE, MOST_CODES, NUMBER

_MOST_TEXTS = 2_000
_LONGEST = 40  # characters: an amount is short
_CURRENCY = "$€£¥₹"
# 4,400.00 or 4.400,00 or 4 400,0 or 4400.0 or 4400,0; groups of thousands with points
# alone may be anything.
_DIGITS = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+"
    r"|\d{1,3}(?:[ '’\u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+"
)
# A unit is a word in small letters first, such as kg, mmol/l or °C, or stands apart;
# one letter alone that does not may be that of a flat or a ward.
_UNIT = (
    rf"[{_CURRENCY}]|[a-zµ°][a-zA-Z/²³]{{1,7}}|[gmslhd]|\s[a-zA-Zµ°][a-zA-Z/²³]{{0,7}}"
)
_AMOUNT = re.compile(
    rf"[-+(]?(?P<before>[{_CURRENCY}])?\s?[-+]?(?P<digits>{_DIGITS})\s?"
    rf"(?P<unit>{_UNIT})?\)?"
)
_PERCENTAGE = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)\s?%")


def written_amounts(seen: Sequence[Any] | np.ndarray) -> str | None:
    """Return what texts are that are amounts written out, None if they are none.

    At least nine in ten are percentages, or amounts of at most one currency and unit;
    of these there are more than a column has codes, or they have decimals as well.
    Bare whole numbers may be names, years or codes, and are not amounts here.

    Examples
    --------
    >>> written_amounts(["12 %", "3.5%"])
    'percentages'
    >>> written_amounts(["$4,400.00", "$12.50", "$7,000.00"])
    'amounts'
    >>> written_amounts(["A1", "B2", "C10"]) is None
    True
    """
    step = -(-len(seen) // _MOST_TEXTS) or 1
    some = [text for text in (str(text).strip() for text in seen[::step]) if text]
    short = [text for text in some if len(text) <= _LONGEST]
    if len(short) < 2 or len(short) < 0.9 * len(some):
        return None
    if _matched(short, _PERCENTAGE) >= 0.9 * len(some):
        return "percentages"
    found = [match for match in map(_AMOUNT.fullmatch, short) if match]
    if len(found) < 0.9 * len(some) or any(map(CODE.fullmatch, short)):
        return None
    kinds = {(match["before"], (match["unit"] or "").strip()) for match in found}
    has_kind = kinds != {(None, "")}
    # Blanks between groups of digits are those of telephone numbers, too.
    has_decimals = any(re.search("[.,]", match["digits"]) for match in found)
    many = len(set(some)) > MOST_CODES
    if len(kinds) > 1 or not (has_kind or has_decimals):
        return None
    return "amounts" if many or (has_kind and has_decimals) else None


def _matched(texts: Iterable[str], pattern: re.Pattern) -> int:
    return sum(bool(pattern.fullmatch(text)) for text in texts)


def shown_amount(seen: Iterable[Any]) -> str:
    """Return a text to show: the first that is no bare number, if there is one."""
    texts = (text for text in map(str, seen) if text.strip())
    some = list(islice(texts, _MOST_TEXTS))
    written = (text for text in some if not NUMBER.fullmatch(text.strip()))
    return next(written, some[0])


def warn_written(name: Hashable, seen: np.ndarray, what: str) -> None:
    """Say that texts are percentages or other amounts."""
    shown = shown_amount(seen)
    said = f"column {name!r} holds {what} as text, such as {shown!r}, and is taken for "
    if what == "percentages":
        said += "categories; take the sign out to have numbers, or pass {categorical}"
    elif NUMBER.fullmatch(shown.strip()):
        said += "categories; convert it (pd.to_numeric), or pass {categorical} if they "
        said += "are codes"
    else:
        said += "categories; write bare numbers, or pass {categorical}"
    warn_user(Said(said, categorical=[name]))
