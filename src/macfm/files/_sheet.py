"""Values into the cells of an Excel sheet, none of them changed on the way."""

from __future__ import annotations

import datetime as dt
import io
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from macfm.files._errors import FileError, optional

_MOST_CHARACTERS = 32_767
_FIRST_DAY = dt.date(1900, 3, 1)  # Excel counts a 29 February 1900, which never was
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_LIKE_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]").search


def why_text(values: Iterable[Any]) -> str | None:
    """Say why a column of plain values must be text to be kept in Excel, or None."""
    return next((reason for value in values if (reason := _why(value))), None)


def _why(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return "Excel keeps 15 digits of a number" if abs(value) >= 10**15 else None
    if isinstance(value, float):
        return "Excel has no infinite numbers" if math.isinf(value) else None
    if not isinstance(value, dt.date):
        return None
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            return "Excel has no time zones"
        if value.microsecond % 1000:
            return "Excel keeps milliseconds of a time"
        value = value.date()
    return "Excel has no days before March 1900" if value < _FIRST_DAY else None


def cell_setter(name: str) -> Callable[[Any, Any], None]:
    """Return a function that puts a plain value into a cell of a sheet.

    Text is never taken for a formula.
    """
    illegal = optional("openpyxl.utils.exceptions").IllegalCharacterError

    def set_cell(cell: Any, value: Any) -> None:
        if isinstance(value, str):
            value = _checked(value, _where(name, cell))
        try:
            cell.value = value
        except illegal:
            raise _unknown_character(value, _where(name, cell)) from None
        if isinstance(value, str):
            cell.data_type = "s"

    return set_cell


def _where(name: str, cell: Any) -> str:
    """A cell of a table in messages."""
    if cell.row == 1:
        return f"{name}, column {cell.column}"
    column = cell.parent.cell(1, cell.column).value
    return f"{name}, column {column!r}, row {cell.row - 1}"


def _unknown_character(text: str, where: str) -> FileError:
    return FileError(
        f"{where}: the text {text[:40]!r} holds a character that Excel cannot store; "
        "take it out, or write CSV or Parquet"
    )


def _checked(text: str, where: str) -> str:
    """A text as Excel writes it, where a carriage return is spelt out."""
    if len(text) > _MOST_CHARACTERS:
        raise FileError(
            f"{where}: a text of {len(text)} characters, of which Excel keeps "
            f"{_MOST_CHARACTERS}; write CSV or Parquet"
        )
    if _NO_XML(text):
        raise _unknown_character(text, where)
    return _LIKE_ESCAPED.sub("_x005F_", text).replace("\r", "_x000D_")


def cell_text(text: str) -> str:
    """Return the text that a cell stands for, undoing what Excel spells out."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def save_book(book: Any) -> bytes:
    """Return the bytes of a workbook whose numbers keep all their digits."""
    for sheet in book.worksheets:
        for cell in sheet._cells.values():
            value = cell.value
            is_number = cell.data_type == "n" and type(value) in (int, float)
            # openpyxl writes 16 digits of a number, but a text as it stands.
            if is_number and float(f"{value:.16g}") != value:
                cell._value = repr(value)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()
