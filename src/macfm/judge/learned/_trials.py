"""Several trials of the same rows: how many go through a network at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from macfm.flow import keyed_normal
from macfm.judge.learned._base import CHUNK

# A GPU has fewer rows at a time only for their trials' sake, and not below this.
_FEWEST_ROWS = 256
# Numbers drawn at a time, of one group at least. On a GPU each time is many small
# kernels; they are int64 and float64 while they are made.
_N_DRAWN = {"cpu": 1, "cuda": 2**25}


@dataclass(frozen=True)
class Batches:
    """How many rows, and how many trials of each, go through a network together.

    Both hang on the device, the table's width and the number of trials alone, so that
    a row has the same last bits in any company.
    """

    n_rows: int
    """Rows of a chunk."""
    n_trials: int
    """Trials of these rows that are one batch."""

    @classmethod
    def of(cls, device: torch.device, *, n_trials: int, most: int) -> Batches:
        """Fit all trials of a chunk into `most` rows on a GPU; a CPU takes them singly.

        Large products gain nothing on a CPU, whose chunks are in its cache.
        """
        n_rows = CHUNK[device.type]
        if device.type == "cpu":
            return cls(n_rows, 1)
        while n_rows > _FEWEST_ROWS and n_rows * n_trials > most:
            n_rows //= 2
        return cls(n_rows, max(1, most // n_rows))

    def run(self, sample: Callable[[range], Tensor], n_trials: int) -> Tensor:
        """Return all trials, given a function of some; shape ``(n_trials, n, d)``."""
        size = self.n_trials
        parts = [
            sample(range(first, min(first + size, n_trials)))
            for first in range(0, n_trials, size)
        ]
        return torch.cat(parts)


def noises(
    keys: Tensor, *, seed: int, draws: Sequence[Sequence[int]], d: int
) -> Iterator[Tensor]:
    """Yield the noise of rows for one group of draws after the other.

    Parameters
    ----------
    keys : Tensor of int64, shape (n,)
        One key a row.
    seed : int
        The model's seed.
    draws : sequence of sequences of int
        Numbers of the draws, as many in every group.
    d : int
        Coordinates a row.

    Yields
    ------
    Tensor of float32, shape (n_draws, n, d)
        On a GPU many groups are drawn together; on a CPU each when its turn comes.
    """
    n_numbers = len(draws[0]) * len(keys) * d
    size = max(1, _N_DRAWN[keys.device.type] // n_numbers)
    for first in range(0, len(draws), size):
        some = draws[first : first + size]
        numbers = [number for group in some for number in group]
        drawn = keyed_normal(keys, seed=seed, draws=numbers, d=d).float()
        yield from drawn.unflatten(0, (len(some), -1))
