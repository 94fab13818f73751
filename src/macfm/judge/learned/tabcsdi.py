"""TabCSDI: a diffusion on the missing cells, given those that are known."""

from __future__ import annotations

import copy
import math
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from macfm.flow import middle
from macfm.judge.learned._base import (
    Clock,
    Columns,
    DrawingModel,
    Rows,
    by_chunks,
    epoch,
)
from macfm.judge.learned._compiled import compiled
from macfm.judge.learned._step import descent, make_optimizer, set_rate
from macfm.judge.learned._tokens import Lots, attend, sine_code
from macfm.judge.learned._trials import Batches, noises

_D_CODE = 128  # of noise levels and of columns
_D_SHARED = 8  # one learned vector beside the columns' codes
_D_FORWARD = 64
_DROPOUT = 0.1
# Rows times samples, and cells of them, that a GPU walks with together at most.
_MOST_ROWS, _MOST_CELLS = 2**15, 2**19


class TabCSDI(DrawingModel):
    """A network that tells the noise in target cells, given clean ones.

    Training turns some of a row's observed cells into targets x₀, adds noise,
    x_t = √ᾱ_t x₀ + √(1 − ᾱ_t) ε, and learns Σ (ε − ε_θ)² / #targets over them.
    Imputing makes holes the targets and walks from noise, t = T, to t = 0.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Train with a learning rate that is cut near the end."""
        settings = self.settings
        # NOTE[DIFF]: the authors put numbers into (0, 1], whose spread of a few tenths
        # drowns in noise of variance 1; standardised ones are learned sooner.
        x = _signed(rows, self.columns)
        self.noise = Noise.make(settings, self.device)
        self.network = NoisePredictor(x.shape[1], settings).to(self.device)
        optimizer = make_optimizer(
            self.network.parameters(),
            rate=settings["learning_rate"],
            weight_decay=settings["weight_decay"],
        )
        step = descent(self._loss, [optimizer])
        generator = self.generator()
        lots = Lots(self.columns, generator)
        n_steps, n_done = settings["n_steps"], 0
        while n_done < n_steps and not (n_done and clock.is_up()):
            for batch in epoch(len(rows), settings["batch_size"], generator):
                if n_done == n_steps or (n_done and clock.is_up()):
                    break
                share = max(n_done / n_steps, clock.spent())
                n_cuts = bisect(settings["cuts"], share)
                set_rate(optimizer, settings["learning_rate"] / 10**n_cuts)
                known, observed = x[batch], rows.observed[batch]
                targets = self.targets(observed, lots, generator)
                step(known, observed, targets, *self._draw_noise(known, generator))
                n_done += 1
        self.network.eval()

    def targets(
        self, observed: Tensor, lots: Lots, generator: torch.Generator
    ) -> Tensor:
        """Choose the cells to predict, whole columns of each row's observed ones."""
        # NOTE[DIFF]: the authors' data sets count cells hidden for scoring as observed
        # while they train. Here `observed` is all there is.
        n_observed = lots.n_observed(observed)
        share = self.settings["target_share"]
        if share is None:
            # NOTE[DIFF]: the authors hide 80 % of a row's numbers. A share by lot, as
            # they take for tokens, also shows what rows with few holes are like.
            share = torch.rand(
                n_observed.shape, generator=generator, device=observed.device
            )
        return lots.choose(observed, (n_observed * share).round())

    def loss(
        self, x: Tensor, observed: Tensor, targets: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Return the mean squared error of the noise told, over target cells."""
        return self._loss(x, observed, targets, *self._draw_noise(x, generator))

    def _draw_noise(
        self, x: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Draw the level of every row, and its noise."""
        n_levels = len(self.noise.beta)
        level = torch.randint(n_levels, (len(x),), generator=generator, device=x.device)
        return level, torch.randn(x.shape, generator=generator, device=x.device)

    def _loss(
        self, x: Tensor, observed: Tensor, targets: Tensor, level: Tensor, eps: Tensor
    ) -> Tensor:
        noisy = self.noise.add(x, eps, level)
        told = self.network(x, noisy, observed & ~targets, level)
        gap = torch.where(targets, (eps - told).square(), 0.0)
        return gap.sum() / targets.sum().clamp(min=1)

    def fill(self, rows: Rows) -> Tensor:
        """Fill with the median of draws, categories with the shares that have them."""

        def center_of(drawn: Tensor) -> Tensor:
            center = middle(drawn, dim=0)
            for block in self.columns.blocks:
                if block.stop - block.start > 1:
                    # NOTE[DIFF]: medians of indicators are nearly 0 or 1, whatever
                    # their odds; the share of draws has the same winner.
                    winner = drawn[..., block].argmax(dim=-1)
                    places = torch.arange(block.stop - block.start, device=self.device)
                    votes = winner[..., None] == places
                    center[:, block] = votes.float().mean(dim=0)
            return center

        return self._read(rows, self.settings["n_samples"], center_of)

    def draw(self, rows: Rows, n: int) -> Tensor:
        """Walk from noise to values `n` times."""
        return self._read(rows, n, lambda drawn: drawn)

    def batches(self, n: int) -> Batches:
        """Return how many rows and samples are drawn together, of `n` samples."""
        d = len(self.columns.is_number)
        most = max(1, min(_MOST_ROWS, _MOST_CELLS // d))
        return Batches.of(self.device, n_trials=n, most=most)

    def _read(self, rows: Rows, n: int, read: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a function to `n` samples of chunks of rows."""
        batches = self.batches(n)

        def of_chunk(part: Rows) -> Tensor:
            drawn = batches.run(lambda numbers: self.walk(part, numbers), n)
            return read(torch.where(self.columns.is_number, drawn, (drawn + 1) / 2))

        return by_chunks(of_chunk, rows, batches.n_rows)

    def walk(self, rows: Rows, numbers: range) -> Tensor:
        """Draw samples of those numbers, with categories from −1 to 1; (n, n_rows, d).

        Observed cells stay what they are. All samples walk together.
        """
        n_levels = len(self.noise.beta)
        x = _signed(rows, self.columns).repeat(len(numbers), 1)
        observed = rows.observed.repeat(len(numbers), 1)
        # The start has the number after those of the levels; the last step adds none.
        draws = [
            [number * (n_levels + 1) + step for number in numbers]
            for step in range(n_levels, 0, -1)
        ]
        noise = noises(rows.keys, seed=self.seed, draws=draws, d=x.shape[1])
        noisy = torch.where(observed, x, next(noise).flatten(0, 1))
        for t in reversed(range(n_levels)):
            level = torch.full((len(x),), t, device=self.device)
            told = self._told(x, noisy, observed, level)
            cleaner = self.noise.remove(noisy, told, t)
            if t:
                cleaner = cleaner + self.noise.spread[t] * next(noise).flatten(0, 1)
            noisy = torch.where(observed, x, cleaner)
        return noisy.unflatten(0, (len(numbers), -1))

    @cached_property
    def _told(self) -> Callable[..., Tensor]:
        """The trained network as walks ask it, a hundred times for each sample."""
        if self.device.type == "cpu":
            return self.network
        # NOTE[DIFF]: the authors walk in float32. Layers in bfloat16 whose operations
        # are compiled together take less than half of the time on an H200.
        return compiled(self.network.coarse(), self.device)


@dataclass(frozen=True)
class Noise:
    """How much noise there is at levels t = 0 to T − 1, each of shape ``(T,)``."""

    beta: Tensor
    """Variance that a level adds, β_t."""
    signal: Tensor
    """Share of the variance that is left of the values, ᾱ_t = Π (1 − β_s), s ≤ t."""
    spread: Tensor
    """Noise of a step back, √(β_t (1 − ᾱ_{t−1}) / (1 − ᾱ_t))."""

    @classmethod
    def make(cls, settings: Mapping[str, Any], device: torch.device) -> Noise:
        """Let β rise from the first to the last, its root along a line."""
        first, last = settings["beta_first"] ** 0.5, settings["beta_last"] ** 0.5
        beta = torch.linspace(first, last, settings["n_levels"]).double().square()
        signal = (1 - beta).cumprod(dim=0)
        before = torch.cat([torch.ones(1).double(), signal[:-1]])
        spread = (beta * (1 - before) / (1 - signal)).sqrt()
        return cls(*(part.float().to(device) for part in (beta, signal, spread)))

    def add(self, x: Tensor, eps: Tensor, level: Tensor) -> Tensor:
        """Return values with the noise of each row's level."""
        signal = self.signal[level, None]
        return signal.sqrt() * x + (1 - signal).sqrt() * eps

    def remove(self, noisy: Tensor, told: Tensor, t: int) -> Tensor:
        """Return the mean one level down, given the noise that the network tells."""
        beta, signal = self.beta[t], self.signal[t]
        return (noisy - beta / (1 - signal).sqrt() * told) / (1 - beta).sqrt()


class NoisePredictor(nn.Module):
    """Gated residual layers, each with attention among the columns of a row.

    Parameters
    ----------
    d : int
        Coordinates a row.
    settings : mapping
        Width, heads, layers, noise levels and whether columns are told first.
    """

    level_code: Tensor
    column_code: Tensor

    def __init__(self, d: int, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width, n_layers = settings["d_model"], settings["n_layers"]
        self.register_buffer("level_code", sine_code(settings["n_levels"], _D_CODE))
        self.register_buffer("column_code", sine_code(d, _D_CODE))
        self.shared = nn.Parameter(torch.randn(_D_SHARED))
        self.level = nn.Sequential(
            nn.Linear(_D_CODE, _D_CODE),
            nn.SiLU(),
            nn.Linear(_D_CODE, _D_CODE),
            nn.SiLU(),
        )
        self.embed = _linear(2, width)
        # The attention of the authors' first layer cannot tell columns apart.
        first = settings["columns_first"]
        self.column = nn.Parameter(torch.randn(d, width)) if first else None
        self.layers = nn.ModuleList(
            _Layer(width, settings["n_heads"]) for _ in range(n_layers)
        )
        self.mix = _linear(width, width)
        self.told = nn.Linear(width, 1)
        self.dtype = torch.float32
        # An untrained network tells no noise, so that its loss is 1.
        nn.init.zeros_(self.told.weight)
        nn.init.zeros_(self.told.bias)

    def coarse(self) -> NoisePredictor:
        """Return a copy whose layers compute in bfloat16, between others in float32."""
        copied = copy.deepcopy(self)
        copied.layers.bfloat16()
        copied.dtype = torch.bfloat16
        return copied

    def forward(self, x: Tensor, noisy: Tensor, shown: Tensor, level: Tensor) -> Tensor:
        """Tell the noise in cells.

        Parameters
        ----------
        x : Tensor, shape (n, d)
            Clean values, looked at where `shown`.
        noisy : Tensor, shape (n, d)
            Values with noise, looked at elsewhere.
        shown : Tensor of bool, shape (n, d)
            True at the cells to go by.
        level : Tensor of int64, shape (n,)
            Noise level of each row.

        Returns
        -------
        Tensor, shape (n, d)
            Their noise; without meaning where `shown`.
        """
        pair = torch.stack(
            [torch.where(shown, x, 0.0), torch.where(shown, 0.0, noisy)], dim=-1
        )
        step = self.level(self.level_code[level])[:, None]
        columns = torch.cat(
            [self.column_code, self.shared.expand(x.shape[1], -1)], dim=1
        )
        tokens = self.embed(pair)  # (n, d, width)
        if self.column is not None:
            tokens = tokens + self.column
        tokens, flags, step, columns = (
            part.to(self.dtype)
            for part in (tokens.relu(), shown[..., None], step, columns)
        )
        total: Tensor | float = 0.0
        for layer in self.layers:
            tokens, skipped = layer(tokens, step, columns, flags)
            total = total + skipped.float()
        return self.told(self.mix(total / len(self.layers) ** 0.5).relu())[..., 0]


class _Layer(nn.Module):
    """Attention, a gate that knows column and flag, and two ways out."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.step = nn.Linear(_D_CODE, width)
        # NOTE[DIFF]: the authors have a second such layer over features of a column;
        # a column has one, so that layer is never used.
        self.attend = nn.TransformerEncoderLayer(
            width,
            n_heads,
            dim_feedforward=_D_FORWARD,
            dropout=_DROPOUT,
            activation="gelu",
            batch_first=True,
        )
        self.widen = _linear(width, 2 * width)
        # One layer on (code, shared vector, flag), in two parts: the first is the same
        # for all rows.
        self.of_column = _linear(_D_CODE + _D_SHARED, 2 * width)
        self.of_flag = nn.Linear(1, 2 * width, bias=False)
        self.out = _linear(width, 2 * width)

    def forward(
        self, tokens: Tensor, step: Tensor, columns: Tensor, flags: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the tokens for the next layer, and those that skip it."""
        tokens = tokens + self.step(step)
        # Compiled, the encoder's own short cut would be left as it is.
        plain = self.training or not torch.compiler.is_compiling()
        seen = self.attend(tokens) if plain else attend(self.attend, tokens)
        seen = self.widen(seen)
        gate, value = (seen + self.of_column(columns) + self.of_flag(flags)).chunk(
            2, -1
        )
        rest, skipped = self.out(gate.sigmoid() * value.tanh()).chunk(2, -1)
        return (tokens + rest) / math.sqrt(2), skipped


def _linear(d_in: int, d_out: int) -> nn.Linear:
    """Return a layer with weights of variance 2 / fan-in."""
    layer = nn.Linear(d_in, d_out)
    nn.init.kaiming_normal_(layer.weight)
    return layer


def _signed(rows: Rows, columns: Columns) -> Tensor:
    """Put categories at −1 and 1, holes at 0; numbers are standardised already."""
    x = torch.where(columns.is_number, rows.x, 2 * rows.x - 1)
    return torch.where(rows.observed, x, 0.0)
