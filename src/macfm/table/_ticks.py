"""Exact arithmetic on points in time: pairs of whole seconds and nanoseconds.

A pair holds every unit from days to nanoseconds without overflow, which int64
nanoseconds do not (they end in 2262).
"""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd

NANOSECONDS = {
    "D": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
_SECOND = 10**9
_DAY = 86_400  # seconds
_INT64_MAX = 2**63 - 1
_ZONE_RANGE = (-62_135_424_000, 253_402_128_000)  # two days inside years 1 to 9999
_FAR = float(2**61)  # seconds; no unit reaches further


# numpy's types want the unit of the next two as a literal.
def moment(tick: int, unit: str) -> np.datetime64:
    """Return a point in time, so many ticks of ``unit`` from the epoch."""
    return np.datetime64(tick, unit)  # type: ignore[call-overload]


def duration(ticks: int, unit: str) -> np.timedelta64:
    """Return a duration of so many ticks of ``unit``."""
    return np.timedelta64(ticks, unit)  # type: ignore[call-overload]


def split(ticks: np.ndarray, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """Split ticks since the epoch into whole seconds and nanoseconds."""
    ticks = np.asarray(ticks, dtype=np.int64)
    size = NANOSECONDS[unit]
    if size >= _SECOND:
        return ticks * (size // _SECOND), np.zeros_like(ticks)
    seconds, rest = np.divmod(ticks, _SECOND // size)
    return seconds, rest * size


def join(
    seconds: np.ndarray, nanos: np.ndarray, unit: str, limits: tuple[int, int] | None
) -> np.ndarray:
    """Return int64 ticks of ``unit``, clipped to ``limits``; what is finer is cut."""
    size = NANOSECONDS[unit]
    if size >= _SECOND:
        ticks = seconds // (size // _SECOND)
    else:
        per_second = _SECOND // size
        last = _INT64_MAX // per_second - 1
        ticks = np.clip(seconds, -last, last) * per_second + nanos // size
    return ticks if limits is None else np.clip(ticks, *limits)


def distance(seconds: np.ndarray, nanos: np.ndarray, origin: int) -> np.ndarray:
    """Nanoseconds from ``origin`` (itself in nanoseconds) as float64."""
    whole, rest = divmod(origin, _SECOND)
    return (seconds - whole).astype(float) * _SECOND + (nanos - rest)


def advance(origin: int, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Go ``offset`` float nanoseconds from ``origin``: seconds and nanoseconds."""
    whole, rest = divmod(origin, _SECOND)
    steps = np.clip(np.floor(offset / _SECOND), -_FAR, _FAR)
    inside = np.clip(np.rint(offset - steps * _SECOND), 0, _SECOND)
    nanos = rest + inside.astype(np.int64)
    seconds = whole + steps.astype(np.int64) + nanos // _SECOND
    return seconds, nanos % _SECOND


def before(seconds: np.ndarray, nanos: np.ndarray, moment: int) -> np.ndarray:
    """Flag points that lie before ``moment`` (in nanoseconds)."""
    whole, rest = divmod(moment, _SECOND)
    return (seconds < whole) | ((seconds == whole) & (nanos < rest))


def granule(seconds: np.ndarray, nanos: np.ndarray, tz: str | None) -> str:
    """Return the coarsest unit which all points respect, on the clock of ``tz``."""
    wall = seconds + _utc_offset(seconds, tz)
    for unit, size in NANOSECONDS.items():
        if size >= _SECOND:
            if not nanos.any() and not (wall % (size // _SECOND)).any():
                return unit
        elif not (nanos % size).any():
            return unit
    raise AssertionError("every point respects nanoseconds")


def snap(
    seconds: np.ndarray, nanos: np.ndarray, unit: str, tz: str | None, how: str
) -> tuple[np.ndarray, np.ndarray]:
    """Move points in UTC to a multiple of ``unit`` on the clock of ``tz``.

    ``how`` is "nearest", "up" or "down".
    """
    size = NANOSECONDS[unit]
    if size < _SECOND:
        shift = {"nearest": size // 2, "up": size - 1, "down": 0}[how]
        nanos = (nanos + shift) // size * size
        return seconds + nanos // _SECOND, nanos % _SECOND
    step = size // _SECOND
    tz = tz if step > 1 else None
    offset = _utc_offset(seconds, tz)
    wall = seconds + offset
    if how == "up":
        wall = -(-(wall + (nanos > 0)) // step) * step
    elif how == "down":
        wall = wall // step * step
    elif step == 1:
        wall = wall + (nanos >= _SECOND // 2)
    else:
        wall = (wall + step // 2) // step * step
    return _from_wall(wall, offset, tz, step), np.zeros_like(nanos)


def _utc_offset(seconds: np.ndarray, tz: str | None) -> np.ndarray:
    """Seconds to add to UTC for the clock of ``tz``, shape (n,)."""
    if tz is None or tz == "UTC" or len(seconds) == 0:
        return np.zeros_like(seconds)
    # Time zones are defined for the years 1 to 9999; beyond, the last offset is kept.
    inside = np.clip(seconds, *_ZONE_RANGE)
    utc = pd.DatetimeIndex(inside.view("M8[s]"), tz="UTC")
    wall = utc.tz_convert(tz).tz_localize(None).to_numpy()
    return wall.astype("M8[s]").astype(np.int64) - inside


def _from_wall(
    wall: np.ndarray, offset: np.ndarray, tz: str | None, step: int
) -> np.ndarray:
    """Clock time, a multiple of ``step``, to UTC, given the offset it came with.

    Where the offset changes in between, the nearest moment at which the clock shows
    a multiple of ``step`` is taken; a clock time that does not exist (spring) becomes
    the first moment after the gap.
    """
    if tz is None:
        return wall
    same = wall - offset
    offset_there = _utc_offset(same, tz)
    moved = wall - offset_there
    exists = _utc_offset(moved, tz) == offset_there
    other = np.where(exists, moved, np.maximum(same, moved))
    return np.where((same + offset_there) % step == 0, same, other)


def wall_moments(seconds: np.ndarray, tz: str | None) -> np.ndarray:
    """Return points in UTC as days since the epoch on the clock of ``tz``, float64."""
    return (seconds + _utc_offset(seconds, tz)) / _DAY


def wall_days(seconds: np.ndarray, tz: str | None) -> np.ndarray:
    """Return the days since the epoch on which points in UTC lie, int64."""
    return np.floor(wall_moments(seconds, tz)).astype(np.int64)


def midnights(days: np.ndarray, tz: str | None) -> np.ndarray:
    """Return the seconds in UTC at which days begin on the clock of ``tz``."""
    wall = days * _DAY
    return _from_wall(wall, _utc_offset(wall, tz), tz, _DAY)


def zone_name(tz: dt.tzinfo | str | None) -> str | None:
    """Return a string from which pandas can build the same time zone again."""
    if tz is None or isinstance(tz, str):
        return tz
    name = getattr(tz, "key", None) or getattr(tz, "zone", None)
    if name:
        return str(name)
    fixed = tz.utcoffset(None)
    if fixed is None:
        return str(tz)
    seconds = int(fixed.total_seconds())
    sign, minutes = ("-", -seconds // 60) if seconds < 0 else ("+", seconds // 60)
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}" if seconds else "UTC"
