"""Numbers, dates and settings as a person writes them."""

from __future__ import annotations

import math
import shlex
from typing import Any

import numpy as np

from macfm.table import ColumnSchema


def number(value: float) -> str:
    """Write a number in two or three digits, whole if it is large.

    Examples
    --------
    >>> number(7.9), number(1309.4), number(-0.00012345), number(2e12)
    ('7.9', '1,309', '−0.00012', '2e+12')
    """
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        text = f"{value:.3g}"
    elif size >= 100 or value == int(value):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}" if size >= 1 else f"{value:.2g}"
    return text.replace("-", "−") if text.startswith("-") else text


def setting(name: str, value: str, *, flags: bool) -> str:
    """Write a setting as the reader would: a flag, or a parameter.

    Examples
    --------
    >>> setting("preset", "best", flags=True), setting("preset", "best", flags=False)
    ('--preset best', "preset='best'")
    """
    return f"--{name} {shlex.quote(value)}" if flags else f"{name}={value!r}"


def lower_bound(column: Any, *, flags: bool) -> str:
    """Write that a column has no negative values.

    Examples
    --------
    >>> lower_bound("age", flags=True), lower_bound("age", flags=False)
    ('--bounds age=0:', "bounds={'age': (0, None)}")
    """
    if flags:
        return setting("bounds", f"{column}=0:", flags=True)
    return f"bounds={{{column!r}: (0, None)}}"


def value_words(value: Any, column: ColumnSchema) -> str:
    """Write a cell in the benchmark's form as its column shows it."""
    if not isinstance(value, float):
        return str(value)
    if column.kind == "datetime":
        stamp = str(np.datetime64(round(value * 86_400), "s"))
        return stamp[:-9] if column.unit == "D" else stamp[:-3].replace("T", " ")
    if column.kind == "timedelta":
        return f"{number(value)} days" if abs(value) >= 1 else f"{24 * value:.1f} h"
    if column.kind == "integer":
        return number(float(round(value)))
    return number(value)
