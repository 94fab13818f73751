"""The one error of reading and writing, and the words shared by its messages."""

from __future__ import annotations

import importlib
from types import ModuleType

from macfm._errors import MacfmError

_EXTRAS = {
    "pyarrow": ("parquet", "Parquet and Feather files"),
    "openpyxl": ("excel", "Excel files"),
    "zstandard": ("zstd", "files compressed with zstd"),
}


class FileError(MacfmError):
    """A table that cannot be read or written; one sentence says where and why."""


def optional(module: str) -> ModuleType:
    """Import a module of an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        extra, what = _EXTRAS[module.split(".")[0]]
        raise FileError(
            f'{what} need the extra "{extra}": pip install "macfm[{extra}]"'
        ) from None
