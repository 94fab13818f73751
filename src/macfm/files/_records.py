"""Delimited text as records of raw fields, which joined again are the same text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from macfm.files._errors import FileError

DELIMITERS = (",", ";", "\t", "|")

# Possessive, so that a doubled quote is never taken for the end of the field.
_QUOTED = r'[ ]*"[^"]*+(?:""[^"]*+)*+"[ ]*'
_is_quoted = re.compile(_QUOTED).fullmatch


@dataclass
class Records:
    """The lines of a delimited file.

    ``"".join(delimiter.join(fields[i]) + ends[i])`` is the text of the file.
    """

    #: What stands between two fields.
    delimiter: str
    #: The raw fields of each record, with their quotes and spaces. A blank line is one
    #: field.
    fields: list[list[str]]
    #: The line ending of each record, empty for a last line without one.
    ends: list[str]
    #: Number of the line on which each record begins, from 1.
    lines: list[int]


def is_quoted(raw: str) -> bool:
    """Whether a raw field stands in quotes."""
    return '"' in raw and _is_quoted(raw) is not None


def unquote(raw: str) -> str:
    """Return the text of a raw field; spaces belong to it only inside quotes.

    >>> unquote(' "a ""q"", b " ')
    'a "q", b '
    >>> unquote(" a ")
    'a'
    """
    if is_quoted(raw):
        return raw.strip(" ")[1:-1].replace('""', '"')
    return raw.strip()


def quote(text: str) -> str:
    """Return the text in quotes."""
    return '"' + text.replace('"', '""') + '"'


def split_records(text: str, delimiter: str, name: str) -> Records:
    """Split the text of a file into records.

    Raises FileError, naming the line, for a quote that is never closed or is followed
    by more text.
    """
    newline = "\r" if "\n" not in text and "\r" in text else "\n"
    lines = text.split(newline)
    last_end = "" if lines[-1] else None
    if last_end is None:
        lines.pop()
    records = Records(delimiter, [], [], [])
    if '"' in text:
        _split_quoted(text, lines, newline, records, name)
    else:
        records.fields = [line.split(delimiter) for line in lines]
        records.ends = [newline] * len(lines)
        records.lines = list(range(1, len(lines) + 1))
    if last_end is not None and records.ends:
        records.ends[-1] = ""
    if newline == "\n" and "\r" in text:
        for i, fields in enumerate(records.fields):
            if fields[-1].endswith("\r"):
                fields[-1] = fields[-1][:-1]
                records.ends[i] = "\r" + records.ends[i]
    return records


def _split_quoted(
    text: str, lines: list[str], newline: str, records: Records, name: str
) -> None:
    """Split lines of which some hold quotes, and which quotes may join together."""
    delimiter = records.delimiter
    mark = re.escape(delimiter)
    # Takes apart a line of well-formed fields; on any other the pieces, joined, differ.
    pieces = re.compile(
        rf'(?:\A|{mark})({_QUOTED}(?=\Z|{mark})|[^"{mark}][^{mark}]*|)(?=\Z|{mark})'
    ).findall
    start, i = 0, 0
    while i < len(lines):
        line = lines[i]
        end, n_lines = start + len(line), 1
        if '"' not in line:
            fields = line.split(delimiter)
        else:
            body = line.removesuffix("\r")
            fields = pieces(body)
            if fields and delimiter.join(fields) == body:
                fields[-1] += line[len(body) :]
            else:
                fields, end = _record(text, start, delimiter, newline, i + 1, name)
                n_lines = text.count(newline, start, end) + 1
        records.fields.append(fields)
        records.ends.append(newline)
        records.lines.append(i + 1)
        start, i = end + len(newline), i + n_lines


def _record(
    text: str, start: int, delimiter: str, newline: str, line: int, name: str
) -> tuple[list[str], int]:
    """Return the fields of one record and where it ends, quotes respected."""
    mark = re.escape(delimiter)
    quoted = re.compile(_QUOTED).match
    boundary = re.compile(rf"\r?{newline}|\r?\Z|{mark}").match
    plain = re.compile(rf"[^{mark}{newline}]*").match
    fields: list[str] = []
    at = start
    while True:
        found = None
        if text.startswith('"', at):
            found = quoted(text, at)
            if found is None:
                here = line + text.count(newline, start, at)
                raise FileError(
                    f"{name}, line {here}, field {len(fields) + 1}: a quote is opened "
                    "and never closed"
                )
            if boundary(text, found.end()) is None:
                here = line + text.count(newline, start, found.end())
                raise FileError(
                    f"{name}, line {here}, field {len(fields) + 1}: there is more text "
                    "after the closing quote; inside quotes a quote is written twice"
                )
        elif text.startswith(" ", at):
            found = quoted(text, at)
            # After spaces a quote may be plain text, so it must fit on its line.
            if found is not None and (
                newline in found.group() or boundary(text, found.end()) is None
            ):
                found = None
        if found is None:
            found = plain(text, at)
            assert found is not None  # it matches an empty field as well
        field, at = found.group(), found.end()
        if newline == "\n" and (text.startswith("\r\n", at) or text[at:] == "\r"):
            field, at = field + "\r", at + 1  # belongs to the line ending
        fields.append(field)
        if not text.startswith(delimiter, at):
            return fields, at
        at += 1


def sniff_delimiter(text: str) -> str:
    r"""Return the delimiter under which the first lines have the most equal lengths.

    >>> sniff_delimiter("size;weight\n1,5;2\n")
    ';'
    """
    start = text[: 1 << 16]
    if len(start) < len(text):
        start = start[: start.rfind("\n") + 1] or start
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        if delimiter not in start:
            continue
        widths = _widths(start, delimiter)
        if not widths or widths[0] == 1:
            continue
        score = (sum(w == widths[0] for w in widths) / len(widths), widths[0])
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _widths(start: str, delimiter: str) -> list[int]:
    """Numbers of fields of the first records; where a quote stays open, fewer."""
    while start:
        try:
            fields = split_records(start, delimiter, "").fields
        except FileError as error:
            at = re.search(r"line (\d+)", str(error))
            kept = start.split("\n")[: int(at.group(1)) - 1] if at else []
            start = "\n".join(kept)
            continue
        return [len(record) for record in fields if record != [""]]
    return []
