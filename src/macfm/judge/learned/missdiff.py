"""MissDiff: a diffusion of rows that counts the errors of observed cells only."""

from __future__ import annotations

from macfm.judge.learned._base import Clock, Rows
from macfm.judge.learned._edm import EDMModel, HalfScale, train


class MissDiff(EDMModel):
    """One denoiser of rows with zeros in their holes, Σ M λ (D − x)² / Σ M its loss.

    Holes enter it as zeros with noise, but nothing is asked of it there.
    """

    # NOTE[DIFF]: the authors train TabCSDI's network without its mask and generate
    # whole tables. Tables of imputers mean the EDM form with RePaint by this name, as
    # in DiffPuter's comparison, whose faults are put right: the weight of a level of
    # noise belongs to its row, the best epoch is told by the mean of its batches, and
    # the last step goes to σ = 0.
    def fit(self, rows: Rows, clock: Clock) -> None:
        """Train one network."""
        self.scale = HalfScale.fit(rows)
        self.network = self.new_network(rows.x.shape[1])
        train(
            self.network,
            self.scale.half(rows).x,
            rows.observed,
            self.settings,
            generator=self.generator(),
            clock=clock,
        )
