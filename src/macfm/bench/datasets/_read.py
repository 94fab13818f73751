"""Reading the formats tables come in: parquet, delimited text, members of a zip."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zipfile
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from macfm.bench.datasets._dataset import DatasetError

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
# One type per column, and numbers to the last digit: from pandas 3.1 on that is the
# only way to read them, before it has to be asked for.
EXACT: dict[str, Any] = {"low_memory": False}
if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
    EXACT["float_precision"] = "round_trip"


def check_file(path: Path) -> None:
    """Refuse a file that is not there or has no suffix that tells its format."""
    if not path.is_file():
        raise DatasetError(f"there is no file {path}")
    if not path.name.lower().endswith(SUFFIXES):
        raise DatasetError(f"{path} must end in one of {', '.join(SUFFIXES)}")


def read_table_file(path: Path, **options: Any) -> pd.DataFrame:
    """Read a parquet or delimited text file as it stands.

    `options` go to `pandas.read_csv`. The delimiter of a ``.csv`` is the comma,
    semicolon or tab that its first line has most of.
    """
    check_file(path)
    name = path.name.lower()
    try:
        if name.endswith(".parquet"):
            return _read_parquet(path)
        separator = "\t" if ".tsv" in name else _delimiter(path)
        return pd.read_csv(path, sep=separator, **EXACT, **options)
    except (DatasetError, MemoryError):
        raise
    except Exception as error:  # each reader has its own kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"{path} cannot be read: {reason}") from error


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise DatasetError(
            f"reading {path.name} needs pyarrow; install it with "
            'pip install "macfm[parquet]", or give the table as .csv'
        ) from error
    return pd.read_parquet(path, engine="pyarrow")


def _delimiter(path: Path) -> str:
    """Return the likeliest delimiter of a .csv from its first line."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        header = file.readline()
    return max(",;\t", key=header.count)


def read_member(archive: Path, name: str, *, sha256: str | None = None) -> bytes:
    """Return a file of a zip by its base name, looking into zips inside it too.

    A member of another digest than `sha256` is refused.
    """
    try:
        content = _find_member(archive.read_bytes(), name)
    except zipfile.BadZipFile as error:
        raise DatasetError(f"{archive} is no intact zip file ({error})") from error
    if content is None:
        raise DatasetError(f"{archive} has no file {name!r} inside")
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise DatasetError(
            f"{name} in {archive} has another sha256 than the published {sha256}"
        )
    return content


def _find_member(archive: bytes, name: str) -> bytes | None:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        paths = opened.namelist()
        for path in paths:
            if PurePosixPath(path).name == name and "__MACOSX" not in path:
                return opened.read(path)
        for path in paths:
            if path.lower().endswith(".zip"):
                content = _find_member(opened.read(path), name)
                if content is not None:
                    return content
    return None


def read_text(content: bytes, **options: Any) -> pd.DataFrame:
    """Read delimited text of a source; a cell is missing only where it says ``?``."""
    return pd.read_csv(
        io.BytesIO(content),
        keep_default_na=False,
        na_values=["?"],
        skipinitialspace=True,
        **EXACT,
        **options,
    )


def read_sheet(content: bytes, *, reader: str, **options: Any) -> pd.DataFrame:
    """Read a spreadsheet with the package `reader`, which is an extra."""
    try:
        return pd.read_excel(io.BytesIO(content), engine=reader, **options)
    except ImportError as error:
        raise DatasetError(
            f"the source is a spreadsheet, and reading it needs {reader}; install it "
            'with pip install "macfm[excel]"'
        ) from error


def read_arff(content: bytes, *, text: Collection[str]) -> pd.DataFrame:
    """Read an ARFF file of plain rows; the columns `text` stay text."""
    header, _, rows = re.split(
        r"(?im)^(@data)\s*$", content.decode("utf-8"), maxsplit=1
    )
    names = re.findall(r"(?im)^@attribute\s+['\"]?([\w.-]+)", header)
    return read_text(rows.encode(), names=names, dtype=dict.fromkeys(text, str))
