"""Names and numbers in sentences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from macfm import _words


def plain_name(name: Hashable) -> str | int:
    """Return a column name that JSON can hold."""
    if isinstance(name, np.generic):
        name = name.item()
    return name if isinstance(name, (str, int)) else str(name)


def listed(names: Sequence[Any], *, most: int = 6) -> str:
    """Write names as a list, the first of them if they are many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdefgh"), most=2)
    ("'a'", "'a' and 'b'", "'a', 'b' and 6 more")
    """
    return _words.listed(names, most=most, write=lambda n: repr(plain_name(n)))


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
