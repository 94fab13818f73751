"""Rows held out of training, with some of their observed cells hidden to be found."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from macfm.flow._masks import Masks, sample_masks
from macfm.flow._path import Space, end_point, from_space, sample_path
from macfm.flow._schedule import Schedule

# Held-out rows hide few cells, so that what remains is close to what `transform` sees.
_HIDE_RATE = 0.15
# Held-out rows are scored under several masks until about this many cells are hidden.
_N_CELLS = 20_000
_MAX_ROWS = 2_000


@dataclass(frozen=True)
class Validation:
    """Held-out rows with cells hidden once and for all."""

    x: Tensor
    masks: Masks
    eps: Tensor
    t: Tensor
    n_rows: int
    n_cells: int

    @torch.no_grad()
    def row_errors(
        self, network: nn.Module, *, schedule: Schedule, space: Space
    ) -> Tensor:
        """Sum the squared errors of the end point over the hidden cells of each row.

        Returns shape ``(n,)``, float64, on the CPU.
        """
        errors = []
        for rows in torch.arange(len(self.x)).split(4096):
            masks = Masks(cond=self.masks.cond[rows], tgt=self.masks.tgt[rows])
            path = sample_path(
                self.x[rows],
                eps=self.eps[rows],
                t=self.t[rows],
                masks=masks,
                schedule=schedule,
                space=space,
            )
            v_t = network(path.x_t, path.t, masks.cond, masks.tgt)
            v_s = from_space(v_t, path.ds_t, space=space)
            miss = end_point(path.x_t, v_s, path.s_t) - self.x[rows]
            errors.append(torch.where(masks.tgt, miss, 0.0).double().square().sum(1))
        # the same rows come back under several masks
        return torch.cat(errors).view(-1, self.n_rows).sum(dim=0).cpu()


def readout_time(schedule: Schedule, *, space: Space) -> float:
    """Return the earliest time at which the network's end point is defined.

    It is 0 unless the network speaks dx/dt and the schedule starts at rest, where the
    velocity at t = 0 is 0 and says nothing.
    """
    ds_0 = schedule(torch.zeros(1, dtype=torch.float64))[1].item()
    return 0.0 if space == "s" or ds_0 > 0 else 0.1


def hold_out(
    x: Tensor,
    observed: Tensor,
    *,
    group: Tensor,
    share: float,
    t: float,
    generator: torch.Generator,
) -> tuple[Tensor, Validation | None]:
    """Split the rows: those to train on, and held-out ones with cells hidden.

    Parameters
    ----------
    x, observed : Tensor, shape (n, d)
        Encoded rows and where they hold a value.
    group : Tensor of int64, shape (d,)
        Column of each coordinate.
    share : float
        Share of the rows to hold out, at most half of them and 2,000; 0 holds out
        none.
    t : float
        Time at which the network is read, from `readout_time`.
    generator : torch.Generator
        Source of the split, the masks and the noise.

    Returns
    -------
    rows : Tensor of int64
        Indices of the rows to train on.
    validation : Validation or None
        None if too few rows or cells are left to judge by.
    """
    n = len(x)
    order = torch.randperm(n, generator=generator, device=x.device)
    n_held = min(max(round(share * n), min(5, n // 4)), n // 2, _MAX_ROWS)
    if share == 0 or n_held < 2:
        return order, None
    held = order[:n_held]
    n_groups = int(group.max()) + 1
    per_pass = max(n_held * n_groups * _HIDE_RATE, 1)
    held = held.repeat(min(max(round(_N_CELLS / per_pass), 1), 16))
    rate = (_HIDE_RATE, _HIDE_RATE)
    masks = sample_masks(
        observed[held], group=group, hide_rate=rate, generator=generator
    )
    eps = torch.randn(
        len(held), x.shape[1], generator=generator, device=x.device, dtype=x.dtype
    )
    first = torch.zeros(n_groups, dtype=torch.int64, device=x.device)
    first[group.flip(0)] = torch.arange(len(group), device=x.device).flip(0)
    n_cells = int(masks.tgt[:, first].sum())
    if n_cells == 0:
        return order, None
    times = torch.full((len(held), 1), t, device=x.device, dtype=x.dtype)
    validation = Validation(
        x=x[held], masks=masks, eps=eps, t=times, n_rows=n_held, n_cells=n_cells
    )
    return order[n_held:], validation
