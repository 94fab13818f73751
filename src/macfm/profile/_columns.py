"""What one column holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from macfm._plain import plain
from macfm._words import count
from macfm.profile._reading import Reading
from macfm.table import KINDS

N_TOP = 5


@dataclass(frozen=True)
class ColumnProfile:
    """One column of a table.

    Attributes
    ----------
    name : str or int
        Name of the column.
    kind : str
        What the imputer takes it for, see ``macfm.table.ColumnSchema``, or
        ``"unsupported"``.
    dtype : str
        Native type in words.
    n_missing : int
        Cells without a value.
    missing_rate : float
        Their share.
    n_distinct : int or None
        Distinct values; None if the column cannot be read.
    identifier_like : bool
        Whether it looks like an identifier or free text.
    summary : dict
        Numbers: ``min``, ``q1``, ``median``, ``mean``, ``q3``, ``max``, ``std``; times:
        ``min``, ``median``, ``max`` as text; categories: ``top``, the most frequent
        values as pairs of value and count.
    """

    name: str | int
    kind: str
    dtype: str
    n_missing: int
    missing_rate: float
    n_distinct: int | None
    identifier_like: bool
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def role(self) -> str | None:
        """``"number"``, ``"time"`` or ``"category"``; None if it is not modelled."""
        return KINDS[self.kind].role if self.kind in KINDS else None

    @property
    def is_empty(self) -> bool:
        """Whether no value was observed."""
        return self.kind == "empty" or self.missing_rate == 1

    @property
    def is_constant(self) -> bool:
        """Whether all observed values are the same."""
        return self.n_distinct == 1

    @property
    def words(self) -> str:
        """What it holds, in a few words."""
        told, n = self.summary, count(self.n_distinct or 0, "value")
        if "top" in told:
            shown = ", ".join(str(value) for value, _ in told["top"])
            more = ", …" if (self.n_distinct or 0) > len(told["top"]) else ""
            if self.identifier_like:
                return f"{n}, an identifier?"
            return f"always {shown}" if self.is_constant else f"{n}: {shown}{more}"
        if not told:
            return ""
        low, middle, high = (_short(told[name]) for name in ("min", "median", "max"))
        return f"always {low}" if self.is_constant else f"{low} to {high} ({middle})"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        flags = {"is_empty": self.is_empty, "is_constant": self.is_constant}
        return plain(self) | flags


def _short(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    whole = value == int(value) and abs(value) < 1e7
    return f"{value:.0f}" if whole or abs(value) >= 1000 else f"{value:.4g}"


def describe_column(reading: Reading, j: int) -> ColumnProfile:
    """Describe column ``j``."""
    observed = reading.observed[:, j]
    n_rows, n_missing = len(observed), int((~observed).sum())
    readable = j not in reading.faults
    return ColumnProfile(
        name=reading.names[j],
        kind=reading.kind(j),
        dtype=reading.schema[j].dtype,
        n_missing=n_missing,
        missing_rate=n_missing / n_rows if n_rows else 0.0,
        n_distinct=reading.n_distinct[j] if readable else None,
        identifier_like=j in reading.identifiers,
        summary=_summary(reading, j) if readable and observed.any() else {},
    )


def _summary(reading: Reading, j: int) -> dict[str, Any]:
    """Return a few numbers about the observed values."""
    data, role = reading.table.column(j), reading.schema[j].role
    if role == "number":
        seen = data.numbers[data.observed]
        low, q1, median, q3, high = np.quantile(seen, [0, 0.25, 0.5, 0.75, 1])
        numbers = {"min": low, "q1": q1, "median": median, "mean": seen.mean()}
        numbers |= {"q3": q3, "max": high, "std": seen.std(ddof=1)}
        return {name: float(value) for name, value in numbers.items()}
    if role == "time":
        ordered = np.sort(data.seen)
        points = {"min": ordered[0], "median": ordered[len(ordered) // 2]}
        points["max"] = ordered[-1]
        return {name: data.label(tick) for name, tick in points.items()}
    codes = reading.codes[:, j]
    counts = np.bincount(codes[codes >= 0])
    first = np.unique(codes, return_index=True)[1][-len(counts) :]
    top = np.argsort(-counts, kind="stable")[:N_TOP]
    value = data.label if data.is_time else plain
    return {"top": tuple((value(data.values[first[k]]), int(counts[k])) for k in top)}
