"""From the observed cells of a table, and the user's wishes, to its schema."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from macfm._errors import ColumnError, ParameterError, Said
from macfm._warn import warn_user
from macfm.table._atoms import find_atoms
from macfm.table._bounds import resolve_bounds
from macfm.table._categories import category_key, category_values, value_keys
from macfm.table._column import (
    FAMILIES,
    KINDS,
    ColumnData,
    ColumnSchema,
    ColumnTypeError,
    at_fault,
    seldom_repeats,
)
from macfm.table._hints import (
    amounts_but_for_a_few,
    looks_like_codes,
    number_mark,
    stray_number,
    warn_codes,
    warn_marks,
    warn_spelling,
    warn_spoiled,
    warn_stray,
)
from macfm.table._io import Table
from macfm.table._numbers import choose_origin, differences
from macfm.table._ticks import granule, split, zone_name
from macfm.table._transform import heavy_tailed, skewed
from macfm.table._written import warn_written, written_amounts

TRANSFORMS = ("standard", "quantile", "auto")

LEAST_CELLS = {"whole": 3, "other": 10}
"""Observed cells from which two distinct numbers are two categories."""

FEW_CELLS = 10
"""Observed cells below which a column is filled with little more than guesses."""

SMALL_TABLE = 20
"""Rows below which every column has few cells, and its user knows."""

EXACT = 2.0**53
"""From here on every float is a whole number, which says nothing."""


def infer_columns(
    table: Table,
    *,
    categorical: Sequence[Hashable] | None,
    numeric: Sequence[Hashable] | None,
    ordinal: Mapping[Hashable, Sequence] | None,
    bounds: Mapping[Hashable, Any] | str | None,
    numeric_transform: str | Mapping[Hashable, str],
    max_one_hot: int,
    atoms: bool,
    scores: bool,
    only: Sequence[Hashable] | None,
    ignore: Sequence[Hashable] | None,
) -> list[ColumnSchema]:
    """Return one schema per column; the parameters are those of ``TableSchema``."""
    wishes: dict[str, Any] = {
        "categorical": _names("categorical", categorical),
        "numeric": _names("numeric", numeric),
        "ordinal": _mapping("ordinal", ordinal),
        "bounds": _bounds(bounds),
        "numeric_transform": _transforms(numeric_transform),
        "only": _names("only", only),
        "ignore": _names("ignore", ignore),
    }
    for parameter, named in wishes.items():
        check_names(parameter, named, table.columns)
    _check_disjoint("categorical", "ordinal", wishes)
    _check_disjoint("categorical", "numeric", wishes)
    _check_disjoint("numeric", "ordinal", wishes)
    _check_disjoint("only", "ignore", wishes)
    every = "auto" if isinstance(bounds, Mapping) else bounds
    columns = []
    for j, name in enumerate(table.columns):
        if name in wishes["ignore"]:
            columns.append(ColumnSchema(name, "ignored", table.dtype(j)))
            continue
        data = table.column(j)
        if name in wishes["numeric"]:
            _check_numbers(data)
        column = _kind(
            data,
            name in wishes["categorical"],
            wishes["ordinal"].get(name),
            as_numbers=name in wishes["numeric"],
            as_amounts=_is_amount(name, wishes),
            max_one_hot=max_one_hot,
        )
        wished = wishes["bounds"].get(name, every)
        if name in wishes["bounds"] or column.is_numeric:
            column = resolve_bounds(
                column, data, wished, as_numbers=name in wishes["numeric"]
            )
        column = _with_transform(column, data, numeric_transform)
        if atoms:
            column = _with_atoms(column, data)
        if scores:
            n_columns = len(table.columns) - len(wishes["ignore"])
            column = _with_scores(column, data, n_columns=n_columns)
        filled = column.kind != "empty" and (only is None or name in wishes["only"])
        columns.append(replace(column, impute=filled))
    _warn_numbers(table, columns, wishes)
    _warn_few(table, columns)
    return columns


def _kind(
    data: ColumnData,
    as_categories: bool,
    levels: Sequence | None,
    *,
    as_numbers: bool,
    as_amounts: bool,
    max_one_hot: int,
) -> ColumnSchema:
    """Decide the kind of a column, with its categories and width.

    ``levels`` are those it has in ``ordinal``; ``as_amounts`` tells that by other
    wishes two distinct numbers are no categories.
    """
    column = ColumnSchema(
        name=data.name,
        kind="empty",
        dtype=data.dtype,
        family=data.family,
        tz=_checked_zone(data),
        limits=data.limits if data.family == "integer" else None,
    )
    seen = data.seen
    if not len(seen):
        return column
    if data.unit is not None:
        column = replace(column, unit=granule(*split(seen, data.unit), column.tz))
    order = None if levels is None else _checked_levels(data, levels)
    distinct = pd.unique(seen)
    if len(distinct) == 1:
        categories = tuple(category_values(distinct, data))
        return replace(column, kind="constant", categories=categories)
    if order is None and data.listed is not None and data.ordered and not as_categories:
        order = tuple(category_values(data.listed, data))
    if order is not None:
        column = replace(column, kind="ordinal", categories=order)
        return replace(column, encoding="scalar", width=1, transform="standard")
    listed = data.listed is not None
    kind = "categorical" if as_categories or listed else FAMILIES[data.family].kind
    if kind == "numeric" and not as_numbers and _whole(distinct):
        kind = "integer"
    if kind in ("numeric", "integer") and not (as_numbers or as_amounts):
        least = LEAST_CELLS["whole" if kind == "integer" else "other"]
        if len(distinct) == 2 and len(seen) >= least:
            kind = "categorical"
    if KINDS[kind].role != "category":
        return replace(column, kind=kind, encoding="scalar", width=1)
    categories = _ordered(distinct, data)
    if kind == "categorical":
        unnamed = data.family == "string" and not as_categories and not listed
        nearly = unnamed and amounts_but_for_a_few(seen)
        written = written_amounts(seen) if unnamed and not nearly else None
        if written:
            warn_written(data.name, seen, written)
        else:
            if not nearly:
                _warn_identifiers(data.name, len(seen), len(categories))
            if unnamed:
                warn_spoiled(data.name, seen)
                warn_spelling(data.name, categories)
    encoding = _encoding(len(categories), max_one_hot=max_one_hot)
    return replace(column, kind=kind, categories=categories, **encoding)


def _is_amount(name: Hashable, wishes: Mapping[str, Any]) -> bool:
    """Whether the user gives a column limits or a scale, which categories lack."""
    limits = wishes["bounds"].get(name)
    automatic = limits is None or (isinstance(limits, str) and limits == "auto")
    return not automatic or name in wishes["numeric_transform"]


def _whole(values: np.ndarray) -> bool:
    """Whether finite floats are all whole numbers that a float tells apart."""
    return bool((values == np.rint(values)).all() and np.abs(values).max() < EXACT)


def _encoding(n_categories: int, *, max_one_hot: int) -> dict[str, Any]:
    """Return encoding and width for a number of categories, at least two."""
    if n_categories == 2:
        return {"encoding": "binary", "width": 1}
    if n_categories <= max_one_hot:
        return {"encoding": "onehot", "width": n_categories}
    return {"encoding": "bits", "width": (n_categories - 1).bit_length()}


def _ordered(distinct: np.ndarray, data: ColumnData) -> tuple:
    """Observed categories, in the order of their type or else sorted."""
    if data.listed is None:
        return tuple(category_values(np.sort(distinct), data))
    present = set(value_keys(distinct, data))
    listed = zip(
        category_values(data.listed, data), value_keys(data.listed, data), strict=True
    )
    return tuple(value for value, key in listed if key in present)


def _check_numbers(data: ColumnData) -> None:
    """Refuse a column named in ``numeric`` that holds something else."""
    if data.listed is not None or data.family not in ("float", "integer", "unknown"):
        why = f"is of type {data.dtype}; {{numeric}} is for columns of numbers only"
        raise at_fault(data.name, why, numeric=...)


def _checked_levels(data: ColumnData, levels: Sequence) -> tuple:
    """Return the user's levels as plain values, after checking the observed ones."""
    if data.is_time:
        why = f"is of type {data.dtype} and has an order already"
        raise at_fault(data.name, f"{why}; remove it from {{ordinal}}", ordinal=...)
    plain = tuple(v.item() if isinstance(v, np.generic) else v for v in levels)
    if len(set(plain)) != len(plain) or pd.isna(np.array(plain, dtype=object)).any():
        raise ParameterError(
            f"the levels of ordinal column {data.name!r} must be distinct and not "
            f"missing, got {list(plain)}",
            parameter="ordinal",
        )
    known = {category_key(level) for level in plain}
    for key in value_keys(pd.unique(data.seen), data):
        if key not in known:
            raise ColumnError(
                f"ordinal column {data.name!r} holds {key!r}, which is not among its "
                f"levels {list(plain)}",
                column=data.name,
            )
    return plain


