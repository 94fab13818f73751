"""Which format a file has: by its suffix, by a given name, by its first bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from macfm.files._errors import FileError

_SUFFIXES = {
    "csv": "csv",
    "txt": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "feather": "feather",
    "arrow": "feather",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "xlsx": "excel",
}

FORMATS = ("csv", "tsv", "parquet", "feather", "jsonl", "excel")
"""Names of the formats; each may be followed by a compression, as in "csv.gz"."""

COMPRESSIONS = ("gz", "bz2", "xz", "zst")
"""Suffixes of compressed files."""

TEXT_FORMATS = ("csv", "tsv", "jsonl")

_HINTS = {
    "xls": "save it as .xlsx",
    "xlsm": "save it as .xlsx",
    "ods": "save it as .xlsx or .csv",
    "json": "write one object per line (JSON Lines, .jsonl)",
    "zip": "unpack it first",
}

# First bytes, what they mean, and the format or compression they belong to.
_MAGIC = (
    (b"PAR1", "a Parquet file", "parquet"),
    (b"ARROW1", "a Feather file", "feather"),
    (b"FEA1", "a Feather file", "feather"),
    (b"PK\x03\x04", "an Excel or zip file", "excel"),
    (b"\xd0\xcf\x11\xe0", "an old Excel (.xls) file", ""),
    (b"\x1f\x8b", "compressed with gzip", "gz"),
    (b"BZh", "compressed with bzip2", "bz2"),
    (b"\xfd7zXZ\x00", "compressed with xz", "xz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "zst"),
    (b"%PDF-", "a PDF file", ""),
    (b"SQLite format 3", "an SQLite database", ""),
)


@dataclass(frozen=True)
class Format:
    """A format and how it is compressed.

    Attributes
    ----------
    name : str
        One of ``FORMATS``.
    compression : str or None
        One of ``COMPRESSIONS``.
    """

    name: str
    compression: str | None = None

    @property
    def suffix(self) -> str:
        """The usual suffix of such a file, as in ``".csv.gz"``."""
        end = "xlsx" if self.name == "excel" else self.name
        return f".{end}" + (f".{self.compression}" if self.compression else "")


def resolve_format(path: str, given: str | None) -> Format | None:
    """Return the format of a path, None where only the content can tell ("-").

    A format's name that is `given` goes before the suffix.

    Examples
    --------
    >>> resolve_format("patients.csv.gz", None)
    Format(name='csv', compression='gz')
    >>> resolve_format("patients.dat.xz", "tsv")
    Format(name='tsv', compression='xz')
    """
    by_suffix = None if path == "-" else _compression_by_suffix(path)
    if given is not None:
        name, _, compression = given.lower().lstrip(".").partition(".")
        known = name in _SUFFIXES or name in FORMATS
        if not known or (compression and compression not in COMPRESSIONS):
            raise FileError(
                f"format {given!r} is not known; use one of {', '.join(FORMATS)}, "
                "with .gz, .bz2, .xz or .zst behind it for compressed data"
            )
        return Format(_SUFFIXES.get(name, name), compression or by_suffix)
    if path == "-":
        return None
    parts = _suffixes(path)
    if by_suffix:
        parts = parts[:-1]
    last = parts[-1] if parts else ""
    if last not in _SUFFIXES:
        what = f"suffix .{last} is" if last else "file without a suffix is"
        hint = _HINTS.get(last, f"give the format, one of {', '.join(FORMATS)}")
        raise FileError(f"{path}: a {what} not a format macfm knows; {hint}")
    return Format(_SUFFIXES[last], by_suffix)


def _suffixes(path: str) -> list[str]:
    return [part.lower() for part in PurePath(path).name.lstrip(".").split(".")[1:]]


def _compression_by_suffix(path: str) -> str | None:
    parts = _suffixes(path)
    return parts[-1] if parts and parts[-1] in COMPRESSIONS else None


def compression_of(data: bytes) -> str | None:
    """Return the compression that the first bytes tell, None for plain data."""
    found = _magic(data)
    return found[1] if found and found[1] in COMPRESSIONS else None


def format_of_content(data: bytes) -> str:
    """Return the format of plain data by its first bytes; text is CSV or JSON Lines."""
    found = _magic(data)
    if found and found[1] in FORMATS:
        return found[1]
    start = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if start.startswith(b"{") else "csv"


def check_content(data: bytes, form: Format, name: str) -> None:
    """Refuse plain (already decompressed) data that are plainly not of this format."""
    found = _magic(data)
    if found is None:
        if form.name in TEXT_FORMATS:
            start = data[:200].lstrip().lower()
            if start.startswith((b"<!doctype html", b"<html", b"<?xml")):
                raise FileError(
                    f"{name}: the content is a web page or XML, not {form.name} "
                    "(perhaps an error page was saved in place of the data)"
                )
            return
        raise FileError(f"{name}: the content is not {_article(form.name)} file")
    what, kind = found
    if kind == form.name:
        return
    # Text may begin with these letters, too, but does not go on in such bytes.
    if form.name in TEXT_FORMATS and kind in ("bz2", "parquet", "feather"):
        binary = b"\x00" in data[:4096] or not data[:64].isascii()
        if not binary:
            return
    if kind in COMPRESSIONS:
        hint = f"rename it to end in .{kind}"
    elif kind:
        hint = f"give the format {kind!r} or rename it"
    else:
        hint = f"give a file in one of the formats {', '.join(FORMATS)}"
    raise FileError(
        f"{name}: read as {_article(form.name)} file, but its content is {what}; {hint}"
    )


def _article(name: str) -> str:
    words = {"csv": "a CSV", "tsv": "a TSV", "parquet": "a Parquet"}
    more = {"feather": "a Feather", "jsonl": "a JSON Lines", "excel": "an Excel"}
    return (words | more)[name]


def _magic(data: bytes) -> tuple[str, str] | None:
    for start, what, kind in _MAGIC:
        if data.startswith(start):
            return what, kind
    return None
