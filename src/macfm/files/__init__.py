"""Tables from files and back, with everything observed kept as it was written."""

from ._errors import FileError
from ._formats import COMPRESSIONS, FORMATS, Format
from ._marks import MARKS, MARKS_OUTSIDE_TEXT
from ._read import read_table
from ._table_file import TableFile
from ._target import check_target

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
