"""DiffPuter: EM whose model of a row is a diffusion."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from macfm.judge.learned._base import CHUNK, Clock, Rows
from macfm.judge.learned._edm import EDMModel, HalfScale, train


class DiffPuter(EDMModel):
    """Rounds of an M-step, a denoiser learns the filled table, and an E-step, it fills.

    The first round takes holes for means. Every M-step begins with fresh weights, every
    E-step with the observed cells alone, and it fills with the mean of the trials. The
    last round's network fills any rows, so that its E-step is left to `fill`.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Alternate, sharing out the time evenly among the steps that are left."""
        n_rounds, d = self.settings["n_rounds"], rows.x.shape[1]
        self.scale = HalfScale.fit(rows)
        half = self.scale.half(rows)
        table = half.x
        generator = self.generator()
        self.network = self.new_network(d)
        is_fresh, took = False, 0.0
        for i in range(n_rounds):
            n_parts = 2 * (n_rounds - i) - 1
            # NOTE[DIFF]: a network that the clock cut short, or whose successor could
            # not be trained as long, goes on to learn from the next table. Fresh
            # weights would undo what little the budget allowed.
            if is_fresh and clock.left() / n_parts >= took:
                self.network = self.new_network(d)
            began = time.perf_counter()
            has_ended = train(
                self.network,
                table,
                torch.ones_like(table, dtype=torch.bool),
                self.settings,
                generator=generator,
                clock=clock.part(n_parts),
            )
            took = time.perf_counter() - began
            is_fresh = has_ended and not self.settings["warm_start"]
            if i == n_rounds - 1 or clock.is_up():
                return
            # In random order, so that the rows of an E-step cut short are any rows.
            some = half.take(
                torch.randperm(len(half), generator=generator, device=self.device)
            )
            table = self._expect(
                some, (i + 1) * self.settings["n_trials"], clock.part(n_parts - 1)
            )

    @torch.no_grad()
    def _expect(self, rows: Rows, first_trial: int, clock: Clock) -> Tensor:
        """Return rows filled with the mean of their trials.

        When the clock is up, rows have fewer trials, and those that have none are left
        out. Each round has trials of its own: an error of chance that came back in
        every round would be learned.
        """
        n_trials, size = self.settings["n_trials"], CHUNK[self.device.type]
        n_together = 1
        if self.device.type == "cuda":
            # Few rows leave room for other trials of theirs, and need no padding.
            size = min(size, len(rows))
            n_together = CHUNK["cuda"] // size
        total = torch.zeros_like(rows.x)
        n_drawn = rows.x.new_zeros(len(rows), 1)
        for k in range(0, n_trials, n_together):
            trials = range(first_trial + k, first_trial + min(k + n_together, n_trials))
            for place, part in rows.chunks(size):
                if clock.is_up() and (k or place.start):
                    break
                n = place.stop - place.start
                total[place] += self.sample(part, trials).sum(dim=0)[:n]
                n_drawn[place] += len(trials)
        has_any = n_drawn[:, 0] > 0
        mean = total[has_any] / n_drawn[has_any]
        return torch.where(rows.observed[has_any], rows.x[has_any], mean)