def _checked_zone(data: ColumnData) -> str | None:
    """Name of the time zone, after making sure that it leads back to one."""
    tz = zone_name(data.tz)
    if tz is not None:
        try:
            pd.DatetimeIndex(np.zeros(1, "M8[s]"), tz="UTC").tz_convert(tz)
        except Exception:
            why = f"has the time zone {tz}, which has no name to find it by; convert "
            why += "it, for example with tz_convert('Europe/Berlin')"
            raise at_fault(data.name, why, ColumnTypeError) from None
    return tz


def _with_transform(
    column: ColumnSchema, data: ColumnData, wished: str | Mapping[Hashable, str]
) -> ColumnSchema:
    """Resolve the transform of a column of numbers or times."""
    if not column.is_numeric:
        unwanted = not isinstance(wished, str) and column.name in wished
        if unwanted and column.kind not in ("empty", "constant"):
            why = f"is {column.kind}; {{numeric_transform}} is for numbers and times "
            raise at_fault(column.name, f"{why}only", numeric_transform=...)
        return column
    chosen = wished if isinstance(wished, str) else wished.get(column.name, "standard")
    if chosen == "auto":
        seen = differences(data.seen, data, choose_origin(data))
        chosen = "quantile" if heavy_tailed(seen) else "standard"
    return replace(column, transform=chosen)


