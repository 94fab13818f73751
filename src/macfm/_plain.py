"""Values as JSON holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any, *, digits: int | None = None) -> Any:
    """Return a value as JSON types: NaN and infinities as None, the rest as text.

    Parameters
    ----------
    value : object
        Mappings, lists, tuples and dataclasses are gone through.
    digits : int, default=None
        Significant digits of floats; all of them when None.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": (np.float64(0.1), float("nan")), 2: range(3)})
    {'a': [0.1, None], '2': 'range(0, 3)'}
    """
    if is_dataclass(value):
        named = {f.name: getattr(value, f.name) for f in fields(value)}
        return plain(named, digits=digits)
    if isinstance(value, Mapping):
        return {str(key): plain(part, digits=digits) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part, digits=digits) for part in value]
    if not isinstance(value, str | int | float) and hasattr(value, "item"):
        value = value.item()  # a number of numpy or torch
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(value if digits is None else f"{value:.{digits}g}")
    return value if isinstance(value, str | int | None) else str(value)
