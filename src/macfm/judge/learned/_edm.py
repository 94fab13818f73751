"""What DiffPuter and MissDiff share: a denoiser and its training.

The diffusion is that of Karras et al. (2022), called EDM: x + σ ε with σ from 80 to 0,
for values whose standard deviation is ½.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from macfm.judge.learned._base import Clock, DrawingModel, Rows, by_chunks, epoch
from macfm.judge.learned._repaint import RePaint
from macfm.judge.learned._step import descent, make_optimizer, set_rate
from macfm.judge.learned._trials import Batches

_VARIANCE = 0.25  # of the data, whose standard deviation is ½
# Rows times trials, and cells of them, that a GPU denoises together at most.
_MOST_ROWS, _MOST_CELLS = 2**16, 2**24


@dataclass(frozen=True)
class HalfScale:
    """Scale numbers and indicators to mean 0, SD ½ by observed training cells."""

    # NOTE[DIFF]: DiffPuter's program writes a category's number in bits; its paper, and
    # this, in indicators.
    mean: Tensor
    """Mean of observed values, shape ``(d,)``."""
    width: Tensor
    """Twice their standard deviation, 2 for constants; shape ``(d,)``."""

    @classmethod
    def fit(cls, rows: Rows) -> HalfScale:
        """Learn the scale."""
        n_known = rows.observed.sum(dim=0).clamp(min=1)
        x = rows.x.double()
        mean = x.masked_fill(~rows.observed, 0.0).sum(dim=0) / n_known
        gap = (x - mean).masked_fill(~rows.observed, 0.0)
        sd = (gap.square().sum(dim=0) / n_known).sqrt()
        width = torch.where(sd > 1e-6, 2 * sd, 2.0)  # rounding is no spread
        return cls(mean=mean.float(), width=width.float())

    def half(self, rows: Rows) -> Rows:
        """Return the rows scaled, 0 where nothing is known."""
        x = (rows.x - self.mean) / self.width
        return Rows(x.masked_fill(~rows.observed, 0.0), rows.observed, rows.keys)

    def back(self, x: Tensor) -> Tensor:
        """Scale back."""
        return x * self.width + self.mean


class Denoiser(nn.Module):
    """D(x; σ) = c_skip x + c_out F(c_in x; ln(σ) / 4), an estimate of x without noise.

    F is a perceptron of four hidden layers that is told neither column nor mask.

    Parameters
    ----------
    d : int
        Coordinates a row.
    width : int
        Units of its first and last hidden layer; those between have twice as many.
    """

    frequencies: Tensor

    def __init__(self, d: int, width: int) -> None:
        super().__init__()
        n = width // 2
        self.register_buffer("frequencies", 10_000.0 ** (-torch.arange(n) / n))
        self.embed = nn.Sequential(
            nn.Linear(2 * n, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.enter = nn.Linear(d, width)
        self.hidden = nn.Sequential(
            nn.Linear(width, 2 * width),
            nn.SiLU(),
            nn.Linear(2 * width, 2 * width),
            nn.SiLU(),
            nn.Linear(2 * width, width),
            nn.SiLU(),
            nn.Linear(width, d),
        )

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        """Denoise `x`, shape ``(n, d)``, of noise `sigma`, ``(n, 1)`` or ``(1, 1)``."""
        total = sigma.square() + _VARIANCE
        c_skip = _VARIANCE / total
        c_out = sigma * math.sqrt(_VARIANCE) / total.sqrt()
        angle = sigma.log() / 4 * self.frequencies
        level = self.embed(torch.cat([angle.sin(), angle.cos()], dim=1))
        return c_skip * x + c_out * self.hidden(self.enter(x / total.sqrt()) + level)


def edm_loss(
    denoise: Callable[[Tensor, Tensor], Tensor],
    noisy: Tensor,
    sigma: Tensor,
    x: Tensor,
    counted: Tensor,
) -> Tensor:
    """Mean of λ(σ) (D(noisy; σ) − x)² over counted cells, λ = (σ² + ¼) / (σ / 2)².

    A denoiser that knows nothing but the spread of the data has a loss of 1. `noisy`,
    `x` and `counted` have the shape ``(n, d)``, `sigma` one level a row, ``(n, 1)``.
    """
    weight = (sigma.square() + _VARIANCE) / (sigma.square() * _VARIANCE)
    error = weight * (denoise(noisy, sigma) - x).square()
    return error.masked_fill(~counted, 0.0).sum() / counted.sum().clamp(min=1)


def train(
    network: Denoiser,
    x: Tensor,
    counted: Tensor,
    settings: Mapping[str, Any],
    *,
    generator: torch.Generator,
    clock: Clock,
) -> bool:
    """Fit a denoiser to rows, and keep the weights of the epoch of least loss.

    Parameters
    ----------
    network : Denoiser
        Changed in place.
    x : Tensor, shape (n, d)
        Scaled rows without holes.
    counted : Tensor, shape (n, d)
        True where an error counts.
    settings : mapping
        The method's settings.
    generator : torch.Generator
        Where order and noise come from.
    clock : Clock
        Ends the training, after one step at the earliest.

    Returns
    -------
    bool
        Whether the training came to its end before the clock did.
    """
    optimizer = make_optimizer(network.parameters(), rate=settings["learning_rate"])
    step = descent(
        lambda noisy, sigma, x, counted: edm_loss(network, noisy, sigma, x, counted),
        [optimizer],
    )
    cuts = _Cuts(settings)
    max_steps = settings["max_steps"] or math.inf
    least, kept, n_flat, n_steps = math.inf, network.state_dict(), 0, 0
    is_late = False
    for _ in range(settings["n_epochs"]):
        total, n_seen = x.new_zeros(()), 0
        for batch in epoch(len(x), settings["batch_size"], generator):
            clean = x[batch]
            noisy, sigma = _with_noise(clean, settings, generator)
            total += step(noisy, sigma, clean, counted[batch]) * len(batch)
            n_seen += len(batch)
            n_steps += 1
            is_late = clock.is_up()
            if is_late or n_steps >= max_steps:
                break
        mean = total.item() / n_seen
        set_rate(optimizer, cuts.rate_after(mean))
        n_flat += 1
        if mean < least:
            least, kept, n_flat = mean, copy.deepcopy(network.state_dict()), 0
        if is_late or n_steps >= max_steps or n_flat >= settings["stop_after"]:
            break
    network.load_state_dict(kept)
    return not is_late


class _Cuts:
    """A learning rate that falls when the loss has not fallen for some epochs."""

    # Less than this share is no fall.
    _LEAST_FALL = 1e-4
    # A rate that would change by less stays.
    _LEAST_CHANGE = 1e-8

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._factor, self._patience = settings["cut"], settings["cut_after"]
        self._rate = settings["learning_rate"]
        self._least, self._n_flat = math.inf, 0

    def rate_after(self, loss: float) -> float:
        """Return the rate to go on with after an epoch."""
        self._n_flat += 1
        if loss < self._least * (1 - self._LEAST_FALL):
            self._least, self._n_flat = loss, 0
        if self._n_flat > self._patience:
            self._n_flat = 0
            rate = self._rate * self._factor
            if self._rate - rate > self._LEAST_CHANGE:
                self._rate = rate
        return self._rate


def _with_noise(
    x: Tensor, settings: Mapping[str, Any], generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return rows with noise, and its random levels, log-normal, one a row."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, device=x.device)

    log_sigma = normal(len(x), 1) * settings["log_sigma_sd"] + settings["log_sigma"]
    sigma = log_sigma.exp()
    return x + sigma * normal(*x.shape), sigma


class EDMModel(DrawingModel):
    """A denoiser of whole rows, whose holes RePaint fills; leaves say how it learns."""

    scale: HalfScale
    network: Denoiser

    @abstractmethod
    def fit(self, rows: Rows, clock: Clock) -> None:
        """Learn `scale` and `network`."""

    def new_network(self, d: int) -> Denoiser:
        """Return a denoiser with fresh weights."""
        return Denoiser(d, self.settings["width"]).to(self.device)

    def sample(self, rows: Rows, trials: range) -> Tensor:
        """Draw every cell of scaled rows, in their scale, ``(n_trials, n, d)``."""
        names = ("n_inner", "churn", "sigma_max", "sigma_min", "rho")
        repaint = RePaint(
            n_steps=self.settings["n_levels"],
            **{name: self.settings[name] for name in names},
        )
        return repaint(self.network, rows, seed=self.seed, trials=trials)

    def fill(self, rows: Rows) -> Tensor:
        """Fill with the mean of the trials."""
        return self._read(rows, self.settings["n_trials"], lambda x: x.mean(dim=0))

    def draw(self, rows: Rows, n: int) -> Tensor:
        """Draw by `n` single trials, shape ``(n, n_rows, d)``."""
        return self._read(rows, n, lambda x: x)

    def _read(
        self, rows: Rows, n_trials: int, read: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Apply a function to the trials of chunks of rows, and scale back."""
        most = min(_MOST_ROWS, _MOST_CELLS // rows.x.shape[1])
        batches = Batches.of(self.device, n_trials=n_trials, most=most)

        def of_chunk(part: Rows) -> Tensor:
            half = self.scale.half(part)
            drawn = batches.run(lambda trials: self.sample(half, trials), n_trials)
            return self.scale.back(read(drawn))

        return by_chunks(of_chunk, rows, batches.n_rows)