def _with_atoms(column: ColumnSchema, data: ColumnData) -> ColumnSchema:
    """Give values that a column of numbers often repeats coordinates of their own."""
    if column.role != "number":
        return column
    atoms = find_atoms(column, data, origin=choose_origin(data))
    return replace(column, atoms=atoms, width=1 + len(atoms)) if atoms else column


def _with_scores(
    column: ColumnSchema, data: ColumnData, *, n_columns: int
) -> ColumnSchema:
    """Give a column of numbers that lean to one side their normal scores."""
    if column.role != "number" or column.transform != "standard":
        return column
    amounts = differences(data.seen, data, choose_origin(data))
    if not skewed(amounts, n_columns=n_columns):
        return column
    return replace(column, scores=True, width=column.width + 1)


def _warn_numbers(
    table: Table, columns: Sequence[ColumnSchema], wishes: Mapping[str, Any]
) -> None:
    """Warn of codes and marks among numbers of which the user has said nothing."""
    codes, marks, strays = [], {}, {}
    for j, column in enumerate(columns):
        name = column.name
        spoken_of = ("categorical", "numeric", "ordinal")
        if column.kind == "ignored" or any(name in wishes[wish] for wish in spoken_of):
            continue
        data = table.column(j)
        if data.family not in ("float", "integer") or data.listed is not None:
            continue
        if column.kind == "integer" and not _is_amount(name, wishes):
            codes += [name] if looks_like_codes(name, data.seen) else []
        numbers = data.seen.astype(float)
        mark = number_mark(numbers)
        if mark is not None:
            marks[name] = (mark, int((numbers == mark).sum()))
        stray = stray_number(numbers)
        if stray is not None:
            strays[name] = stray
    warn_codes(codes)
    warn_marks(marks)
    warn_stray(strays)


