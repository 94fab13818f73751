"""Counts, lists, shares and times as a person writes them, and reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

_TIME = re.compile(r"(?:([0-9.]+)h)?(?:([0-9.]+)m(?:in)?)?(?:([0-9.]+)s?)?")


def count(n: int, what: str, plural: str | None = None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(1, "row"), count(12_000, "row"), count(2, "category", "categories")
    ('1 row', '12,000 rows', '2 categories')
    """
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def listed(
    names: Sequence[Any], *, most: int = 6, write: Callable[[Any], str] = str
) -> str:
    """Write names as a list, the first of them if they are many.

    Examples
    --------
    >>> listed(["a"], write=repr), listed(["a", "b"]), listed(list("abcdef"), most=2)
    ("'a'", 'a and b', 'a, b and 4 more')
    """
    shown = [write(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join([*filter(None, [", ".join(shown[:-1])]), *shown[-1:]])


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


def seconds_words(seconds: float) -> str:
    """Write a duration in two digits.

    Examples
    --------
    >>> seconds_words(0.0123), seconds_words(4.21), seconds_words(84.2)
    ('0.01 s', '4.2 s', '84 s')
    """
    if not math.isfinite(seconds):
        return "–"
    return f"{seconds:.{2 if seconds < 1 else 1 if seconds < 10 else 0}f} s"


def read_seconds(length: float | str) -> float:
    """Read a length of time: seconds, or text such as 90s, 5m or 1h30m.

    Examples
    --------
    >>> read_seconds(90), read_seconds("5m"), read_seconds("1h30m")
    (90.0, 300.0, 5400.0)
    """
    total = 0.0
    if isinstance(length, Real) and not isinstance(length, bool):
        total = float(length)
    elif isinstance(length, str):
        found = _TIME.fullmatch(length.strip().lower().replace(" ", ""))
        parts = () if found is None else found.groups()
        try:
            hours, minutes, rest = (float(part or 0) for part in parts)
            total = hours * 3600 + minutes * 60 + rest
        except ValueError:
            pass
    if not 0 < total < math.inf:
        raise ValueError(f"{length!r} is not a length of time such as 90s, 5m or 1h30m")
    return total


def aligned(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> list[str]:
    r"""Lay out a table in lines, the columns `left` to the left, others to the right.

    Examples
    --------
    >>> print(*aligned([["column", "cells"], ["a", "7"]]), sep="\n")
    column  cells
    a           7
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
