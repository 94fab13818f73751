"""Arrow columns ⇄ canonical numpy; pyarrow is there if they are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from macfm.table._column import ColumnData, unsupported


class ArrowSource:
    """A pyarrow Table; types, metadata and columns without new cells stay."""

    def __init__(self, native: Any) -> None:
        import pyarrow as pa

        if not isinstance(native, pa.Table):
            raise TypeError(
                f"expected a pyarrow Table, got pyarrow.{type(native).__name__}"
            )
        self.native = native
        self.columns: list[Hashable] = list(native.column_names)
        self.n_rows = native.num_rows

    def dtype(self, j: int) -> str:
        """Name the type of column ``j``."""
        return str(self.native.schema.field(j).type)

    def observed(self) -> np.ndarray:
        """Tell which cells hold a value."""
        import pyarrow as pa

        flags = np.empty((self.n_rows, len(self.columns)), dtype=bool)
        for j, column in enumerate(self.native.itercolumns()):
            # Entries of a dictionary may be null as well.
            has_entries = pa.types.is_dictionary(column.type)
            cells = column.cast(column.type.value_type) if has_entries else column
            flags[:, j] = ~cells.is_null(nan_is_null=True).to_numpy()
        return flags

    def floats(self) -> None:
        """Return None: columns are read one by one."""

    def read(self, j: int, observed: np.ndarray) -> ColumnData:
        """Read column ``j`` in canonical form."""
        return read_arrow(
            self.columns[j], self.native.column(j), self.dtype(j), observed
        )

    def write(
        self, cells: Mapping[int, tuple[np.ndarray, np.ndarray, ColumnData]]
    ) -> Any:
        """Return a table in which only the given cells are new."""
        filled = self.native
        for j, (rows, values, data) in cells.items():
            column = write_arrow(self.native.column(j), data, rows, values)
            filled = filled.set_column(j, self.native.schema.field(j), column)
        return filled


def read_arrow(
    name: Hashable, chunks: Any, dtype: str, observed: np.ndarray
) -> ColumnData:
    """Read a chunked array; ``observed`` has shape (n_rows,)."""
    import pyarrow as pa

    kind = chunks.type
    if pa.types.is_dictionary(kind):
        chunks = chunks.cast(kind.value_type)
        kind = kind.value_type
    data: dict[str, Any] = {"name": name, "dtype": dtype, "observed": observed}
    if pa.types.is_null(kind):
        nothing = np.zeros(len(observed), dtype=object)
        return ColumnData(family="unknown", values=nothing, **data)
    if _is_string(kind):
        cells = np.empty(len(observed), dtype=object)
        cells[:] = chunks.to_pylist()
        return ColumnData(family="string", values=cells, **data)
    if pa.types.is_boolean(kind):
        flags = chunks.fill_null(False).to_numpy()
        return ColumnData(family="boolean", values=flags, **data)
    if pa.types.is_floating(kind):
        values = chunks.cast(pa.float64()).fill_null(np.nan).to_numpy()
        float_type = np.dtype(kind.to_pandas_dtype())
        return ColumnData(family="float", values=values, float_type=float_type, **data)
    if pa.types.is_integer(kind):
        info = np.iinfo(kind.to_pandas_dtype())
        wide = np.uint64 if pa.types.is_uint64(kind) else np.int64
        values = chunks.fill_null(0).to_numpy().astype(wide)
        limits = (int(info.min), int(info.max))
        return ColumnData(family="integer", values=values, limits=limits, **data)
    time = _time_type(kind)
    if time is None:
        raise unsupported(name, f"values of type {dtype}")
    physical, bits = _physical(kind)
    ticks = chunks.cast(physical).cast(pa.int64()).fill_null(0).to_numpy()
    limits = (-(2 ** (bits - 1)) + 1, 2 ** (bits - 1) - 1)
    return ColumnData(values=ticks, limits=limits, **time, **data)


def write_arrow(
    chunks: Any, data: ColumnData, rows: np.ndarray, values: np.ndarray
) -> Any:
    """Return a copy of a chunked array with canonical ``values`` in ``rows``."""
    import pyarrow as pa

    kind = chunks.type
    if pa.types.is_dictionary(kind):
        entries = _native(values, kind.value_type, data).to_pylist()
        return pa.chunked_array([fill_dictionary(chunks, rows, entries)])
    new = _native(values, kind, data)
    index = np.arange(len(chunks))
    index[rows] = len(chunks) + np.arange(len(rows))
    both = pa.chunked_array([*chunks.chunks, new], type=kind)
    return both.take(pa.array(index))


def _native(values: np.ndarray, kind: Any, data: ColumnData) -> Any:
    """Canonical values as an Arrow array of type ``kind``."""
    import pyarrow as pa

    if data.is_time:
        physical, _ = _physical(kind)
        ticks = pa.array(values.astype(np.int64), type=pa.int64())
        return ticks.cast(physical).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array(values.astype(kind.to_pandas_dtype()), type=kind)
    return pa.array(values.tolist(), type=kind)


def fill_dictionary(chunks: Any, rows: np.ndarray, values: list) -> Any:
    """Return a dictionary array with values in ``rows``, new entries at its end."""
    import pyarrow as pa

    whole = chunks.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0)
    entries = whole.dictionary
    known = {entry: code for code, entry in enumerate(entries.to_pylist())}
    added = [entry for entry in dict.fromkeys(values) if entry not in known]
    known |= {entry: len(entries) + i for i, entry in enumerate(added)}
    codes = whole.indices.cast(pa.int64()).fill_null(0).to_numpy().copy()
    holes = whole.indices.is_null().to_numpy(zero_copy_only=False).copy()
    codes[rows] = [known[value] for value in values]
    holes[rows] = False
    dictionary = pa.concat_arrays([entries, pa.array(added, type=entries.type)])
    indices = pa.array(codes, type=pa.int64(), mask=holes).cast(whole.type.index_type)
    ordered = whole.type.ordered
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=ordered)


def _is_string(kind: Any) -> bool:
    import pyarrow as pa

    view = getattr(pa.types, "is_string_view", lambda kind: False)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or view(kind)


def _time_type(kind: Any) -> dict | None:
    """Family, unit and zone of a temporal Arrow type, None for any other."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return {"family": "datetime", "unit": kind.unit, "tz": kind.tz}
    if pa.types.is_date32(kind):
        return {"family": "datetime", "unit": "D"}
    if pa.types.is_date64(kind):
        return {"family": "datetime", "unit": "ms"}
    if pa.types.is_duration(kind):
        return {"family": "timedelta", "unit": kind.unit}
    return None


def _physical(kind: Any) -> tuple[Any, int]:
    """Return the integer type under a temporal Arrow type and its width."""
    import pyarrow as pa

    return (pa.int32(), 32) if pa.types.is_date32(kind) else (pa.int64(), 64)
