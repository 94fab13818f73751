"""Columns with a finite set of values: ranks, one or several coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from macfm._errors import ColumnError
from macfm.table._column import ColumnData, ColumnSchema, at_fault, categories_of
from macfm.table._ticks import NANOSECONDS, duration, join, moment, split
from macfm.table._transform import NumericTransform

BIT_FLOOR = 1e-6
"""No bit is taken for more certain than this."""

_CHUNK = 2**22  # probabilities computed at a time when decoding bits


def value_keys(values: np.ndarray, data: ColumnData) -> list[Hashable]:
    """Canonical values as Python values that compare across types and units."""
    if data.unit is not None:
        return [int(tick) * NANOSECONDS[data.unit] for tick in values]
    return values.tolist()


def category_key(category: Any) -> Hashable:
    """Return the key under which ``value_keys`` finds a category of the schema."""
    if isinstance(category, (np.datetime64, np.timedelta64)):
        unit = np.datetime_data(category.dtype)[0]
        return int(category.astype(np.int64)) * NANOSECONDS[unit]
    return category


def category_values(values: np.ndarray, data: ColumnData) -> list:
    """Canonical values as the plain Python values of a schema."""
    if data.unit is not None:
        scalar = moment if data.family == "datetime" else duration
        return [scalar(int(tick), data.unit) for tick in values]
    return [str(v) if isinstance(v, str) else v for v in values.tolist()]


def codes_of(categories: Sequence, data: ColumnData) -> np.ndarray:
    """Position of each cell's category, -1 where missing or unknown, shape (n,)."""
    position = {category_key(c): code for code, c in enumerate(categories)}
    factors, distinct = pd.factorize(data.seen)
    lookup = [position.get(key, -1) for key in value_keys(distinct, data)]
    codes = np.full(len(data.values), -1, dtype=np.int64)
    if len(lookup):
        codes[data.observed] = np.array(lookup, dtype=np.int64)[factors]
    return codes


def unseen_values(categories: Sequence, data: ColumnData) -> list:
    """Distinct observed values that are not among the categories."""
    known = {category_key(category) for category in categories}
    distinct = pd.unique(data.seen)
    pairs = zip(
        category_values(distinct, data), value_keys(distinct, data), strict=True
    )
    return [value for value, key in pairs if key not in known]


def values_for(categories: Sequence, target: ColumnData) -> np.ndarray:
    """Categories as canonical values of the column they will be written into.

    Raises ValueError, naming the column, if it cannot hold one of them.
    """
    if target.is_time:
        pairs = [_points(category) for category in categories]
        seconds, nanos = (np.concatenate(part) for part in zip(*pairs, strict=True))
        assert target.unit is not None
        values = join(seconds, nanos, target.unit, target.limits)
    elif target.family == "boolean":
        values = np.array(categories, dtype=bool)
    elif target.family == "float":
        values = np.array(categories, dtype=target.float_type)
    else:
        values = np.empty(len(categories), dtype=object)
        values[:] = categories
    if target.family == "integer":
        lo, hi = target.limits or (-np.inf, np.inf)
        for category in categories:
            if category != int(category) or not lo <= category <= hi:
                raise _cannot_hold(target, category)
        values[:] = [int(category) for category in categories]
    if target.listed is not None:
        listed = set(value_keys(target.listed, target))
        for category, key in zip(categories, value_keys(values, target), strict=True):
            if key not in listed:
                raise _cannot_hold(target, category)
    return values


def _cannot_hold(target: ColumnData, category: Any) -> ColumnError:
    return at_fault(
        target.name,
        f"of type {target.dtype} cannot hold {category!r}, which was seen in fit; "
        "convert the column to the type it had in fit",
    )


def _points(category: np.datetime64 | np.timedelta64) -> tuple[np.ndarray, np.ndarray]:
    ticks = np.array([category.astype(np.int64)])
    return split(ticks, np.datetime_data(category.dtype)[0])


