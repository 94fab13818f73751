"""Columns of numbers and times: a coordinate, one an atom, and perhaps a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from macfm.table._atoms import AtomCodec, offsets_of, shares_of
from macfm.table._calendar import Calendar
from macfm.table._column import ColumnData, ColumnSchema
from macfm.table._limits import Limit, fold, squeeze
from macfm.table._often import Often, decimals_of
from macfm.table._ticks import (
    NANOSECONDS,
    advance,
    before,
    distance,
    join,
    midnights,
    snap,
    split,
    wall_days,
    wall_moments,
)
from macfm.table._transform import SCORE, TRANSFORM_ARRAYS, NumericTransform

_SAFE = 2**62  # sums of two such integers fit into int64
_SIDES = {1: "low", -1: "high"}


@dataclass(frozen=True)
class NumberCodec:
    """Numbers as distances from an origin, then a fitted transform."""

    #: A column of kind numeric, integer, datetime or timedelta.
    column: ColumnSchema
    #: 0 for floats, else an observed value in the middle. Distances from it are small,
    #: so integers and ticks beyond ``2**53`` lose nothing on the way.
    origin: int
    #: The map from distances to x.
    transform: NumericTransform
    #: The map from distances to the coordinates of the atoms.
    atoms: AtomCodec
    #: The bounds as distances from the origin, at most two. None of them (as in models
    #: of earlier versions) means that values beyond a bound move onto it.
    limits: tuple[Limit, ...] = ()
    #: The map from distances to normal scores, if the column has them.
    score: NumericTransform | None = None
    #: Values that come back. None of them, as in models of earlier versions, are drawn
    #: as float32 has them.
    often: Often | None = None
    #: To how many decimals draws are rounded; 0 if they are not.
    decimals: int = 0
    #: The days that dates keep to, if they do.
    calendar: Calendar | None = None

    @classmethod
    def fit(cls, column: ColumnSchema, data: ColumnData) -> NumberCodec:
        """Fit to the observed cells."""
        origin = choose_origin(data)
        seen = differences(data.seen, data, origin)
        assert column.transform is not None
        transform = NumericTransform.fit(seen, column.transform)
        ends = _ends(column, origin)
        inner = seen[np.all([s * seen >= s * end for s, end in ends.items()], axis=0)]
        limits = tuple(Limit.fit(end, inner, sign) for sign, end in ends.items())
        shares = shares_of(offsets_of(column, origin), seen)
        atoms = AtomCodec.make(column, origin, transform, shares)
        score = NumericTransform.fit(seen, "score") if column.scores else None
        often = Often.fit(seen, atoms.offsets, transform)
        # A limit of detection is often written with more decimals than what it limits.
        others = seen[~np.isin(seen, atoms.offsets)]
        decimals = decimals_of(others) if column.kind == "numeric" else 0
        written = often, decimals, _calendar_of(column, data)
        return cls(column, origin, transform, atoms, limits, score, *written)

    def encode(self, data: ColumnData) -> tuple[np.ndarray, np.ndarray]:
        """Return x of shape (n, width) and the flag of what it says, shape (n,)."""
        x = np.zeros((len(data.values), self.column.width))
        seen = differences(data.seen, data, self.origin)
        x[data.observed, 0] = self.transform.forward(seen)
        if self.column.atoms:
            x[data.observed, self.flags] = self.atoms.encode(seen)
        if self.score is not None:
            x[data.observed, -1] = self.score.forward(seen)
        return x, data.observed

    @property
    def flags(self) -> slice:
        """Where the atoms are among the column's coordinates."""
        return slice(1, 1 + len(self.column.atoms or ()))

    def score_map(self, n_knots: int) -> tuple[np.ndarray, np.ndarray]:
        """Return normal scores that rise and what the number is there, (n_knots,).

        In float32, in which no number is beyond the smallest and the largest.
        """
        score = self.score
        assert score is not None
        at = (score.scores - score.mean) / score.std
        seen = np.ldexp(score.landmarks, score.exponent)
        value = self.transform.forward(seen).astype(np.float32)
        for end, inwards in ((seen[0], np.inf), (seen[-1], -np.inf)):
            back = self.transform.inverse(value)
            beyond = back < end if inwards > 0 else back > end
            value = np.where(beyond, np.nextafter(value, np.float32(inwards)), value)
        more = (0, n_knots - len(at))
        return np.pad(at, more, mode="edge"), np.pad(value, more, mode="edge")

    def decode(
        self, x: np.ndarray, target: ColumnData, *, drawn: bool = False
    ) -> np.ndarray:
        """Turn x of shape (m, width) into m canonical values for the target column.

        ``drawn`` tells whether they are draws or central values.
        """
        offset = self.transform.inverse(x[:, 0])
        offset = (fold if drawn else squeeze)(offset, self.limits)
        if drawn:
            offset = self._as_seen(offset, x[:, 0])
        offset = self.atoms.restore(offset, x[:, : self.flags.stop])
        if self.column.role == "time":
            return self._times(offset, target, drawn=drawn)
        lo, hi = self.column.bounds or (None, None)
        if self.column.kind == "numeric" and target.family == "float":
            assert target.float_type is not None
            return self._off_ends(to_floats(offset, target.float_type, lo, hi))
        for limits in (self.column.limits, target.limits):
            if limits is not None:
                lo = limits[0] if lo is None else max(lo, limits[0])
                hi = limits[1] if hi is None else min(hi, limits[1])
        lo = None if lo is None else int(np.ceil(lo)) if isinstance(lo, float) else lo
        hi = None if hi is None else int(np.floor(hi)) if isinstance(hi, float) else hi
        integers = to_integers(offset, self.origin, lo, hi)
        if target.family == "float":
            assert target.float_type is not None
            return to_floats(integers.astype(float), target.float_type, lo, hi)
        return integers

    def _as_seen(self, offset: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Write draws as the column's own values are written."""
        if self.decimals:
            offset = np.round(offset, self.decimals)
        return offset if self.often is None else self.often.restore(offset, x)

    def _off_ends(self, values: np.ndarray) -> np.ndarray:
        """Move floats off a limit on which no observed value lies."""
        for limit in self.limits:
            if not limit.reached:
                inside = values.dtype.type(limit.knee)
                values = np.where(values == limit.end, inside, values)
        return values

    def _times(
        self, offset: np.ndarray, target: ColumnData, *, drawn: bool
    ) -> np.ndarray:
        """Round to the granule of fit or the unit of the target, then clip.

        Dates move to days that the column keeps to.
        """
        column = self.column
        assert column.unit is not None
        assert target.unit is not None
        unit = max(column.unit, target.unit, key=NANOSECONDS.__getitem__)
        exact = advance(self.origin, offset)
        points = snap(*exact, unit, column.tz, "nearest")
        if self.calendar is not None:
            if drawn:
                days = self.calendar.evenly(wall_moments(exact[0], column.tz))
            else:
                days = self.calendar.nearest(wall_days(points[0], column.tz))
            points = midnights(days, column.tz), points[1]
        if column.bounds is not None:
            lo, hi = column.bounds
            lo, hi = _snapped_bounds(lo, hi, unit, column.tz)
            if self.calendar is not None:
                lo, hi = _bounds_on(self.calendar, lo, hi, column.tz)
            points = _clip(points, lo, hi)
        return join(*points, target.unit, target.limits)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything fitted, as arrays."""
        # The origin may lie beyond int64, hence its digits.
        digits = np.frombuffer(str(self.origin).encode("ascii"), dtype=np.uint8)
        limits = {_SIDES[limit.sign]: limit.to_array() for limit in self.limits}
        shares = {"shares": self.atoms.shares} if self.column.atoms else {}
        told = {"origin": digits.copy(), **self.transform.to_arrays()}
        if self.score is not None:
            scored = self.score.to_arrays()
            told |= {SCORE + name: array for name, array in scored.items()}
        if self.often is not None and len(self.often.offsets):
            told["often"] = self.often.offsets
        if self.decimals:
            told["decimals"] = np.array(self.decimals, dtype=np.int64)
        if self.calendar is not None:
            told["calendar"] = self.calendar.to_array()
        return told | limits | shares

    @classmethod
    def from_arrays(
        cls, column: ColumnSchema, arrays: dict[str, np.ndarray]
    ) -> NumberCodec:
        """Undo ``to_arrays``."""
        origin = int(arrays["origin"].astype(np.uint8).tobytes().decode("ascii"))
        limits = tuple(
            Limit.from_array(end, arrays[_SIDES[sign]], sign)
            for sign, end in _ends(column, origin).items()
            if _SIDES[sign] in arrays
        )
        transform = NumericTransform.from_arrays(arrays)
        shares = arrays.get("shares", np.empty(0))
        atoms = AtomCodec.make(column, origin, transform, shares)
        score = None
        if column.scores:
            scored = {name: arrays[SCORE + name] for name in TRANSFORM_ARRAYS}
            score = NumericTransform.from_arrays(scored)
        often = None
        if "often" in arrays:
            often = Often.make(arrays["often"], transform)
        calendar = None
        if "calendar" in arrays:
            calendar = Calendar.from_array(arrays["calendar"])
        written = often, int(arrays.get("decimals", 0)), calendar
        return cls(column, origin, transform, atoms, limits, score, *written)


def _calendar_of(column: ColumnSchema, data: ColumnData) -> Calendar | None:
    """Find the days that observed dates keep to."""
    if column.kind != "datetime" or column.unit != "D":
        return None
    assert data.unit is not None
    seconds, _ = split(data.seen, data.unit)
    return Calendar.fit(wall_days(seconds, column.tz))


def _ends(column: ColumnSchema, origin: int) -> dict[int, float]:
    """Bounds as distances from the origin: the lower under 1, the upper under -1."""
    ends = zip((1, -1), column.bounds or (None, None), strict=True)
    return {sign: float(end - origin) for sign, end in ends if end is not None}


def choose_origin(data: ColumnData) -> int:
    """Return an observed value in the middle (0 for floats), times in nanoseconds."""
    seen = data.seen
    if data.family == "float" or not len(seen):
        return 0
    middle = len(seen) // 2
    value = int(np.partition(seen, middle)[middle])
    return value * (NANOSECONDS[data.unit] if data.unit else 1)


def differences(values: np.ndarray, data: ColumnData, origin: int) -> np.ndarray:
    """Distances of canonical values from the origin as float64, shape (n,).

    ``data`` tells what the values are: their family and unit.
    """
    if data.unit is not None:
        return distance(*split(values, data.unit), origin)
    if data.family == "float":
        return values - float(origin)
    if values.dtype == object or not -(2**63) <= origin < 2**64:
        return np.array([float(int(value) - origin) for value in values], dtype=float)
    # Halves of 32 bits: their differences are exact, where int64 would overflow.
    high, low = (values >> 32).astype(np.int64), (values & 0xFFFFFFFF).astype(np.int64)
    origin_high, origin_low = origin >> 32, origin & 0xFFFFFFFF
    return (high - origin_high) * 2.0**32 + (low - origin_low)


def to_integers(
    offset: np.ndarray, origin: int, lo: int | None, hi: int | None
) -> np.ndarray:
    """Round ``origin + offset`` and clip; int64, or Python ints where too large."""
    offset = np.rint(offset)
    if abs(origin) < _SAFE and not (np.abs(offset) >= _SAFE).any():
        integers = origin + offset.astype(np.int64)
        if (hi is None or hi >= -_SAFE * 2) and (lo is None or lo < _SAFE * 2):
            lo = None if lo is None else max(lo, -_SAFE * 2)
            hi = None if hi is None else min(hi, _SAFE * 2 - 1)
            return integers if lo is None and hi is None else np.clip(integers, lo, hi)
    exact = [origin + int(value) for value in offset]
    if lo is not None:
        exact = [max(value, lo) for value in exact]
    if hi is not None:
        exact = [min(value, hi) for value in exact]
    integers = np.empty(len(exact), dtype=object)
    integers[:] = exact
    return integers


def to_floats(
    values: np.ndarray, float_type: np.dtype, lo: float | None, hi: float | None
) -> np.ndarray:
    """Clip and convert; no value overflows or steps over a bound in doing so."""
    limit = float(np.finfo(float_type).max)
    values = np.clip(values, -limit, limit)
    if lo is not None or hi is not None:
        values = np.clip(values, lo, hi)
    short = values.astype(float_type)
    # 0.1 in float32 is greater than 0.1.
    if hi is not None:
        over = short.astype(float) > hi
        short[over] = np.nextafter(short[over], float_type.type(-np.inf))
    if lo is not None:
        under = short.astype(float) < lo
        short[under] = np.nextafter(short[under], float_type.type(np.inf))
    return short


def _snapped_bounds(
    lo: int | None, hi: int | None, unit: str, tz: str | None
) -> tuple[int | None, int | None]:
    """Narrow bounds to full units, unless no such unit lies between them."""
    inner: list[int | None] = []
    for end, how in ((lo, "up"), (hi, "down")):
        if end is None:
            inner.append(None)
            continue
        whole, rest = divmod(end, 10**9)
        seconds, nanos = snap(np.array([whole]), np.array([rest]), unit, tz, how)
        inner.append(int(seconds[0]) * 10**9 + int(nanos[0]))
    first, last = inner
    if first is not None and last is not None and first > last:
        return lo, hi
    return first, last


def _bounds_on(
    calendar: Calendar, lo: int | None, hi: int | None, tz: str | None
) -> tuple[int | None, int | None]:
    """Narrow bounds to days of a calendar, unless none lies between them."""
    first, last = lo, hi
    if lo is not None:
        _, after = calendar.around(wall_days(np.array([lo // 10**9]) - 1, tz))
        first = max(int(midnights(after, tz)[0]) * 10**9, lo)
    if hi is not None:
        until, _ = calendar.around(wall_days(np.array([hi // 10**9]), tz))
        last = min(int(midnights(until, tz)[0]) * 10**9, hi)
    if first is not None and last is not None and first > last:
        return lo, hi
    return first, last


def _clip(
    points: tuple[np.ndarray, np.ndarray], lo: int | None, hi: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Clip points in time to bounds in nanoseconds."""
    seconds, nanos = points
    if lo is not None:
        early = before(seconds, nanos, lo)
        seconds = np.where(early, lo // 10**9, seconds)
        nanos = np.where(early, lo % 10**9, nanos)
    if hi is not None:
        late = ~before(seconds, nanos, hi)
        seconds = np.where(late, hi // 10**9, seconds)
        nanos = np.where(late, hi % 10**9, nanos)
    return seconds, nanos
