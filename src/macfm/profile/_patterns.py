"""Which columns are missing together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from macfm._plain import plain
from macfm._words import count, percent
from macfm.profile._plain import plain_name
from macfm.table import as_table


@dataclass(frozen=True)
class Pattern:
    """Rows in which the same columns are missing.

    Attributes
    ----------
    missing : tuple of column names
        The columns without a value, in table order; empty for complete rows.
    n_rows : int
        Rows of exactly this pattern.
    share : float
        Their share among all rows.
    """

    missing: tuple[str | int, ...]
    n_rows: int
    share: float


@dataclass(frozen=True)
class Patterns:
    """The missing patterns of a table.

    Attributes
    ----------
    n_patterns : int
        Distinct patterns, that of complete rows included.
    n_complete : int
        Rows without a hole.
    complete_share : float
        Their share among all rows.
    monotone : bool or None
        Whether the columns can be ordered so that a hole in one means holes in all
        later ones, as when participants leave a study; None if fewer than two columns
        have holes.
    most_frequent : tuple of Pattern
        The commonest patterns, the most frequent first.
    """

    n_patterns: int
    n_complete: int
    complete_share: float
    monotone: bool | None
    most_frequent: tuple[Pattern, ...]

    def told(self, most: int) -> tuple[str, list[tuple[str, str, str]]]:
        """Return a heading, and rows, share and columns of the commonest patterns."""
        shown = self.most_frequent[:most]
        few = f"the {len(shown)} commonest of " if len(shown) < self.n_patterns else ""
        heading = f"Missing together ({few}{count(self.n_patterns, 'pattern')})"
        rows = [
            (
                f"{pattern.n_rows:,}",
                percent(pattern.share),
                ", ".join(map(str, pattern.missing)) or "nothing: complete rows",
            )
            for pattern in shown
        ]
        return heading, rows

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain(self)


def missing_patterns(frame: Any, *, n_patterns: int = 10) -> Patterns:
    """Count which columns are missing together.

    Parameters
    ----------
    frame : DataFrame (pandas or polars), pyarrow Table or float array
        The table.
    n_patterns : int, default=10
        How many of the most frequent patterns to list.

    Returns
    -------
    Patterns

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"a": [1, 2, 3], "b": [1, None, 3], "c": [None, None, 1]})
    >>> patterns = missing_patterns(df)
    >>> [(p.missing, p.n_rows) for p in patterns.most_frequent]
    [((), 1), (('c',), 1), (('b', 'c'), 1)]
    >>> patterns.monotone
    True
    """
    table = as_table(frame)
    names = [plain_name(name) for name in table.columns]
    return count_patterns(table.observed, names, n_patterns=n_patterns)


def count_patterns(
    observed: np.ndarray, names: list[str | int], *, n_patterns: int
) -> Patterns:
    """Count the patterns of ``observed``, shape (n_rows, n_columns)."""
    n_rows = len(observed)
    missing, counts = distinct_rows(~observed)
    # Ties: fewer holes first, then the order of the columns.
    order = sorted(
        range(len(counts)),
        key=lambda p: (-counts[p], missing[p].sum(), (~missing[p]).tolist()),
    )
    complete = int(counts[~missing.any(axis=1)].sum())
    listed = tuple(
        Pattern(
            missing=tuple(names[j] for j in np.flatnonzero(missing[p])),
            n_rows=int(counts[p]),
            share=float(counts[p] / n_rows),
        )
        for p in order[:n_patterns]
    )
    return Patterns(
        n_patterns=len(counts),
        n_complete=complete,
        complete_share=complete / n_rows if n_rows else 0.0,
        monotone=_is_monotone(missing),
        most_frequent=listed,
    )


def distinct_rows(flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a boolean array and how often each occurs."""
    if not flags.size:
        n_rows = len(flags)
        return flags[: min(n_rows, 1)], np.array([n_rows] if n_rows else [], dtype=int)
    packed = np.packbits(flags, axis=1)
    keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return flags[first], counts


def _is_monotone(missing: np.ndarray) -> bool | None:
    """Whether the patterns, one a row, are nested in each other."""
    holes = missing[:, missing.any(axis=0)]
    if holes.shape[1] < 2:
        return None
    by_size = holes[np.argsort(holes.sum(axis=1), kind="stable")]
    # Each pattern must contain the one before it.
    return bool((by_size[1:] >= by_size[:-1]).all())
