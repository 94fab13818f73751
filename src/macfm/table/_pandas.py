"""pandas columns of every supported dtype ⇄ canonical numpy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from macfm.table._column import ColumnData, unsupported
from macfm.table._objects import box_objects, parse_objects
from macfm.table._ticks import NANOSECONDS

_FLOATS = {np.dtype(np.float64), np.dtype(np.float32)}
_TICKS = (-(2**63) + 1, 2**63 - 1)  # the smallest int64 is NaT


class PandasSource:
    """A pandas DataFrame."""

    def __init__(self, native: pd.DataFrame) -> None:
        self.native = native
        self.columns: list[Hashable] = native.columns.tolist()
        self.n_rows = len(native)
        self._dtypes = native.dtypes.tolist()
        kinds = set(self._dtypes)
        alike = len(kinds) == 1 and kinds <= _FLOATS
        self._floats = native.to_numpy() if alike else None

    @cached_property
    def _series(self) -> list[pd.Series]:
        return [series for _, series in self.native.items()]

    def dtype(self, j: int) -> str:
        """Name the type of column ``j``."""
        return str(self._dtypes[j])

    def floats(self) -> np.ndarray | None:
        """Return all cells if all columns are of one float type, else None."""
        return self._floats

    def observed(self) -> np.ndarray:
        """Tell which cells hold a value."""
        if self._floats is not None:
            return ~np.isnan(self._floats)
        observed = ~self.native.isna().to_numpy(dtype=bool)
        for j, dtype in enumerate(self._dtypes):
            if _is_extension_float(dtype):
                # Beside NA these hold NaN, which isna does not report in every version.
                numbers = self._series[j].to_numpy(dtype=np.float64, na_value=np.nan)
                observed[:, j] &= ~np.isnan(numbers)
        return observed

    def read(self, j: int, observed: np.ndarray) -> ColumnData:
        """Read column ``j`` in canonical form."""
        if self._floats is None:
            return read_series(self.columns[j], self._series[j], observed)
        return ColumnData(
            name=self.columns[j],
            dtype=self.dtype(j),
            family="float",
            values=self._floats[:, j].astype(np.float64),
            observed=observed,
            float_type=self._dtypes[j],
        )

    def write(
        self, cells: Mapping[int, tuple[np.ndarray, np.ndarray, ColumnData]]
    ) -> pd.DataFrame:
        """Return a copy in which only the given cells are new."""
        if self._floats is not None and type(self.native) is pd.DataFrame:
            numbers = self._floats.copy(order="K")
            for j, (rows, values, _) in cells.items():
                numbers[rows, j] = values
            labels = {"index": self.native.index, "columns": self.native.columns}
            filled = pd.DataFrame(numbers, **labels, copy=False)
            return filled.__finalize__(self.native)
        filled = self.native.copy()
        for j, (rows, values, data) in cells.items():
            filled.isetitem(j, write_series(self._series[j], data, rows, values))
        return filled


def read_series(name: Hashable, series: pd.Series, observed: np.ndarray) -> ColumnData:
    """Read one pandas column; ``observed`` has shape (n_rows,)."""
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        raise unsupported(name, f"sparse values ({dtype}; try .sparse.to_dense())")
    if isinstance(dtype, pd.CategoricalDtype):
        return _read_category(name, series, observed)
    if isinstance(dtype, pd.ArrowDtype):
        from macfm.table._arrow import read_arrow

        return read_arrow(name, _chunks(series), str(dtype), observed)
    data: dict[str, Any] = {"name": name, "dtype": str(dtype), "observed": observed}
    if isinstance(dtype, pd.StringDtype):
        return ColumnData(family="string", values=_strings(series), **data)
    if isinstance(dtype, pd.DatetimeTZDtype):
        ticks = pd.DatetimeIndex(series).asi8
        # Local time must fit as well, so two days stay free at either end.
        last = _TICKS[1] - 2 * NANOSECONDS["D"] // NANOSECONDS[dtype.unit]
        time = {"unit": dtype.unit, "tz": dtype.tz, "limits": (-last, last)}
        return ColumnData(family="datetime", values=ticks, **time, **data)
    numbers = _number_type(dtype)
    if numbers is None:
        raise unsupported(name, f"values of type {dtype}")
    if numbers.kind == "O":
        return parse_objects(name, series.to_numpy(dtype=object), observed)
    if numbers.kind == "b":
        flags = series.to_numpy(dtype=bool, na_value=False)
        return ColumnData(family="boolean", values=flags, **data)
    if numbers.kind in "iu":
        wide = np.uint64 if numbers == np.uint64 else np.int64
        values = series.to_numpy(dtype=numbers, na_value=0).astype(wide)
        info = np.iinfo(numbers)
        limits = (int(info.min), int(info.max))
        return ColumnData(family="integer", values=values, limits=limits, **data)
    if numbers.kind == "f" and numbers.itemsize <= 8:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return ColumnData(family="float", values=values, float_type=numbers, **data)
    if numbers.kind in "mM":
        family = "datetime" if numbers.kind == "M" else "timedelta"
        unit = np.datetime_data(numbers)[0]
        ticks = series.to_numpy().view(np.int64)
        return ColumnData(family=family, values=ticks, unit=unit, limits=_TICKS, **data)
    raise unsupported(name, f"values of type {dtype}")


def write_series(
    series: pd.Series, data: ColumnData, rows: np.ndarray, values: np.ndarray
) -> pd.Series:
    """Return a copy of the column with canonical ``values`` in ``rows``."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.int64)
        # The encoder has made sure that every value is listed.
        codes[rows] = pd.Index(data.listed).get_indexer(pd.Index(values))
        filled = pd.Categorical.from_codes(codes, dtype=dtype)
    elif isinstance(dtype, pd.ArrowDtype):
        from macfm.table._arrow import write_arrow

        chunks = write_arrow(_chunks(series), data, rows, values)
        filled = pd.arrays.ArrowExtensionArray(chunks)
    elif isinstance(dtype, pd.DatetimeTZDtype):
        ticks = pd.DatetimeIndex(series).asi8.copy()
        ticks[rows] = values
        stamps = pd.DatetimeIndex(ticks.view(f"M8[{dtype.unit}]"), tz="UTC")
        filled = stamps.tz_convert(dtype.tz)
    elif isinstance(dtype, pd.StringDtype):
        filled = series.array.copy()
        filled[rows] = values
    elif _number_type(dtype) == np.dtype(object):
        filled = series.to_numpy(dtype=object, copy=True)
        boxed = np.empty(len(rows), dtype=object)
        boxed[:] = box_objects(data, values)
        filled[rows] = boxed
    elif isinstance(dtype, np.dtype) and dtype.kind in "mM":
        filled = series.to_numpy(copy=True)
        filled.view(np.int64)[rows] = values
    elif isinstance(dtype, np.dtype):
        filled = series.to_numpy(copy=True)
        filled[rows] = values.astype(dtype)
    else:
        filled = series.array.copy()
        filled[rows] = values.astype(_number_type(dtype))
    return pd.Series(filled, index=series.index, dtype=dtype)


