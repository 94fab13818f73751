"""Tables from files and back, with everything observed kept as it was written."""

from macfm.files._errors import FileError
from macfm.files._formats import COMPRESSIONS, FORMATS, Format
from macfm.files._marks import MARKS, MARKS_OUTSIDE_TEXT
from macfm.files._read import read_table
from macfm.files._table_file import TableFile
from macfm.files._target import check_target

__all__ = [
    "COMPRESSIONS",
    "FORMATS",
    "MARKS",
    "MARKS_OUTSIDE_TEXT",
    "FileError",
    "Format",
    "TableFile",
    "check_target",
    "read_table",
]
