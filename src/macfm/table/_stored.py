"""Checks of a stored schema and its statistics, before anything is done with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from macfm.table._atoms import MAX_ATOMS
from macfm.table._calendar import Calendar
from macfm.table._categories import category_key
from macfm.table._column import FAMILIES, KINDS, ColumnSchema, categories_of
from macfm.table._often import MAX_DECIMALS
from macfm.table._ticks import NANOSECONDS
from macfm.table._transform import N_LANDMARKS, SCORE, TRANSFORM_ARRAYS

MAX_COLUMNS = 100_000
"""Most columns of a stored schema."""

MAX_DTYPE = 10_000
"""Longest name of a type."""

_ZONE = re.compile(r"(?!dateutil)[A-Za-z0-9_+\-:/]{1,64}")


def check_column(column: ColumnSchema) -> None:
    """Refuse, with ValueError, a column that ``TableSchema.infer`` cannot give."""
    try:
        hash(column.name)
        _check_types(column)
        _check_kind(column)
        _check_atoms(column)
        _check_categories(column)
        _check_bounds(column)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} is stored wrongly: {error}") from None


def _need(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _is_int(value: Any) -> bool:
    return type(value) is int


def _check_types(column: ColumnSchema) -> None:
    _need(type(column.dtype) is str and len(column.dtype) <= MAX_DTYPE, "dtype")
    _need(column.family in FAMILIES, "family")
    _need(type(column.impute) is bool, "impute")
    _need(type(column.scores) is bool, "scores")
    _need(_is_int(column.width), "width")
    _need(column.unit is None or column.unit in NANOSECONDS, "unit")
    if column.tz is not None:
        _need(column.family == "datetime" and type(column.tz) is str, "tz")
        _need(_ZONE.fullmatch(column.tz), "tz")
        try:
            pd.DatetimeIndex(np.zeros(1, "M8[s]"), tz="UTC").tz_convert(column.tz)
        except Exception:
            raise ValueError(f"this machine has no time zone {column.tz!r}") from None
    if column.limits is not None:
        _need(column.family == "integer" and len(column.limits) == 2, "limits")
        lo, hi = column.limits
        _need(_is_int(lo) and _is_int(hi) and lo < hi, "limits")


def _check_kind(column: ColumnSchema) -> None:
    """Hold kind, family, encoding, width and transform against each other."""
    n = None if column.categories is None else len(column.categories)
    form = (column.encoding, column.width, column.transform)
    _need(column.kind in KINDS, "kind")
    scored = column.role == "number" and column.transform == "standard"
    _need(scored or not column.scores, "scores")
    if column.is_numeric:
        _need(column.family in KINDS[column.kind].families, "family")
        width = 1 + len(column.atoms or ()) + column.scores
        _need(form[:2] == ("scalar", width) and n is None, "encoding")
        _need(column.transform in ("standard", "quantile"), "transform")
    elif column.kind == "ordinal":
        _need(form == ("scalar", 1, "standard"), "encoding")
        _need(n is not None and n >= 2, "categories")
    elif column.kind in ("boolean", "categorical"):
        _need(n is not None and n >= 2, "categories")
        forms = [("binary", 1)]
        if n is not None and n > 2:
            forms = [("onehot", n), ("bits", (n - 1).bit_length())]
        _need(form[:2] in forms and column.transform is None, "encoding")
    else:
        _need(form == (None, 0, None), "encoding")
        _need(n == (1 if column.kind == "constant" else None), "categories")
        _need(column.kind == "constant" or not column.impute, "impute")
    modelled = column.kind not in ("empty", "ignored")
    _need(not modelled or column.family != "unknown", "family")
    timed = modelled and column.family in ("datetime", "timedelta")
    _need((column.unit is not None) == timed, "unit")


def _check_categories(column: ColumnSchema) -> None:
    if column.categories is None:
        return
    keys = {category_key(category) for category in column.categories}
    _need(len(keys) == len(column.categories), "categories")
    for category in column.categories:
        finite = not isinstance(category, float) or np.isfinite(category)
        _need(finite and not pd.isna(category), "categories")
        # The levels of an ordinal column are the user's and may be of any type.
        if column.kind != "ordinal":
            _need(isinstance(category, FAMILIES[column.family].types), "categories")


def _check_atoms(column: ColumnSchema) -> None:
    if column.atoms is None:
        return
    _need(column.role == "number" and 1 <= len(column.atoms) <= MAX_ATOMS, "atoms")
    kind = float if column.kind == "numeric" else int
    _need(all(type(atom) is kind for atom in column.atoms), "atoms")
    _need(kind is int or np.isfinite(column.atoms).all(), "atoms")
    _need(len(set(column.atoms)) == len(column.atoms), "atoms")


def _check_bounds(column: ColumnSchema) -> None:
    if column.bounds is None:
        return
    _need(column.is_numeric and len(column.bounds) == 2, "bounds")
    kind = float if column.kind == "numeric" else int
    ends = [end for end in column.bounds if end is not None]
    _need(ends and all(type(end) is kind for end in ends), "bounds")
    _need(kind is int or np.isfinite(ends).all(), "bounds")
    _need(ends == sorted(ends), "bounds")


def check_arrays(column: ColumnSchema, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse, with ValueError, statistics that no fit gives for this column."""
    try:
        if column.encoding == "scalar":
            own = "ranks" if column.kind == "ordinal" else "origin"
            names = {own, *TRANSFORM_ARRAYS}
            names |= _check_limits(column, arrays)
            names |= {"shares"} if column.atoms else set()
            names |= _check_written(column, arrays)
            score = {name: SCORE + name for name in TRANSFORM_ARRAYS}
            names |= set(score.values()) if column.scores else set()
            _need(set(arrays) == names, "its fields")
            if column.atoms:
                _check_shares(_array(arrays, "shares", np.float64, 1), column.atoms)
            _check_transform(arrays, with_landmarks=column.transform == "quantile")
            if column.scores:
                own_score = {name: arrays[stored] for name, stored in score.items()}
                _check_transform(own_score, with_landmarks=True)
            (_check_ranks if own == "ranks" else _check_origin)(column, arrays[own])
        else:
            scaled = column.encoding != "bits"
            names = {"frequencies", "scale"} if scaled else {"frequencies"}
            _need(set(arrays) == names, "its fields")
            shares = _array(arrays, "frequencies", np.float64, 1)
            _need(len(shares) == len(categories_of(column)), "frequencies")
            _need((shares >= 0).all() and (shares <= 1).all(), "frequencies")
            if scaled:
                _need(_array(arrays, "scale", np.float64, 0) > 0, "scale")
    except ValueError as error:
        raise ValueError(
            f"the statistics of column {column.name!r} are stored wrongly: {error}"
        ) from None


