"""Lengths of time, as people write them."""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any

__all__ = ["seconds_of"]

_TIME = re.compile(r"(?:([0-9.]+)h)?(?:([0-9.]+)m(?:in)?)?(?:([0-9.]+)s?)?")


def seconds_of(budget: Any) -> float:
    """Read a length of time, in seconds or as text.

    Raises
    ------
    ValueError
        If it is none, or not above 0.

    Examples
    --------
    >>> seconds_of(90), seconds_of("90"), seconds_of("5m"), seconds_of("1h30m")
    (90.0, 90.0, 300.0, 5400.0)
    """
    total = math.nan
    if isinstance(budget, str):
        found = _TIME.fullmatch(budget.strip().lower().replace(" ", ""))
        try:
            parts = [float(part) if part else 0.0 for part in found.groups()]
            total = parts[0] * 3600 + parts[1] * 60 + parts[2]
        except (AttributeError, ValueError):
            pass
    elif isinstance(budget, Real) and not isinstance(budget, bool):
        total = float(budget)
    if not 0 < total < math.inf:
        raise ValueError(f"{budget!r} is not a length of time such as 90s, 5m or 1h30m")
    return total
