"""How many threads are worth using: cores that are free, and none after a fork.

Threads that share a core wait for each other at every step of training, which is many
times slower than fewer of them. What is computed does not depend on their number.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_LOOK_SECONDS = 0.05
_FRESH_SECONDS = 10.0

# When the cores were looked at, and how many were free then.
_last_look = (-math.inf, 0.0)
# The process in which threads were first used; a fork of it inherits a pool without
# its threads, and would wait for them for ever.
_owner: int | None = None


def worthwhile_threads(n_threads: int) -> int:
    """Return a power of two, at most `n_threads`, that free cores can carry.

    Where the machine does not tell, all of them count as free.

    Examples
    --------
    >>> worthwhile_threads(1)
    1
    """
    global _owner
    if _owner is None:
        _owner = os.getpid()
    if n_threads <= 1 or os.getpid() != _owner:
        return 1
    most = max(round(min(n_threads, _own_cores(), _free_cores())), 1)
    return 1 << (most.bit_length() - 1)


def look_anew() -> None:
    """Look at the cores again when next asked, however short ago that was."""
    global _last_look
    _last_look = (-math.inf, 0.0)


def _own_cores() -> float:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return float("inf")


def _free_cores() -> float:
    """Return how many cores others leave, looked up every ten seconds at most."""
    global _last_look
    when, free = _last_look
    if time.monotonic() - when > _FRESH_SECONDS:
        free = min(_idle_cores(), _quota())
        _last_look = (time.monotonic(), free)
    return free


def _idle_cores() -> float:
    """Watch for a moment how many cores other processes leave.

    Threads of this one may still be spinning, as those of OpenBLAS do for a tenth of a
    second after numpy has multiplied matrices: their cores are there to be used.
    """
    try:
        began, own, before = time.perf_counter(), time.process_time(), _jiffies()
        time.sleep(_LOOK_SECONDS)
        after = _jiffies()
    except (OSError, ValueError, IndexError):
        return float("inf")
    own = (time.process_time() - own) / (time.perf_counter() - began)
    idle, total = (b - a for a, b in zip(before, after, strict=True))
    n_cores = os.cpu_count() or 1
    return min(n_cores * idle / total + own, n_cores) if total > 0 else float("inf")


def _jiffies() -> tuple[int, int]:
    """Return the time all cores were idle, and the time in all."""
    fields = [int(field) for field in _STAT.read_text().split("\n", 1)[0].split()[1:]]
    return fields[3] + fields[4], sum(fields[:8])


def _quota() -> float:
    """Return the cores that a container may use, infinitely many without a quota."""
    try:
        most, period = _QUOTA.read_text().split()
        return int(most) / int(period)
    except (OSError, ValueError):  # there is none, or it says "max"
        return float("inf")
