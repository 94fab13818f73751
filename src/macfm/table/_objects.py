"""Plain Python objects in a column ⇄ canonical numpy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from macfm._errors import ColumnError
from macfm.table._column import ColumnData, ColumnTypeError, at_fault, unsupported
from macfm.table._ticks import duration, moment, zone_name

_INT64 = np.iinfo(np.int64)

# Python's own datetime and date end long before int64 does.
_OBJECT_LIMITS: dict[str, tuple[np.datetime64, np.datetime64]] = {
    "date": (np.datetime64(dt.date.min, "D"), np.datetime64(dt.date.max, "D")),
    "datetime": (
        np.datetime64(dt.datetime.min, "us"),
        np.datetime64(dt.datetime.max, "us"),
    ),
}


def parse_objects(
    name: Hashable, cells: np.ndarray, observed: np.ndarray
) -> ColumnData:
    """Read an object column whose observed cells share one Python type."""
    seen = cells[observed].tolist()
    family, tag = _common_type(name, seen)
    values = np.zeros(len(cells), dtype=object)
    data: dict[str, Any] = {
        "name": name,
        "dtype": f"object[{tag}]",
        "observed": observed,
    }
    if family == "unknown":
        return ColumnData(family=family, values=values, **{**data, "dtype": "object"})
    if family == "string":
        values[observed] = seen
        return ColumnData(family=family, values=values, **data)
    if family in ("datetime", "timedelta"):
        return _parse_times(family, tag, seen, data)
    try:
        if family == "boolean":
            plain = np.array(seen, dtype=bool)
        elif family == "integer":
            plain = _integers(seen)
        else:
            plain = np.array([float(value) for value in seen])
    except OverflowError:
        raise unsupported(name, "integers too large for a float") from None
    values = np.zeros(len(cells), dtype=plain.dtype)
    values[observed] = plain
    float_type = np.dtype(float) if family == "float" else None
    return ColumnData(family=family, values=values, float_type=float_type, **data)


def _integers(seen: list[int]) -> np.ndarray:
    """Python ints as int64, or as objects where one of them is too large."""
    if seen and (min(seen) < _INT64.min or max(seen) > _INT64.max):
        if max(abs(int(value)) for value in seen) > np.finfo(float).max:
            raise OverflowError
        plain = np.empty(len(seen), dtype=object)
        plain[:] = [int(value) for value in seen]
        return plain
    return np.array(seen, dtype=np.int64)


def _family_of(kind: type) -> tuple[str, str] | None:
    """Family and tag of one Python type, None when there is no encoding for it."""
    # np.timedelta64 is a subclass of np.signedinteger, bool of int, datetime of date.
    known: tuple[tuple[tuple[type, ...], str, str], ...] = (
        ((bool, np.bool_), "boolean", "bool"),
        ((pd.Timedelta,), "timedelta", "Timedelta"),
        ((dt.timedelta,), "timedelta", "timedelta"),
        ((np.timedelta64,), "timedelta", "timedelta64"),
        ((int, np.integer), "integer", "int"),
        ((float, np.floating), "float", "float"),
        ((str,), "string", "str"),
        ((pd.Timestamp,), "datetime", "Timestamp"),
        ((dt.datetime,), "datetime", "datetime"),
        ((np.datetime64,), "datetime", "datetime64"),
        ((dt.date,), "date", "date"),
    )
    for types, family, tag in known:
        if issubclass(kind, types):
            return family, tag
    return None


def _common_type(name: Hashable, seen: list) -> tuple[str, str]:
    """Return the family and tag shared by all values, or raise naming two of them."""
    kinds: dict[type, tuple[str, str]] = {}
    for kind in dict.fromkeys(map(type, seen)):
        pair = _family_of(kind)
        if pair is None:
            raise unsupported(name, f"values of type {kind.__name__}")
        kinds[kind] = pair
    families = {family for family, _ in kinds.values()}
    tags = {tag for _, tag in kinds.values()}
    if not families:
        return "unknown", ""
    if families == {"integer", "float"}:
        return "float", "float"
    if len(families) > 1:
        first = seen[0]
        other = next(v for v in seen if kinds[type(v)][0] != kinds[type(first)][0])
        raise _mixed(name, first, other)
    family = families.pop()
    if family == "datetime" and tags <= {"datetime", "Timestamp"}:
        aware = [value.tzinfo is not None for value in seen]
        if any(aware) and not all(aware):
            raise _mixed(name, seen[0], seen[aware.index(not aware[0])])
    # The plainest of several tags can be written beside all of them.
    for tag in ("date", "datetime", "timedelta"):
        if tag in tags:
            return ("datetime" if tag == "date" else family), tag
    return family, sorted(tags)[0]


def _mixed(name: Hashable, first: object, other: object) -> ColumnError:
    why = (
        f"mixes types: {first!r} ({type(first).__name__}) and {other!r} "
        f"({type(other).__name__}); convert it to one type, or leave it out with "
        "{ignore}"
    )
    return at_fault(name, why, ColumnTypeError, ignore=[name])


def _parse_times(family: str, tag: str, seen: list, data: dict) -> ColumnData:
    """Read Python or numpy dates, times and durations as integer ticks."""
    tz = None
    if tag == "date":
        stamps = np.array(seen, dtype="M8[D]")
    elif family == "datetime":
        zones = {getattr(value, "tzinfo", None) for value in seen}
        names = {zone_name(zone) for zone in zones}
        tz = zones.pop() if len(names) == 1 else "UTC"
        stamps = np.array([pd.Timestamp(value).to_datetime64() for value in seen])
    else:
        stamps = np.array([pd.Timedelta(value).to_timedelta64() for value in seen])
    unit = np.datetime_data(stamps.dtype)[0]
    if tag == "datetime" and unit in ("s", "ms"):
        unit = "us"
        stamps = stamps.astype("M8[us]")
    values = np.zeros(len(data["observed"]), dtype=np.int64)
    values[data["observed"]] = stamps.astype(np.int64)
    return ColumnData(
        family=family,
        values=values,
        unit=unit,
        tz=tz,
        limits=object_limits(tag, unit),
        **data,
    )


def object_limits(tag: str, unit: str) -> tuple[int, int]:
    """Return the first and last tick that Python objects of this kind can hold."""
    if tag not in _OBJECT_LIMITS:
        return -_INT64.max, _INT64.max
    lo, hi = _OBJECT_LIMITS[tag]
    if unit == "ns":
        return -_INT64.max, _INT64.max
    # A day is left on either side for the time zone.
    day = np.timedelta64(0 if tag == "date" else 1, "D")
    lo, hi = (lo + day).astype(f"M8[{unit}]"), (hi - day).astype(f"M8[{unit}]")
    return int(lo.astype(np.int64)), int(hi.astype(np.int64))


def box_objects(data: ColumnData, values: Iterable) -> list:
    """Turn canonical values into the Python objects of an object column."""
    tag = data.dtype.removeprefix("object[").removesuffix("]")
    if not data.is_time:
        return np.asarray(values).tolist()
    assert data.unit is not None
    ticks = [int(value) for value in values]
    if data.family == "timedelta":
        durations = [duration(tick, data.unit) for tick in ticks]
        if tag == "timedelta64":
            return durations
        boxed = [pd.Timedelta(value) for value in durations]
        return [b.to_pytimedelta() for b in boxed] if tag == "timedelta" else boxed
    stamps = [moment(tick, data.unit) for tick in ticks]
    if tag == "datetime64":
        return stamps
    if tag == "date":
        return [stamp.item() for stamp in stamps]
    boxed = [pd.Timestamp(stamp) for stamp in stamps]
    if data.tz is not None:
        boxed = [b.tz_localize("UTC").tz_convert(data.tz) for b in boxed]
    if tag == "datetime":
        return [b.to_pydatetime(warn=False) for b in boxed]
    return boxed
