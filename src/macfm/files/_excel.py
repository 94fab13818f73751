"""Excel: values of one sheet; the workbook is kept and only its holes are filled."""

from __future__ import annotations

import datetime as dt
import io
from collections import Counter
from typing import Any

import pandas as pd

from macfm.files._errors import FileError, optional
from macfm.files._formats import Format
from macfm.files._fresh import plain_values
from macfm.files._infer import TextColumn, infer
from macfm.files._marks import Marks, spellings
from macfm.files._sheet import cell_setter, cell_text, save_book
from macfm.files._styles import (
    EmptyStyle,
    Style,
    TextStyle,
    number_style,
    why_no_number,
)
from macfm.files._table_file import Fill, StyledFile
from macfm.files._times import TimeStyle


class ExcelFile(StyledFile):
    """A table in a sheet of a workbook, of which `data` are the bytes."""

    def __init__(
        self,
        source: str,
        form: Format,
        frame: pd.DataFrame,
        *,
        data: bytes,
        sheet: str,
        columns: dict[str, TextColumn],
        notes: list[str],
    ) -> None:
        super().__init__(source, form, frame, columns=columns, notes=notes)
        self._data = data
        self._sheet = sheet

    @property
    def places(self) -> pd.Index:
        """Row of the sheet that holds each row; the first holds the names."""
        return pd.RangeIndex(2, len(self.frame) + 2, name="row")

    def _facts(self) -> dict[str, Any]:
        return {"sheet": self._sheet}

    def _is_native(self, form: Format) -> bool:
        return form.name == "excel"

    def _encode(self, fill: Fill, form: Format) -> bytes:
        book = optional("openpyxl").load_workbook(io.BytesIO(self._data))
        sheet = book[self._sheet]
        set_cell = cell_setter(self.source)
        typed = self._typed(fill)
        for place, name in enumerate(self.frame.columns, start=1):
            if name not in fill:
                continue
            rows = fill[name].rows.tolist()
            values = plain_values(typed[name].iloc[rows], self.kinds[name])
            seen = self.frame[name].notna().to_numpy()
            model = sheet.cell(int(seen.argmax()) + 2, place) if seen.any() else None
            for row, value in zip(rows, values, strict=True):
                cell = sheet.cell(row + 2, place)
                set_cell(cell, value)
                if model is not None:
                    cell.number_format = model.number_format
        return save_book(book)

    def _stack(
        self, fills: list[tuple[int, Fill]], names: tuple[str, str], form: Format
    ) -> tuple[bytes, list[str]]:
        return self._stack_afresh(fills, names, form)


def read_excel(
    data: bytes, source: str, form: Format, *, sheet: str | None, marks: Marks
) -> ExcelFile:
    """Read a sheet whose first row names the columns."""
    book = _load(data, source)
    names = [page.title for page in book.worksheets]
    if not names:
        raise FileError(f"{source}: has no sheet of cells; put the table on one")
    if sheet is not None and sheet not in names:
        raise FileError(f"{source}: has no sheet {sheet!r}; it has {', '.join(names)}")
    sheet = sheet or names[0]
    rows = [list(row) for row in book[sheet].iter_rows()]
    if any(cell.data_type == "f" for row in rows for cell in row):
        rows = _with_results(data, sheet, rows, source)
    grid = [[_tidy(cell.value) for cell in row] for row in rows]
    while grid and all(value is None for value in grid[-1]):
        grid.pop()
    if not grid:
        raise FileError(f"{source}: sheet {sheet!r} is empty")
    width = max(i + 1 for row in grid for i, v in enumerate(row) if v is not None)
    _check_merged(book[sheet], len(grid), width, source)
    header = _header([str(v or "").strip() for v in grid[0][:width]], source, sheet)
    if len(grid) == 1:
        raise FileError(f"{source}: sheet {sheet!r} has a header but no rows")
    marks.check_columns(header, source)
    columns, arrays, notes = {}, {}, []
    for place, name in enumerate(header):
        cells = [row[place] for row in grid[1:]]
        column = _column(cells, *marks.of(name))
        columns[name] = column
        notes += [f"column {name!r}: {note}" for note in column.notes]
        arrays[name] = column.style.array([_value(cell, column) for cell in cells])
    frame = pd.DataFrame(arrays)
    return ExcelFile(
        source, form, frame, data=data, sheet=sheet, columns=columns, notes=notes
    )


