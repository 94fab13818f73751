"""A table's profile: all that is said about what it lacks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from macfm._plain import plain
from macfm.profile._columns import ColumnProfile, describe_column
from macfm.profile._dependence import Dependence, dependence_of
from macfm.profile._findings import Finding, find
from macfm.profile._little import LittleTest, little_of
from macfm.profile._patterns import Patterns, count_patterns
from macfm.profile._reading import read
from macfm.profile._skips import Skip, find_skips
from macfm.profile._text import as_html, as_text, describe

FORMAT = 1
"""Version of the JSON layout."""


@dataclass(frozen=True, repr=False)
class TableProfile:
    """What a table holds and what it lacks; shown, it reads as text.

    Attributes
    ----------
    n_rows, n_columns : int
        Size of the table.
    n_missing : int
        Cells without a value.
    missing_rate : float
        Their share.
    columns : tuple of ColumnProfile
        The columns, in table order.
    patterns : Patterns
        Which columns are missing together.
    findings : tuple of Finding
        What is worth acting on, the most serious first.
    skips : tuple of Skip
        Columns recorded only where another has certain values, whose holes may mean
        “does not apply”; they stand among the findings too.
    little : LittleTest or None
        Little's test of numbers missing completely at random; None if ``quick``.
    dependence : Dependence or None
        How well the other columns tell where each is missing; None if ``quick``.
    """

    n_rows: int
    n_columns: int
    n_missing: int
    missing_rate: float
    columns: tuple[ColumnProfile, ...]
    patterns: Patterns
    findings: tuple[Finding, ...]
    skips: tuple[Skip, ...]
    little: LittleTest | None
    dependence: Dependence | None

    def __str__(self) -> str:
        return as_text(describe(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(describe(self))

    def column(self, name: str | int) -> ColumnProfile:
        """Return the profile of one column."""
        for column in self.columns:
            if column.name == name:
                return column
        names = [column.name for column in self.columns]
        raise KeyError(f"no column {name!r}; the table has {names}")

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        parts = ("patterns", "little", "dependence")
        whole = {"n_rows", "n_columns", "n_missing", "missing_rate"}
        given = {name: plain(getattr(self, name)) for name in sorted(whole)}
        given["columns"] = [column.to_json() for column in self.columns]
        given["findings"] = [finding.to_json() for finding in self.findings]
        given["skips"] = [skip.to_json() for skip in self.skips]
        for name in parts:
            part = getattr(self, name)
            given[name] = None if part is None else part.to_json()
        return {"format": FORMAT, **given}


def profile(
    df: Any,
    *,
    categorical: Sequence[Hashable] | None = None,
    numeric: Sequence[Hashable] | None = None,
    ordinal: Mapping[Any, Sequence] | None = None,
    ignore: Sequence[Hashable] | None = None,
    n_patterns: int = 10,
    quick: bool = False,
    max_rows: int = 5000,
    seed: int = 0,
) -> TableProfile:
    """Describe a table: its columns, what is missing and what that depends on.

    Parameters
    ----------
    df : DataFrame (pandas or polars), pyarrow Table or float array
        The table.
    categorical, numeric, ordinal, ignore : as in MACFMImputer, default=None
        What the kinds of columns are, where their type does not say it.
    n_patterns : int, default=10
        How many of the most frequent missing patterns to list.
    quick : bool, default=False
        Leave out Little's test and the models of missingness.
    max_rows : int, default=5000
        Rows these two look at; larger tables are sampled. Everything else counts all.
    seed : int, default=0
        Seed of the sample.

    Returns
    -------
    TableProfile

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"age": [31, None, 58], "sex": ["f", "m", None]})
    >>> found = profile(df)
    >>> found.n_missing, [(c.name, c.kind, c.n_missing) for c in found.columns]
    (2, [('age', 'integer', 1), ('sex', 'categorical', 1)])
    >>> found.little.reason
    'it needs at least two numeric columns that vary'
    """
    reading = read(
        df, categorical=categorical, numeric=numeric, ordinal=ordinal, ignore=ignore
    )
    observed = reading.observed
    columns = tuple(describe_column(reading, j) for j in range(len(reading.schema)))
    n_missing = int((~observed).sum())
    skips = find_skips(reading)
    sample = {"max_rows": max_rows, "seed": seed}
    return TableProfile(
        n_rows=reading.table.n_rows,
        n_columns=len(columns),
        n_missing=n_missing,
        missing_rate=n_missing / observed.size if observed.size else 0.0,
        columns=columns,
        patterns=count_patterns(observed, reading.names, n_patterns=n_patterns),
        findings=find(reading, columns, skips),
        skips=skips,
        little=None if quick else little_of(reading, normal_scores=True, **sample),
        dependence=None if quick else dependence_of(reading, n_folds=3, **sample),
    )
