"""Draws of a column as a whole: as often an atom, and as large, as they should be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from macfm.flow._atoms import Atoms
from macfm.flow._scores import read_off

# Quantiles at which draws and true values are held against each other.
_QUANTILES = np.clip(np.linspace(0.0, 1.0, 33), 0.004, 0.996)
# Fewer cells than this say nothing of an atom, and fewer rows nothing of numbers.
_ENOUGH, _ENOUGH_ROWS = 100, 50
# The doubt about a quantile before any row speaks, over what the column's mean misses.
_DOUBT = 0.15
# Rows are left out in so many groups to see what is chance.
_N_GROUPS = 20
# Lines go on beyond the last quantiles as they are, up to this.
_FAR = 2e6
# How much the cut of an atom may depend on its probability.
_SLOPES = np.linspace(-1.0, 1.0, 21)
_NO_WORSE = 1e-4
# What margins know of atoms as these are.
_OF_ATOMS = ("flag", "low", "high")


class Margins(nn.Module):
    """What becomes of draws so that those of a whole column look like its values.

    Parameters
    ----------
    parts : mapping of str to Tensor
        ``flag``, coordinates of atoms, int64 of shape ``(m,)``; ``low`` and ``high``,
        what they are where the number is another and where it is the atom, and
        ``cut``, a constant and a slope, float32 of shapes ``(m,)`` and ``(m, 2)``;
        ``place``, coordinates of numbers or of their scores, int64 of shape ``(k,)``;
        ``at``, draws that rise, and ``value``, what they become, float32 of shape
        ``(k, n_knots)``.

    Notes
    -----
    A draw of a flag says "atom" where c > a + b p, with c its chance and p the known
    probability of the atom in that row; the flag is moved so that this is c > ½. A draw
    of a number becomes Q(F(x)), F the law of all draws of held-out cells that are no
    atom, Q⁻¹ that of the true values of such cells.
    """

    # NOTE[DIFF]: the paper's draws are its network's.

    flag: Tensor
    low: Tensor
    high: Tensor
    cut: Tensor
    place: Tensor
    at: Tensor
    value: Tensor

    PARTS = ("flag", "low", "high", "cut", "place", "at", "value")

    def __init__(self, parts: Mapping[str, Tensor]) -> None:
        super().__init__()
        for name in self.PARTS:
            self.register_buffer(name, parts[name])

    @classmethod
    def none(cls) -> Margins:
        """Return that of no columns."""
        place, none, pairs = torch.zeros(0, dtype=torch.int64), torch.zeros(0), (0, 2)
        flags = {"flag": place, "low": none, "high": none, "cut": torch.zeros(pairs)}
        table = torch.zeros(pairs)
        return cls({**flags, "place": place, "at": table, "value": table})

    def forward(self, drawn: Tensor, mean: Tensor) -> Tensor:
        """Move draws ``(…, n, d)`` of rows whose mean is known, shape ``(n, d)``."""
        if not len(self.flag) and not len(self.place):
            return drawn
        drawn = drawn.clone()
        if len(self.flag):
            width = self.high - self.low
            p = ((mean[:, self.flag] - self.low) / width).clamp(0.0, 1.0)
            cut = self.cut[:, 0] + self.cut[:, 1] * p
            drawn[..., self.flag] -= (cut - 0.5) * width
        if len(self.place):
            some = drawn[..., self.place]
            drawn[..., self.place] = read_off(some, self.at, self.value)
        return drawn


def cut_atoms(drawn: Tensor, mean: Tensor, hidden: Tensor, *, atoms: Atoms) -> Margins:
    """Find from where on flags speak of atoms, so that shares are those known.

    Parameters
    ----------
    drawn : Tensor, shape (n_draws, n, d)
        Draws of rows.
    mean : Tensor, shape (n, d)
        Their mean, which tells how likely an atom is.
    hidden : Tensor of bool, shape (n, d)
        The cells in which both count.
    atoms : Atoms
        The atoms.

    Notes
    -----
    With "said" what c > a + b p says, a makes Σ (said − p) vanish, and b, the one
    nearest to 0 of those that do nearly as well, Σ p (said − p).
    """
    flag = atoms.flag.cpu().numpy()
    _, first = np.unique(flag, return_index=True)  # a number and its score share it
    chance, p = atoms.chances(drawn), atoms.chances(mean).clamp(0.0, 1.0)
    cuts = []
    for k in first:
        some = hidden[:, flag[k]]
        told = (chance[:, some, k], p[some, k])
        cuts.append(_cut(*(part.double().cpu().numpy() for part in told)))
    none = Margins.none()
    parts = {name: getattr(none, name) for name in Margins.PARTS}
    parts |= {name: getattr(atoms, name).cpu()[first] for name in _OF_ATOMS}
    parts["cut"] = torch.tensor(np.array(cuts).reshape(-1, 2), dtype=torch.float32)
    return Margins(parts)


def _cut(chance: np.ndarray, p: np.ndarray) -> tuple[float, float]:
    """Return a and b of an atom, of chances ``(n_draws, n)`` and probabilities (n,)."""
    if p.size < _ENOUGH or not 0 < p.mean() < 1:
        return 0.5, 0.0
    cuts, gaps = [], []
    for slope in _SLOPES:
        beyond = chance - slope * p
        cut = np.quantile(beyond, 1 - p.mean())
        cuts.append((float(cut), float(slope)))
        gaps.append(abs((p * ((beyond > cut) - p)).mean()))
    good = np.flatnonzero(np.array(gaps) <= min(gaps) + _NO_WORSE)
    return cuts[min(good, key=lambda k: abs(_SLOPES[k]))]


def bend_numbers(
    margins: Margins,
    drawn: Tensor,
    x: Tensor,
    *,
    told: Mapping[int, tuple[Tensor, Tensor]],
    miss: Tensor,
    row: Tensor,
) -> Margins:
    """Add to margins what gives numbers the quantiles of the true ones.

    Parameters
    ----------
    margins : Margins
        Those that know the atoms alone.
    drawn : Tensor, shape (n, d)
        Draws of held-out rows.
    x : Tensor, shape (n, d)
        The rows themselves.
    told : mapping of int to tuple of Tensor
        Of the coordinates to move, in which rows their draws count and in which their
        true values, shape ``(n,)``.
    miss : Tensor, shape (d,)
        How far their mean is from the truth.
    row : Tensor of int64, shape (n,)
        Held-out row of each; it may come back.

    Notes
    -----
    The difference of two quantiles is weighed against none by its variance when groups
    of rows are left out.
    """
    told_by, lines = row.cpu().numpy(), {}
    for place, counted in told.items():
        parts = []
        for rows, some in zip((drawn, x), counted, strict=True):
            kept = some.cpu().numpy()
            parts.append((rows[:, place].double().cpu().numpy()[kept], told_by[kept]))
        if all(len(np.unique(own)) >= _ENOUGH_ROWS for _, own in parts):
            lines[place] = _line(*parts, doubt=_DOUBT * float(miss[place]))
    found = {name: getattr(margins, name) for name in Margins.PARTS}
    if lines:
        known = torch.tensor(np.array(list(lines.values())), dtype=torch.float32)
        found["place"] = torch.tensor(list(lines))
        found["at"], found["value"] = known[:, 0].contiguous(), known[:, 1].contiguous()
    return Margins(found)


def _line(
    drawn: tuple[np.ndarray, np.ndarray],
    true: tuple[np.ndarray, np.ndarray],
    *,
    doubt: float,
) -> np.ndarray:
    """Return draws and what they become, ``(2, n_knots)``; cells come with rows."""

    def quantiles(value: np.ndarray, row: np.ndarray) -> np.ndarray:
        kept = [value, *(value[row % _N_GROUPS != one] for one in range(_N_GROUPS))]
        return np.array([np.quantile(some, _QUANTILES) for some in kept])

    at, wanted = quantiles(*drawn), quantiles(*true)
    beyond = wanted - at
    chance = beyond[1:].var(axis=0) * (_N_GROUPS - 1)
    weight = doubt**2 / np.maximum(doubt**2 + chance, 1e-300)
    value = np.maximum.accumulate(at[0] + weight * beyond[0])
    far = np.array([-_FAR, _FAR])
    ends = far + (value - at[0])[[0, -1]]
    return np.array([np.insert(far, 1, at[0]), np.insert(ends, 1, value)])
