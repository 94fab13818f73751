"""What the benchmark knows about a dataset, and what it makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from macfm._errors import MacfmError
from macfm.bench.datasets._fingerprint import Fingerprint


class DatasetError(MacfmError):
    """A dataset that cannot be had, or is not what it should be."""


@dataclass(frozen=True)
class Download:
    """A file at the dataset's original source."""

    url: str
    """Address of the file."""
    parse: Callable[[Path], pd.DataFrame]
    """From the file on disk to the source table."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A table of the benchmark: the roles of its columns and where it comes from.

    The *source table* holds every column as published. `repair`, then the roles, make
    the benchmark's table of it. One of `read`, `download` and `obtain` says how the
    source table is had where no data folder holds it.

    Examples
    --------
    >>> toy = Dataset(
    ...     name="toy",
    ...     title="Two numbers",
    ...     numeric=("x", "y"),
    ...     categorical=(),
    ...     read=lambda: pd.DataFrame({"x": [1, 2], "y": [3, None]}),
    ... )
    >>> toy.n_features
    2
    """

    name: str
    """Name in the registry: small letters, digits, ``-`` and ``_``."""
    title: str
    """Name for people."""
    numeric: tuple[str, ...]
    """Feature columns that hold numbers."""
    categorical: tuple[str, ...]
    """Feature columns that hold categories, whatever the source writes them as."""
    target: str | None = None
    """The column to be predicted in the source: neither a feature nor scored."""
    n_rows: int | None = None
    """Rows after the repairs, None if not known beforehand."""
    source: str = ""
    """Who made it and where it is published."""
    licence: str = ""
    """Terms of use."""
    note: str = ""
    """What a reader of results on it should know."""
    quirks: Mapping[str, str] = field(default_factory=dict)
    """Known faults of earlier benchmarks that can be put back, each in one line."""
    repair: Callable[[pd.DataFrame, Collection[str]], pd.DataFrame] | None = None
    """From the source table and the quirks asked for to a table with all features."""
    read: Callable[[], pd.DataFrame] | None = None
    """Gives the source table without any file of ours (bundled or made up)."""
    download: Download | None = None
    """Where the source table can be fetched."""
    obtain: str = ""
    """How a person gets the file, where it cannot be fetched."""
    private: bool = False
    """Whether only its owners have it; its column kinds are then inferred."""
    synthetic: bool = False
    """Whether its values are made up; reports set its results apart from real ones."""
    file: str = ""
    """Path in the data folder without suffix; the name if empty."""
    sha256: str | None = None
    """Digest of the published parquet file, if there is one."""
    fingerprint: Fingerprint | None = None
    """What the source table must look like."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", self.name):
            raise ValueError(
                "a dataset's name has small letters, digits, '-' and '_' only, "
                f"got {self.name!r}"
            )
        features = [*self.numeric, *self.categorical]
        twice = {c for c in features if features.count(c) > 1}
        if self.target in features:
            twice.add(str(self.target))
        if twice:
            raise ValueError(f"{self.name}: {min(twice)!r} has two roles")
        if not features and not self.private:
            raise ValueError(f"{self.name} has neither numeric nor categorical columns")
        if not (self.read or self.download or self.obtain):
            raise ValueError(
                f"{self.name} needs one of read, download and obtain, got none"
            )
        if self.synthetic and not self.read:
            raise ValueError(f"{self.name} is synthetic and needs read, which makes it")

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return len(self.numeric) + len(self.categorical)

    def check_quirks(self, quirks: Collection[str]) -> tuple[str, ...]:
        """Return the quirks sorted, or raise if one is not of this dataset."""
        for quirk in quirks:
            if quirk not in self.quirks:
                known = ", ".join(sorted(self.quirks)) or "none"
                raise ValueError(
                    f"{self.name} has no quirk {quirk!r}; its quirks are: {known}"
                )
        return tuple(sorted(set(quirks)))


@dataclass(frozen=True)
class LoadedTable:
    """A table ready for the benchmark.

    Numeric columns are float64, every other column holds text; a cell that is missing
    in the source is missing here.
    """

    name: str
    """The dataset's name, or the file's."""
    frame: pd.DataFrame
    """Feature columns only."""
    target: str | None = None
    """Name of the target column, which is not in `frame`."""
    quirks: tuple[str, ...] = ()
    """Faults put back on request."""
    notes: tuple[str, ...] = ()
    """What was left out or read in a way one might not expect, a line each."""

    @property
    def n_columns_counted(self) -> int:
        """Feature columns plus the target: the d of the protocol."""
        return self.frame.shape[1] + (self.target is not None)
