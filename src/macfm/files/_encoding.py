"""Bytes to text and back, exactly."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from macfm.files._errors import FileError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Text:
    """The text of a file and how it was encoded."""

    #: Without the byte order mark.
    text: str
    #: Name of the encoding.
    encoding: str
    #: The byte order mark, empty where there was none.
    bom: bytes = b""
    #: What a person should know about the choice.
    notes: tuple[str, ...] = ()

    def encode(self, text: str, name: str) -> bytes:
        """Return other text the way this one was encoded."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            char = text[error.start]
            raise FileError(
                f"{name}: a filled-in value holds {char!r}, which the file's encoding "
                f"{self.encoding} cannot write; convert the file to UTF-8"
            ) from None


def decode(data: bytes, encoding: str | None, name: str) -> Text:
    """Decode the bytes of a text file.

    Without `encoding`: what the byte order mark says, else UTF-8, else Windows-1252
    (Latin-1 where a byte has no meaning there). A file that is UTF-8 but for a few
    bytes is refused, because reading it as anything else would garble the rest.
    """
    bom = next(((mark, own) for mark, own in _BOMS if data.startswith(mark)), None)
    if encoding is not None:
        return _as_given(data, encoding, bom, name)
    if bom is not None:
        mark, own = bom
        return Text(_strict(data[len(mark) :], own, len(mark), name), own, mark)
    if b"\x00" in data:
        at = data.index(b"\x00")
        raise FileError(
            f"{name}: byte 0x00 at offset {at} (line {_line(data, at)}) does not occur "
            "in text; if this is UTF-16 without a byte order mark, give the encoding "
            "utf-16-le"
        )
    try:
        return Text(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        lenient = data.decode("utf-8", "surrogateescape")
        n_bad = len(re.findall("[\udc80-\udcff]", lenient))
        n_good = sum(map(len, re.findall("[^\x00-\x7f\ud800-\udfff]+", lenient)))
        if n_good > n_bad:
            raise _undecodable(data, "utf-8", error, 0, name) from None
    try:
        text, own = data.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        text, own = data.decode("latin-1"), "latin-1"
    return Text(text, own, notes=(f"the file is not UTF-8; it was read as {own}",))


def _as_given(
    data: bytes, encoding: str, bom: tuple[bytes, str] | None, name: str
) -> Text:
    try:
        own = codecs.lookup(encoding).name
        "".encode(own)
    except LookupError:
        raise FileError(f"{name}: there is no encoding {encoding!r}") from None
    # utf-16 as a name means: as the mark says. The mark is kept apart, not as text.
    loose = own.replace("_", "-").removesuffix("-sig")
    if bom is not None and bom[1].startswith(loose):
        mark, own = bom
        return Text(_strict(data[len(mark) :], own, len(mark), name), own, mark)
    if loose in ("utf-16", "utf-32"):
        own = f"{loose}-le"
    elif loose == "utf-8":
        own = "utf-8"
    text = _strict(data, own, 0, name)
    if text.encode(own) != data:
        raise FileError(
            f"{name}: encoding {encoding} would not give back the same bytes; convert "
            "the file to UTF-8"
        )
    return Text(text, own)


def _strict(data: bytes, encoding: str, skipped: int, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(data, encoding, error, skipped, name) from None


def _undecodable(
    data: bytes, encoding: str, error: UnicodeDecodeError, skipped: int, name: str
) -> FileError:
    at = error.start
    return FileError(
        f"{name}: byte 0x{data[at]:02x} at offset {at + skipped} (line "
        f"{_line(data, at)}) is not {encoding}; give the encoding, for instance "
        "cp1252, or repair the file"
    )


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
