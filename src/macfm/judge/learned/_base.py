"""What a learned baseline is given, and what it gives back."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Rows go through a network in batches of one size, padded with empty rows: a product
# of other sizes has other last bits, and a row must not depend on its company.
CHUNK = {"cpu": 256, "cuda": 8192}
# Steps that may wait for the GPU: enough for it never to wait itself.
_N_AHEAD = 8


@dataclass(frozen=True)
class Rows:
    """Encoded rows, standardised numbers and one-hot blocks, on one device."""

    x: Tensor
    """Values, 0 where nothing is known; float32, shape ``(n, d)``."""
    observed: Tensor
    """True where a value is known; shape ``(n, d)``."""
    keys: Tensor
    """One int64 a row that tells its observed content, shape ``(n,)``."""

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: Tensor | slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.x[rows], self.observed[rows], self.keys[rows])

    def chunks(self, size: int | None = None) -> Iterator[tuple[slice, Rows]]:
        """Yield places and rows, padded with empty rows to one size.

        That is the size of the device, `CHUNK`, where none is given.
        """
        size = size or CHUNK[self.x.device.type]
        for first in range(0, len(self), size):
            place = slice(first, min(first + size, len(self)))
            part = self.take(place)
            n_short = size - len(part)
            if n_short:
                part = Rows(
                    torch.cat([part.x, part.x.new_zeros(n_short, part.x.shape[1])]),
                    torch.cat(
                        [
                            part.observed,
                            part.observed.new_zeros(n_short, part.x.shape[1]),
                        ]
                    ),
                    torch.cat([part.keys, part.keys.new_zeros(n_short)]),
                )
            yield place, part


@dataclass(frozen=True)
class Columns:
    """Which coordinates belong together."""

    blocks: tuple[slice, ...]
    """Coordinates of each column of the table."""
    is_number: Tensor
    """Whether a coordinate is a number, not one of a category's; shape ``(d,)``."""

    @property
    def group(self) -> Tensor:
        """Column of each coordinate, shape ``(d,)``."""
        widths = torch.tensor([block.stop - block.start for block in self.blocks])
        places = torch.arange(len(self.blocks)).repeat_interleave(widths)
        return places.to(self.is_number.device)


class Clock:
    """Tells a method how much of its time is left.

    Parameters
    ----------
    budget : float or None
        Seconds from now; None for as long as it takes.
    device : torch.device, optional
        Where the method computes. A GPU is waited for: it is told what to do much
        faster than it does it, and what it has been told counts as time to come.
    """

    def __init__(
        self, budget: float | None, device: torch.device | None = None
    ) -> None:
        self._budget = math.inf if budget is None else budget
        self._began = time.perf_counter()
        self._device = device
        self._marks: deque[torch.cuda.Event] = deque()

    def part(self, n: int) -> Clock:
        """Return a clock for one of `n` equal parts of what is left."""
        return Clock(self.left() / n, self._device)

    def left(self) -> float:
        """Return the seconds that are left."""
        return self._budget - (time.perf_counter() - self._began)

    def is_up(self) -> bool:
        """Whether there is no time left; to be asked once a step."""
        if self._device is not None and self._device.type == "cuda":
            self._keep_pace(self._device)
        return self.left() <= 0

    def _keep_pace(self, device: torch.device) -> None:
        """Wait until the GPU is but a few questions, and so steps, behind."""
        self._marks.append(torch.cuda.current_stream(device).record_event())
        if len(self._marks) > _N_AHEAD:
            self._marks.popleft().synchronize()

    def spent(self) -> float:
        """Return the share of the budget that is spent, 0 without one."""
        return 1 - self.left() / self._budget if math.isfinite(self._budget) else 0.0


class Model(ABC):
    """A learned imputer on encoded rows.

    Parameters
    ----------
    columns : Columns
        What the coordinates mean.
    settings : mapping
        The method's settings.
    seed : int
        Seed of everything random.
    device : torch.device
        Where to compute.
    """

    def __init__(
        self,
        columns: Columns,
        settings: Mapping[str, Any],
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self.columns = columns
        self.settings = settings
        self.seed = seed
        self.device = device

    @abstractmethod
    def fit(self, rows: Rows, clock: Clock) -> None:
        """Learn from rows; stop early, in good order, when the clock is up."""

    @abstractmethod
    def fill(self, rows: Rows) -> Tensor:
        """Return a value for every coordinate, shape ``(n, d)``.

        Values of observed coordinates are not looked at.
        """

    def generator(self) -> torch.Generator:
        """Return a new generator on the device, always the same."""
        return torch.Generator(self.device).manual_seed(self.seed)


class DrawingModel(Model):
    """A learned imputer that gives several plausible values."""

    @abstractmethod
    def draw(self, rows: Rows, n: int) -> Tensor:
        """Return `n` plausible values of every coordinate, shape ``(n, n_rows, d)``."""


@dataclass(frozen=True)
class MinMax:
    """Scale to [0, 1] by observed training cells; new rows may leave it."""

    low: Tensor
    """Least observed value, 0 for categories; shape ``(d,)``."""
    width: Tensor
    """Range of observed values, 1 for categories and constants; shape ``(d,)``."""

    @classmethod
    def fit(cls, rows: Rows, columns: Columns) -> MinMax:
        """Learn the scale."""
        low = rows.x.masked_fill(~rows.observed, math.inf).amin(dim=0)
        high = rows.x.masked_fill(~rows.observed, -math.inf).amax(dim=0)
        scaled = columns.is_number & (high > low)
        return cls(
            low=torch.where(columns.is_number, low, 0.0),
            width=torch.where(scaled, high - low, 1.0),
        )

    def unit(self, x: Tensor) -> Tensor:
        """Scale to [0, 1]."""
        return (x - self.low) / self.width

    def back(self, u: Tensor) -> Tensor:
        """Scale back."""
        return u * self.width + self.low


def epoch(n: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield all rows once, in random order and batches of at most `size`."""
    order = torch.randperm(n, generator=generator, device=generator.device)
    yield from order.split(size)


@torch.no_grad()
def by_chunks(
    function: Callable[[Rows], Tensor], rows: Rows, size: int | None = None
) -> Tensor:
    """Apply a function to padded parts of the rows, and join what it gives.

    Its answers have the rows in their next to last dimension. `size` is that of
    `Rows.chunks`.
    """
    parts = []
    for place, part in rows.chunks(size):
        n = place.stop - place.start
        parts.append(function(part)[..., :n, :])
    return torch.cat(parts, dim=-2)