def _warn_few(table: Table, columns: Sequence[ColumnSchema]) -> None:
    """Name the columns to be filled of which hardly a cell is observed."""
    n_rows = table.n_rows
    n_observed = table.observed.sum(axis=0)
    few = {
        column.name: int(n)
        for column, n in zip(columns, n_observed, strict=True)
        if column.impute and column.kind != "ignored" and 0 < n < min(FEW_CELLS, n_rows)
    }
    if few and n_rows >= SMALL_TABLE:
        one = len(few) == 1
        columns_, have, them = (
            ("column", "has", "it") if one else ("columns", "have", "them")
        )
        found = ", ".join(f"{name!r} ({n})" for name, n in few.items())
        said = f"{columns_} {found} {have} fewer than {FEW_CELLS} observed cells of "
        said += f"{n_rows:,}; take what fills {them} for little more than a guess, or "
        said += f"leave {them} out with {{ignore}}"
        warn_user(Said(said, ignore=list(few)))


def _warn_identifiers(name: Hashable, n_observed: int, n_categories: int) -> None:
    if seldom_repeats(n_categories, n_observed):
        said = f"column {name!r} has {n_categories} distinct values in {n_observed} "
        said += "observed rows and looks like free text or an identifier; consider "
        said += "{ignore}, or make dates of it first if it holds any (2024-03-01 in a "
        said += "file, pd.to_datetime in Python)"
        warn_user(Said(said, ignore=[name]))


def _names(parameter: str, named: Iterable[Hashable] | None) -> list[Hashable]:
    """Return a list of names; a bare string is a mistake."""
    if named is None:
        return []
    if isinstance(named, (str, bytes, Mapping)) or not isinstance(named, Iterable):
        raise TypeError(f"{parameter} must be a list of column names, got {named!r}")
    return list(named)


def _bounds(named: Mapping | str | None) -> Mapping:
    if isinstance(named, str):
        if named in ("auto", "observed"):
            return {}
        raise TypeError(
            "bounds must be a dict by column name, 'auto', 'observed' or None, "
            f"got {named!r}"
        )
    return _mapping("bounds", named)


def _mapping(parameter: str, named: Mapping | str | None) -> Mapping:
    if named is None:
        return {}
    if not isinstance(named, Mapping):
        raise TypeError(f"{parameter} must be a dict by column name, got {named!r}")
    return named


def _transforms(wished: str | Mapping[Hashable, str]) -> Mapping[Hashable, str]:
    """Check the values of ``numeric_transform`` and return its dict, if it is one."""
    by_name = {} if isinstance(wished, str) else _mapping("numeric_transform", wished)
    for value in [wished] if isinstance(wished, str) else by_name.values():
        if value not in TRANSFORMS:
            raise ParameterError(
                f"numeric_transform must be one of {list(TRANSFORMS)}, got {value!r}",
                parameter="numeric_transform",
            )
    return by_name


def check_names(
    parameter: str, named: Iterable[Hashable], columns: list[Hashable]
) -> None:
    """Refuse names that are not in the table, with the closest that are."""
    unknown = [name for name in named if name not in set(columns)]
    if unknown:
        by_text = {str(column): column for column in columns}
        close = [m for n in unknown for m in get_close_matches(str(n), list(by_text))]
        near = list(dict.fromkeys(by_text[match] for match in close))
        hint = f"; did you mean {near}?" if near else ""
        said = f"{{{parameter}}} names columns not in the table: {unknown}{hint}"
        raise ParameterError(Said(said, **{parameter: ...}), parameter=parameter)


def _check_disjoint(first: str, second: str, wishes: Mapping[str, Iterable]) -> None:
    both = [name for name in wishes[first] if name in wishes[second]]
    if both:
        said = f"columns {both} are named in both {{{first}}} and {{{second}}}"
        named = {first: ..., second: ...}
        raise ParameterError(Said(said, **named), parameter=second)
