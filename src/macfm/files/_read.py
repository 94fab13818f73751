"""read_table: from a path or standard input to a TableFile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from macfm.files._arrow import read_arrow
from macfm.files._compress import decompress
from macfm.files._delimited import read_delimited
from macfm.files._encoding import decode
from macfm.files._errors import FileError
from macfm.files._excel import read_excel
from macfm.files._formats import (
    Format,
    check_content,
    compression_of,
    format_of_content,
    resolve_format,
)
from macfm.files._json_lines import read_json_lines
from macfm.files._marks import Marks
from macfm.files._table_file import TableFile
from macfm.files._target import display_name, read_bytes


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    na_values: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    sheet: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> TableFile:
    r"""Read a table.

    Parameters
    ----------
    path : str or path
        The file, or "-" for standard input.
    format : str, optional
        Name of the format, such as ``"csv"`` or ``"csv.gz"``; by default the suffix
        tells, and for standard input the content.
    delimiter : str, optional
        What stands between two fields of a CSV file; by default found out among comma,
        semicolon, tab and bar.
    encoding : str, optional
        Encoding of a text file; by default what its byte order mark says, UTF-8, or
        Windows-1252 where it is not that.
    na_values : sequence of str or mapping of column to sequence of str, optional
        Texts that stand for a missing value, in place of ``MARKS`` and
        ``MARKS_OUTSIDE_TEXT``. An empty cell is always missing. A mark such as -999
        is also known as -999.0, and as a number in files that hold numbers.
    sheet : str, optional
        Name of the sheet of an Excel file; by default the first one.
    kinds : mapping of column to str, optional
        Kinds that columns must have, where the texts alone would say another:
        ``"integer"``, ``"float"``, ``"boolean"``, ``"date"``, ``"datetime"``,
        ``"text"``. For CSV and TSV.

    Returns
    -------
    TableFile
        The table, which remembers how its file wrote it.

    Raises
    ------
    FileError
        In one sentence that names the file, and the line and column where they are
        known.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "visits.csv"
    >>> _ = path.write_text("ward,weight\n007,71.50\n012,\n")
    >>> table = read_table(path)
    >>> table.kinds
    {'ward': 'text', 'weight': 'float'}
    >>> notes = table.write(table.frame.fillna({"weight": 68.123}), path, force=True)
    >>> print(path.read_text())
    ward,weight
    007,71.50
    012,68.12
    <BLANKLINE>
    """
    path = os.fspath(path)
    source = display_name(path)
    form = resolve_format(path, format) if not os.path.isdir(path) else None
    data = read_bytes(path)
    if not data:
        raise FileError(f"{source}: is empty")
    compression = form.compression if form else None
    if path == "-" and compression is None:
        compression = compression_of(data)
    data = decompress(data, compression, source)
    if not data:
        raise FileError(f"{source}: is empty")
    form = Format(form.name if form else format_of_content(data), compression)
    check_content(data, form, source)
    if delimiter is not None and form.name not in ("csv", "tsv"):
        raise FileError(f"{source}: a delimiter is for CSV files, not for {form.name}")
    if sheet is not None and form.name != "excel":
        raise FileError(f"{source}: a sheet is for Excel files, not for {form.name}")
    if form.name in ("parquet", "feather"):
        return read_arrow(data, source, form, na_values=na_values)
    if form.name == "excel":
        return read_excel(data, source, form, sheet=sheet, marks=Marks(na_values))
    text = decode(data, encoding, source)
    if form.name == "jsonl":
        marks = Marks(na_values, default=(), default_outside=())
        return read_json_lines(text, source, form, marks=marks)
    return read_delimited(
        text,
        source,
        form,
        delimiter=delimiter,
        marks=Marks(na_values),
        kinds=kinds or {},
    )
