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

__all__ = ["encode_frame", "plain_values"]

_MOST_SHEET_ROWS = 1_048_576


def encode_frame(
    frame: pd.DataFrame, kinds: dict[str, str], form: Format, name: str
) -> tuple[bytes, list[str]]:
    """Return the bytes of a new file, and notes on what the format made of it.

    Parameters
    ----------
    frame : DataFrame
        The table.
    kinds : dict of column to str
        Kinds of its columns, which tell dates from times.
    form : Format
        The format to write; its compression is left to the caller.
    name : str
        Name of the file in messages.
    """
    if form.name in ("csv", "tsv"):
        return _delimited(frame, kinds, "\t" if form.name == "tsv" else ","), []
    if form.name == "jsonl":
        return _json_lines(frame, kinds), []
    if form.name == "excel":
        return _excel(frame, kinds, name)
    return _arrow(frame, kinds, form.name), []


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


def _delimited(frame: pd.DataFrame, kinds: dict[str, str], delimiter: str) -> bytes:
    alone = len(frame.columns) == 1
    columns = [
        [_cell(value, delimiter, alone) for value in plain_values(frame[c], kinds[c])]
        for c in frame.columns
    ]
    header = delimiter.join(_cell(str(c), delimiter, alone) for c in frame.columns)
    lines = [header, *map(delimiter.join, zip(*columns, strict=True)), ""]
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


def _json_lines(frame: pd.DataFrame, kinds: dict[str, str]) -> bytes:
    columns = [plain_values(frame[c], kinds[c]) for c in frame.columns]
    names = [str(c) for c in frame.columns]
    lines = [
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, default=str)
        for row in zip(*columns, strict=True)
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


def _excel(
    frame: pd.DataFrame, kinds: dict[str, str], name: str
) -> tuple[bytes, list[str]]:
    openpyxl = optional("openpyxl")
    if len(frame) >= _MOST_SHEET_ROWS:
        raise FileError(
            f"{name}: {len(frame)} rows do not fit into an Excel sheet, which holds "
            f"{_MOST_SHEET_ROWS - 1}; write CSV or Parquet"
        )
    book = openpyxl.Workbook()
    sheet = book.active
    set_cell = cell_setter(name)
    notes = []
    for place, column in enumerate(frame.columns, start=1):
        set_cell(sheet.cell(1, place), str(column))
        values = plain_values(frame[column], kinds[column])
        reason = why_text(values)
        if reason is not None:
            notes.append(f"column {column!r} is written as text: {reason}")
            values = [None if value is None else str(value) for value in values]
        for row, value in enumerate(values, start=2):
            if value is not None:
                set_cell(sheet.cell(row, place), value)
    return save_book(book), notes
