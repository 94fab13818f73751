"""A user's own table: which columns are numbers, which categories, which neither."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from macfm.bench.datasets._dataset import DatasetError, LoadedTable
from macfm.bench.datasets._read import SUFFIXES, check_file, read_table_file
from macfm.bench.datasets._roles import to_number, to_text
from macfm.files import FileError, read_table
from macfm.table import seldom_repeats

MIN_ROWS = 20
MIN_COLUMNS = 2
# More categories than this, in more than half of the rows, and a column names rows
# rather than groups them.
MANY = 50

DATE = r"\d{4}-\d{2}-\d{2}(?:[T ].*)?"


def load_table(
    path: str | os.PathLike,
    *,
    target: str | None = None,
    categorical: Collection[str] = (),
) -> LoadedTable:
    """Load a table of one's own from CSV, TSV or parquet.

    Columns of numbers become float64, others text. Columns that nothing can be learnt
    about (empty, constant, identifiers, many dates) are left out, each with a line in
    `LoadedTable.notes`.

    Parameters
    ----------
    path
        A ``.csv``, ``.tsv`` (both also as ``.gz``) or ``.parquet`` file with a header.
    target
        A column to leave out, as the targets of the registry's tables are.
    categorical
        Columns of numbers that are codes of categories.
    """
    path = Path(path).expanduser()
    source = _read(path)
    source.columns = [str(c) for c in source.columns]
    for name in (*categorical, *([target] if target is not None else [])):
        if name not in source.columns:
            columns = ", ".join(source.columns)
            raise DatasetError(
                f"{path} has no column {name!r}; its columns are: {columns}"
            )
    try:
        frame, notes = infer_roles(source, ignore=(target,), categorical=categorical)
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from error
    if len(frame) < MIN_ROWS or frame.shape[1] < MIN_COLUMNS:
        left_out = f" ({'; '.join(notes)})" if notes else ""
        raise DatasetError(
            f"{path} must have at least {MIN_ROWS} rows and {MIN_COLUMNS} usable "
            f"columns, got {len(frame)} rows and {frame.shape[1]} columns{left_out}"
        )
    name = path.name
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
            break
    return LoadedTable(name, frame, target, notes=notes)


def _read(path: Path) -> pd.DataFrame:
    """Read a file as the command line does: delimiters, decimal commas, marks."""
    check_file(path)
    if path.name.lower().endswith(".parquet"):
        return read_table_file(path)
    try:
        return read_table(path).frame
    except FileError as error:
        raise DatasetError(f"{path} cannot be read: {error}") from error


def infer_roles(
    source: pd.DataFrame,
    *,
    ignore: Collection[str | None] = (),
    categorical: Collection[str] = (),
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the usable columns in their two forms, and notes on the others."""
    columns, notes = {}, []
    for name in source.columns:
        if name in ignore:
            continue
        column, note = _infer(source[name], as_text=name in categorical)
        if column is not None:
            columns[name] = column
        if note:
            notes.append(f"{name}: {note}")
    return pd.DataFrame(columns).reset_index(drop=True), tuple(notes)


def _infer(column: pd.Series, *, as_text: bool) -> tuple[pd.Series | None, str]:
    """Return a column in its form, or None if it is left out, and a note if any."""
    kinds = pd.api.types
    seen = column.dropna()
    if seen.empty:
        return None, "left out, every cell is missing"
    texts = to_text(column)  # also finds what cannot be a cell of a table
    n_distinct = texts.nunique()
    if n_distinct == 1:
        return None, f"left out, every cell is {texts.dropna().iloc[0]!r}"
    if kinds.is_timedelta64_dtype(column):
        return to_number(column.dt.total_seconds()), "a duration, read as seconds"
    dates = kinds.is_datetime64_any_dtype(column)
    if kinds.is_numeric_dtype(column) and not kinds.is_bool_dtype(column):
        if kinds.is_complex_dtype(column):
            raise DatasetError(f"column {column.name!r} holds complex numbers")
        if as_text:
            return texts, ""
        numbers = to_number(column)
        if len(numbers) > MANY and (np.diff(numbers) == 1).all():
            return None, "left out, it counts the rows"
        return numbers, ""
    if not dates and not kinds.is_bool_dtype(column):
        dates = bool(texts.dropna().str.fullmatch(DATE).all())
    if dates and n_distinct > MANY and not as_text:
        return None, f"left out, it holds {n_distinct} dates"
    if seldom_repeats(n_distinct, len(seen)):
        return None, f"left out, {n_distinct} texts in {len(seen)} cells name the rows"
    return texts, _nearly_numbers(texts.dropna())


def _nearly_numbers(texts: pd.Series) -> str:
    """Say so if a column of text would be one of numbers but for a few cells."""
    numbers = pd.to_numeric(texts, errors="coerce")
    strays = texts[numbers.isna()]
    if 0 < len(strays) <= 0.1 * len(texts):
        return f"read as text, as {strays.iloc[0]!r} is not a number"
    return ""
