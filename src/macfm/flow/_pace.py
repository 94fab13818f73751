"""How many threads a step is fastest with, found out while training goes on.

Threads that share a core with another program wait for each other at every operation,
and a step then takes many times as long as with one thread. What is computed does not
depend on their number, so it may change at any step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits

from macfm._parallel import side_by_side

T = TypeVar("T")
R = TypeVar("R")

# How often other numbers are tried, and for how many steps each.
_TRY_SECONDS = 3.0
_N_TRIED = 3


@contextmanager
def one_thread() -> Iterator[int]:
    """Let torch and numpy use one thread, and then as before; yield torch's number.

    For many small operations, which two threads on busy cores took eighty times as long
    for, and for products and inverses of numpy, whose last bits depend on threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield before
    finally:
        torch.set_num_threads(before)


def in_threads(
    work: Callable[[T], R], pieces: Sequence[T], *, n_threads: int
) -> list[R]:
    """Do pieces of work, up to so many at a time.

    For what torch and numpy do one after the other however many threads they have. A
    piece must not depend on what others have done. Where several are done at a time,
    each has one thread of torch, in the caller's mode.
    """
    if min(n_threads, len(pieces)) <= 1:
        return [work(piece) for piece in pieces]
    before = torch.get_num_threads()
    inference, grad = torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    def work_alike(piece: T) -> R:
        with torch.inference_mode(inference), torch.set_grad_enabled(grad):
            return work(piece)

    # A thread that is new to torch takes the number that was set last.
    torch.set_num_threads(1)
    try:
        return side_by_side(work_alike, pieces, n_threads=n_threads)
    finally:
        torch.set_num_threads(before)


class Pace:
    """Runs steps with the number of threads that has lately been the fastest.

    Parameters
    ----------
    n_threads : int
        Most threads; powers of two up to it are tried.
    """

    def __init__(self, n_threads: int) -> None:
        self._numbers = [1 << k for k in range(max(n_threads, 1).bit_length())]
        self._seconds: dict[int, float] = {}
        self._queue: list[int] = []
        self._chosen_at = time.perf_counter()
        self.n_threads = self._numbers[-1]

    def run(self, step: Callable[[], None]) -> None:
        """Take a step, and take note of how long it takes."""
        if len(self._numbers) == 1:
            step()
            return
        began = time.perf_counter()
        if not self._queue and began - self._chosen_at > _TRY_SECONDS:
            self._queue = [n for n in self._numbers for _ in range(_N_TRIED)]
            self._seconds = {}
        tried = self._queue.pop(0) if self._queue else None
        torch.set_num_threads(tried or self.n_threads)
        step()
        if tried is None:
            return
        ended = time.perf_counter()
        best = self._seconds.get(tried, math.inf)
        self._seconds[tried] = min(best, ended - began)
        if not self._queue:
            self.n_threads = min(self._seconds, key=lambda n: self._seconds[n])
            self._chosen_at = ended
