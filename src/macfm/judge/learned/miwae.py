"""MIWAE: a variational auto-encoder of the observed cells, read by weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from macfm.flow import keyed_normal
from macfm.judge.learned._base import (
    Clock,
    Columns,
    DrawingModel,
    Rows,
    by_chunks,
    epoch,
)
from macfm.judge.learned._step import descent, make_optimizer

# Rows times latent points that go through the decoder together.
_TOGETHER = 2**16


class MIWAE(DrawingModel):
    """Encoder q(z | x_obs), decoder p(x | z): Student t numbers, softmax categories.

    With w = p(x_obs | z) p(z) / q(z | x_obs), training raises E log mean w over K draws
    of z; a row is filled with Σ w E[x | z] / Σ w over L draws.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Raise the bound, batch by batch."""
        settings, d = self.settings, rows.x.shape[1]
        n_latents, width = settings["n_latents"], settings["width"]
        self._layout = _Layout.of(self.columns)
        # NOTE[DIFF]: ReLU as in the authors' programs; their paper says tanh.
        self._encode = _network(d, width, 2 * n_latents).to(self.device)
        self._decode = _network(n_latents, width, self._layout.n_outputs)
        self._decode.to(self.device)
        optimizer = make_optimizer(
            [*self._encode.parameters(), *self._decode.parameters()],
            rate=settings["learning_rate"],
        )
        step = descent(
            lambda x, observed, keys, eps: (
                -self.bound(Rows(x, observed, keys), eps).mean()
            ),
            [optimizer],
        )
        generator = self.generator()
        n_done = 0
        for _ in range(settings["n_epochs"]):
            for batch in epoch(len(rows), settings["batch_size"], generator):
                if n_done and clock.is_up():
                    return
                shape = (settings["n_importance"], len(batch), n_latents)
                eps = torch.randn(shape, generator=generator, device=self.device)
                some = rows.take(batch)
                step(some.x, some.observed, some.keys, eps)
                n_done += 1

    def bound(self, rows: Rows, eps: Tensor) -> Tensor:
        """Return the bound on each row's log likelihood, shape ``(n,)``.

        `eps` is the noise of K latent points a row, shape ``(K, n, n_latents)``.
        """
        _, _, log_weight = self._weigh(rows, eps)
        return log_weight.logsumexp(dim=0) - math.log(len(eps))

    def _weigh(self, rows: Rows, eps: Tensor) -> tuple[Tensor, _Cells, Tensor]:
        """Return latent points, what they say of the cells, and their log weights."""
        # NOTE[DIFF]: a normal posterior, as in the authors' PyTorch program; those in
        # TensorFlow have a Student t.
        center, spread = self._encode(rows.x).chunk(2, dim=-1)
        scale = functional.softplus(spread) + 1e-6
        z = center + scale * eps
        cells = self._layout.read(self._decode(z))
        # log p(z) − log q(z | x_obs), whose constants cancel.
        ratio = scale.log() + 0.5 * (eps.square() - z.square())
        return z, cells, cells.log_likelihood(rows) + ratio.sum(dim=-1)

    def _samples(self, part: Rows) -> Iterator[tuple[Tensor, _Cells, Tensor]]:
        """Weigh the L latent points of every row, some at a time."""
        n_samples = self.settings["n_samples"]
        size = max(1, _TOGETHER // len(part))
        for first in range(0, n_samples, size):
            draws = range(first, min(first + size, n_samples))
            noise = self._noise(part, draws, self.settings["n_latents"])
            yield self._weigh(part, noise.float())

    def _noise(self, part: Rows, draws: range, d: int) -> Tensor:
        return keyed_normal(part.keys, seed=self.seed, draws=draws, d=d)

    def fill(self, rows: Rows) -> Tensor:
        """Fill with the mean of p(x | x_obs), by importance weights."""
        # NOTE[DIFF]: means of p(x | z), as in the authors' TensorFlow programs. Their
        # PyTorch program draws x, which adds part of the residual variance.
        return by_chunks(self._mean, rows)

    def _mean(self, part: Rows) -> Tensor:
        mean = torch.zeros_like(part.x)
        total = part.x.new_full((len(part), 1), -math.inf)
        for _, cells, log_weight in self._samples(part):
            here = (log_weight.softmax(dim=0)[..., None] * cells.mean()).sum(dim=0)
            added = log_weight.logsumexp(dim=0)[:, None]
            both = torch.logaddexp(total, added)
            mean = (total - both).exp() * mean + (added - both).exp() * here
            total = both
        return mean

    def draw(self, rows: Rows, n: int) -> Tensor:
        """Choose latent points by their weights, and draw the cells given them."""
        return by_chunks(lambda part: self._draw(part, n), rows)

    def _draw(self, part: Rows, n: int) -> Tensor:
        samples = [(z, log_weight) for z, _, log_weight in self._samples(part)]
        z = torch.cat([point for point, _ in samples])
        log_weight = torch.cat([weight for _, weight in samples]).double()
        reach = log_weight.softmax(dim=0).cumsum(dim=0)
        row, d = torch.arange(len(part), device=self.device), part.x.shape[1]
        drawn = []
        # Lower numbers are those of the latent points.
        for number in range(len(z), len(z) + n):
            noise = self._noise(part, range(number, number + 1), 1 + 2 * d)[0]
            uniform = torch.special.ndtr(noise).clamp(1e-12, 1 - 1e-12)
            chosen = (reach < uniform[:, 0]).sum(dim=0).clamp(max=len(z) - 1)
            cells = self._layout.read(self._decode(z[chosen, row]))
            drawn.append(cells.draw(uniform[:, 1 : 1 + d], uniform[:, 1 + d :]))
        return torch.stack(drawn)


@dataclass(frozen=True)
class _Layout:
    """Which of the decoder's outputs speak of which coordinates."""

    numbers: Tensor
    """Coordinates that are numbers; three outputs each."""
    categories: Tensor
    """Coordinates of categories; one output each."""
    widths: tuple[int, ...]
    """Width of each block of categories."""

    @classmethod
    def of(cls, columns: Columns) -> _Layout:
        """Sort the coordinates."""
        is_number = columns.is_number.tolist()
        blocks = [block for block in columns.blocks if not is_number[block.start]]
        return cls(
            numbers=columns.is_number.nonzero()[:, 0],
            categories=(~columns.is_number).nonzero()[:, 0],
            widths=tuple(block.stop - block.start for block in blocks),
        )

    @property
    def n_outputs(self) -> int:
        """Outputs of the decoder."""
        return 3 * len(self.numbers) + len(self.categories)

    def read(self, output: Tensor) -> _Cells:
        """Read distributions from the decoder's output, shape ``(..., n_outputs)``."""
        n = len(self.numbers)
        center, spread, freedom, logits = output.split([n, n, n, sum(self.widths)], -1)
        blocks = [block.log_softmax(dim=-1) for block in logits.split(self.widths, -1)]
        scale = functional.softplus(spread) + 1e-3
        return _Cells(
            layout=self,
            center=center,
            scale=scale,
            freedom=functional.softplus(freedom) + 3,
            log_shares=torch.cat([logits[..., :0], *blocks], dim=-1),
        )

    def join(self, numbers: Tensor, categories: Tensor) -> Tensor:
        """Put values in the order of the coordinates."""
        order = torch.cat([self.numbers, self.categories]).argsort()
        return torch.cat([numbers, categories], dim=-1)[..., order]


