"""Native tables (pandas, polars, pyarrow, numpy) behind one small interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd

from macfm._errors import ColumnError
from macfm.table._column import ColumnData
from macfm.table._pandas import PandasSource

Cells = Mapping[int, tuple[np.ndarray, np.ndarray, ColumnData]]
"""Column position → rows, their canonical values, the column they go into."""


class NativeTable(Protocol):
    """What a kind of table must be able to do."""

    native: Any
    columns: list[Hashable]
    n_rows: int

    def dtype(self, j: int) -> str:
        """Name the type of column ``j``."""

    def observed(self) -> np.ndarray:
        """Tell which cells hold a value, shape (n_rows, n_columns)."""

    def floats(self) -> np.ndarray | None:
        """Return all cells if all columns are of one float type, else None."""

    def read(self, j: int, observed: np.ndarray) -> ColumnData:
        """Read column ``j`` in canonical form."""

    def write(self, cells: Cells) -> Any:
        """Return a native copy in which only the given cells are new."""


class Table:
    """A native table, read column by column and written cell by cell.

    Attributes
    ----------
    columns : list of hashable
        Names, in order.
    n_rows : int
        Number of rows.

    Examples
    --------
    >>> import pandas as pd
    >>> table = as_table(pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}))
    >>> table.columns, table.n_rows
    (['a', 'b'], 2)
    >>> table.observed
    array([[ True,  True],
           [False,  True]])
    """

    def __init__(self, source: NativeTable) -> None:
        self._source = source
        self.columns: list[Hashable] = source.columns
        self.n_rows: int = source.n_rows
        self._read: dict[int, ColumnData] = {}
        self._observed: np.ndarray | None = None
        _check_unique(self.columns)

    @property
    def native(self) -> Any:
        """The table as it was given."""
        return self._source.native

    @property
    def observed(self) -> np.ndarray:
        """True where the cell holds a value, shape (n_rows, n_columns)."""
        if self._observed is None:
            observed = self._source.observed()
            observed.flags.writeable = False
            self._observed = observed
        return self._observed

    @property
    def floats(self) -> np.ndarray | None:
        """All cells, NaN where missing, if all columns are of one float type.

        Shape (n_rows, n_columns); None if they are of others.
        """
        return self._source.floats()

    def dtype(self, j: int) -> str:
        """Name the native type of column ``j``."""
        return self._source.dtype(j)

    def column(self, j: int) -> ColumnData:
        """Read column ``j``; raises, naming it, where it cannot be modelled."""
        if j not in self._read:
            data = self._source.read(j, self.observed[:, j])
            data.check_finite()
            self._read[j] = data
        return self._read[j]

    def take(self, rows: np.ndarray) -> Any:
        """Return a native table of some rows."""
        native = self.native
        take = getattr(native, "iloc", native)
        return native.take(rows) if hasattr(native, "column_names") else take[rows]

    def write(self, cells: Cells) -> Any:
        """Return a native copy in which only the given cells are new."""
        return self._source.write(cells)


def as_table(X: Any, columns: Sequence[Hashable] | None = None) -> Table:
    """Wrap a native table; nothing is copied.

    Parameters
    ----------
    X : pandas or polars DataFrame, pyarrow Table, or ndarray of shape \
            (n_rows, n_columns)
        Arrays must be float32 or float64, with NaN where a value is missing.
    columns : sequence of hashable, default=None
        Names for the columns of an array; ``"x0"``, ``"x1"``, ... when None. Frames
        bring their own.
    """
    if isinstance(X, pd.DataFrame):
        return Table(PandasSource(X))
    if type(X).__module__.split(".")[0] == "polars":
        from macfm.table._polars import PolarsSource

        return Table(PolarsSource(X))
    if type(X).__module__.split(".")[0] == "pyarrow":
        from macfm.table._arrow import ArrowSource

        return Table(ArrowSource(X))
    if isinstance(X, np.ndarray):
        return Table(ArraySource(X, columns))
    raise TypeError(
        "expected a pandas or polars DataFrame, a pyarrow Table or a 2-d float array, "
        f"got {type(X).__module__}.{type(X).__name__}"
    )


class ArraySource:
    """A two-dimensional float array."""

    def __init__(self, native: np.ndarray, columns: Sequence[Hashable] | None) -> None:
        if isinstance(native, np.ma.MaskedArray):
            raise TypeError(
                "masked arrays are not supported; use X.filled(np.nan) instead"
            )
        if native.ndim != 2:
            raise ValueError(
                f"expected a 2-d array, got {native.ndim} dimension(s); "
                "reshape it to (n_rows, n_columns)"
            )
        if native.dtype not in (np.float32, np.float64):
            raise TypeError(
                f"expected an array of float32 or float64, got {native.dtype}; "
                "use a DataFrame for columns of other types"
            )
        self.native = native
        self.n_rows = native.shape[0]
        self.columns: list[Hashable] = (
            [f"x{j}" for j in range(native.shape[1])]
            if columns is None
            else list(columns)
        )
        if len(self.columns) != native.shape[1]:
            raise ValueError(
                f"expected {len(self.columns)} columns, got {native.shape[1]}"
            )

    def dtype(self, j: int) -> str:
        """Name the type of column ``j``."""
        return self.native.dtype.name

    def observed(self) -> np.ndarray:
        """Tell which cells hold a value."""
        return ~np.isnan(self.native)

    def floats(self) -> np.ndarray:
        """Return all cells."""
        return self.native

    def read(self, j: int, observed: np.ndarray) -> ColumnData:
        """Read column ``j`` in canonical form."""
        return ColumnData(
            name=self.columns[j],
            dtype=self.dtype(j),
            family="float",
            values=self.native[:, j].astype(float),
            observed=observed,
            float_type=self.native.dtype,
        )

    def write(self, cells: Cells) -> np.ndarray:
        """Return a copy in which only the given cells are new."""
        filled = np.array(self.native, copy=True)
        for j, (rows, values, _) in cells.items():
            filled[rows, j] = values
        return filled


def _check_unique(columns: list[Hashable]) -> None:
    """Refuse names that occur twice."""
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise ColumnError(
            f"column names must be unique, got {twice} more than once; rename them",
            column=twice[0],
        )
