"""Dates and times in the layouts that can be told apart without guessing."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import numpy as np
import pandas as pd

from macfm.files._styles import OPEN, Bounds, Style, rounded

_TIME = (
    r"(?:(?P<gap>[T ])(?P<minute>[0-9]{2}:[0-9]{2})(?P<second>:[0-9]{2})?"
    r"(?P<part>\.[0-9]{1,9})?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_Y, _M, _D = r"(?P<y>[0-9]{4})", r"(?P<m>[0-9]{1,2})", r"(?P<d>[0-9]{1,2})"
_LAYOUTS = {
    "y-m-d": re.compile(rf"{_Y}-(?P<m>[0-9]{{2}})-(?P<d>[0-9]{{2}}){_TIME}").fullmatch,
    "y/m/d": re.compile(rf"{_Y}/{_M}/{_D}{_TIME}").fullmatch,
    "d.m.y": re.compile(rf"{_D}\.{_M}\.{_Y}{_TIME}").fullmatch,
    "d/m/y": re.compile(rf"{_D}/{_M}/{_Y}{_TIME}").fullmatch,
    "m/d/y": re.compile(rf"{_M}/{_D}/{_Y}{_TIME}").fullmatch,
}


_ODD_ZONE = re.compile(
    r"[0-9./-]{8,10}[T ][0-9:.]{5,18}[+-](?:[0-9]{2}:?[6-9][0-9]|(?:2[4-9]|[3-9][0-9])"
    r":?[0-9]{2})"
).fullmatch


def has_odd_zone(text: str) -> bool:
    """Whether a time is that of a zone a day or more away, or of 60 minutes and more.

    >>> has_odd_zone("2024-03-01T10:00:00+96:00"), has_odd_zone("2024-03-01 10:00Z")
    (True, False)
    """
    return _ODD_ZONE(text) is not None


def nearest_times(step: str) -> list[methodcaller]:
    """Ways to a time on full steps, the nearest first."""
    return [methodcaller(name, step) for name in ("round", "floor", "ceil")]


@dataclass(frozen=True)
class TimeStyle(Style):
    """Dates, with or without a time of day."""

    #: Order of year, month and day and what stands between them.
    layout: str = "y-m-d"
    #: Whether days and months below ten have a leading zero.
    padded: bool = True
    #: What stands between date and time, empty for dates alone.
    gap: str = " "
    #: Whether times show seconds.
    seconds: bool = True
    #: Fewest and most decimals of the seconds.
    least: int = 0
    most: int = 6
    #: The time zone as written, one for the whole column.
    zone: str = ""
    family = "datetime"

    @property
    def kind(self) -> str:
        """``"date"`` or ``"datetime"``."""
        return super().kind if self.gap else "date"

    @property
    def unit(self) -> str:
        """Unit of the column, fine enough for what it shows."""
        fine = (self.most > 0, self.most > 3, self.most > 6)
        return ("s", "ms", "us", "ns")[sum(fine)]

    @classmethod
    def of(cls, texts: Collection[str]) -> TimeStyle | None:
        """Return the style that all texts share.

        Days and months in the order of ``3/4/2024`` are only told apart when a number
        above 12 does so; a column where none does is text.
        """
        found = [
            style
            for layout in _LAYOUTS
            if (style := cls._of_layout(layout, texts)) is not None
        ]
        return found[0] if len(found) == 1 else None

    @classmethod
    def _of_layout(cls, layout: str, texts: Collection[str]) -> TimeStyle | None:
        matches = []
        for text in texts:
            match = _LAYOUTS[layout](text)
            if match is None:
                return None
            matches.append(match)
        shapes = {(m["gap"], m["zone"], bool(m["second"])) for m in matches}
        if len(shapes) != 1:
            return None
        gap, zone, seconds = shapes.pop()
        if any(m["part"] and not m["second"] for m in matches):
            return None
        parts = [len(m["part"] or ".") - 1 for m in matches]
        padded = all(len(m["m"]) == len(m["d"]) == 2 for m in matches)
        style = cls(
            layout, padded, gap or "", seconds, min(parts), max(parts), zone or ""
        )
        try:
            style.values(texts)
        except ValueError:  # no such day, no such zone
            return None
        return style

    def values(self, texts: Collection[str]) -> list[np.datetime64]:
        """Return the times in UTC, or as they stand in columns without a zone."""
        iso = []
        for text in texts:
            m = _LAYOUTS[self.layout](text)
            assert m is not None
            day = f"{m['y']}-{m['m']:0>2}-{m['d']:0>2}"
            clock = f"T{m['minute']}{m['second'] or ''}{m['part'] or ''}"
            iso.append(day + clock if self.gap else day)
        seconds = np.array([text[:19] for text in iso], dtype="M8[s]")
        if self.unit == "ns" and len(iso):
            years = seconds.astype("M8[Y]").astype(int) + 1970
            if years.min() < 1678 or years.max() > 2261:
                raise ValueError("outside of what nanoseconds can count")
        exact = np.array(iso, dtype=f"M8[{self.unit}]")
        return list(exact - np.timedelta64(self._offset(), "s"))

    def array(self, values: Sequence[np.datetime64 | None]) -> Any:
        """Return datetime64 of the column's unit and zone, NaT where missing."""
        none = np.datetime64("NaT")
        plain = [none if value is None else value for value in values]
        stamps = pd.Series(np.array(plain, dtype=f"M8[{self.unit}]"))
        if not self.zone:
            return stamps.array
        return stamps.dt.tz_localize("UTC").dt.tz_convert(self._tz()).array

    def render(self, values: Sequence[Any], bounds: Bounds = OPEN) -> list[str]:
        """Return times as text, rounded to what the column shows."""
        return [self._text(pd.Timestamp(value), bounds) for value in values]

    def _text(self, stamp: pd.Timestamp, bounds: Bounds) -> str:
        if stamp.tz is not None:
            stamp = stamp.tz_convert(self._tz())
        stamp = rounded(stamp, nearest_times(self._step()), bounds)
        order = {"y": f"{stamp.year:04d}"}
        width = 2 if self.padded else 1
        order |= {"m": f"{stamp.month:0{width}d}", "d": f"{stamp.day:0{width}d}"}
        text = "".join(order.get(letter, letter) for letter in self.layout)
        if not self.gap:
            return text
        text += f"{self.gap}{stamp.hour:02d}:{stamp.minute:02d}"
        if self.seconds:
            text += f":{stamp.second:02d}"
        nanos = f"{stamp.microsecond * 1000 + stamp.nanosecond:09d}"[: self.most]
        part = nanos.rstrip("0").ljust(self.least, "0")
        return text + (f".{part}" if part else "") + self.zone

    def _step(self) -> str:
        if not self.gap:
            return "D"
        if not self.seconds:
            return "min"
        return "s" if not self.most else f"{10 ** (9 - self.most)}ns"

    def _offset(self) -> int:
        """Seconds that the column's zone is ahead of UTC."""
        if self.zone in ("", "Z"):
            return 0
        digits = self.zone[1:].replace(":", "")
        hours, minutes = int(digits[:2]), int(digits[2:])
        if hours > 23 or minutes > 59:
            raise ValueError(f"there is no time zone {self.zone}")
        seconds = hours * 3600 + minutes * 60
        return -seconds if self.zone[0] == "-" else seconds

    def _tz(self) -> dt.tzinfo:
        return dt.timezone(dt.timedelta(seconds=self._offset()))