@dataclass(frozen=True)
class _Cells:
    """Distributions of the cells of rows."""

    layout: _Layout
    center: Tensor
    """Those of numbers are Student t; their means, shape ``(..., n_numbers)``."""
    scale: Tensor
    """Their scales."""
    freedom: Tensor
    """Their degrees of freedom."""
    log_shares: Tensor
    """Log probabilities of categories, shape ``(..., n_categories)``."""

    def log_likelihood(self, rows: Rows) -> Tensor:
        """Return the log likelihood of the observed cells, shape ``(..., n)``."""
        x, observed = (part[:, self.layout.numbers] for part in (rows.x, rows.observed))
        numbers = torch.where(observed, self._log_density(x), 0.0)
        is_it = rows.x[:, self.layout.categories] == 1  # nowhere in an unknown block
        categories = torch.where(is_it, self.log_shares, 0.0)
        return numbers.sum(dim=-1) + categories.sum(dim=-1)

    def mean(self) -> Tensor:
        """Return means of numbers and probabilities of categories, ``(..., d)``."""
        return self.layout.join(self.center, self.log_shares.exp())

    def _log_density(self, x: Tensor) -> Tensor:
        """Return the log density of numbers.

        torch's own Student t looks at its parameters, and a GPU would have to wait.
        """
        half = 0.5 * self.freedom
        constant = (
            self.scale.log()
            + 0.5 * self.freedom.log()
            + 0.5 * math.log(math.pi)
            + half.lgamma()
            - (half + 0.5).lgamma()
        )
        t = (x - self.center) / self.scale
        return -(half + 0.5) * torch.log1p(t.square() / self.freedom) - constant

    def draw(self, u: Tensor, v: Tensor) -> Tensor:
        """Draw with uniform noise, shapes ``(..., d)``; the largest of a block counts.

        A Student t is √(ν (u^(−2/ν) − 1)) cos 2πv (Bailey, 1994), exactly so for any ν.
        """
        radius, angle = u[..., self.layout.numbers], v[..., self.layout.numbers]
        freedom = self.freedom.double()
        t = (freedom * (radius ** (-2 / freedom) - 1)).sqrt()
        t = t * torch.cos(2 * math.pi * angle)
        gumbel = -(-u[..., self.layout.categories].log()).log()
        return self.layout.join(self.center + self.scale * t, self.log_shares + gumbel)


def _network(d_in: int, width: int, d_out: int) -> nn.Sequential:
    """Two hidden layers, orthogonal weights."""
    layers = [nn.Linear(d_in, width), nn.Linear(width, width), nn.Linear(width, d_out)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
