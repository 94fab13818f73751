"""Rows held out of training, with some of their observed cells hidden to be found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from macfm.flow._calm import calm_end
from macfm.flow._guide import Guess
from macfm.flow._masks import Masks, sample_masks
from macfm.flow._path import Path, PathSample, end_point
from macfm.flow._rules import Rules

# Held-out rows hide few cells, so that what remains is close to what `transform` sees.
_HIDE_RATE = 0.15
# Held-out rows are scored under several masks until about this many cells are hidden.
_N_CELLS = 20_000
_MAX_ROWS = 2_000
_BATCH = 4_096


@dataclass(frozen=True)
class Validation:
    """Held-out rows with cells hidden once and for all."""

    x: Tensor
    """The rows, unknown coordinates filled with a guess of them."""
    masks: Masks
    """What is hidden in them."""
    eps: Tensor
    """The noise they start from."""
    t: float
    """Time at which the network is read, from `Path.readout_time`."""
    n_rows: int
    """Rows held out; each comes back under several masks."""
    n_cells: int
    """Cells hidden in all of them."""

    def to(self, device: torch.device) -> Validation:
        """Return the same on another device."""
        masks = (self.masks.cond, self.masks.tgt, self.masks.moved)
        return replace(
            self,
            x=self.x.to(device),
            masks=Masks(*(mask.to(device) for mask in masks)),
            eps=self.eps.to(device),
        )

    def some(self, rows: slice) -> Validation:
        """Return some of the rows only; what is counted is that of all."""
        masks = (self.masks.cond, self.masks.tgt, self.masks.moved)
        return replace(
            self,
            x=self.x[rows],
            masks=Masks(*(mask[rows] for mask in masks)),
            eps=self.eps[rows],
        )

    def row_errors(
        self, network: nn.Module, *, path: Path, guess: Guess | None = None
    ) -> Tensor:
        """Sum the squared errors of the end point over the hidden cells of each row.

        A network that stands around a guide is given its guess, from `guess_of`.
        Returns shape ``(n,)``, float64, on the CPU.
        """
        end = self.end_points(network, t=self.t, path=path, guess=guess)
        miss = torch.where(self.masks.tgt, end - self.x, 0.0)
        errors = miss.double().square().sum(dim=1)
        # the same rows come back under several masks
        return errors.view(-1, self.n_rows).sum(dim=0).cpu()

    def mean(self, network: nn.Module, *, path: Path) -> Tensor:
        """Return the conditional mean, shown coordinates as they are, ``(n, d)``."""
        end = self.end_points(network, t=self.t, path=path)
        mean = torch.where(self.masks.cond, self.x, end)
        calm = getattr(network, "calm", None)
        if calm is None:
            return mean
        end = self.calm_end(network, mean, path=path, n_steps=calm.n_steps)
        return torch.lerp(mean, end, calm.share)

    @torch.no_grad()
    def calm_end(
        self, network: nn.Module, mean: Tensor, *, path: Path, n_steps: int
    ) -> Tensor:
        """Follow the calm path from the mean at t = 0, shape ``(n, d)``."""
        parts = (part.split(_BATCH) for part in (self.x, self.masks.cond, mean))
        return torch.cat(
            [
                calm_end(network, *rows, path=path, n_steps=n_steps)
                for rows in zip(*parts, strict=True)
            ]
        )

    @torch.no_grad()
    def guess_of(
        self, guide: nn.Module, *, path: Path, t: float | None = None
    ) -> Guess:
        """Return what a guide says at time t, by default that of the read-out."""
        t = self.t if t is None else t
        sample = self._sample(slice(None), t=t, path=path)
        return guide(sample.x_t, sample.s_t, self.masks.cond)

    @torch.no_grad()
    def end_points(
        self, network: nn.Module, *, t: float, path: Path, guess: Guess | None = None
    ) -> Tensor:
        """Follow the velocity from the path's point at time t, shape ``(n, d)``.

        A network that stands around a guide may be given its guess, from `guess_of`.
        """
        ends = []
        for start in range(0, len(self.x), _BATCH):
            rows = slice(start, start + _BATCH)
            sample = self._sample(rows, t=t, path=path)
            said = () if guess is None else (Guess(guess.v_s[rows], guess.scale[rows]),)
            v_t = network(sample.x_t, sample.t, self.masks.cond[rows], *said)
            v_s = path.from_space(v_t, sample.ds_t)
            ends.append(end_point(sample.x_t, v_s, sample.s_t))
        return torch.cat(ends)

    def _sample(self, rows: slice, *, t: float, path: Path) -> PathSample:
        masks, x = self.masks, self.x[rows]
        return path.sample(
            x,
            eps=self.eps[rows],
            t=x.new_full((len(x), 1), t),
            masks=Masks(masks.cond[rows], masks.tgt[rows], masks.moved[rows]),
        )


def hold_out(
    n: int, *, share: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Split rows into those to train on and those held out, by number.

    At most half of the rows and 2,000 are held out; none with a share of 0 or too few
    rows.
    """
    order = torch.randperm(n, generator=generator, device=generator.device)
    n_held = min(max(round(share * n), min(5, n // 4)), n // 2, _MAX_ROWS)
    if share == 0 or n_held < 2:
        n_held = 0
    return order[n_held:], order[:n_held]


def make_validation(
    x: Tensor,
    observed: Tensor,
    *,
    group: Tensor,
    rules: Rules | None,
    move_missing: bool,
    t: float,
    generator: torch.Generator,
) -> Validation | None:
    """Hide cells of held-out rows, to be found again.

    Parameters
    ----------
    x, observed : Tensor, shape (n, d)
        The held-out rows, unknown coordinates filled with a guess of them, and where
        they hold a value.
    group : Tensor of int64, shape (d,)
        Column of each coordinate.
    rules, move_missing
        As in `sample_masks`.
    t : float
        Time at which the network is read, from `Path.readout_time`.
    generator : torch.Generator
        Source of the masks and the noise.

    Returns
    -------
    Validation or None
        None if there is no cell to judge by.
    """
    n_rows = len(x)
    if n_rows == 0:
        return None
    n_groups = int(group.max()) + 1
    per_pass = max(n_rows * n_groups * _HIDE_RATE, 1)
    n_passes = min(max(round(_N_CELLS / per_pass), 1), 16)
    x, observed = x.repeat(n_passes, 1), observed.repeat(n_passes, 1)
    masks = sample_masks(
        observed,
        group=group,
        n_columns=n_groups,
        hide_rate=(_HIDE_RATE, _HIDE_RATE),
        hide_one=False,
        rules=rules,
        move_missing=move_missing,
        generator=generator,
    )
    eps = torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)
    first = torch.zeros(n_groups, dtype=torch.int64, device=x.device)
    first[group.flip(0)] = torch.arange(len(group), device=x.device).flip(0)
    n_cells = int(masks.tgt[:, first].sum())
    if n_cells == 0:
        return None
    return Validation(x=x, masks=masks, eps=eps, t=t, n_rows=n_rows, n_cells=n_cells)
