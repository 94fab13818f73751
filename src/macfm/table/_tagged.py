"""Single values ⇄ JSON, with their type and without loss."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from macfm.table._ticks import NANOSECONDS, duration, moment, zone_name

MAX_TEXT = 2**20
"""Longest text, in characters, that is read back."""

_PLAIN = {"bool": bool, "int": int, "str": str}


def to_tagged(value: Any) -> list:
    """Return ``[type, payload]``.

    Python's datetimes and timedeltas become those of pandas, arrays, sets and indexes
    become lists.

    Examples
    --------
    >>> to_tagged(3), to_tagged("3"), to_tagged(0.1)
    (['int', 3], ['str', '3'], ['float', '0.1'])
    """
    if value is None:
        return ["none", None]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        tag = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
        return [tag, [int(value.astype(np.int64)), np.datetime_data(value.dtype)[0]]]
    if isinstance(value, dt.datetime) and value is not pd.NaT:
        stamp = pd.Timestamp(value)
        return ["timestamp", [to_tagged(stamp.to_datetime64())[1], zone_name(stamp.tz)]]
    if isinstance(value, dt.timedelta):
        return ["timedelta", to_tagged(pd.Timedelta(value).to_timedelta64())[1]]
    if isinstance(value, dt.date) and value is not pd.NaT:
        return ["date", value.isoformat()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", int(value)]
    if isinstance(value, float):
        # repr is exact, and JSON has no word for inf and NaN.
        return ["float", repr(float(value))]
    if isinstance(value, str):
        return ["str", str(value)]
    if isinstance(value, tuple):
        return ["tuple", [to_tagged(item) for item in value]]
    if isinstance(value, Mapping):
        return ["dict", [[to_tagged(k), to_tagged(v)] for k, v in value.items()]]
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return ["list", [to_tagged(item) for item in value]]
    raise TypeError(f"a value of type {type(value).__name__} cannot be stored as JSON")


def from_tagged(tagged: Any) -> Any:
    """Undo ``to_tagged``; ValueError for anything it does not write."""
    if not isinstance(tagged, list) or len(tagged) != 2:
        raise ValueError("a stored value must be a pair of type and payload")
    tag, payload = tagged
    if tag == "none" and payload is None:
        return None
    # bool is a subclass of int, hence `type`.
    if tag in ("bool", "int", "str") and type(payload) is _PLAIN[tag]:
        return _short(payload)
    if tag == "float" and type(payload) is str:
        return float(_short(payload))
    if tag in ("tuple", "list") and isinstance(payload, list):
        items = [from_tagged(item) for item in payload]
        return tuple(items) if tag == "tuple" else items
    if tag == "dict" and isinstance(payload, list):
        return {from_tagged(key): from_tagged(item) for key, item in payload}
    if tag == "date" and type(payload) is str:
        return dt.date.fromisoformat(payload)
    if tag == "datetime64":
        return moment(*_ticks(payload))
    if tag == "timedelta64":
        return duration(*_ticks(payload))
    if tag == "timedelta":
        return pd.Timedelta(duration(*_ticks(payload)))
    if tag == "timestamp" and isinstance(payload, list) and len(payload) == 2:
        stamp = pd.Timestamp(moment(*_ticks(payload[0])))
        tz = payload[1]
        return stamp if tz is None else stamp.tz_localize("UTC").tz_convert(_short(tz))
    raise ValueError(f"unknown type tag {str(tag)[:40]!r}, or a wrong value for it")


def _ticks(payload: Any) -> tuple[int, str]:
    """Check a number of ticks and their unit."""
    tick, unit = payload if isinstance(payload, list) else (None, None)
    if type(tick) is not int or abs(tick) >= 2**63 or unit not in NANOSECONDS:
        raise ValueError("a stored time must be a number of ticks and their unit")
    return tick, unit


def _short(payload: Any) -> Any:
    if isinstance(payload, str) and len(payload) > MAX_TEXT:
        raise ValueError(f"a text is longer than {MAX_TEXT} characters")
    return payload
