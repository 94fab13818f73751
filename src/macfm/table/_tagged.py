"""Single values ⇄ JSON, with their type and without loss."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["from_tagged", "to_tagged"]


def to_tagged(value: Any) -> list:
    """Return ``[type, payload]``.

    Examples
    --------
    >>> to_tagged(3), to_tagged("3"), to_tagged(0.1)
    (['int', 3], ['str', '3'], ['float', '0.1'])
    """
    if value is None:
        return ["none", None]
    if isinstance(value, tuple):
        return ["tuple", [to_tagged(item) for item in value]]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        tag = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
        return [tag, [int(value.astype(np.int64)), np.datetime_data(value.dtype)[0]]]
    if isinstance(value, pd.Timestamp):
        tz = None if value.tz is None else str(value.tz)
        return ["timestamp", [to_tagged(value.to_datetime64())[1], tz]]
    if isinstance(value, pd.Timedelta):
        return ["timedelta", to_tagged(value.to_timedelta64())[1]]
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
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
    raise TypeError(f"a value of type {type(value).__name__} cannot be stored as JSON")


def from_tagged(tagged: list) -> Any:
    """Undo ``to_tagged``."""
    tag, payload = tagged
    if tag in ("none", "bool", "int", "str"):
        return payload
    if tag == "float":
        return float(payload)
    if tag == "tuple":
        return tuple(from_tagged(item) for item in payload)
    if tag == "date":
        return dt.date.fromisoformat(payload)
    if tag == "datetime64":
        return np.datetime64(*payload)
    if tag == "timedelta64":
        return np.timedelta64(*payload)
    if tag == "timedelta":
        return pd.Timedelta(np.timedelta64(*payload))
    if tag == "timestamp":
        (tick, unit), tz = payload
        stamp = pd.Timestamp(np.datetime64(tick, unit))
        return stamp if tz is None else stamp.tz_localize("UTC").tz_convert(tz)
    raise ValueError(f"unknown type tag {tag!r}")
