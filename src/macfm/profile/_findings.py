"""What about a table is worth acting on before it is imputed."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from macfm._plain import plain
from macfm._words import count, percent
from macfm.profile._columns import ColumnProfile
from macfm.profile._plain import listed, number
from macfm.profile._reading import Reading, read
from macfm.profile._skips import Skip
from macfm.table import (
    NUMBER,
    number_mark,
    same_but_for_spelling,
    shown_amount,
    written_amounts,
)

SKIP = "does_not_apply"
"""Code of the findings that `TableProfile.skips` has in detail."""

MOSTLY_MISSING = 0.8
FEW_VALUES, MANY_CATEGORIES = 10, 100
ENOUGH = 50  # observed cells before numbers of distinct values mean anything

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
)
_TEXT_MARKS = {
    *("", "?", "-", "--", ".", "na", "n/a", "n.a.", "#n/a", "nan"),
    *("none", "null", "nil", "missing", "unknown"),
}


@dataclass(frozen=True)
class Finding:
    """Something worth acting on.

    Attributes
    ----------
    code : str
        Its name for machines, such as ``"all_missing"``.
    columns : tuple of column names
        The columns concerned; empty if it is about rows.
    message : str
        One or two sentences for a person.
    """

    code: str
    columns: tuple[str | int, ...]
    message: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain(self)


@dataclass(frozen=True)
class Mark:
    """A value that may stand for a missing one.

    Attributes
    ----------
    column : str or int
        The column that holds it.
    value : str
        The value, as text.
    n_rows : int
        How often.
    is_text : bool
        Whether the column is one of text.
    """

    column: str | int
    value: str
    n_rows: int
    is_text: bool

    def sentence(self) -> str:
        """Return the beginning of a sentence about it."""
        shown = repr(self.value) if self.is_text else self.value
        return (
            f"{self.column!r} holds {shown} in {count(self.n_rows, 'row')}, which may "
            "be a mark for a missing value"
        )


def find(
    reading: Reading, columns: Sequence[ColumnProfile], skips: Sequence[Skip]
) -> tuple[Finding, ...]:
    """Look for what is worth acting on, the most serious first."""
    seen = [c for c in columns if c.kind != "ignored"]
    return (
        *_unusable(reading, seen),
        *(_mark(mark) for mark in _marks(reading)),
        *(Finding(SKIP, skip.columns, f"{skip.advice()}.") for skip in skips),
        *_sparse(seen),
        *_identifiers(seen),
        *_texts(reading, seen),
        *_codes(seen, n_rows=reading.table.n_rows),
        *_identical(reading),
        *_rows(reading),
    )


def missing_marks(
    frame: Any, *, ignore: Sequence[Hashable] | None = None
) -> tuple[Mark, ...]:
    """Find values that may stand for missing ones, such as ``?`` or -999.

    Parameters
    ----------
    frame : DataFrame (pandas or polars), pyarrow Table or float array
        The table.
    ignore : sequence of column names, default=None
        Columns not to look at.

    Returns
    -------
    tuple of Mark
        One for each mark of a column; `profile` has them among its findings.
    """
    return tuple(_marks(read(frame, ignore=ignore)))


def _unusable(reading: Reading, columns: list[ColumnProfile]) -> Iterator[Finding]:
    for j, why in reading.faults.items():
        yield Finding("unsupported", (reading.names[j],), f"{why[0].upper()}{why[1:]}.")
    if empty := [c.name for c in columns if c.is_empty]:
        yield Finding(
            "all_missing",
            tuple(empty),
            f"{_told(empty, 'is', 'are')} missing in every row and cannot be filled: "
            "drop or ignore.",
        )
    if constant := [c.name for c in columns if c.is_constant]:
        yield Finding(
            "constant",
            tuple(constant),
            f"{_told(constant, 'holds', 'hold')} one value only: nothing can be "
            "learnt from it, and holes are filled with that value.",
        )


def _sparse(columns: list[ColumnProfile]) -> Iterator[Finding]:
    rates = {c.name: c.missing_rate for c in columns}
    if sparse := [name for name, r in rates.items() if MOSTLY_MISSING < r < 1]:
        most = max(sparse, key=rates.__getitem__)
        yield Finding(
            "mostly_missing",
            tuple(sparse),
            f"{_told(sparse, 'is', 'are')} missing in more than "
            f"{percent(MOSTLY_MISSING)} of the rows (at most {percent(rates[most])}): "
            "filled values rest on few observations. Is a hole perhaps an answer in "
            "itself, such as “does not apply”?",
        )


def _identifiers(columns: list[ColumnProfile]) -> Iterator[Finding]:
    if names := [c.name for c in columns if c.identifier_like]:
        yield Finding(
            "identifier",
            tuple(names),
            f"{_told(names, 'looks', 'look')} like identifiers or free text: ignore "
            "them, so that the model does not learn them by heart.",
        )


def _codes(columns: list[ColumnProfile], *, n_rows: int) -> Iterator[Finding]:
    n_observed = {c.name: n_rows - c.n_missing for c in columns}
    few = [
        c.name
        for c in columns
        if c.role == "number"
        and c.n_distinct is not None
        and 2 <= c.n_distinct <= FEW_VALUES
        and n_observed[c.name] >= ENOUGH
    ]
    if few:
        yield Finding(
            "few_values",
            tuple(few),
            f"{_told(few, 'holds', 'hold')} numbers with at most {FEW_VALUES} distinct "
            "values. Where they are codes rather than amounts, name them as "
            "categorical (or ordinal, if their order means something).",
        )


def _texts(reading: Reading, columns: list[ColumnProfile]) -> Iterator[Finding]:
    position = {name: j for j, name in enumerate(reading.names)}
    for c in columns:
        j = position[c.name]
        is_text = j not in reading.faults and c.kind in ("categorical", "constant")
        if not is_text or reading.table.column(j).family != "string":
            continue
        seen = reading.table.column(j).seen
        some = seen[:: -(-len(seen) // 2000)] if len(seen) else seen
        values = [str(value).strip() for value in some]
        values = [value for value in values if value.lower() not in _TEXT_MARKS]
        if not values:
            continue
        alike = same_but_for_spelling(dict.fromkeys(map(str, some)))
        if alike and not c.identifier_like:
            yield Finding(
                "spellings",
                (c.name,),
                f"{c.name!r} has categories that differ in case or spaces alone, such "
                f"as {' and '.join(map(repr, alike[0]))}: write them alike if they are "
                "the same.",
            )
        written = written_amounts(values)
        if _mostly(values, _DATE):
            yield Finding(
                "dates_as_text",
                (c.name,),
                f"{c.name!r} holds dates as text, such as {values[0]!r}: convert it to "
                "dates, or each day counts as a category of its own.",
            )
        elif written == "percentages":
            yield Finding(
                "percentages_as_text",
                (c.name,),
                f"{c.name!r} holds percentages as text, such as {values[0]!r}: take "
                "the sign out to have numbers.",
            )
        elif _mostly(values, NUMBER):
            odd = next((v for v in values if not NUMBER.fullmatch(v)), None)
            but = f", beside entries such as {odd!r}" if odd else ""
            yield Finding(
                "numbers_as_text",
                (c.name,),
                f"{c.name!r} is text but holds numbers, such as {values[0]!r}{but}: "
                "convert it if they are amounts.",
            )
        elif written:
            yield Finding(
                "numbers_as_text",
                (c.name,),
                f"{c.name!r} holds amounts as text, such as {shown_amount(values)!r}: "
                "write bare numbers, or each amount counts as a category of its own.",
            )
        elif (
            c.n_distinct is not None
            and c.n_distinct > MANY_CATEGORIES
            and not c.identifier_like
        ):
            yield Finding(
                "many_categories",
                (c.name,),
                f"{c.name!r} has {count(c.n_distinct, 'category', 'categories')}: "
                "merge the rare ones, or ignore it if it does not matter.",
            )


def _mostly(values: list[str], pattern: re.Pattern) -> bool:
    """Whether nine in ten values match."""
    return sum(bool(pattern.fullmatch(v)) for v in values) >= 0.9 * len(values)


def _marks(reading: Reading) -> Iterator[Mark]:
    for j, name in enumerate(reading.names):
        if j in reading.faults or reading.kind(j) == "ignored":
            continue
        data = reading.table.column(j)
        if data.family == "string":
            texts = pd.Series(data.seen, dtype=object).value_counts()
            for value, n in texts.items():
                if str(value).strip().lower() in _TEXT_MARKS:
                    yield Mark(name, str(value), int(n), is_text=True)
        elif data.family in ("integer", "float"):
            value = number_mark(data.numbers[data.observed])
            if value is not None:
                n = int((data.numbers == value).sum())
                yield Mark(name, number(value).replace(",", ""), n, is_text=False)


def _mark(mark: Mark) -> Finding:
    return Finding(
        "missing_mark",
        (mark.column,),
        f"{mark.sentence()}: if so, declare it as missing, or it counts as observed.",
    )


def _identical(reading: Reading) -> Iterator[Finding]:
    groups: dict[tuple, list[int]] = {}
    for j in range(len(reading.schema)):
        if j not in reading.faults and reading.codes[:, j].max(initial=-1) > 0:
            data = reading.table.column(j)
            values = pd.util.hash_array(data.seen).tobytes()
            key = (data.family, data.unit, data.observed.tobytes(), values)
            groups.setdefault(key, []).append(j)
    for equal in groups.values():
        if len(equal) > 1:
            names = tuple(reading.names[j] for j in equal)
            yield Finding(
                "identical_columns",
                names,
                f"{listed(names)} hold the same values in every row: keep one of them.",
            )


def _rows(reading: Reading) -> Iterator[Finding]:
    n_rows, n_columns = reading.observed.shape
    if not n_rows:
        yield Finding("no_rows", (), "The table has no rows.")
        return
    empty = ~reading.observed.any(axis=1)
    if n_columns > 1 and empty.any():
        yield Finding(
            "empty_rows",
            (),
            f"{count(int(empty.sum()), 'row')} without any value: drop them, as "
            "nothing in them informs what is filled in.",
        )
    if n_columns > 2:
        repeated = pd.DataFrame(reading.codes).duplicated().to_numpy() & ~empty
        n = 0 if reading.faults else int(repeated.sum())
        if n:
            repeat = "repeats" if n == 1 else "repeat"
            yield Finding(
                "duplicated_rows",
                (),
                f"{count(n, 'row')} ({percent(n / n_rows)}) {repeat} an earlier row in "
                "every cell: if they were entered twice, drop them.",
            )


def _told(names: Sequence, one: str, several: str) -> str:
    """Names of columns and the verb that goes with their number."""
    return f"{listed(names)} {one if len(names) == 1 else several}"