def _frequencies(column: ColumnSchema, data: ColumnData) -> np.ndarray:
    """Share of each category among the observed cells, shape (n_categories,)."""
    categories = categories_of(column)
    codes = codes_of(categories, data)
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    return counts / max(counts.sum(), 1)


def _most_likely(probabilities: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Code of the largest probability per row; ties go to the more frequent."""
    by_frequency = np.argsort(-frequencies, kind="stable")
    return by_frequency[probabilities[:, by_frequency].argmax(axis=1)]


@dataclass(frozen=True)
class OrdinalCodec:
    """Ranks, standardised like numbers, decoded to the nearest rank seen in fit."""

    column: ColumnSchema
    transform: NumericTransform
    ranks: np.ndarray

    @classmethod
    def fit(cls, column: ColumnSchema, data: ColumnData) -> OrdinalCodec:
        """Fit to the observed cells."""
        categories = categories_of(column)
        codes = codes_of(categories, data)
        seen = codes[codes >= 0]
        transform = NumericTransform.fit(seen.astype(float), "standard")
        ranks = np.unique(seen) if len(seen) else np.arange(len(categories))
        return cls(column, transform, ranks)

    def encode(self, data: ColumnData) -> tuple[np.ndarray, np.ndarray]:
        """Return x of shape (n, 1) and the flag of what it says, shape (n,)."""
        codes = codes_of(categories_of(self.column), data)
        known = codes >= 0
        x = np.zeros((len(codes), 1))
        x[known, 0] = self.transform.forward(codes[known].astype(float))
        return x, known

    def codes(self, x: np.ndarray) -> np.ndarray:
        """Turn x of shape (m, 1) into m codes."""
        rank = self.transform.inverse(x[:, 0])
        middles = (self.ranks[1:] + self.ranks[:-1]) / 2
        return self.ranks[np.searchsorted(middles, rank)]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything fitted, as arrays."""
        return {"ranks": self.ranks, **self.transform.to_arrays()}

    @classmethod
    def from_arrays(
        cls, column: ColumnSchema, arrays: dict[str, np.ndarray]
    ) -> OrdinalCodec:
        """Undo ``to_arrays``."""
        return cls(column, NumericTransform.from_arrays(arrays), arrays["ranks"])


@dataclass(frozen=True)
class _ScaledCodec(ABC):
    """What two or few categories share: their frequencies and one scale."""

    column: ColumnSchema
    frequencies: np.ndarray
    scale: float

    @abstractmethod
    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Turn x of shape (m, width) into shape (m, n_categories)."""

    def codes(self, x: np.ndarray) -> np.ndarray:
        """Turn x of shape (m, width) into m codes."""
        return _most_likely(self.probabilities(x), self.frequencies)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything fitted, as arrays."""
        return {"frequencies": self.frequencies, "scale": np.array(self.scale)}

    @classmethod
    def from_arrays(cls, column: ColumnSchema, arrays: dict[str, np.ndarray]) -> Self:
        """Undo ``to_arrays``."""
        return cls(column, arrays["frequencies"], float(arrays["scale"]))


@dataclass(frozen=True)
class BinaryCodec(_ScaledCodec):
    """Two categories in one coordinate of mean 0 and variance 1."""

    @classmethod
    def fit(cls, column: ColumnSchema, data: ColumnData) -> BinaryCodec:
        """Fit to the observed cells."""
        p = _frequencies(column, data)
        return cls(column, p, float(np.sqrt(p[0] * p[1])) or 1.0)

    def encode(self, data: ColumnData) -> tuple[np.ndarray, np.ndarray]:
        """Return x of shape (n, 1) and the flag of what it says, shape (n,)."""
        codes = codes_of(categories_of(self.column), data)
        known = codes >= 0
        x = np.where(known, (codes - self.frequencies[1]) / self.scale, 0.0)
        return x[:, None], known

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Turn x of shape (m, 1) into probabilities of shape (m, 2)."""
        second = np.clip(x[:, 0] * self.scale + self.frequencies[1], 0.0, 1.0)
        return np.stack([1 - second, second], axis=1)


@dataclass(frozen=True)
class OneHotCodec(_ScaledCodec):
    """One coordinate per category, centred; their variances sum to 1."""

    @classmethod
    def fit(cls, column: ColumnSchema, data: ColumnData) -> OneHotCodec:
        """Fit to the observed cells."""
        p = _frequencies(column, data)
        return cls(column, p, float(np.sqrt(np.sum(p * (1 - p)))) or 1.0)

    def encode(self, data: ColumnData) -> tuple[np.ndarray, np.ndarray]:
        """Return x of shape (n, n_categories) and what it says, shape (n,)."""
        codes = codes_of(categories_of(self.column), data)
        each = (np.eye(len(self.frequencies)) - self.frequencies) / self.scale
        # The code of what is not known, -1, takes the last column. Coordinates are
        # written one after the other, as the encoder wants them.
        columns = np.pad(each.T, ((0, 0), (0, 1))).astype(np.float32)
        return columns.take(codes, axis=1, mode="wrap").T, codes >= 0

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Turn x into probabilities, both of shape (m, n_categories)."""
        weights = np.clip(x * self.scale + self.frequencies, 0.0, None)
        total = weights.sum(axis=1, keepdims=True)
        safe = np.where(total > 0, total, 1.0)
        return np.where(total > 0, weights / safe, self.frequencies)


@dataclass(frozen=True)
class BitsCodec:
    """The category's number in binary, each bit a coordinate of -1 or 1."""

    column: ColumnSchema
    frequencies: np.ndarray

    @classmethod
    def fit(cls, column: ColumnSchema, data: ColumnData) -> BitsCodec:
        """Fit to the observed cells."""
        return cls(column, _frequencies(column, data))

    @property
    def bits(self) -> np.ndarray:
        """Bits of every category, shape (n_categories, width)."""
        codes = np.arange(len(self.frequencies))
        return (codes[:, None] >> np.arange(self.column.width)) & 1

    def encode(self, data: ColumnData) -> tuple[np.ndarray, np.ndarray]:
        """Return x of shape (n, width) and the flag of what it says, shape (n,)."""
        codes = codes_of(categories_of(self.column), data)
        known = codes >= 0
        return np.where(known[:, None], 2.0 * self.bits[codes] - 1, 0.0), known

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Turn x of shape (m, width) into shape (m, n_categories)."""
        one = np.clip((1 + x) / 2, BIT_FLOOR, 1 - BIT_FLOOR)
        # log P(category) = sum over bits of log p where 1 and log (1 - p) where 0
        log_odds = np.log(one) - np.log1p(-one)
        logs = log_odds @ self.bits.T + np.log1p(-one).sum(axis=1, keepdims=True)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def codes(self, x: np.ndarray) -> np.ndarray:
        """Turn x of shape (m, width) into m codes."""
        # The signs give the most likely number; only where no category has it, or a
        # bit is undecided, must all categories be compared.
        codes = (x > 0) @ (1 << np.arange(self.column.width))
        open_rows = np.flatnonzero((codes >= len(self.frequencies)) | (x == 0).any(1))
        step = max(1, _CHUNK // len(self.frequencies))
        for start in range(0, len(open_rows), step):
            rows = open_rows[start : start + step]
            codes[rows] = _most_likely(self.probabilities(x[rows]), self.frequencies)
        return codes

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything fitted, as arrays."""
        return {"frequencies": self.frequencies}

    @classmethod
    def from_arrays(
        cls, column: ColumnSchema, arrays: dict[str, np.ndarray]
    ) -> BitsCodec:
        """Undo ``to_arrays``."""
        return cls(column, arrays["frequencies"])
