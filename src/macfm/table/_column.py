"""What a column is: its family, its kind, its cells, and the words for them.

The only list of families and kinds. Whoever asks what a column is, or wants its cells
as numbers, as text or as codes, asks here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from macfm._errors import ColumnError, Said
from macfm.table._tagged import from_tagged, to_tagged
from macfm.table._ticks import duration, moment
from macfm.table._written import written_amounts


class Family(NamedTuple):
    """The type of a column's values."""

    #: What a column of a file is called; of dates without a time ``"date"``.
    word: str
    #: What such a column is taken for where nothing says otherwise.
    kind: str
    #: What its categories are as plain values.
    types: tuple[type, ...] = ()


FAMILIES = {
    "float": Family("float", "numeric", (float, int)),
    "integer": Family("integer", "integer", (int, float)),
    "boolean": Family("boolean", "boolean", (bool,)),
    "string": Family("text", "categorical", (str,)),
    "datetime": Family("datetime", "datetime", (np.datetime64,)),
    "timedelta": Family("duration", "timedelta", (np.timedelta64,)),
    "unknown": Family("empty", "empty"),
}


class Kind(NamedTuple):
    """What a column is taken for."""

    #: The kind in words for users.
    words: str
    #: What can be done with its values: "number", "time" or "category"; None if they
    #: are not modelled.
    role: str | None = None
    #: Families of which columns of numbers and times may be.
    families: tuple[str, ...] = ()


KINDS = {
    "numeric": Kind("number", "number", ("float",)),
    "integer": Kind("whole number", "number", ("integer", "float")),
    "datetime": Kind("date", "time", ("datetime",)),
    "timedelta": Kind("duration", "time", ("timedelta",)),
    "boolean": Kind("yes or no", "category"),
    "categorical": Kind("category", "category"),
    "ordinal": Kind("ordered category", "category"),
    "constant": Kind("one value only"),
    "empty": Kind("no value"),
    "ignored": Kind("ignored"),
}

_DAY = np.timedelta64(1, "D")
# Fields of a column that hold several values.
_TUPLES = {"bounds", "categories", "limits", "atoms"}
# Fields that are stored where they say something.
_LATER = ("atoms", "scores")


class ColumnTypeError(ColumnError, TypeError):
    """A column of a type that has no place where it stands."""


