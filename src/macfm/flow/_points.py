"""Points on paths to train at: rows, what is hidden in them, times, noise, guesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from macfm.flow._guide import Guess
from macfm.flow._masks import Masks, sample_masks
from macfm.flow._path import Path, PathSample, add_input_noise
from macfm.flow._rules import Rules
from macfm.flow._schedule import TimeLaw

# Batches are drawn several at a time, since one alone is many small operations: twice
# as many each time, up to this many, or this many cells.
_MAX_AHEAD = 64
_MAX_CELLS = 2**21
# A guide of this many coordinates works out a row for several points at a time, which
# come in different batches.
_WIDE_GUIDE = 32
_N_TWINS = 4


@dataclass(frozen=True)
class Points:
    """Points on the paths of some rows, and what a network is told about them."""

    sample: PathSample
    """The points and their velocities."""
    masks: Masks
    """What is hidden in their rows."""
    guess: Guess | None
    """What the guide says there."""
    xi: Tensor | None
    """Noise of the consistency term, shape ``(n, d)``."""

    def tensors(self) -> list[Tensor]:
        """Return every tensor, in one order."""
        parts = [self.sample, self.masks, *([] if self.guess is None else [self.guess])]
        tensors = [tensor for part in parts for tensor in vars(part).values()]
        return tensors if self.xi is None else [*tensors, self.xi]

    def map(self, function: Callable[[Tensor], Tensor]) -> Points:
        """Apply a function to every tensor."""
        guess = None
        if self.guess is not None:
            guess = Guess(*map(function, vars(self.guess).values()))
        return Points(
            sample=PathSample(*map(function, vars(self.sample).values())),
            masks=Masks(*map(function, vars(self.masks).values())),
            guess=guess,
            xi=None if self.xi is None else function(self.xi),
        )


@dataclass(frozen=True)
class PointLaw:
    """How points are drawn."""

    group: Tensor
    """Column of each coordinate, shape ``(d,)``."""
    is_num: Tensor
    """Whether it is numeric, shape ``(d,)``."""
    path: Path
    """From noise to data."""
    time_law: TimeLaw
    """Law of the times."""
    hide_rate: tuple[float, float]
    """Range of the share of observed cells that a row hides."""
    hide_one: bool
    """Whether a row hides one of its cells at least."""
    rules: Rules | None
    """Rules that the table's holes follow, and the hidden cells with them."""
    guide: nn.Module | None
    """The Gaussian that the network stands around."""
    sigma_in: float
    """Noise on observed numbers at t = 0."""
    perturbed: bool
    """Whether noise of the consistency term is needed."""


@dataclass(frozen=True)
class _Pool:
    """Batches drawn together."""

    points: Points
    """Their points, one batch behind the other."""
    n_batches: int
    """How many there are."""


