"""TableFile: a table that remembers how its file wrote it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macfm.files._compress import compress
from macfm.files._errors import FileError
from macfm.files._formats import Format, resolve_format
from macfm.files._fresh import encode_frame
from macfm.files._infer import TextColumn
from macfm.files._styles import OPEN, Bounds, Style
from macfm.files._target import check_target, is_folder, write_bytes, write_folder


@dataclass(frozen=True)
class Filled:
    """What fills the holes of one column."""

    #: Numbers of the rows, from 0; shape (n_filled,).
    rows: np.ndarray
    #: Their values; of length n_filled.
    values: list
    #: What numbers and times were to lie within; rounding does not take them out of it.
    bounds: Bounds = OPEN


Fill = dict[str, Filled]


def fill_frame(
    frame: pd.DataFrame, styles: Mapping[str, Style], fill: Fill
) -> pd.DataFrame:
    """Fill a frame with values rounded as the text of the file would show them."""
    frame = frame.copy()
    for name, filled in fill.items():
        style = styles[name]
        if style.kind == "empty":
            continue
        values = frame[name].copy()
        texts = style.render(filled.values, filled.bounds)
        values.iloc[filled.rows] = style.array(style.values(texts))
        frame[name] = values
    return frame


def _moment(end: Any, tz: Any) -> pd.Timestamp:
    """One end of bounds; a number counts nanoseconds in UTC, as in a schema."""
    stamp = pd.Timestamp(end)
    if tz is None or stamp.tz is not None:
        return stamp
    return stamp.tz_localize("UTC" if isinstance(end, int) else tz)


class TableFile(ABC):
    """A table read from a file, which can be written back with its holes filled.

    Attributes
    ----------
    source : str
        Name of the file in messages.
    format : Format
        Format and compression of the file.
    frame : DataFrame
        The typed values: Int64, float64, boolean, datetime64 and text, with missing
        cells. Do not alter it; what is written back is compared with it.
    kinds : dict of column to str
        ``"integer"``, ``"float"``, ``"boolean"``, ``"date"``, ``"datetime"``,
        ``"text"``, or ``"empty"`` for a column without a value.
    marks : dict of column to dict of str to int
        The marks of missing values that occur in a column, and how often.
    notes : list of str
        What a person should know about how the file was read.
    """

    def __init__(
        self,
        source: str,
        form: Format,
        frame: pd.DataFrame,
        *,
        kinds: dict[str, str],
        marks: dict[str, dict[str, int]],
        notes: Sequence[str],
    ) -> None:
        self.source = source
        self.format = form
        self.frame = frame
        self.kinds = kinds
        self.marks = marks
        self.notes = list(notes)

    @property
    def places(self) -> pd.Index:
        """Where the rows stand in the file, from 1; its name is "line" or "row"."""
        return pd.RangeIndex(1, len(self.frame) + 1, name="row")

    def describe(self) -> dict[str, Any]:
        """Return how the file was read, in values that JSON can hold.

        Returns
        -------
        dict
            ``source``, ``format``, ``compression``, ``rows``, ``columns``, ``notes``,
            what else the format knows (``encoding``, ``delimiter``, ``sheet``), and
            under ``column`` for each column its ``kind``, the number of ``missing``
            cells and the ``marks`` that stand for them.
        """
        missing = self.frame.isna().sum()
        columns = {
            column: {
                "kind": self.kinds[column],
                "missing": int(missing[column]),
                "marks": dict(self.marks.get(column, {})),
            }
            for column in self.frame.columns
        }
        return {
            "source": self.source,
            "format": self.format.name,
            "compression": self.format.compression,
            **self._facts(),
            "rows": len(self.frame),
            "columns": len(self.frame.columns),
            "notes": list(self.notes),
            "column": columns,
        }

    def write(
        self,
        completed: pd.DataFrame,
        path: str | os.PathLike[str],
        *,
        bounds: Mapping[str, Any] | str | None = None,
        format: str | None = None,
        force: bool = False,
    ) -> list[str]:
        """Write the table with its holes filled from a completed one.

        Only cells that are missing in `frame` are taken from `completed`; all others
        are written as the file had them, in another format as the same values.

        Parameters
        ----------
        completed : DataFrame
            A table of the same columns and number of rows.
        path : str or path
            Where to write; "-" is standard output.
        bounds : mapping of column to (low, high), optional
            What filled numbers and times lie within, None for an open side, as given to
            the imputer. Rounding to what the column shows does not take them out of it:
            a number gets more decimals, a whole number or a time is rounded inwards.
        format : str, optional
            Name of the format, such as ``"csv"`` or ``"csv.gz"``; by default the
            suffix tells, and standard output takes the format of the input.
        force : bool, default=False
            Whether an existing file may be replaced.

        Returns
        -------
        list of str
            What a person should know about how the file was written, such as a column
            that another format can only hold as text.
        """
        path = os.fspath(path)
        form = self._target_format(path, format)
        check_target(path, force=force)
        data, notes = self._one(self._fill(completed, bounds), form)
        write_bytes(path, compress(data, form.compression), force=force)
        return notes

    def write_draws(
        self,
        draws: Iterable[pd.DataFrame],
        path: str | os.PathLike[str],
        *,
        imp_column: str = ".imp",
        id_column: str = ".id",
        include_original: bool = False,
        bounds: Mapping[str, Any] | str | None = None,
        format: str | None = None,
        force: bool = False,
    ) -> list[str]:
        """Write several completed tables, stacked in one file or as a folder of files.

        A stacked file begins with the number of the draw, from 1, and the number of
        the row, from 1: the long format of R's mice. A folder holds ``draw_01.csv``
        and so on.

        Parameters
        ----------
        draws : iterable of DataFrame
            Completed tables of the same columns and number of rows.
        path : str or path
            A file; or a folder: an existing one, a path that ends in a slash, or a
            name without a suffix. "-" is standard output, stacked.
        imp_column, id_column : str
            Names of the two columns of a stacked file.
        include_original : bool, default=False
            Whether the table with its holes comes first, as number 0.
        bounds : mapping of column to (low, high), optional
            As in `write`.
        format : str, optional
            Name of the format; by default a file's suffix tells, and a folder takes
            the format of the input.
        force : bool, default=False
            Whether existing files may be replaced.

        Returns
        -------
        list of str
            What a person should know about how the files were written.
        """
        path = os.fspath(path)
        folder = is_folder(path, format)
        form = self._target_format("-" if folder else path, format)
        if folder and format is None:
            form = self.format
        first = 0 if include_original else 1
        fills = (self._fill(draw, bounds) for draw in draws)
        if folder:
            notes: list[str] = []
            files = self._draw_files(fills, form, include_original, notes)
            stale = f"draw_*{form.suffix}"
            write_folder(path, files, stale=stale, force=force)
            return list(dict.fromkeys(notes))
        check_target(path, force=force)
        for name in (imp_column, id_column):
            if name in self.frame.columns or imp_column == id_column:
                raise FileError(
                    f"{self.source}: a stacked file needs a column {name!r} for the "
                    "draws, but that name is taken; give another one"
                )
        every: list[Fill] = [{}] if include_original else []
        every += fills
        numbered = list(enumerate(every, start=first))
        names = (imp_column, id_column)
        stack = self._stack if self._is_native(form) else self._stack_afresh
        data, notes = stack(numbered, names, form)
        write_bytes(path, compress(data, form.compression), force=force)
        return notes

    def _draw_files(
        self,
        fills: Iterable[Fill],
        form: Format,
        include_original: bool,
        notes: list[str],
    ) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of each file of a folder; adds to `notes`."""
        every: list[Fill] = [{}] if include_original else []
        every += fills
        first = 0 if include_original else 1
        width = max(2, len(str(len(every) - 1 + first)))
        for number, fill in enumerate(every, start=first):
            data, more = self._one(fill, form)
            notes += more
            name = f"draw_{number:0{width}d}{form.suffix}"
            yield name, compress(data, form.compression)

    def _stack_afresh(
        self, fills: list[tuple[int, Fill]], names: tuple[str, str], form: Format
    ) -> tuple[bytes, list[str]]:
        """One new file of several numbered tables, and notes on it."""
        frames = [self._typed(fill) for _, fill in fills]
        for (number, _), frame in zip(fills, frames, strict=True):
            frame.insert(0, names[1], np.arange(1, len(frame) + 1))
            frame.insert(0, names[0], number)
        kinds = {**dict.fromkeys(names, "integer"), **self.kinds}
        stacked = pd.concat(frames, ignore_index=True)
        return encode_frame(stacked, kinds, form, self.source)

    def _target_format(self, path: str, given: str | None) -> Format:
        form = resolve_format(path, given)
        return Format(self.format.name) if form is None else form

    def _one(self, fill: Fill, form: Format) -> tuple[bytes, list[str]]:
        """The plain bytes of one table in a format, and notes on them."""
        if self._is_native(form):
            return self._encode(fill, form), []
        return encode_frame(self._typed(fill), self.kinds, form, self.source)

    def _fill(
        self, completed: pd.DataFrame, bounds: Mapping[str, Any] | str | None
    ) -> Fill:
        """Take from a completed table what is missing in the file."""
        if list(completed.columns) != list(self.frame.columns):
            raise FileError(
                f"{self.source}: the completed table must have the columns of the "
                f"file, got {list(completed.columns)}"
            )
        if len(completed) != len(self.frame):
            raise FileError(
                f"{self.source}: the completed table must have {len(self.frame)} rows, "
                f"got {len(completed)}"
            )
        fill = {}
        for place, column in enumerate(self.frame.columns):
            missing = self.frame.iloc[:, place].isna().to_numpy()
            if not missing.any():
                continue
            cells = completed.iloc[:, place]
            rows = np.flatnonzero(missing & cells.notna().to_numpy())
            if len(rows):
                limits = self._limits(column, bounds)
                fill[column] = Filled(rows, cells.iloc[rows].tolist(), limits)
        return fill

    def _limits(self, column: str, bounds: Mapping[str, Any] | str | None) -> Bounds:
        """What the numbers of a column lie within; others are not rounded out of it."""
        limits = bounds.get(column) if isinstance(bounds, Mapping) else None
        # What was observed has no more decimals than the column, which rounding keeps.
        if limits is None or isinstance(limits, str):
            return OPEN
        if self.kinds[column] in ("date", "datetime"):
            tz = getattr(self.frame[column].dtype, "tz", None)
            low, high = (None if end is None else _moment(end, tz) for end in limits)
            return low, high
        return limits if self.kinds[column] in ("float", "integer") else OPEN

    def _facts(self) -> dict[str, Any]:
        """What else `describe` tells about the file."""
        return {}

    @abstractmethod
    def _is_native(self, form: Format) -> bool:
        """Whether `_encode` can write this format with the observed cells kept."""

    @abstractmethod
    def _encode(self, fill: Fill, form: Format) -> bytes:
        """Return the bytes of the file with its holes filled."""

    @abstractmethod
    def _stack(
        self, fills: list[tuple[int, Fill]], names: tuple[str, str], form: Format
    ) -> tuple[bytes, list[str]]:
        """Return the bytes of one file of several numbered tables, and notes on it."""

    @abstractmethod
    def _typed(self, fill: Fill) -> pd.DataFrame:
        """Return a new frame with its holes filled, for other formats."""


class StyledFile(TableFile):
    """A table whose columns have a style, in which what fills them is written."""

    def __init__(
        self,
        source: str,
        form: Format,
        frame: pd.DataFrame,
        *,
        columns: Mapping[str, TextColumn],
        notes: Sequence[str],
    ) -> None:
        super().__init__(
            source,
            form,
            frame,
            kinds={name: column.style.kind for name, column in columns.items()},
            marks={name: column.marks for name, column in columns.items()},
            notes=notes,
        )
        self._styles = {name: column.style for name, column in columns.items()}

    def _typed(self, fill: Fill) -> pd.DataFrame:
        return fill_frame(self.frame, self._styles, fill)
