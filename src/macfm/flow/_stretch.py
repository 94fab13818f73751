"""Draws' distances from the mean, bent and stretched into those of the errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

# The doubt about a column when all are known, and about all, of logarithms of width and
# bend.
_DOUBT = 0.3
_WIDTHS = (0.25, 2.0)
_BENDS = (0.7, 2.0)
_N_BENDS = 22
# Distances beyond so many units are all stretched alike: what held-out rows say of a
# tail ends where they do.
_KNEE = 3.0
# So that no power of nothing is infinite.
_LEAST = 1e-6
_LEAN = 0.5
# Rows are left out in so many groups to see what is chance.
_N_GROUPS = 20
# Fewer cells than this say nothing of a column.
_ENOUGH = 20
# Networks were chosen, and are trusted, by the rows that tell of their errors, which
# are larger in others: as if so many rows more had erred as much.
_UNSEEN_ROWS = 8


class Stretch(nn.Module):
    """What becomes of a draw's distance from the mean, column by column.

    Parameters
    ----------
    spread, bend, unit, lean : Tensor, shape (d,)
        Factor, exponent, the distance that counts as 1, and by what share distances
        upwards are made smaller and those downwards larger.

    Notes
    -----
    A distance δ becomes ρ (1 − a sign δ) δ min(|δ| / u, 3)ᵏ⁻¹. With k > 1 small
    distances shrink and large ones grow: draws of a smooth network have too few of
    both.
    """

    spread: Tensor
    bend: Tensor
    unit: Tensor
    lean: Tensor

    PARTS = ("spread", "bend", "unit", "lean")

    def __init__(
        self, spread: Tensor, bend: Tensor, unit: Tensor, lean: Tensor
    ) -> None:
        super().__init__()
        parts = (spread, bend, unit, lean)
        for name, part in zip(self.PARTS, parts, strict=True):
            self.register_buffer(name, part)

    @classmethod
    def none(cls, like: Tensor) -> Stretch:
        """Return one that leaves distances of rows shaped as `like`, (d,), alone."""
        one = torch.ones_like(like)
        return cls(one, one.clone(), one.clone(), torch.zeros_like(like))

    @property
    def acts(self) -> Tensor:
        """Where distances do not stay what they are, shape ``(d,)``."""
        return (self.spread != 1) | (self.bend != 1) | (self.lean != 0)

    def forward(self, apart: Tensor) -> Tensor:
        """Stretch distances, shape ``(…, d)``."""
        side = 1 - self.lean * torch.sign(apart)
        return self.spread * side * _bent(apart, self.unit, self.bend)


def _bent(apart: Tensor, unit: Tensor, bend: Tensor | float) -> Tensor:
    """Bend distances, ``(…, d)``: a power of them up to the knee, a line beyond."""
    # In float64: the last bit of a power may depend on where in a batch it stands.
    size = (apart.double().abs() / unit).clamp(_LEAST, _KNEE)
    return apart * size.pow(bend - 1).to(apart.dtype)


def find_stretch(
    apart: Tensor,
    miss: Tensor,
    *,
    drawn: Tensor,
    missed: Tensor,
    row: Tensor,
    centred: Tensor,
) -> Stretch:
    """Find what makes the draws' distances as large as errors, in mean and in square.

    Parameters
    ----------
    apart, miss : Tensor, shape (n, d)
        Distances of draws from their mean, and of the truth from what is filled.
    drawn, missed : Tensor of bool, shape (n, d)
        The cells in which they count.
    row : Tensor of int64, shape (n,)
        Held-out row of each; it may come back.
    centred : Tensor of bool, shape (d,)
        Where the mean of a column's distances is to be no other than if they were
        stretched and not bent.

    Notes
    -----
    With f the distance bent by k, k brings E f² / (E|f|)² to E e² / (E|e|)²; the width
    √(E e² / E δ²) is that of the errors. Logarithms of both are weighed, by their
    variance when groups of rows are left out, against the mean of all columns, and that
    against 0. Of m rows the width is then made √(1 + 8 / m) times as large.
    """
    apart, miss = apart.double(), miss.double()
    kinds = (drawn, missed)
    block = row % max(min(_N_GROUPS, int(row.max()) + 1), 1)
    n_drawn, n_missed = (_left_out(one.double(), one, block) for one in kinds)
    square = _left_out(apart.square(), drawn, block) / n_drawn.clamp(min=1)
    far = _left_out(miss.square(), missed, block) / n_missed.clamp(min=1)
    enough = (n_drawn[0] >= _ENOUGH) & (n_missed[0] >= _ENOUGH)
    judged = enough & (square > 0).all(dim=0) & (far > 0).all(dim=0)
    unit = torch.where(judged, square[0], 1.0).sqrt()

    def moment(bend: Tensor | float, power: int) -> Tensor:
        bent = (_bent(apart, unit, bend).abs() / unit).pow(power)
        return _left_out(bent, drawn, block) / n_drawn.clamp(min=1)

    absolute = _left_out(miss.abs(), missed, block) / n_missed.clamp(min=1)
    peak = (far / absolute.square().clamp(min=1e-300)).log()
    wanted = _bends(moment, peak)
    width = (far / square.clamp(min=1e-300)).clamp(min=1e-300).log() / 2
    bend = _weighed(wanted, judged).exp().clamp(*_BENDS)
    n_rows = int(row.unique().numel())
    width = _weighed(width, judged).exp().clamp(*_WIDTHS)
    width = width * math.sqrt(1 + _UNSEEN_ROWS / max(n_rows, 1))
    spread = width / moment(bend, 2)[0].clamp(min=1e-300).sqrt()
    bend, spread = (torch.where(judged, part, 1.0) for part in (bend, spread))
    stretch = Stretch(spread, bend, unit, torch.zeros_like(spread))
    bent = torch.where(drawn, stretch(apart), 0.0)
    too_far = (bent - torch.where(drawn, width * apart, 0.0)).sum(dim=0)
    lean = (too_far / bent.abs().sum(dim=0).clamp(min=1e-300)).clamp(-_LEAN, _LEAN)
    stretch.lean.copy_(torch.where(judged & centred, lean, 0.0))
    return stretch.float()


def _left_out(value: Tensor, counted: Tensor, block: Tensor) -> Tensor:
    """Sum what is counted, with all rows and without each block, (1 + n_blocks, d)."""
    n_blocks = int(block.max()) + 1
    sums = value.new_zeros(n_blocks, value.shape[1])
    sums.index_add_(0, block, torch.where(counted, value, 0.0))
    total = sums.sum(dim=0, keepdim=True)
    return torch.cat([total, (total - sums).clamp(min=0.0)])


def _bends(moment: Callable[[float, int], Tensor], peak: Tensor) -> Tensor:
    """Return the logarithms of the bends that give distances a peak, (1 + b, d).

    The peak of bent distances, log E f² − 2 log E f, rises with the bend. It is known
    at some bends, and straight in between.
    """
    low, high = (math.log(bend) for bend in _BENDS)
    known = torch.linspace(low, high, _N_BENDS, dtype=torch.float64)
    tops = []
    for bend in known.exp().tolist():
        first, second = moment(bend, 1), moment(bend, 2)
        tops.append((second / first.square().clamp(min=1e-300)).clamp(min=1e-300).log())
    top, known = torch.stack(tops), known.to(peak.device)
    above = (top < peak).sum(dim=0).clamp(1, _N_BENDS - 1)
    below, beyond = (top.gather(0, k[None])[0] for k in (above - 1, above))
    part = ((peak - below) / (beyond - below).clamp(min=1e-12)).clamp(0.0, 1.0)
    return torch.lerp(known[above - 1], known[above], part)


def _weighed(value: Tensor, judged: Tensor) -> Tensor:
    """Weigh values of columns, ``(1 + n_blocks, d)``, against that of all, (d,).

    The first is of all rows, the others without a block of them each. That of all is
    weighed against 0 likewise.
    """
    if not judged.any():
        return torch.zeros_like(value[0])
    weight = _weight(value)
    share = torch.where(judged, weight, 0.0)
    of_all = (share * torch.where(judged, value, 0.0)).sum(dim=1, keepdim=True)
    of_all = of_all / share.sum()
    of_all = (_weight(of_all) * of_all[0]).expand_as(weight)
    return torch.lerp(of_all, value[0], weight)


def _weight(value: Tensor) -> Tensor:
    """Return how far values with and without blocks, (1 + b, d), are believed, (d,)."""
    n_blocks = len(value) - 1
    chance = value[1:].var(dim=0, correction=0) * (n_blocks - 1)
    return _DOUBT**2 / (_DOUBT**2 + chance)