def _array(
    arrays: Mapping[str, np.ndarray], name: str, dtype: type, ndim: int
) -> np.ndarray:
    """Return a finite array of this type and number of dimensions."""
    array = arrays[name]
    _need(array.dtype == dtype and array.ndim == ndim, name)
    _need(np.isfinite(array).all(), name)
    return array


def _check_transform(arrays: Mapping[str, np.ndarray], *, with_landmarks: bool) -> None:
    _need(abs(int(_array(arrays, "exponent", np.int64, 0))) <= 1100, "exponent")
    _array(arrays, "mean", np.float64, 0)
    _need(_array(arrays, "std", np.float64, 0) > 0, "std")
    landmarks = _array(arrays, "landmarks", np.float64, 1)
    scores = _array(arrays, "scores", np.float64, 1)
    low, high = (2, N_LANDMARKS + 2) if with_landmarks else (0, 0)
    _need(low <= len(landmarks) <= high and len(scores) == len(landmarks), "landmarks")
    _need((np.diff(landmarks) > 0).all(), "landmarks")
    _need((np.diff(scores) >= 0).all(), "scores")


def _check_limits(column: ColumnSchema, arrays: Mapping[str, np.ndarray]) -> set[str]:
    """Check what is kept of the bounds and return its names; it may be left out."""
    ends = zip(("low", "high"), column.bounds or (None, None), strict=True)
    sides = {side for side, end in ends if end is not None and side in arrays}
    for side in sides:
        target, knee, *flags = _array(arrays, side, np.float64, 1)
        _need(len(flags) == 2 and set(flags) <= {0.0, 1.0}, side)
        _need(target <= knee if side == "low" else target >= knee, side)
    return sides


def _check_written(column: ColumnSchema, arrays: Mapping[str, np.ndarray]) -> set[str]:
    """Check how values are written and return its names; each may be left out."""
    own = {"often", "decimals", "calendar"}
    names = set() if column.kind == "ordinal" else own & set(arrays)
    if "often" in names:
        often = _array(arrays, "often", np.float64, 1)
        _need(len(often) and (np.diff(often) > 0).all(), "often")
    if "decimals" in names:
        _need(column.kind == "numeric", "decimals")
        decimals = _array(arrays, "decimals", np.int64, 0)
        _need(1 <= decimals <= MAX_DECIMALS, "decimals")
    if "calendar" in names:
        _need(column.kind == "datetime" and column.unit == "D", "calendar")
        told = _array(arrays, "calendar", np.int64, 1)
        _need(len(told) == 3, "calendar")
        Calendar.from_array(told)
    return names


def _check_origin(column: ColumnSchema, digits: np.ndarray) -> None:
    _need(digits.dtype == np.uint8 and digits.ndim == 1, "origin")
    number = re.fullmatch(rb"-?[0-9]{1,400}", digits.tobytes())
    _need(number and (column.family != "float" or number[0] == b"0"), "origin")


def _check_shares(shares: np.ndarray, atoms: tuple) -> None:
    _need(len(shares) == len(atoms), "shares")
    _need((shares > 0).all() and shares.sum() < 1, "shares")


def _check_ranks(column: ColumnSchema, ranks: np.ndarray) -> None:
    _need(ranks.dtype == np.int64 and ranks.ndim == 1 and len(ranks), "ranks")
    _need((np.diff(ranks) > 0).all(), "ranks")
    n = len(categories_of(column))
    _need(ranks[0] >= 0 and ranks[-1] < n, "ranks")
