"""CSV and its relatives: only the fields of filled cells change, byte for byte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from macfm.files._encoding import Text
from macfm.files._errors import FileError
from macfm.files._formats import Format
from macfm.files._infer import TextColumn, check_kinds, infer
from macfm.files._marks import Marks, spellings
from macfm.files._records import (
    Records,
    is_quoted,
    quote,
    sniff_delimiter,
    split_records,
    unquote,
)
from macfm.files._styles import FloatStyle
from macfm.files._table_file import Fill, StyledFile

_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n')
_GROUPED_POINT = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+").fullmatch
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?").fullmatch


class DelimitedFile(StyledFile):
    """A table of delimited text.

    Of its records, `header` holds the names of the columns and those of `data` the
    rows.
    """

    def __init__(
        self,
        source: str,
        form: Format,
        frame: pd.DataFrame,
        *,
        text: Text,
        records: Records,
        header: int,
        data: list[int],
        columns: dict[str, TextColumn],
        notes: list[str],
    ) -> None:
        super().__init__(source, form, frame, columns=columns, notes=notes)
        self._text = text
        self._records = records
        self._header = header
        self._data = data
        self._quotes: dict[str, bool] = {}

    @property
    def places(self) -> pd.Index:
        """Line of the file in which each row begins."""
        return pd.Index([self._records.lines[i] for i in self._data], name="line")

    def _all_quoted(self, name: str, place: int) -> bool:
        """Whether a column quotes all it has, and so what is filled in, too."""
        if name not in self._quotes:
            fields = self._records.fields
            observed = self.frame[name].notna().tolist()
            there = zip(self._data, observed, strict=True)
            self._quotes[name] = any(observed) and all(
                is_quoted(fields[i][place]) for i, seen in there if seen
            )
        return self._quotes[name]

    def _facts(self) -> dict[str, Any]:
        mark = " with byte order mark" if self._text.bom else ""
        return {
            "encoding": self._text.encoding + mark,
            "delimiter": self._records.delimiter,
        }

    def _is_native(self, form: Format) -> bool:
        return form.name in ("csv", "tsv")

    def _encode(self, fill: Fill, form: Format) -> bytes:
        delimiter = self._delimiter(form)
        records = self._records
        fields = self._filled_fields(fill, delimiter)
        lines = map(delimiter.join, fields)
        text = "".join([a + b for a, b in zip(lines, records.ends, strict=True)])
        return self._text.encode(text, self.source)

    def _stack(
        self, fills: list[tuple[int, Fill]], names: tuple[str, str], form: Format
    ) -> tuple[bytes, list[str]]:
        delimiter = self._delimiter(form)
        end = next((e for e in self._records.ends if e), "\n")
        header = self._filled_fields({}, delimiter)[self._header]
        quoted = all(map(is_quoted, header))
        first = [quote(name) if quoted else name for name in names]
        lines = [delimiter.join([*first, *header])]
        for number, fill in fills:
            fields = self._filled_fields(fill, delimiter)
            lines += [
                delimiter.join([str(number), str(row), *fields[i]])
                for row, i in enumerate(self._data, start=1)
            ]
        return self._text.encode(end.join([*lines, ""]), self.source), []

    def _filled_fields(self, fill: Fill, delimiter: str) -> list[list[str]]:
        """Raw fields of all records; those of `self` are shared and not altered."""
        fields = list(self._records.fields)
        if delimiter != self._records.delimiter:
            fields = [self._redelimit(record, delimiter) for record in fields]
            if self._header and _SEP_LINE.match(fields[0][0] + "\n"):
                fields[0] = [f"sep={delimiter}"]
        own: set[int] = set()
        place_of = {name: place for place, name in enumerate(self.frame.columns)}
        for name, filled in fill.items():
            place = place_of[name]
            always = self._all_quoted(name, place)
            texts = self._styles[name].render(filled.values, filled.bounds)
            for row, text in zip(filled.rows.tolist(), texts, strict=True):
                i = self._data[row]
                if i not in own:
                    own.add(i)
                    fields[i] = list(fields[i])
                fields[i][place] = _put(fields[i][place], text, delimiter, always)
        return fields

    @staticmethod
    def _redelimit(record: list[str], delimiter: str) -> list[str]:
        return [
            quote(raw) if delimiter in raw and not is_quoted(raw) else raw
            for raw in record
        ]

    def _delimiter(self, form: Format) -> str:
        if form.name == self.format.name:
            return self._records.delimiter
        return "\t" if form.name == "tsv" else ","


def _put(raw: str, text: str, delimiter: str, always: bool) -> str:
    """Put a text in place of a missing cell, with the spaces that stood around it."""
    body = raw.strip()
    before, _, after = raw.partition(body) if body else ("", "", "")
    if is_quoted(raw):
        return before + quote(text) + after
    # Outside of quotes spaces at the ends would not belong to the text.
    bare = text == text.strip() and not any(c in text for c in (delimiter, *'"\n\r'))
    if always or not bare:
        return quote(text)
    return before + text + after


def read_delimited(
    text: Text,
    source: str,
    form: Format,
    *,
    delimiter: str | None,
    marks: Marks,
    kinds: Mapping[str, str],
) -> DelimitedFile:
    """Read a table of delimited text; without `delimiter` it is found out."""
    if not text.text.strip():
        raise FileError(f"{source}: is empty")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise FileError(
            f"{source}: a delimiter must be one character other than a quote, got "
            f"{delimiter!r}"
        )
    sep_line = _SEP_LINE.match(text.text)
    if delimiter is None and form.name == "tsv":
        delimiter = "\t"
    elif delimiter is None and sep_line:
        delimiter = sep_line.group(1)
    elif delimiter is None:
        delimiter = sniff_delimiter(text.text)
    records = split_records(text.text, delimiter, source)
    header, data = _find_rows(records, sep_line is not None)
    names, notes = _names(records, header, source)
    _check_widths(records, names, data, source)
    if not data:
        raise FileError(f"{source}: has a header but no rows")
    marks.check_columns(names, source)
    check_kinds(kinds, names, source)
    columns, frame = _columns(records, names, data, marks, kinds, source)
    for name, column in columns.items():
        notes += [f"column {name!r}: {note}" for note in column.notes]
    return DelimitedFile(
        source,
        form,
        frame,
        text=text,
        records=records,
        header=header,
        data=data,
        columns=columns,
        notes=[*text.notes, *notes],
    )


def _find_rows(records: Records, sep_line: bool) -> tuple[int, list[int]]:
    """Return which record is the header and which are rows; blank lines are neither.

    In a table of one column a blank line between others is a missing cell.
    """
    filled = [
        i
        for i, fields in enumerate(records.fields)
        if len(fields) > 1 or fields[0].strip()
    ]
    header, *data = filled[1:] if sep_line else filled
    if len(records.fields[header]) == 1 and data:
        data = list(range(header + 1, data[-1] + 1))
    return header, data


def _names(records: Records, header: int, source: str) -> tuple[list[str], list[str]]:
    """Return the names of the columns and notes about them."""
    line = records.lines[header]
    names = [unquote(raw).strip() for raw in records.fields[header]]
    notes = []
    if len(names) > 1 and not names[0] and "Unnamed: 0" not in names:
        # What R and pandas write above the names of rows.
        names[0] = "Unnamed: 0"
        notes.append("the first column has no name; it is called 'Unnamed: 0' here")
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if not name:
            raise FileError(
                f"{source}, line {line}: column {place} has no name; every column "
                "needs one in the header"
            )
        if name in first:
            raise FileError(
                f"{source}, line {line}: column name {name!r} occurs twice, as columns "
                f"{first[name]} and {place}"
            )
        first[name] = place
    if sum(map(bool, map(_NUMBER, names))) * 2 > len(names):
        notes.append(
            f"the names of the columns in line {line} look like values; a file must "
            "have a header"
        )
    return names, notes


def _check_widths(
    records: Records, names: list[str], data: list[int], source: str
) -> None:
    for i in data:
        n_fields = len(records.fields[i])
        if n_fields != len(names):
            fields = "field" if n_fields == 1 else "fields"
            missing = ""
            if n_fields < len(names):
                missing = f" (column {names[n_fields]!r} is missing)"
            raise FileError(
                f"{source}, line {records.lines[i]}: has {n_fields} {fields}, the "
                f"header has {len(names)}{missing}"
            )


def _columns(
    records: Records,
    names: list[str],
    data: list[int],
    marks: Marks,
    kinds: Mapping[str, str],
    source: str,
) -> tuple[dict[str, TextColumn], pd.DataFrame]:
    """Infer every column and build the frame."""
    cells = zip(*(records.fields[i] for i in data), strict=True)
    raws = dict(zip(names, cells, strict=True))
    # Distinct fields are few or cheap; the rest is looking up.
    meanings = {name: {raw: unquote(raw) for raw in set(raws[name])} for name in names}
    counts = {}
    for name in names:
        counter: Counter[str] = Counter()
        for raw, n in Counter(raws[name]).items():
            counter[meanings[name][raw].strip()] += n
        counts[name] = counter

    def one(name: str, wished: str | None) -> TextColumn:
        comma_first = records.delimiter == ";"
        always, outside_text = marks.of(name)
        always = spellings(always, counts[name])
        try:
            return infer(
                counts[name],
                always,
                outside_text,
                comma_first=comma_first,
                wished=wished,
            )
        except FileError as error:
            wrong = error.args[1]
            row = next(
                row
                for row, raw in enumerate(raws[name])
                if unquote(raw).strip() == wrong
            )
            raise FileError(
                f"{source}, line {records.lines[data[row]]}, column {name!r}: "
                f"{wrong!r} is not of the kind {wished}"
            ) from None

    columns = {name: one(name, kinds.get(name)) for name in names}
    styles = [column.style for column in columns.values()]
    if any(isinstance(style, FloatStyle) and style.comma for style in styles):
        for name, column in columns.items():
            if name not in kinds and _has_grouped_points(column):
                columns[name] = one(name, "text")
                columns[name].notes.append(
                    "kept as text: its points may separate thousands, since other "
                    "columns have decimal commas"
                )
    arrays = {}
    for name in names:
        column = columns[name]
        lookup = {raw: column.value(text) for raw, text in meanings[name].items()}
        values = [lookup[raw] for raw in raws[name]]
        arrays[name] = column.style.array(values)
    return columns, pd.DataFrame(arrays)


def _has_grouped_points(column: TextColumn) -> bool:
    style = column.style
    if not isinstance(style, FloatStyle) or style.comma:
        return False
    seen = [text for text, value in column.value_of.items() if value is not None]
    points = [text for text in seen if "." in text]
    return bool(points) and all(map(_GROUPED_POINT, points))
