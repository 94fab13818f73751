"""Pieces of work done side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(
    work: Callable[[T], R], pieces: Sequence[T], *, n_threads: int
) -> list[R]:
    """Do pieces of work, up to so many at a time, each in a thread of its own.

    A piece must not depend on what others have done. Of several that fail the first one
    is told, when all have ended.

    Examples
    --------
    >>> side_by_side(str.upper, ["a", "b"], n_threads=2)
    ['A', 'B']
    """
    n_workers = min(n_threads, len(pieces))
    if n_workers <= 1:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(work, pieces))
