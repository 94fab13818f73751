"""MCFlow: a normalising flow of the filled table, and a move in its latent space."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from macfm.flow import keyed_normal
from macfm.judge.learned._base import Clock, MinMax, Model, Rows, by_chunks, epoch
from macfm.judge.learned._step import Step, descent, make_optimizer

_N_PAIRS = 3  # of couplings, each of a mask and its complement
_N_LAYERS = 4  # of a coupling's networks


class MCFlow(Model):
    """Stages of a flow f and a network H, each refilling holes with f⁻¹(H(f(x))).

    f learns the likelihood of the rows as they are filled at present; H learns to keep
    their observed cells and to make them likelier. After 2, 4, 8, … epochs holes are
    refilled and a new flow begins. The networks of every stage are kept, and any row
    walks through them.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Train stage after stage."""
        self._scale = MinMax.fit(rows, self.columns)
        self._pool = _Pool.of(self._scale.unit(rows.x), rows.observed)
        self.stages: list[Stage] = []
        n_epochs, generator = self.settings["n_epochs"], self.generator()
        d = rows.x.shape[1]
        unit = self.start(rows)
        stage = Stage(Flow(d, generator).to(self.device), _mover(d).to(self.device))
        for_mover = self._optimizer(stage.mover)
        step = self._step(stage, for_mover)
        for n_done in range(1, n_epochs + 1):
            for place, batch in enumerate(
                epoch(len(rows), self.settings["batch_size"], generator)
            ):
                if (n_done > 1 or place) and clock.is_up():
                    break
                step(unit[batch], rows.observed[batch])
            if clock.is_up():
                break
            if is_stage_end(n_done, max(n_done / n_epochs, clock.spent())):
                self.stages.append(Stage(stage.flow, copy.deepcopy(stage.mover)))
                unit = by_chunks(
                    self.stages[-1].refill, Rows(unit, rows.observed, rows.keys)
                )
                stage.flow = Flow(d, generator).to(self.device)
                step = self._step(stage, for_mover)
        self.stages.append(stage)

    def _optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return make_optimizer(network.parameters(), rate=self.settings["learning_rate"])

    def _step(self, stage: Stage, for_mover: torch.optim.Optimizer) -> Step:
        """Return the step of a stage whose flow is new."""
        return descent(
            lambda unit, observed: self._loss(stage, unit, observed),
            [self._optimizer(stage.flow), for_mover],
        )

    def _loss(self, stage: Stage, unit: Tensor, observed: Tensor) -> Tensor:
        # NOTE[DIFF]: the authors' program steps between two passes backward, and leaves
        # the gradient of H's loss in the flow. Here each loss reaches its own network.
        z, log_det = stage.flow(unit)
        moved = stage.mover(z.detach())
        guess, log_det_guess = stage.flow.inverse(moved)
        # NOTE[DIFF]: the authors sum over their batch of 64 rows; so weighted, the mean
        # over rows is the same there and does not hang on the batch's size.
        gap = torch.where(observed, guess - unit, 0.0).square().sum(dim=1).mean()
        return (
            self.settings["reconstruction"] * gap
            - log_likelihood(moved, log_det_guess).mean()
            - log_likelihood(z, log_det).mean()
        )

    def start(self, rows: Rows) -> Tensor:
        """Return the rows in [0, 1], holes filled with random observed values."""
        noise = keyed_normal(
            rows.keys, seed=self.seed, draws=[0], d=len(self.columns.blocks)
        )
        # Coordinates of a block share their number, so a category is drawn whole.
        uniform = torch.special.ndtr(noise[0])[:, self.columns.group]
        return torch.where(
            rows.observed, self._scale.unit(rows.x), self._pool.at(uniform)
        )

    def fill(self, rows: Rows) -> Tensor:
        """Walk through all stages from a random start."""
        # NOTE[DIFF]: the authors carry test rows along in training; here new rows and
        # training rows walk through what was kept of it.
        return by_chunks(self._walk, rows)

    def _walk(self, part: Rows) -> Tensor:
        unit = self.start(part)
        for stage in self.stages:
            unit = stage.refill(Rows(unit, part.observed, part.keys))
        return self._scale.back(unit)


def is_stage_end(n_done: int, spent: float) -> bool:
    """Whether a new flow begins after that many epochs.

    It would need as many epochs as there were, and begins if at least half of them fit
    into what is left; `spent` is the share of all epochs, or of the time, that is gone.
    """
    # NOTE[DIFF]: the authors begin a new flow however near the end is.
    return n_done >= 2 and n_done & (n_done - 1) == 0 and spent <= 2 / 3


def log_likelihood(z: Tensor, log_det: Tensor) -> Tensor:
    """Return log p(x) of rows at z = f(x), shape ``(n,)``."""
    normal = 0.5 * (z.square() + math.log(2 * math.pi)).sum(dim=1)
    return log_det - normal


@dataclass
class Stage:
    """A flow and the move in its latent space."""

    flow: Flow
    mover: nn.Module

    def refill(self, part: Rows) -> Tensor:
        """Return filled rows with their holes filled anew, within [0, 1]."""
        z, _ = self.flow(part.x)
        guess, _ = self.flow.inverse(self.mover(z))
        return torch.where(part.observed, part.x, guess.clamp(0, 1))


class Flow(nn.Module):
    """Six affine couplings from rows to normal noise, all networks `d` wide."""

    used_weight: Tensor
    used_bias: Tensor

    def __init__(self, d: int, generator: torch.Generator) -> None:
        super().__init__()
        kept = []
        for _ in range(_N_PAIRS):
            places = torch.randperm(d, generator=generator, device=generator.device)
            kept += [places < d // 2, places >= d // 2]
        # Networks of scale and shift side by side, with the start of nn.Linear.
        limit, shape = d**-0.5, (2 * _N_PAIRS, _N_LAYERS, 2, d, d)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-limit, limit))
        self.bias = nn.Parameter(torch.empty(*shape[:3], 1, d).uniform_(-limit, limit))
        # A coupling reads the coordinates that it keeps and changes the others only.
        reads = torch.stack(kept)[:, None, :, None]
        writes = ~reads.transpose(-1, -2)
        used = torch.ones_like(self.weight, dtype=torch.bool, device=reads.device)
        used[:, 0] = reads
        used[:, -1] = writes
        self.register_buffer("used_weight", used)
        used = torch.ones_like(self.bias, dtype=torch.bool, device=reads.device)
        used[:, -1] = writes
        self.register_buffer("used_bias", used)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return z = f(x), shape ``(n, d)``, and log |det ∂z/∂x|, shape ``(n,)``."""
        z, stretch = x, torch.zeros_like(x)
        for layers in self._couplings(self.weight, self.bias):
            log_scale, shift = _scale_and_shift(z, layers)
            z = (z - shift) * (-log_scale).exp()
            stretch = stretch - log_scale
        return z, stretch.sum(dim=1)

    def inverse(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return x = f⁻¹(z) and log |det ∂z/∂x|; no gradient reaches the weights."""
        x, stretch = z, torch.zeros_like(z)
        for layers in self._couplings(self.weight.detach(), self.bias.detach())[::-1]:
            log_scale, shift = _scale_and_shift(x, layers)
            x = x * log_scale.exp() + shift
            stretch = stretch - log_scale
        return x, stretch.sum(dim=1)

    def _couplings(self, weight: Tensor, bias: Tensor) -> list[_Layers]:
        """Return the layers of each coupling; weights that it may not use are 0."""
        weights = torch.where(self.used_weight, weight, 0.0).flatten(0, 1).unbind()
        biases = torch.where(self.used_bias, bias, 0.0).flatten(0, 1).unbind()
        layers = list(zip(weights, biases, strict=True))
        return [layers[k : k + _N_LAYERS] for k in range(0, len(layers), _N_LAYERS)]


_Layers = list[tuple[Tensor, Tensor]]


def _scale_and_shift(x: Tensor, layers: _Layers) -> tuple[Tensor, Tensor]:
    """Return log scale and shift of a coupling, each of shape ``(n, d)``."""
    hidden = x.expand(2, -1, -1)
    for number, (weight, bias) in enumerate(layers):
        if number:
            hidden = functional.leaky_relu(hidden)
        hidden = torch.baddbmm(bias, hidden, weight)
    log_scale, shift = hidden.unbind()
    return log_scale.tanh(), shift


@dataclass(frozen=True)
class _Pool:
    """Observed values of every coordinate."""

    values: Tensor
    """Observed ones first, shape ``(n, d)``."""
    counts: Tensor
    """How many are observed, shape ``(d,)``."""

    @classmethod
    def of(cls, unit: Tensor, observed: Tensor) -> _Pool:
        """Keep the observed values; those of a block in the same order."""
        order = (~observed).byte().argsort(dim=0, stable=True)
        return cls(unit.gather(0, order), observed.sum(dim=0))

    def at(self, uniform: Tensor) -> Tensor:
        """Return values by their place in [0, 1], shape ``(n_rows, d)``."""
        place = (uniform * self.counts).long()
        return self.values.gather(0, torch.minimum(place, self.counts - 1))


def _mover(d: int) -> nn.Sequential:
    """Five layers, `d` wide."""
    layers: list[nn.Module] = [nn.Linear(d, d)]
    for _ in range(4):
        layers += [nn.LeakyReLU(), nn.Linear(d, d)]
    return nn.Sequential(*layers)
