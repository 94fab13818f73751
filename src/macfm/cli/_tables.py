"""Tables for commands: read with the options, with the columns these speak of."""

from __future__ import annotations

import io
import os
import shlex
import sys
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from macfm._words import count
from macfm.cli import _parse
from macfm.cli._failures import Failure
from macfm.cli._voice import Voice

if TYPE_CHECKING:
    import pandas as pd

    from macfm.files import TableFile

_TYPED_FORMATS = {"parquet", "pq", "feather", "arrow", "jsonl", "ndjson"}


@dataclass(frozen=True)
class Source:
    """A table, and which of its columns the user spoke of."""

    #: The table as it was read.
    file: TableFile
    #: Columns that take no part, those of `--id` among them.
    ignore: list[str]
    #: Columns that name the rows.
    ids: list[str]

    @property
    def frame(self) -> pd.DataFrame:
        """The typed values."""
        return self.file.frame

    @property
    def n_missing(self) -> int:
        """Cells without a value."""
        return int(self.frame.isna().to_numpy().sum())

    def labelled(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table whose rows are named by `--id` or their place in the file."""
        from macfm.judge.frames import row_names

        names = row_names(self.frame, self.ids) if self.ids else self.file.places
        return frame.set_axis(names, axis=0)

    @property
    def notes(self) -> list[str]:
        """What is odd about how the file was read, ignored columns left out."""
        silent = tuple(f"column {name!r}:" for name in self.ignore)
        return [note for note in self.file.notes if not note.startswith(silent)]

    def headline(self) -> str:
        """Say how large the table is and how much of it is missing."""
        rows, columns = self.frame.shape
        n_holes = int(self.frame.isna().any().sum())
        holes = "no cell missing"
        if n_holes:
            cells = count(self.n_missing, "missing cell")
            holes = f"{cells} in {count(n_holes, 'column')}"
        size = f"{count(rows, 'row')}, {count(columns, 'column')}"
        return f"{self.file.source}: {size}, {holes}"


def read_source(
    data: str, options: Mapping[str, Any], *, kinds: Mapping[str, str] | None = None
) -> Source:
    """Read a table, "-" for standard input, with the options of a command.

    Columns of a text file can be told which `kinds` they must have.
    """
    given = {
        "format": options["from_"],
        "delimiter": options["delimiter"],
        "encoding": options["encoding"],
        "sheet": options["sheet"],
        "na_values": _marks(data, options),
    }
    from macfm.files import read_table

    file = read_table(data, **given, kinds=kinds)
    if not len(file.frame):
        raise Failure(f"{file.source}: has a header but no rows; give it at least one")
    columns = list(file.frame.columns)
    ids = _parse.names("--id", options.get("id_", ()), columns)
    ignore = _parse.names("--ignore", options.get("ignore", ()), columns)
    return Source(file, list(dict.fromkeys([*ids, *ignore])), ids)


def _marks(data: str, options: Mapping[str, Any]) -> Any:
    """Which texts mean missing; None leaves it to the file's format."""
    from macfm.files import MARKS

    strict = options["no_default_na"]
    suffixes = (options["from_"] or PurePath(data).name).lower().split(".")
    # There a missing cell is marked as such, and a text is a text.
    typed = not _TYPED_FORMATS.isdisjoint(suffixes)
    found = _parse.marks(options["na_values"], () if strict or typed else MARKS)
    return [] if found is None and strict else found


@contextmanager
def repeatable(data: str) -> Iterator[Any]:
    """Let standard input be read a second time."""
    if data != "-" or sys.stdin is None or sys.stdin.isatty():
        yield lambda: None
        return
    before, content = sys.stdin, sys.stdin.buffer.read()

    def again() -> None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")

    again()
    try:
        yield again
    finally:
        sys.stdin = before


def check_targets(
    *,
    force: bool,
    draws: bool = False,
    to: str | None = None,
    reads: Mapping[str, str | None] | None = None,
    **paths: str | None,
) -> None:
    """Refuse places that cannot be written to before any work is done.

    `paths` are ``output``, ``model`` and ``report``; the first is of the format `to`
    and takes several tables if these are `draws`. `reads` are files that the command
    reads, by the words for them: they must be there, and only ``output`` may take the
    place of one, the table it completes.
    """
    from macfm.files import check_target

    taken: dict[str, str] = {}
    read = {path: name for name, path in (reads or {}).items() if path is not None}
    for name, path in paths.items():
        if path is None:
            continue
        if path == "-" and name != "output":
            raise click.UsageError(f"--{name} must be a file, not standard output")
        other = _same_file(path, taken)
        if other is not None:
            raise click.UsageError(
                f"--{taken[other]} and --{name} cannot both be written to {path}"
            )
        other = _same_file(path, read)
        if other is not None and not (name == "output" and read[other] == "DATA"):
            raise click.UsageError(
                f"{path}: is the same file as {read[other]} {other}, which would be "
                "lost; give another path"
            )
        taken[path] = name
        if name == "output":
            check_target(path, draws=draws, format=to, force=force)
        else:
            check_target(path, force=force)
    output = paths.get("output")
    if output is not None:
        _check_format(output, to)
    if paths.get("report") is not None:
        check_report_packages()
    for path in read:
        if path != "-":
            os.stat(path)


def _same_file(path: str, others: Iterable[str]) -> str | None:
    """Return which of the paths leads to the same file, however it is spelt."""
    for other in others:
        if path == "-" or other == "-":
            same = path == other
        elif os.path.exists(path) and os.path.exists(other):
            same = os.path.samefile(path, other)
        else:
            same = os.path.realpath(path) == os.path.realpath(other)
        if same:
            return other
    return None


def _check_format(path: str, to: str | None) -> None:
    """Write a table of one cell aside, which shows whether the format can be written.

    So a suffix without a meaning or a package that is not installed is found before
    the work begins, not after it.
    """
    from macfm.files import FileError, read_table

    name = os.path.basename(path)
    if to is None and (path == "-" or "." not in name):
        return
    with tempfile.TemporaryDirectory() as folder:
        tiny = os.path.join(folder, "tiny")
        Path(tiny).write_text("a\n1\n", encoding="utf-8")
        table = read_table(tiny, format="csv")
        aside = os.path.join(folder, "out", name if "." in name else "table.csv")
        os.mkdir(os.path.dirname(aside))
        try:
            table.write(table.frame, aside, format=to)
        except FileError as error:
            raise Failure(str(error).replace(aside, path)) from None


def check_report_packages() -> None:
    """Refuse to begin if the report's packages are not installed."""
    import importlib.util

    for package in ("matplotlib", "jinja2"):
        if importlib.util.find_spec(package) is None:
            raise Failure(
                f"a report needs {package}, which is not installed: "
                'pip install "macfm[report]"'
            )


def say_notes(notes: Iterable[str], voice: Voice) -> None:
    """Say what a person should know about a file that was read or written."""
    for note in notes:
        voice.say(f"note: {note}")


def tell_notes(source: Source, voice: Voice, unused: Sequence[Hashable] = ()) -> None:
    """Say what is odd about how a file was read, its marks and its identifiers.

    Marks do not matter in columns that are not used.
    """
    from macfm.profile import missing_marks

    say_notes(source.notes, voice)
    unused = [name for name in source.frame if name in {*source.ignore, *unused}]
    for mark in missing_marks(source.frame, ignore=unused or None):
        typed = shlex.quote(f"{mark.column}={mark.value}")
        voice.say(
            f"note: {mark.sentence()}: if so, give --na-values {typed}, or it counts "
            "as observed"
        )
    for name in source.ids:
        cells = source.frame[name]
        n_repeated = int(cells.duplicated().sum())
        if n_repeated:
            repeat = "repeats" if n_repeated == 1 else "repeat"
            voice.say(
                f"note: --id {name}: {count(n_repeated, 'row')} {repeat} an earlier "
                "row's value"
            )