def _read_category(
    name: Hashable, series: pd.Series, observed: np.ndarray
) -> ColumnData:
    """Read a category column through the type of its categories."""
    categories = pd.Series(series.dtype.categories)
    inner = read_series(name, categories, np.ones(len(categories), dtype=bool))
    codes = series.cat.codes.to_numpy()
    if len(categories):
        values = inner.values[np.where(observed, codes, 0)]
    else:
        values = np.zeros(len(series), dtype=inner.values.dtype)
    return replace(
        inner,
        dtype=f"category[{inner.dtype}]",
        values=values,
        observed=observed,
        listed=inner.values,
        ordered=bool(series.dtype.ordered),
    )


def _strings(series: pd.Series) -> np.ndarray:
    """Return texts as objects, None where missing; what is alike is one object."""
    if series.dtype.storage != "pyarrow":  # they are objects, and shared, already
        return series.to_numpy(dtype=object, na_value=None)
    codes, distinct = series.array.factorize()
    texts = [*distinct.to_numpy(dtype=object, na_value=None), None]
    return np.array(texts, dtype=object)[codes]  # the code of a missing one is -1


def _chunks(series: pd.Series) -> Any:
    """Return the chunked array of an Arrow-backed column."""
    return series.array.__arrow_array__()


def _is_extension_float(dtype: object) -> bool:
    if isinstance(dtype, pd.ArrowDtype):
        return dtype.kind == "f"
    return isinstance(dtype, (pd.Float32Dtype, pd.Float64Dtype))


def _number_type(dtype: object) -> np.dtype | None:
    """Return the numpy type of a numpy or nullable dtype, None for any other."""
    if isinstance(dtype, np.dtype):
        return dtype
    return getattr(dtype, "numpy_dtype", None)
