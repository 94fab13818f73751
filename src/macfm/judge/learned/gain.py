"""GAIN: a generator fills, a discriminator tells which cells were filled."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from macfm.judge.learned._base import Clock, MinMax, Model, Rows, by_chunks, epoch
from macfm.judge.learned._step import Step, descend, make_optimizer

# NOTE[DIFF]: the authors put uniform noise below 0.01 into holes. Its mean serves as
# well, and a row is filled the same whatever rows stand beside it.
_HOLE = 0.005


class GAIN(Model):
    """Generator G(x, M) and discriminator D(x̃, H), both three layers as wide as a row.

    With x̃ = M x + (1 − M) G, D learns −mean[M log D + (1 − M) log(1 − D)] and
    G learns −mean[(1 − M) log D] + α mean[M (x − G)²] / mean[M]. The hint H = M B,
    B ~ Bernoulli(hint_rate), shows D most of the mask.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Take one step of each network on every batch."""
        settings, d = self.settings, rows.x.shape[1]
        self._scale = MinMax.fit(rows, self.columns)
        unit = self._scale.unit(rows.x)
        self._generate = _network(d).to(self.device)
        step = self._step(_network(d).to(self.device))
        generator = self.generator()
        n_done = 0
        while n_done < settings["n_steps"]:
            for batch in epoch(len(rows), settings["batch_size"], generator):
                if n_done == settings["n_steps"] or (n_done and clock.is_up()):
                    return
                part = unit[batch]
                lots = torch.bernoulli(torch.full_like(part, settings["hint_rate"]))
                step(part, rows.observed[batch], lots)
                n_done += 1

    def _step(self, judge: nn.Module) -> Step:
        """Return a step of the judge, then one of the generator."""
        for_judge, for_generator = (
            make_optimizer(
                network.parameters(), rate=self.settings["learning_rate"], fused=False
            )
            for network in (judge, self._generate)
        )

        def move(unit: Tensor, observed: Tensor, lots: Tensor) -> Tensor:
            known = observed.float()
            hint = known * lots
            guess = self._guess(unit, observed)
            mixed = torch.where(observed, unit, guess)
            told = judge(torch.cat([mixed.detach(), hint], dim=1))
            loss = functional.binary_cross_entropy_with_logits(told, known)
            descend(loss, [for_judge])
            told = judge(torch.cat([mixed, hint], dim=1))
            fooled = -((1 - known) * functional.logsigmoid(told)).mean()
            gap = (known * (unit - guess).square()).mean()
            close = gap / known.mean().clamp(min=1e-9)
            descend(fooled + self.settings["alpha"] * close, [for_generator])
            return loss.detach()

        return Step(move, [for_judge, for_generator])

    def _guess(self, unit: Tensor, observed: Tensor) -> Tensor:
        shown = torch.where(observed, unit, _HOLE)
        return self._generate(torch.cat([shown, observed.float()], dim=1)).sigmoid()

    def fill(self, rows: Rows) -> Tensor:
        """Fill with one pass of the generator."""

        def guess(part: Rows) -> Tensor:
            return self._scale.back(
                self._guess(self._scale.unit(part.x), part.observed)
            )

        return by_chunks(guess, rows)


def _network(d: int) -> nn.Sequential:
    """2d → d → d → d with weights of variance 2 / fan-in, logits out."""
    layers = [nn.Linear(2 * d, d), nn.Linear(d, d), nn.Linear(d, d)]
    for layer in layers:
        nn.init.normal_(layer.weight, std=(2 / layer.in_features) ** 0.5)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
