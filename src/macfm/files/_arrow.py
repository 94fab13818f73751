"""Parquet and Feather: types, metadata and observed values stay as they are."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from operator import methodcaller
from typing import Any

import numpy as np
import pandas as pd

from macfm.files._errors import FileError, optional
from macfm.files._formats import Format
from macfm.files._marks import Marks, numbers_among
from macfm.files._styles import WHOLE, Bounds, rounded, text_array
from macfm.files._table_file import Fill, Filled, TableFile
from macfm.files._times import nearest_times
from macfm.table import FAMILIES, as_table, fill_dictionary

_CODECS = {"SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"}


class ArrowFile(TableFile):
    """A table of Arrow columns.

    `texts` are those that stand for the values of columns whose types have no place in
    a frame, such as lists and times of day; `codec` is the compression inside a Parquet
    file.
    """

    def __init__(
        self,
        source: str,
        form: Format,
        frame: pd.DataFrame,
        *,
        table: Any,
        texts: dict[str, list],
        codec: str,
        kinds: dict[str, str],
        marks: dict[str, dict[str, int]],
        notes: list[str],
    ) -> None:
        super().__init__(source, form, frame, kinds=kinds, marks=marks, notes=notes)
        self._table = table
        self._texts = texts
        self._codec = codec

    def _is_native(self, form: Format) -> bool:
        return form.name in ("parquet", "feather")

    def _encode(self, fill: Fill, form: Format) -> bytes:
        return self._bytes(self._filled(fill), form)

    def _stack(
        self, fills: list[tuple[int, Fill]], names: tuple[str, str], form: Format
    ) -> tuple[bytes, list[str]]:
        pa = optional("pyarrow")
        tables = []
        for number, fill in fills:
            table = self._filled(fill)
            rows = pa.array(np.arange(1, table.num_rows + 1, dtype=np.int64))
            numbers = pa.array(np.full(table.num_rows, number, dtype=np.int32))
            table = table.add_column(0, names[1], rows)
            tables.append(table.add_column(0, names[0], numbers))
        stacked = pa.concat_tables(tables).unify_dictionaries()
        # pandas' own notes tell of an index that no longer fits.
        metadata = dict(stacked.schema.metadata or {})
        metadata.pop(b"pandas", None)
        return self._bytes(stacked.replace_schema_metadata(metadata or None), form), []

    def _typed(self, fill: Fill) -> pd.DataFrame:
        table = self._filled(fill)
        names = list(self.frame.columns)
        return pd.DataFrame({n: _in_other_formats(table.column(n)) for n in names})

    def _bytes(self, table: Any, form: Format) -> bytes:
        sink = io.BytesIO()
        if form.name == "parquet":
            parquet = optional("pyarrow.parquet")
            parquet.write_table(table, sink, compression=self._codec)
        else:
            optional("pyarrow.feather").write_feather(table, sink)
        return sink.getvalue()

    def _filled(self, fill: Fill) -> Any:
        pa = optional("pyarrow")
        table = self._table
        for name, filled in fill.items():
            place = table.schema.get_field_index(name)
            field = table.schema.field(place)
            if pa.types.is_null(field.type):
                continue
            column = table.column(place)
            try:
                whole = self._put(column, name, filled)
            except (pa.ArrowException, ArithmeticError, OverflowError) as error:
                reason = str(error).splitlines()[0].rstrip(".")
                raise FileError(
                    f"{self.source}, column {name!r}: a filled-in value does not fit "
                    f"its type {field.type} ({reason})"
                ) from None
            table = table.set_column(place, field, whole)
        return table

    def _put(self, column: Any, name: str, filled: Filled) -> Any:
        """The column with values in place of what stood in these rows."""
        pa = optional("pyarrow")
        rows, values = filled.rows, filled.values
        if pa.types.is_dictionary(column.type):
            return fill_dictionary(column, rows, values)
        whole = _one_array(column)
        kind = whole.type
        if name in self._texts:
            where: dict[str, int] = {}
            for row, text in enumerate(self._texts[name]):
                if text is not None:
                    where.setdefault(text, row)
            unknown = next((v for v in values if v not in where), None)
            if unknown is not None:
                raise OverflowError(f"{unknown!r} does not occur in the file")
            more = whole.take(pa.array([where[value] for value in values], pa.int64()))
        else:
            more = _array(values, kind, filled.bounds)
        places = np.arange(len(whole), dtype=np.int64)
        places[rows] = len(whole) + np.arange(len(values))
        return pa.concat_arrays([whole, more]).take(pa.array(places))


def read_arrow(
    data: bytes,
    source: str,
    form: Format,
    *,
    na_values: Sequence[str] | Mapping[str, Sequence[str]] | None,
) -> ArrowFile:
    """Read a Parquet or Feather file; nulls and NaN are missing cells.

    With `na_values` so are the texts and numbers among them.
    """
    pa = optional("pyarrow")
    codec = "SNAPPY"
    try:
        if form.name == "parquet":
            file = optional("pyarrow.parquet").ParquetFile(pa.BufferReader(data))
            table = file.read()
            if file.metadata.num_row_groups and file.metadata.num_columns:
                codec = file.metadata.row_group(0).column(0).compression
                codec = codec if codec in _CODECS else "NONE"
        else:
            reader = pa.BufferReader(data)
            table = optional("pyarrow.feather").read_table(reader)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise FileError(
            f"{source}: is damaged or not a {form.name} file ({reason})"
        ) from None
    names = [name for name in table.column_names if name not in _index_names(table)]
    _check_names(table, names, source)
    marks_by = Marks(na_values, default=(), default_outside=())
    marks_by.check_columns(names, source)
    arrays, texts, kinds, notes = {}, {}, {}, []
    marks: dict[str, dict[str, int]] = {}
    for name in names:
        column = table.column(name)
        try:
            cells, stand_in = _series(column)
        except (pa.ArrowException, ValueError, OverflowError, KeyError) as error:
            raise _unreadable(column.type, name, source, error) from None
        kinds[name] = _kind(cells, table.schema.field(name).type)
        marks[name] = {"null": int(cells.isna().sum())} if cells.isna().any() else {}
        listed = marks_by.of(name)[0]
        if kinds[name] in ("text", "integer", "float") and listed:
            own = listed if kinds[name] == "text" else numbers_among(listed)
            is_mark = cells.isin(own).to_numpy()
            for mark, n in cells[is_mark].value_counts().items():
                if n:
                    marks[name][str(mark)] = int(n)
            cells = cells.mask(is_mark)
        if stand_in:
            texts[name] = cells.tolist()
            texts[name] = [t if isinstance(t, str) else None for t in texts[name]]
            kind = table.schema.field(name).type
            notes.append(f"column {name!r}: values of type {kind} are taken as text")
        arrays[name] = cells
    return ArrowFile(
        source,
        form,
        pd.DataFrame(arrays),
        table=table,
        texts=texts,
        codec=codec,
        kinds=kinds,
        marks=marks,
        notes=notes,
    )


def _check_names(table: Any, names: list[str], source: str) -> None:
    for name in names:
        if not name or names.count(name) > 1:
            what = f"column name {name!r} occurs twice" if name else "a name is empty"
            raise FileError(f"{source}: {what}; every column needs its own name")
    if not names:
        raise FileError(f"{source}: has no columns")
    if not table.num_rows:
        raise FileError(f"{source}: has columns but no rows")


def _index_names(table: Any) -> set[str]:
    """Columns that hold the index of a pandas frame: they name rows."""
    notes = table.schema.pandas_metadata or {}
    return {name for name in notes.get("index_columns", []) if isinstance(name, str)}


def _one_array(column: Any) -> Any:
    whole = column.unify_dictionaries().combine_chunks()
    chunked = hasattr(whole, "num_chunks")
    if not chunked:
        return whole
    pa = optional("pyarrow")
    return whole.chunk(0) if whole.num_chunks else pa.array([], column.type)


def _series(column: Any) -> tuple[pd.Series, bool]:
    """A column for a frame, and whether texts stand in for its values."""
    pa = optional("pyarrow")
    types = pa.types
    kind = column.type
    if types.is_dictionary(kind):
        whole = _one_array(column)
        if whole.dictionary.null_count:
            return _series(column.cast(kind.value_type))
        simple, _ = _series(pa.chunked_array([whole.dictionary]))
        codes = pd.array(whole.indices.to_pandas(), dtype="Int64").fillna(-1)
        dtype = pd.CategoricalDtype(simple, ordered=kind.ordered)
        plain = codes.to_numpy(dtype=np.int64)
        return pd.Series(pd.Categorical.from_codes(plain, dtype=dtype)), False
    if types.is_null(kind):
        return pd.Series(np.full(len(column), np.nan)), False
    if types.is_decimal(kind):
        return column.cast(pa.float64()).to_pandas(), False
    if types.is_float16(kind):
        return column.cast(pa.float32()).to_pandas(), False
    if types.is_date(kind):
        return column.cast(pa.timestamp("ms")).cast(
            pa.timestamp("s")
        ).to_pandas(), False
    if types.is_integer(kind):
        sign = "U" if types.is_unsigned_integer(kind) else ""
        dtype = f"{sign}Int{kind.bit_width}"
        return column.to_pandas(types_mapper={kind: _dtype(dtype)}.get), False
    if types.is_boolean(kind):
        return column.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get), False
    if types.is_floating(kind) or types.is_timestamp(kind) or types.is_duration(kind):
        return column.to_pandas(), False
    values = column.to_pylist()
    if all(value is None or isinstance(value, str) for value in values):
        return pd.Series(text_array(values)), False
    texts = [None if value is None else str(value) for value in values]
    return pd.Series(text_array(texts)), True


def _in_other_formats(column: Any) -> pd.Series:
    """A column for a format without decimals, as text where a number loses digits."""
    cells, _ = _series(column)
    if not optional("pyarrow").types.is_decimal(column.type):
        return cells
    exact = column.to_pylist()
    if all(v is None or Decimal(repr(float(v))) == v for v in exact):
        return cells
    return pd.Series(text_array([None if v is None else f"{v:f}" for v in exact]))


def _unreadable(kind: Any, name: str, source: str, error: Exception) -> FileError:
    """What is wrong with a column that has no place in a frame."""
    if optional("pyarrow").types.is_timestamp(kind) and kind.tz is not None:
        return FileError(
            f"{source}, column {name!r}: its type {kind} has a time zone that is not "
            "known here; cast it to UTC or leave the column out"
        )
    reason = str(error).splitlines()[0].rstrip(".")
    return FileError(
        f"{source}, column {name!r}: values of type {kind} cannot be read ({reason}); "
        "cast the column to another type or leave it out"
    )


def _dtype(name: str) -> Any:
    return pd.api.types.pandas_dtype(name)


def _kind(cells: pd.Series, arrow_type: Any) -> str:
    types = optional("pyarrow").types
    if cells.isna().all():
        return "empty"
    if types.is_date(arrow_type):
        return "date"
    data = as_table(cells.iloc[:0].to_frame()).column(0)
    untyped = data.family == "unknown" or data.listed is not None
    return FAMILIES["string" if untyped else data.family].word


def _array(values: list, kind: Any, bounds: Bounds) -> Any:
    """Values of a frame as an Arrow array of this type, within the bounds."""
    pa = optional("pyarrow")
    types = pa.types
    if types.is_integer(kind):
        return pa.array([rounded(value, WHOLE, bounds) for value in values], kind)
    if types.is_floating(kind):
        short = np.dtype(kind.to_pandas_dtype()).type
        ways = [
            lambda v: float(short(v)),
            lambda v: float(np.nextafter(short(v), short(-np.inf))),
            lambda v: float(np.nextafter(short(v), short(np.inf))),
        ]
        with np.errstate(over="ignore"):
            near = [rounded(float(value), ways, bounds) for value in values]
        return pa.array(near, pa.float64()).cast(kind, safe=False)
    if types.is_boolean(kind):
        return pa.array([bool(value) for value in values], kind)
    if types.is_decimal(kind):
        step = Decimal(1).scaleb(-kind.scale)
        exact = [Decimal(repr(float(value))) for value in values]
        modes = (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING)
        ways = [methodcaller("quantize", step, rounding=mode) for mode in modes]
        return pa.array([rounded(value, ways, bounds) for value in exact], kind)
    if types.is_date(kind):
        days = [rounded(pd.Timestamp(v), nearest_times("D"), bounds) for v in values]
        return pa.array([day.date() for day in days], kind)
    if types.is_timestamp(kind):
        stamps = pd.DatetimeIndex(values)
        stamps = stamps.as_unit(kind.unit)
        return pa.array(stamps.asi8, pa.int64()).cast(kind)
    if types.is_duration(kind):
        lengths = pd.TimedeltaIndex(values).as_unit(kind.unit)
        return pa.array(lengths.asi8, pa.int64()).cast(kind)
    return pa.array([str(value) for value in values], kind)
