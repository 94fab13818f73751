"""A frame in a format that it was not read from."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from macfm.files._errors import FileError, optional
from macfm.files._formats import Format
from macfm.files._records import quote

__all__ = ["cell_setter", "encode_frame", "plain_values"]

_MOST_SHEET_ROWS = 1_048_576


def encode_frame(
    frame: pd.DataFrame, kinds: dict[str, str], form: Format, name: str
) -> bytes:
    """Return the bytes of a new file.

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
        return _delimited(frame, kinds, "\t" if form.name == "tsv" else ",")
    if form.name == "jsonl":
        return _json_lines(frame, kinds)
    if form.name == "excel":
        return _excel(frame, kinds, name)
    return _arrow(frame, kinds, form.name)


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


def _excel(frame: pd.DataFrame, kinds: dict[str, str], name: str) -> bytes:
    openpyxl = optional("openpyxl")
    if len(frame) >= _MOST_SHEET_ROWS:
        raise FileError(
            f"{name}: {len(frame)} rows do not fit into an Excel sheet, which holds "
            f"{_MOST_SHEET_ROWS - 1}; write CSV or Parquet"
        )
    book = openpyxl.Workbook()
    sheet = book.active
    set_cell = cell_setter(name)
    for place, row in enumerate(_sheet_rows(frame, kinds), start=1):
        for column, value in enumerate(row, start=1):
            if value is not None:
                set_cell(sheet.cell(place, column), value)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def _sheet_rows(frame: pd.DataFrame, kinds: dict[str, str]) -> Iterator[tuple]:
    yield tuple(str(column) for column in frame.columns)
    columns = [plain_values(frame[c], kinds[c]) for c in frame.columns]
    yield from zip(*columns, strict=True)


def cell_setter(name: str) -> Any:
    """Return a function that puts a plain value into a cell of a sheet.

    Text is never taken for a formula, and times with a zone, which Excel does not
    have, become text.
    """
    illegal = optional("openpyxl.utils.exceptions").IllegalCharacterError

    def set_cell(cell: Any, value: Any) -> None:
        if getattr(value, "tzinfo", None) is not None:
            value = value.isoformat(sep=" ")
        try:
            cell.value = value
        except illegal:
            raise FileError(
                f"{name}: the text {value!r} holds a character that Excel cannot store"
            ) from None
        if isinstance(value, str):
            cell.data_type = "s"

    return set_cell
