"""The file itself: one safetensors file whose header and tensors are under SHA-256."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import stat
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from macfm import _replace
from macfm._errors import MacfmError

FORMAT = "macfm model"
VERSION = 8
"""Version of the layout; files of a higher one are refused."""

MAX_HEADER = 100_000_000
"""Most bytes of the header, which is safetensors' own limit."""

_KEY = "macfm"
# The digests' places while the header that will hold them is hashed.
_NO_HEADER, _NO_TENSORS = "0" * 64, "1" * 64
_DTYPES = {"F64": 8, "F32": 4, "I64": 8, "I32": 4, "U8": 1}
_FIELDS = {"header_sha256", "tensors_sha256", "format", "version", "model"}
_START = b'{"__metadata__":{"macfm":"'


class ModelFileError(MacfmError):
    """A file is no macfm model, is damaged, or is of a newer format."""


def pack(model: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes of a model file.

    Parameters
    ----------
    model : mapping
        JSON types only; NaN and infinities are refused.
    tensors : mapping of str to ndarray
        Arrays of float64, float32, int64, int32 or uint8.

    Notes
    -----
    The one metadata entry of the safetensors header is a JSON text with the format,
    its version, the model and two digests: that of the bytes after the header, and
    that of everything before them, its own digits counted as zeros. So every byte of
    the file is under one of the two.
    """
    content = {
        "header_sha256": _NO_HEADER,  # first, so that their places are found first
        "tensors_sha256": _NO_TENSORS,
        "format": FORMAT,
        "version": VERSION,
        "model": model,
    }
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    arrays = {name: np.ascontiguousarray(a) for name, a in tensors.items()}
    # ascontiguousarray gives a number one dimension.
    arrays = {name: a.reshape(tensors[name].shape) for name, a in arrays.items()}
    data = save_tensors(arrays, metadata={_KEY: text})
    end = 8 + int.from_bytes(data[:8], "little")
    if end - 8 > MAX_HEADER:
        raise ValueError(
            f"names and categories take {end - 8} bytes, more than {MAX_HEADER}; list "
            "columns of free text in ignore=[...] and fit again"
        )
    head, body = data[:end], data[end:]
    head = head.replace(_NO_TENSORS.encode(), _digest(body).encode(), 1)
    head = head.replace(_NO_HEADER.encode(), _digest(head).encode(), 1)
    return head + body


def read(
    source: str | os.PathLike[str] | bytes,
) -> tuple[Any, dict[str, np.ndarray], int]:
    """Return model, tensors and version of a file, or of its bytes, once verified.

    Raises
    ------
    ModelFileError
        If the file is anything but a whole model file of a known version.
    """
    if isinstance(source, bytes):
        return _read(io.BytesIO(source), size=len(source))
    state = os.stat(source)
    if not stat.S_ISREG(state.st_mode):
        what = "a folder" if stat.S_ISDIR(state.st_mode) else "no regular file"
        raise ModelFileError(f"is {what}; give the path of a model file")
    with open(source, "rb") as file:
        return _read(file, size=state.st_size)


def _read(file: BinaryIO, *, size: int) -> tuple[Any, dict[str, np.ndarray], int]:
    start = file.read(8)
    n_header = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= n_header <= MAX_HEADER or n_header > size - 8:
        raise _damaged() if file.read(len(_START)) == _START else _foreign()
    header = file.read(n_header)
    entries, content = _parsed(header)
    _check_version(content)
    if not isinstance(content["header_sha256"], str):
        raise _damaged()
    stated = content["header_sha256"].encode("utf-8", "replace")
    zeroed = header.replace(stated, _NO_HEADER.encode(), 1)
    if set(content) != _FIELDS or _digest(start + zeroed).encode() != stated:
        raise _damaged()
    # The header is now known to be what was written; what follows bounds its author.
    n_bytes = _n_bytes(entries)
    if size != 8 + n_header + n_bytes:
        raise _damaged()
    body = file.read(n_bytes)
    if _digest(body) != content["tensors_sha256"]:
        raise _damaged()
    tensors = load_tensors(start + header + body)
    copied = {name: array.copy() for name, array in tensors.items()}
    return content["model"], copied, content["version"]


def _parsed(header: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries of the tensors and the content of the metadata."""
    try:
        entries = _strict_json(header.decode("utf-8"))
        text = entries.pop("__metadata__")[_KEY]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise _damaged() if header.startswith(_START) else _foreign() from None
    try:
        content = _strict_json(text)
    except (ValueError, RecursionError, TypeError):
        raise _damaged() from None
    if not isinstance(content, dict) or not _FIELDS & set(content):
        raise _foreign()
    return entries, content


def _check_version(content: Mapping[str, Any]) -> None:
    if content.get("format") != FORMAT or "header_sha256" not in content:
        raise _damaged()
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise _damaged()
    if version > VERSION:
        raise ModelFileError(
            f"has format {version}, written by a newer macfm, and this one reads up to "
            f"format {VERSION}; upgrade macfm"
        )


def _n_bytes(entries: Mapping[str, Any]) -> int:
    """Check the tensors' types, shapes and places; return their bytes together."""
    places = []
    for name, entry in entries.items():
        good = (
            isinstance(entry, dict)
            and set(entry) == {"dtype", "shape", "data_offsets"}
            and entry["dtype"] in _DTYPES
            and _are_counts(entry["shape"], most=8)
            and _are_counts(entry["data_offsets"], most=2)
            and len(entry["data_offsets"]) == 2
            and len(name) <= 1000
        )
        if not good:
            raise _damaged()
        begin, end = entry["data_offsets"]
        if end - begin != math.prod(entry["shape"]) * _DTYPES[entry["dtype"]]:
            raise _damaged()
        places.append((begin, end))
    reached = 0
    for begin, end in sorted(places):
        if begin != reached:
            raise _damaged()
        reached = end
    return reached


def _are_counts(values: Any, *, most: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= most
        and all(type(v) is int and 0 <= v < 2**48 for v in values)
    )


def _strict_json(text: str) -> Any:
    """Parse JSON; NaN, infinities and keys given twice are refused."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key is given twice")
        return found

    def refused(constant: str) -> float:
        raise ValueError(f"{constant} is no JSON")

    def finite(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refused(digits)

    return json.loads(
        text, object_pairs_hook=unique, parse_constant=refused, parse_float=finite
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _foreign() -> ModelFileError:
    return ModelFileError(
        "is not a macfm model; give a file written by macfm fit or MACFMImputer.save"
    )


def _damaged() -> ModelFileError:
    return ModelFileError(
        "is damaged or incomplete; copy it again from where it came, or fit and save "
        "again"
    )


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file or none, over one that is there."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise IsADirectoryError(f"{os.fspath(path)} is not a file; give another path")
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder}; create it first")
    _replace.replace_file(path, data)
