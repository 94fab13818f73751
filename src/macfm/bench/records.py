"""Records: one line of JSON for each cell that was run, whatever came of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from macfm._plain import plain

__all__ = [
    "FORMAT",
    "append_record",
    "latest",
    "read_records",
    "record_key",
    "record_line",
]

#: Format of the records written; older ones are translated, a newer one is refused.
FORMAT = 2
#: What the methods of format 1 are called now: `macfm` is the imputer's default.
_FORMER = {"macfm": "macfm-median", "macfm-mean": "macfm"}

Record = dict[str, Any]


def record_key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what makes a record's cell the same one in another run."""
    return (
        record["dataset"],
        tuple(record["quirks"]),
        record["mechanism"],
        record["rate"],
        record["mask"],
        record.get("rows"),
        record["label"],
    )


def record_line(record: Mapping[str, Any]) -> str:
    """Return a record as the line of JSON it is kept as."""
    tidy = plain(record, digits=7)
    return json.dumps(tidy, allow_nan=False, separators=(",", ":")) + "\n"


def append_record(path: str | Path, record: Mapping[str, Any]) -> None:
    """Add a record to the end of a file, on a line of its own."""
    path = Path(path)
    line = record_line(record).encode()
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":  # a crash left half a line
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(line)


def read_records(*paths: str | Path) -> list[Record]:
    """Return the records of files, or of all .jsonl files of folders, in their order.

    Records of older formats come back as those of the present one. A line that is not
    a record is an error that names it; only a last line without an
    end, which a crash may leave, is passed over.
    """
    records = []
    for path in _files(paths):
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines[:-1], start=1):
            if line.strip():
                records.append(_parse(line, f"{path}, line {number}"))
    return records


def latest(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Return the last record of each cell, in the order the cells first came."""
    return list({record_key(record): dict(record) for record in records}.values())


def _files(paths: Iterable[str | Path]) -> list[Path]:
    """The files that paths stand for."""
    files = []
    for path in map(Path, paths):
        found = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not found:
            raise FileNotFoundError(f"no records (*.jsonl) in the folder {path}")
        files += found
    return files


def _parse(line: str, where: str) -> Record:
    """A record of one line."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: not a record: {error}") from None
    if not isinstance(record, dict) or "format" not in record:
        raise ValueError(f"{where}: not a record of the benchmark")
    if record["format"] == 1:
        return _translated(record)
    if record["format"] != FORMAT:
        raise ValueError(
            f"{where}: format {record['format']!r}; this version reads {FORMAT}"
        )
    return record


def _translated(record: Record) -> Record:
    """A record of format 1 with the present names of its methods."""
    names = {}
    for key in ("method", "label", "fit_shared_with"):
        # The label of an ablation is the method and what was changed.
        first, *rest = (record.get(key) or "").split(" ", 1)
        if first in _FORMER:
            names[key] = " ".join([_FORMER[first], *rest])
    return record | names | {"format": FORMAT}
