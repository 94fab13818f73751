"""polars columns of every supported dtype ⇄ canonical numpy, without pyarrow."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from macfm.table._column import ColumnData, unsupported


class PolarsSource:
    """A polars DataFrame."""

    def __init__(self, native: Any) -> None:
        import polars as pl

        if isinstance(native, pl.LazyFrame):
            raise TypeError(
                "expected a polars DataFrame, got a LazyFrame; collect() it"
            )
        if not isinstance(native, pl.DataFrame):
            raise TypeError(
                f"expected a polars DataFrame, got polars.{type(native).__name__}"
            )
        self.native = native
        self.columns: list[Hashable] = list(native.columns)
        self.n_rows = native.height

    def dtype(self, j: int) -> str:
        """Name the type of column ``j``."""
        return str(self.native.dtypes[j])

    def observed(self) -> np.ndarray:
        """Tell which cells hold a value."""
        flags = np.empty((self.n_rows, len(self.columns)), dtype=bool)
        for j, series in enumerate(self.native.iter_columns()):
            observed = series.is_not_null()
            if series.dtype.is_float():
                observed = observed & series.is_not_nan().fill_null(False)
            flags[:, j] = observed.to_numpy()
        return flags

    def floats(self) -> None:
        """Return None: columns are read one by one."""

    def read(self, j: int, observed: np.ndarray) -> ColumnData:
        """Read column ``j`` in canonical form."""
        import polars as pl

        series = self.native[:, j]
        dtype = series.dtype
        data: dict[str, Any] = {
            "name": self.columns[j],
            "dtype": str(dtype),
            "observed": observed,
        }
        if dtype == pl.Null:
            nothing = np.zeros(self.n_rows, dtype=object)
            return ColumnData(family="unknown", values=nothing, **data)
        if dtype in (pl.String, pl.Categorical, pl.Enum):
            if isinstance(dtype, pl.Enum):
                data["listed"] = _objects(dtype.categories.to_list())
            cells = _objects(series.cast(pl.String).to_list())
            return ColumnData(family="string", values=cells, **data)
        if dtype == pl.Boolean:
            flags = series.fill_null(False).to_numpy().astype(bool)
            return ColumnData(family="boolean", values=flags, **data)
        if dtype.is_float():
            values = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
            bits = int(str(dtype).removeprefix("Float"))
            float_type = np.dtype(f"f{bits // 8}")
            return ColumnData(
                family="float", values=values, float_type=float_type, **data
            )
        if dtype.is_integer():
            return _read_integers(series, data)
        time = _time_type(dtype)
        if time is None:
            raise unsupported(self.columns[j], f"values of type {dtype}")
        ticks = series.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
        return ColumnData(values=ticks, **time, **data)

    def write(
        self, cells: Mapping[int, tuple[np.ndarray, np.ndarray, ColumnData]]
    ) -> Any:
        """Return a copy in which only the given cells are new."""
        import polars as pl

        filled = []
        for j, (rows, values, data) in cells.items():
            series = self.native[:, j]
            missing = np.zeros(self.n_rows, dtype=bool)
            missing[rows] = True
            position = np.zeros(self.n_rows, dtype=np.int64)
            position[rows] = np.arange(len(rows))
            new = _native(values, series.dtype, data).gather(pl.Series(position))
            if series.dtype in (pl.Categorical, pl.Enum):
                old = series.cast(pl.String)
            else:
                old = series
            both = new.zip_with(pl.Series(missing), old)
            filled.append(both.cast(series.dtype).alias(series.name))
        return self.native.clone().with_columns(filled)


def _objects(cells: list) -> np.ndarray:
    """Return a one-dimensional object array."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _read_integers(series: Any, data: dict) -> ColumnData:
    bits = int(str(series.dtype).lstrip("UInt"))
    unsigned = str(series.dtype).startswith("U")
    limits = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    series = series.fill_null(0)
    if bits > 64:
        values = _objects(series.to_list())
    else:
        wide = np.uint64 if unsigned and bits == 64 else np.int64
        values = series.to_numpy().astype(wide)
    return ColumnData(family="integer", values=values, limits=limits, **data)


def _time_type(dtype: Any) -> dict | None:
    """Family, unit, zone and range of a temporal dtype, None for any other."""
    import polars as pl

    ticks = (-(2**63) + 1, 2**63 - 1)
    if dtype == pl.Date:
        return {"family": "datetime", "unit": "D", "limits": (-(2**31), 2**31 - 1)}
    if dtype == pl.Datetime:
        time = {"family": "datetime", "unit": dtype.time_unit, "tz": dtype.time_zone}
        return time | {"limits": ticks}
    if dtype == pl.Duration:
        return {"family": "timedelta", "unit": dtype.time_unit, "limits": ticks}
    return None


def _native(values: np.ndarray, dtype: Any, data: ColumnData) -> Any:
    """Canonical values as a polars series; categories stay strings for now."""
    import polars as pl

    if data.family == "string":
        return pl.Series(values.tolist(), dtype=pl.String)
    if data.is_time:
        width = pl.Int32 if dtype == pl.Date else pl.Int64
        return pl.Series(values.tolist(), dtype=width).cast(dtype)
    if data.family == "float":
        return pl.Series(values.astype(float)).cast(dtype)
    return pl.Series(values.tolist(), dtype=dtype)
