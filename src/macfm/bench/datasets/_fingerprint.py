"""Telling whether a table is the one that is meant, whatever file it came in.

A digest of the file would refuse the same table written by another program, and a
digest of rounded values breaks where rounding falls on the other side. So numbers are
compared by one weighted mean per column, which moves if a value or the order of rows
changes, and text by an exact digest.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from macfm._plain import plain

# Of a column's root mean square. Sources print some columns with 7 digits; one value
# of 40,000 rows that is off by a hundredth of the scale is still seen.
TOLERANCE = 1e-7
GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Fingerprint:
    """A table's columns and rows in a few numbers.

    Examples
    --------
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 4.0], "kind": ["a", "b", None]})
    >>> mark = fingerprint(table)
    >>> mark.differences(table)
    []
    >>> mark.differences(table.iloc[[1, 0, 2]])
    ["the values of 'x' differ", "the text of 'kind' differs"]
    """

    n_rows: int
    numbers: Mapping[str, float]
    """Weighted mean of each column of numbers, missing cells counting as 0."""
    texts: Mapping[str, str]
    """Digest of each column of text."""
    missing: Mapping[str, float] = field(default_factory=dict)
    """Weighted share of missing cells of the columns of numbers that have some."""

    def differences(self, frame: pd.DataFrame) -> list[str]:
        """Say how a table differs, a line for each difference."""
        expected = {*self.numbers, *self.texts}
        found = [f"it lacks the column {c!r}" for c in expected - {*frame.columns}]
        found += [f"the column {c!r} is too many" for c in {*frame.columns} - expected]
        if found:
            return sorted(found)
        if len(frame) != self.n_rows:
            return [f"it has {len(frame):,} rows instead of {self.n_rows:,}"]
        other = fingerprint(frame)
        for name, value in self.numbers.items():
            if name not in other.numbers:
                found.append(f"{name!r} holds text instead of numbers")
                continue
            scale = np.sqrt(np.nanmean(_numbers(frame[name]) ** 2))
            gone = self.missing.get(name, 0.0) - other.missing.get(name, 0.0)
            if abs(gone) > TOLERANCE:
                found.append(f"other cells of {name!r} are missing")
            elif not abs(other.numbers[name] - value) <= TOLERANCE * scale:
                found.append(f"the values of {name!r} differ")
        for name, digest in self.texts.items():
            if name not in other.texts:
                found.append(f"{name!r} holds numbers instead of text")
            elif other.texts[name] != digest:
                found.append(f"the text of {name!r} differs")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values, numbers with ten digits."""
        return plain(self, digits=10)


def fingerprint(frame: pd.DataFrame) -> Fingerprint:
    """Return the fingerprint of a table."""
    # Equidistributed in [1, 2): two rows exchanged, or two equal sums, still show.
    weight = 1 + np.arange(1, len(frame) + 1) * GOLDEN % 1
    numbers, texts, missing = {}, {}, {}
    for name in frame.columns:
        column = frame[name]
        if _is_number(column):
            values = _numbers(column)
            gone = np.isnan(values)
            numbers[name] = float(np.mean(weight * np.where(gone, 0.0, values)))
            if gone.any():
                missing[name] = float(np.mean(weight * gone))
        else:
            gone = column.isna().to_numpy()
            cells = column.astype(object).to_numpy()
            lines = ["" if g else f"={c}" for c, g in zip(cells, gone, strict=True)]
            texts[name] = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    return Fingerprint(len(frame), numbers, texts, missing)


def known(name: str) -> Fingerprint:
    """Return the fingerprint kept in ``fingerprints.json`` for a dataset."""
    return Fingerprint(**_all_known()[name])


@cache
def _all_known() -> dict[str, dict[str, Any]]:
    file = importlib.resources.files(__package__).joinpath("fingerprints.json")
    return json.loads(file.read_text(encoding="utf-8"))


def _is_number(column: pd.Series) -> bool:
    kinds = pd.api.types
    return kinds.is_numeric_dtype(column) and not kinds.is_bool_dtype(column)


def _numbers(column: pd.Series) -> np.ndarray:
    return column.to_numpy(dtype=float, na_value=np.nan)
