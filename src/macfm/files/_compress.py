"""Compressed bytes: gzip, bzip2 and xz by the standard library, zstd where it is."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import zlib
from types import ModuleType

from macfm.files._errors import FileError, optional

_DECOMPRESS = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}


def decompress(data: bytes, compression: str | None, name: str) -> bytes:
    """Return the plain bytes; `name` is the file's, for messages."""
    if compression is None:
        return data
    try:
        return _DECOMPRESS.get(compression, _unzstd)(data)
    except FileError:
        raise
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        # Decompressors end their messages in their own ways.
        reason = str(error).rstrip(".")
        raise FileError(
            f"{name}: cannot be decompressed as .{compression}, the file is damaged or "
            f"not compressed that way ({reason})"
        ) from None


def compress(data: bytes, compression: str | None) -> bytes:
    """Return the compressed bytes; the same data always give the same bytes."""
    if compression is None:
        return data
    if compression == "gz":
        return gzip.compress(data, 6, mtime=0)
    if compression == "bz2":
        return bz2.compress(data)
    if compression == "xz":
        return lzma.compress(data)
    module = _builtin_zstd()
    if module is not None:
        return module.compress(data)
    return optional("zstandard").ZstdCompressor().compress(data)


def _builtin_zstd() -> ModuleType | None:
    """The standard library's module (Python 3.14 and later), or None."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return None


def _unzstd(data: bytes) -> bytes:
    module = _builtin_zstd()
    if module is not None:
        try:
            return module.decompress(data)
        except module.ZstdError as error:
            raise ValueError(str(error)) from None
    zstandard = optional("zstandard")
    parts = []
    try:
        # A file may hold several frames one after the other.
        while data:
            worker = zstandard.ZstdDecompressor().decompressobj()
            parts.append(worker.decompress(data))
            if not worker.eof:
                raise ValueError("the data end too early")
            data = worker.unused_data
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    return b"".join(parts)