def _load(data: bytes, source: str, **options: Any) -> Any:
    """Open a workbook."""
    openpyxl = optional("openpyxl")
    try:
        return openpyxl.load_workbook(io.BytesIO(data), **options)
    except MemoryError:
        raise
    except Exception as error:
        # Any part may be damaged, and what its reader runs into has no common name.
        said = str(error).strip() or type(error).__name__
        reason = said.splitlines()[0].rstrip(".:")
        raise FileError(
            f"{source}: is damaged or not an Excel file ({reason}); open it in Excel, "
            "have it repaired and save it again"
        ) from None


def _check_merged(sheet: Any, n_rows: int, n_columns: int, source: str) -> None:
    """Refuse merged cells in the table, of which all but the first have no value."""
    for merged in sheet.merged_cells.ranges:
        if merged.min_row <= n_rows and merged.min_col <= n_columns:
            raise FileError(
                f"{source}, sheet {sheet.title!r}: cells {merged.coord} are merged, so "
                "only the first has a value; unmerge them in Excel and fill each one"
            )


def _header(names: list[str], source: str, sheet: str) -> list[str]:
    for place, name in enumerate(names, start=1):
        if not name:
            raise FileError(
                f"{source}, sheet {sheet!r}, row 1: column {place} has no name; every "
                "column needs one in the header"
            )
        if names.index(name) != place - 1:
            raise FileError(
                f"{source}, sheet {sheet!r}, row 1: column name {name!r} occurs twice, "
                f"as columns {names.index(name) + 1} and {place}"
            )
    return names


def _with_results(data: bytes, sheet: str, rows: list, source: str) -> list:
    """The same cells with the results of formulas that the file stores."""
    book = _load(data, source, data_only=True)
    results = [list(row) for row in book[sheet].iter_rows()]
    for row, shown in zip(rows, results, strict=True):
        for cell, result in zip(row, shown, strict=True):
            if cell.data_type == "f" and result.value is None:
                raise FileError(
                    f"{source}, cell {cell.coordinate}: a formula without a stored "
                    "result; open the file in Excel and save it, or put a value there"
                )
    return results


def _tidy(value: Any) -> Any:
    """What a cell stands for; blank text is an empty cell."""
    if not isinstance(value, str):
        return value
    return cell_text(value) if value.strip() else None


def _value(cell: Any, column: TextColumn) -> Any:
    """The value of a cell in a frame; text keeps the spaces around it."""
    value = None if cell is None else column.value_of[_key(cell)]
    as_it_is = isinstance(cell, str) and isinstance(value, str)
    return cell if as_it_is else value


def _key(value: Any) -> tuple[str, str]:
    """A cell as its form and its text, from which a style is found."""
    if isinstance(value, str):
        return "text", value.strip()
    if isinstance(value, bool):
        return "boolean", str(value).lower()
    if isinstance(value, int | float):
        whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
        return "number", str(int(value)) if whole else repr(value)
    if isinstance(value, dt.datetime):
        return "time", str(value)
    return "other", str(value)


def _column(
    cells: list, always: frozenset[str], outside_text: frozenset[str]
) -> TextColumn:
    """Infer a column; numbers, booleans and dates of Excel are what they are."""
    keys = Counter(_key(cell) for cell in cells if cell is not None)
    always = spellings(always, (text for _, text in keys))
    markable = ("text", "number")
    clear = {
        f for f, text in keys if f not in markable or text not in always | outside_text
    }
    # Beside numbers or dates a mark such as "." or "-" cannot be a value.
    marks = always | outside_text if len(clear) == 1 and clear != {"text"} else always
    kept = [key for key in keys if key[0] not in markable or key[1] not in marks]
    found = {key[1]: n for key, n in keys.items() if key not in kept}
    n_blank = sum(cell is None for cell in cells)
    if n_blank:
        found[""] = n_blank
    value_of: dict = dict.fromkeys(keys)
    notes: list[str] = []
    texts = [text for _, text in kept]
    forms = {form for form, _ in kept}
    style: Style | None = TextStyle()
    if not kept:
        style = EmptyStyle()
    elif forms == {"number"}:
        style = number_style(texts)
        if style is None:
            notes.append(f"kept as text: {why_no_number(texts)}")
    elif forms == {"time"}:
        style = TimeStyle.of(texts)
        if style is not None and all(text.endswith(" 00:00:00") for text in texts):
            style = TimeStyle(gap="", most=0)  # a sheet has no dates, only midnights
    elif forms == {"boolean"}:
        counted = Counter({text: keys["boolean", text] for text in texts})
        style = infer(counted, frozenset(), frozenset()).style
    elif forms != {"text"}:
        words = " and ".join(sorted(forms))
        notes.append(f"kept as text: it holds {words} values")
    style = style or TextStyle()
    value_of.update(zip(kept, style.values(texts), strict=True))
    return TextColumn(style, value_of, found, notes)
