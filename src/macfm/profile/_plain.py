"""Dataclasses to JSON types, and numbers to words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["count", "listed", "number", "percent", "plain", "plain_name"]


def plain(value: Any) -> Any:
    """Return a value as JSON types; NaN and infinities become None."""
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def plain_name(name: Hashable) -> str | int:
    """Return a column name that JSON can hold."""
    if isinstance(name, np.generic):
        name = name.item()
    return name if isinstance(name, (str, int)) else str(name)


def percent(share: float) -> str:
    """Write a share in per cent; what is small or nearly all is not rounded away.

    Examples
    --------
    >>> percent(0.2), percent(0.0004), percent(0.9996), percent(0.034)
    ('20 %', '< 0.1 %', '> 99.9 %', '3.4 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    shown = 100 * share
    return f"{shown:.1f} %" if 0 < shown < 10 or 99 < shown < 100 else f"{shown:.0f} %"


def count(n: int, what: str, plural: str | None = None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(1, "row"), count(12_000, "row"), count(2, "category", "categories")
    ('1 row', '12,000 rows', '2 categories')
    """
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def listed(names: Sequence[Any], *, most: int = 6) -> str:
    """Write names as a list, the first of them if they are many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdefgh"), most=2)
    ("'a'", "'a' and 'b'", "'a', 'b' and 6 more")
    """
    shown = [repr(plain_name(name)) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def number(value: float) -> str:
    """Write a number in about four digits.

    Examples
    --------
    >>> number(7.8958), number(1309.0), number(0.00012345)
    ('7.896', '1,309', '0.0001234')
    """
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.4g}"
