"""Which texts stand for a missing value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from macfm.files._errors import FileError

# Three zeros after a point or comma may be thousands.
_WHOLE = re.compile(r"([-+]?\d+)(?:[.,](?:0|00|0{4,}))?")

MARKS = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT"),
    *("null", "NULL", "?"),
)
"""Texts that stand for a missing value in every column."""

MARKS_OUTSIDE_TEXT = (
    *("None", "none", "na", "Null", "nil", "missing", "unknown"),
    *(".", "-", "--", "---", "*", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!"),
)
"""Texts that stand for a missing value in columns of numbers, dates and booleans.

In a column of text they may be values of their own, so there they are kept.
"""


class Marks:
    """The marks of missing values, for all columns or by column.

    Parameters
    ----------
    na_values : sequence of str, mapping of column to sequence of str, or None
        Marks that take the place of both default lists, in all columns or in those
        named. An empty cell is always missing.
    default : tuple of str
        Marks in every column when none are given.
    default_outside : tuple of str
        Marks in columns other than text when none are given.
    """

    def __init__(
        self,
        na_values: Sequence[str] | Mapping[str, Sequence[str]] | None,
        default: tuple[str, ...] = MARKS,
        default_outside: tuple[str, ...] = MARKS_OUTSIDE_TEXT,
    ) -> None:
        self._default = (frozenset(default), frozenset(default_outside))
        self._by_column: dict[str, frozenset[str]] = {}
        if isinstance(na_values, str):
            na_values = [na_values]
        if isinstance(na_values, Mapping):
            self._by_column = {
                column: _given([marks] if isinstance(marks, str) else marks)
                for column, marks in na_values.items()
            }
        elif na_values is not None:
            self._default = (_given(na_values), frozenset())

    def check_columns(self, columns: Sequence[str], name: str) -> None:
        """Refuse marks given for a column that is not there."""
        for column in self._by_column:
            if column not in columns:
                raise FileError(
                    f"{name}: missing-value marks are given for column {column!r}, "
                    "which the file does not have"
                )

    def of(self, column: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the marks that hold always and those that hold outside text."""
        if column in self._by_column:
            return self._by_column[column], frozenset()
        return self._default


def spellings(marks: frozenset[str], texts: Iterable[str]) -> frozenset[str]:
    """Return the marks and those texts that are one of them with decimals of 0.

    >>> sorted(spellings(frozenset(["-999"]), ["-999.0", "-999,00", "-9990", "-0999"]))
    ['-999', '-999,00', '-999.0']
    """
    wholes = {found[1] for mark in marks if (found := _WHOLE.fullmatch(mark))}
    if not wholes:
        return marks
    same = (t for t in texts if (found := _WHOLE.fullmatch(t)) and found[1] in wholes)
    return marks | frozenset(same)


def numbers_among(marks: Iterable[str]) -> list[float]:
    """Return those of the marks that are numbers, for columns that hold numbers."""
    found = []
    for mark in marks:
        try:
            found.append(float(mark))
        except ValueError:
            continue
    return [number for number in found if math.isfinite(number)]


def _given(marks: Sequence[str]) -> frozenset[str]:
    return frozenset(str(mark).strip() for mark in marks) | {""}