class PointSource:
    """Draws batches of points from the rows of a table.

    On a GPU a pool of batches is drawn on a stream of its own while those of the one
    before it are used.

    Parameters
    ----------
    x, observed : Tensor, shape (n, d)
        Encoded rows, 0 where not observed, and where the table holds a value.
    weights : Tensor, shape (n,), or None
        How often each row comes; None takes all alike, in a new order every epoch.
    law : PointLaw
        How points are drawn.
    batch_size : int
        Points a batch.
    generator : torch.Generator
        Source of all randomness, on the device of `x`.
    """

    def __init__(
        self,
        x: Tensor,
        observed: Tensor,
        *,
        weights: Tensor | None,
        law: PointLaw,
        batch_size: int,
        generator: torch.Generator,
    ) -> None:
        self._x = x
        self._observed = observed
        self._law = law
        self._n_columns = int(law.group.max()) + 1
        self._batch_size = batch_size
        self._generator = generator
        self._rows = _RowStream(len(x), weights, generator=generator)
        is_wide = law.guide is not None and x.shape[1] >= _WIDE_GUIDE
        self._n_twins = _N_TWINS if is_wide else 1
        self._fills: Tensor | None = None
        self._aside = torch.cuda.Stream(x.device) if x.is_cuda else None
        self._pool: _Pool | None = None
        self._next: _Pool | None = None
        self._n_ahead = 1
        self._n_taken = 0

    def begin(self, fills: Tensor | None) -> None:
        """Take guesses of missing coordinates from ``(n_fills, n, d)`` from here on.

        One of them is transported in each batch; None leaves missing coordinates where
        they are.
        """
        self._fills = fills
        self._pool = self._next = None
        if self._aside is not None:
            self._aside.wait_stream(torch.cuda.current_stream(self._x.device))
            if fills is not None:
                fills.record_stream(self._aside)

    def end(self) -> None:
        """Wait for what is still being drawn, before the rows it reads are let go."""
        self._pool = self._next = None
        if self._aside is not None:
            torch.cuda.current_stream(self._x.device).wait_stream(self._aside)

    def take(self) -> Points:
        """Return the next batch."""
        if self._pool is None or self._n_taken == self._pool.n_batches:
            self._pool = self._next_pool()
            self._n_taken = 0
        n = self._batch_size
        start = self._n_taken * n
        self._n_taken += 1
        return self._pool.points.map(lambda part: part[start : start + n])

    def _next_pool(self) -> _Pool:
        """Return the pool whose turn it is; on a GPU have the one after it begun."""
        if self._aside is None:
            return self._draw_pool()
        used_on = torch.cuda.current_stream(self._x.device)
        with torch.cuda.stream(self._aside):
            pool = self._next or self._draw_pool()
        used_on.wait_stream(self._aside)
        for tensor in pool.points.tensors():
            tensor.record_stream(used_on)
        with torch.cuda.stream(self._aside):
            self._next = self._draw_pool()
        return pool

    def _draw_pool(self) -> _Pool:
        """Draw twice as many batches as the last time, within limits."""
        n = self._batch_size
        most = min(max(_MAX_CELLS // (n * self._x.shape[1]), 1), _MAX_AHEAD)
        if most > self._n_twins:  # twins come in different batches
            most -= most % self._n_twins
        n_ahead = self._n_ahead = min(2 * self._n_ahead, most)
        n_twins = self._n_twins if n_ahead % self._n_twins == 0 else 1
        return _Pool(self._draw(n_ahead * n, n_twins=n_twins), n_ahead)

    @torch.no_grad()
    def _draw(self, n: int, *, n_twins: int) -> Points:
        """Draw rows, masks, times and noise for n points, so many of each row."""
        law, generator = self._law, self._generator
        rows = self._rows.take(n // n_twins)
        x = self._with_fills(rows)
        observed = self._observed[rows]

        def repeated(part: Tensor) -> Tensor:
            return part.repeat(n_twins, 1)

        def noise(n: int) -> Tensor:
            shape = n, x.shape[1]
            return torch.randn(
                shape, generator=generator, device=x.device, dtype=x.dtype
            )

        once = sample_masks(
            observed,
            group=law.group,
            n_columns=self._n_columns,
            hide_rate=law.hide_rate,
            hide_one=law.hide_one,
            rules=law.rules,
            move_missing=self._fills is not None,
            generator=generator,
        )
        t = law.time_law.sample(len(x), generator=generator, device=x.device)
        if law.sigma_in > 0:
            x = add_input_noise(
                x,
                xi=noise(len(x)),
                s_t=law.path.schedule(t)[0],
                observed=observed,
                is_num=law.is_num,
                sigma_in=law.sigma_in,
            )
        masks = Masks(*map(repeated, vars(once).values()))
        sample = law.path.sample(repeated(x), eps=noise(n), t=repeated(t), masks=masks)
        guess = None
        if law.guide is not None:
            guess = law.guide(sample.x_t, sample.s_t, once.cond)
        xi = noise(n) if law.perturbed else None
        return Points(sample=sample, masks=masks, guess=guess, xi=xi)

    def _with_fills(self, rows: Tensor) -> Tensor:
        """Return rows with one of their guesses, chosen by lot, in their holes."""
        fills = self._fills
        if fills is None:
            return self._x[rows]
        chosen = torch.randint(
            len(fills), rows.shape, generator=self._generator, device=rows.device
        )
        return fills[chosen, rows]


class _RowStream:
    """Rows in a new random order every epoch, cut into pieces.

    With weights rows are drawn by lot, each as often as it counts.
    """

    def __init__(
        self, n_rows: int, weights: Tensor | None, *, generator: torch.Generator
    ) -> None:
        self._n_rows = n_rows
        self._weights = weights
        self._generator = generator
        self._queue = torch.zeros(0, dtype=torch.int64, device=generator.device)

    def take(self, n: int) -> Tensor:
        if self._weights is not None:
            return torch.multinomial(
                self._weights, n, replacement=True, generator=self._generator
            )
        orders, n_queued = [self._queue], len(self._queue)
        while n_queued < n:
            orders.append(self._epoch())
            n_queued += self._n_rows
        queue = torch.cat(orders)
        batch, self._queue = queue[:n], queue[n:]
        return batch

    def _epoch(self) -> Tensor:
        generator = self._generator
        return torch.randperm(
            self._n_rows, generator=generator, device=generator.device
        )
