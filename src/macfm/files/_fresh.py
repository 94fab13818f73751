"""A frame in a format that it was not read from."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pandas as pd

from macfm.files._errors import FileError, optional
from macfm.files._formats import Format
from macfm.files._records import quote
from macfm.files._sheet import cell_setter, save_book, why_text

_MOST_SHEET_ROWS = 1_048_576


def encode_frame(
    frame: pd.DataFrame, kinds: dict[str, str], form: Format, name: str
) -> tuple[bytes, list[str]]:
    """Return the bytes of a new file, and notes on what the format made of it.

    Its compression is left to the caller. The `kinds` of columns tell dates from times,
    and `name` is that of the file in messages.
    """
    if form.name in ("parquet", "feather"):
        return _arrow(frame, kinds, form.name), []
    columns = {c: _checked(frame[c], kinds[c], form, name) for c in frame.columns}
    if form.name == "excel":
        return _excel(columns, name)
    if form.name == "jsonl":
        return _json_lines(columns), []
    return _delimited(columns, "\t" if form.name == "tsv" else ","), []


def _checked(cells: pd.Series, kind: str, form: Format, name: str) -> list:
    """The plain values of a column, or an error that names the cell without one."""
    try:
        return plain_values(cells, kind)
    except (ValueError, OverflowError, NotImplementedError):
        row = next(r for r in range(len(cells)) if not _is_plain(cells.iloc[[r]], kind))
        raise FileError(
            f"{name}, column {cells.name!r}, row {row + 1}: a time outside of the "
            f"years 1 to 9999, which {form.name} cannot hold; write Parquet or Feather"
        ) from None


def _is_plain(cell: pd.Series, kind: str) -> bool:
    try:
        plain_values(cell, kind)
    except (ValueError, OverflowError, NotImplementedError):
        return False
    return True


def plain_values(cells: pd.Series, kind: str) -> list:
    """The cells as Python's int, float, bool, str, date and datetime; None if missing.

    Times that Python's datetime cannot hold come as text.
    """
    missing = cells.isna().tolist()
    return [
        None if gone else _plain(value, kind)
        for gone, value in zip(missing, cells.tolist(), strict=True)
    ]


def _plain(value: Any, kind: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, pd.Timestamp):
        if kind == "date":
            return value.date()
        return str(value) if value.nanosecond else value.to_pydatetime()
    if isinstance(value, pd.Timedelta):
        return str(value)
    return value


def _delimited(columns: dict[str, list], delimiter: str) -> bytes:
    alone = len(columns) == 1
    cells = [
        [_cell(value, delimiter, alone) for value in values]
        for values in columns.values()
    ]
    header = delimiter.join(_cell(str(c), delimiter, alone) for c in columns)
    lines = [header, *map(delimiter.join, zip(*cells, strict=True)), ""]
    return "\n".join(lines).encode("utf-8")


def _cell(value: Any, delimiter: str, alone: bool) -> str:
    """One field; in a table of one column a missing cell must not be a blank line."""
    if value is None:
        return '""' if alone else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if (
        not text
        or text != text.strip()
        or any(c in text for c in (*delimiter, *'"\r\n'))
    ):
        return quote(text)
    return text


def _json_lines(columns: dict[str, list]) -> bytes:
    names = [str(c) for c in columns]
    lines = [
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, default=str)
        for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join([*lines, ""]).encode("utf-8")


def _arrow(frame: pd.DataFrame, kinds: dict[str, str], form: str) -> bytes:
    pa = optional("pyarrow")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for place, column in enumerate(frame.columns):
        if kinds[column] == "date":
            days = table.column(place).cast(pa.timestamp("s")).cast(pa.date32())
            table = table.set_column(place, column, days)
    sink = io.BytesIO()
    if form == "parquet":
        optional("pyarrow.parquet").write_table(table, sink)
    else:
        optional("pyarrow.feather").write_feather(table, sink)
    return sink.getvalue()


def _excel(columns: dict[str, list], name: str) -> tuple[bytes, list[str]]:
    openpyxl = optional("openpyxl")
    n_rows = max(map(len, columns.values()), default=0)
    if n_rows >= _MOST_SHEET_ROWS:
        raise FileError(
            f"{name}: {n_rows} rows do not fit into an Excel sheet, which holds "
            f"{_MOST_SHEET_ROWS - 1}; write CSV or Parquet"
        )
    book = openpyxl.Workbook()
    sheet = book.active
    set_cell = cell_setter(name)
    notes = []
    for place, (column, values) in enumerate(columns.items(), start=1):
        set_cell(sheet.cell(1, place), str(column))
        reason = why_text(values)
        if reason is not None:
            notes.append(f"column {column!r} is written as text: {reason}")
        for row, value in enumerate(values, start=2):
            if value is not None:
                text = value if reason is None else str(value)
                set_cell(sheet.cell(row, place), text)
    return save_book(book), notes