@dataclass(frozen=True)
class ColumnSchema:
    """One column as it was seen in fit.

    Attributes
    ----------
    name : hashable
        Name of the column.
    kind : str
        One of ``KINDS``. Floats that are all whole numbers are ``"integer"``, two
        distinct numbers ``"categorical"``. Not modelled are ``"constant"`` (one
        distinct value, which also fills its holes), ``"empty"`` and ``"ignored"``.
    dtype : str
        Native type in words.
    transform : {"standard", "quantile"} or None
        How the numbers are scaled; "auto" is already resolved.
    bounds : tuple or None
        Smallest and largest imputed value, None for an open side. Datetimes and
        timedeltas count nanoseconds (since the epoch, in UTC) as Python ints.
    categories : tuple or None
        Categories seen in fit, or all levels of an ordinal column in their order, or
        the one value of a constant column. Plain Python values; points in time are
        ``np.datetime64`` (in UTC) and ``np.timedelta64``.
    encoding : {"scalar", "binary", "onehot", "bits"} or None
        How a value becomes coordinates.
    width : int
        Number of coordinates, 0 when not modelled.
    impute : bool
        Whether missing cells are filled.
    family : str
        Type of the values themselves, one of ``FAMILIES``.
    unit : str or None
        Coarsest unit of time which all observed values respect.
    tz : str or None
        Time zone in which they respect it.
    limits : tuple of int, or None
        Range of an integer dtype.
    atoms : tuple of numbers, or None
        Values that a column of numbers often repeats, the most frequent first. Each has
        a coordinate after that of the number.
    scores : bool
        Whether the last coordinate is the normal score of the number.

    Examples
    --------
    >>> sex = ColumnSchema("sex", "categorical", "str", categories=("f", "m"))
    >>> sex.words, sex.role, sex.is_numeric
    ('category (2)', 'category', False)
    """

    name: Hashable
    kind: str
    dtype: str
    transform: str | None = None
    bounds: tuple | None = None
    categories: tuple | None = None
    encoding: str | None = None
    width: int = 0
    impute: bool = False
    family: str = "unknown"
    unit: str | None = None
    tz: str | None = None
    limits: tuple[int, int] | None = None
    atoms: tuple | None = None
    scores: bool = False

    @property
    def role(self) -> str | None:
        """``"number"``, ``"time"`` or ``"category"``; None if it is not modelled."""
        return KINDS[self.kind].role

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers or times."""
        return self.role in ("number", "time")

    @property
    def words(self) -> str:
        """What the column was taken for, in words for users."""
        if self.kind in ("categorical", "ordinal"):
            return f"{KINDS[self.kind].words} ({len(self.categories or ())})"
        timed = self.kind == "datetime" and self.unit != "D"
        return "date and time" if timed else KINDS[self.kind].words

    def to_json(self) -> dict[str, Any]:
        """Return a dict of JSON types."""
        plain = {field: getattr(self, field) for field in self.__dataclass_fields__}
        plain["name"] = to_tagged(self.name)
        for field in _LATER:  # columns of earlier models have no such fields
            if not plain[field]:
                del plain[field]
        for field in _TUPLES & set(plain):
            if plain[field] is not None:
                plain[field] = [to_tagged(value) for value in plain[field]]
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ColumnSchema:
        """Undo ``to_json``; what the fields hold is checked by ``check_column``."""
        names = set(cls.__dataclass_fields__)
        if not isinstance(plain, Mapping) or {*plain, *_LATER} != names:
            raise ValueError("a stored column has other fields than it should have")
        fields = dict(plain)
        fields["name"] = from_tagged(fields["name"])
        for field in _TUPLES & set(fields):
            if fields[field] is not None:
                fields[field] = tuple(from_tagged(value) for value in fields[field])
        return cls(**fields)


@dataclass(frozen=True)
class ColumnData:
    """The cells of one column in a canonical numpy form."""

    #: Name of the column.
    name: Hashable
    #: The native type in words; object columns tell what they hold, as in
    #: ``"object[date]"``.
    dtype: str
    #: One of ``FAMILIES``; ``"unknown"`` for an untyped column without any value.
    family: str
    #: float64; int64, uint64 or Python ints; bool; str objects; or int64 ticks of
    #: ``unit``. What stands in unobserved cells has no meaning; shape (n_rows,).
    values: np.ndarray
    #: True where the cell holds a value; shape (n_rows,).
    observed: np.ndarray
    #: Smallest and largest integer (or tick) the native column can hold.
    limits: tuple[int, int] | None = None
    #: The floating type of the native column (float families only).
    float_type: np.dtype | None = None
    #: ``"D"``, ``"s"``, ``"ms"``, ``"us"`` or ``"ns"`` (times only).
    unit: str | None = None
    #: Time zone; ticks always count from the epoch in UTC.
    tz: dt.tzinfo | str | None = None
    #: The values a category type can hold, in its order and canonical form.
    listed: np.ndarray | None = None
    #: Whether that order means something.
    ordered: bool = False

    @property
    def seen(self) -> np.ndarray:
        """Values of the observed cells, shape (n_observed,)."""
        return self.values[self.observed]

    @property
    def is_time(self) -> bool:
        """Whether the values are ticks: points in time or durations."""
        return self.family in ("datetime", "timedelta")

    @property
    def role(self) -> str | None:
        """What its type makes of it: ``"number"``, ``"time"`` or ``"category"``."""
        role = KINDS[FAMILIES[self.family].kind].role
        return role if self.listed is None else "category"

    @property
    def numbers(self) -> np.ndarray:
        """The cells as float64, times in days, NaN where missing; shape (n_rows,)."""
        numbers = np.full(len(self.values), np.nan)
        numbers[self.observed] = self.seen.astype(float)
        return numbers * (duration(1, self.unit) / _DAY if self.unit else 1.0)

    @property
    def stamps(self) -> np.ndarray:
        """Times as datetime64 (in UTC) or timedelta64, NaT where missing."""
        ticks = np.where(self.observed, self.values, np.iinfo(np.int64).min)
        letter = "M" if self.family == "datetime" else "m"
        return ticks.astype(np.int64).view(f"{letter}8[{self.unit}]")

    @property
    def labels(self) -> np.ndarray:
        """The cells as text, None where missing; shape (n_rows,)."""
        labels = np.full(len(self.values), None, dtype=object)
        labels[self.observed] = [self.label(value) for value in self.seen]
        return labels

    def label(self, value: Any) -> str:
        """Write a canonical value; a code that holes made a fraction is whole again."""
        if self.unit is not None:
            if self.family == "datetime":
                return str(moment(int(value), self.unit))
            return str(pd.Timedelta(duration(int(value), self.unit)))
        whole = self.family == "float" and float(value).is_integer()
        return str(int(value) if whole else value)

    @property
    def codes(self) -> np.ndarray:
        """Equal values as equal integers from 0 in order of appearance, -1 if missing.

        Shape (n_rows,).
        """
        codes = np.full(len(self.values), -1, dtype=np.int64)
        codes[self.observed] = pd.factorize(self.seen)[0]
        return codes

    @property
    def names_rows(self) -> bool:
        """Whether it looks like an identifier or free text.

        So does text that seldom repeats and is no amount, and whole numbers that
        just count the rows.
        """
        n_distinct, n_observed = len(pd.unique(self.seen)), int(self.observed.sum())
        if not seldom_repeats(n_distinct, n_observed):
            return False
        if self.family != "integer":
            return self.family == "string" and written_amounts(self.seen) is None
        seen = self.seen.astype(float)
        in_order = bool((np.diff(seen) > 0).all() or (np.diff(seen) < 0).all())
        counts = in_order or bool(np.ptp(seen) == n_observed - 1)
        return n_distinct == n_observed and counts

    def check_finite(self) -> None:
        """Refuse infinities in observed cells."""
        n_inf = int(np.isinf(self.seen).sum()) if self.family == "float" else 0
        if n_inf:
            raise at_fault(
                self.name,
                f"holds inf in {n_inf} {'cell' if n_inf == 1 else 'cells'}; replace "
                "with NaN (missing) or a finite number, or leave the column out with "
                "{ignore}",
                ignore=[self.name],
            )


def categories_of(column: ColumnSchema) -> tuple[Any, ...]:
    """Return the categories of a column that has them."""
    assert column.categories is not None
    return column.categories


def seldom_repeats(n_distinct: int, n_observed: int) -> bool:
    """Whether so many values differ that they name rows rather than group them."""
    return n_observed > 50 and n_distinct > n_observed / 2


def at_fault(
    name: Hashable, why: str, error: type[ColumnError] = ColumnError, **parameters: Any
) -> ColumnError:
    """Build an error; ``why`` follows the column's name and is as in ``Said``."""
    return error(Said(f"column {name!r} {why}", **parameters), column=name)


def unsupported(name: Hashable, what: str) -> ColumnError:
    """Build the error for a column of a type that has no encoding."""
    why = (
        f"holds {what}, which is not supported; convert it to numbers, strings, "
        "booleans or dates, or leave it out with {ignore}"
    )
    return at_fault(name, why, ColumnTypeError, ignore=[name])
