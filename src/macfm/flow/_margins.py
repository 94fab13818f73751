"""Draws of a column as a whole: as often an atom, and as large, as they should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from macfm.flow._atoms import Atoms
from macfm.flow._gaps import over_gaps
from macfm.flow._scores import read_off
from macfm.flow._steps import stepped

# Quantiles at which draws and true values are held against each other.
_QUANTILES = np.clip(np.linspace(0.0, 1.0, 33), 0.004, 0.996)
_RANKS = np.concatenate([[0.0], _QUANTILES, [1.0]])
# Fewer cells than this say nothing of an atom, fewer rows nothing of draws of numbers,
# and fewer values nothing of their law.
_ENOUGH, _ENOUGH_ROWS, _ENOUGH_VALUES = 100, 20, 50
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
    of a number becomes W⁻¹(F(x)), F the law of all draws of held-out cells that are no
    atom, W that of values as `bend_numbers` finds it. Where a value comes back, the
    line from the ones to the others stays at it; where none lies between two groups of
    values, it steps from one to the other.
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


@dataclass(frozen=True)
class Number:
    """What is known of the numbers of a column, or of their scores, but its atoms."""

    values: np.ndarray
    """All that are observed."""
    low: float
    """The least of them if an atom lies below, else −∞."""
    high: float
    """The largest of them if an atom lies above, else ∞."""

    @classmethod
    def of(cls, values: Tensor, atoms: Tensor) -> Number:
        """Return what is known from observed values and the column's atoms."""
        known, repeated = (part.double().cpu().numpy() for part in (values, atoms))
        low, high = -np.inf, np.inf
        if len(known) and (repeated < known.min()).any():
            low = float(known.min())
        if len(known) and (repeated > known.max()).any():
            high = float(known.max())
        return cls(values=known, low=low, high=high)

    def rank(self, x: np.ndarray) -> np.ndarray:
        """Return the share of the values that are smaller, equal ones by half."""
        rising = np.sort(self.values)
        smaller = np.searchsorted(rising, x, side="left")
        return (smaller + np.searchsorted(rising, x, side="right")) / (2 * len(rising))


def bend_numbers(
    margins: Margins,
    drawn: Tensor,
    x: Tensor,
    *,
    numbers: Mapping[int, Number],
    counted: Mapping[int, tuple[Tensor, Tensor]],
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
    numbers : mapping of int to Number
        What is known of the coordinates to move.
    counted : mapping of int to tuple of Tensor
        In which rows draws of these count, and in which true values, shape ``(n,)``.
    miss : Tensor, shape (d,)
        How far their mean is from the truth.
    row : Tensor of int64, shape (n,)
        Held-out row of each; it may come back.

    Notes
    -----
    Cells hidden in held-out rows are some of those that are observed, chosen by lot: of
    what is true in them all observed values tell more than they do. But where they are
    large by chance, they are drawn large too, as far as other columns tell. So with
    F⁻¹, Q⁻¹ and V⁻¹ the quantiles of draws, of true values of these cells, and of all
    observed values, what is wanted is

        V⁻¹ + r (Q⁻¹ − V⁻¹)

    with r the correlation of draws and true values, by their ranks, which for draws as
    they should be is the share of the variance that other columns tell. Its difference
    from F⁻¹ is weighed against none by its variance when groups of rows, and of values,
    are left out. Where rows or values are too few for that, draws stay what they are,
    unless they are nearer to a value that comes back than half the way to another.
    How many draws lie on either side of a gap, V tells alone.
    """
    block, lines = row.cpu().numpy() % _N_GROUPS, {}
    for place, number in numbers.items():
        said, true = (some.cpu().numpy() for some in counted[place])
        n_rows = len(np.unique(row.cpu().numpy()[said]))
        if n_rows < _ENOUGH_ROWS or len(number.values) < _ENOUGH_VALUES:
            line = _stays(number.values)
            if line is not None:
                lines[place] = line
            continue
        told, truth = (rows[:, place].double().cpu().numpy() for rows in (drawn, x))
        lines[place] = _line(
            (told, said),
            (truth, true),
            number,
            block=block,
            doubt=_DOUBT * float(miss[place]),
        )
    found = {name: getattr(margins, name) for name in Margins.PARTS}
    if lines:
        most = max(line.shape[1] for line in lines.values())
        known = torch.tensor(
            np.array([_padded(line, most) for line in lines.values()]),
            dtype=torch.float32,
        )
        found["place"] = torch.tensor(list(lines))
        found["at"], found["value"] = known[:, 0].contiguous(), known[:, 1].contiguous()
    return Margins(found)


def _line(
    drawn: tuple[np.ndarray, np.ndarray],
    true: tuple[np.ndarray, np.ndarray],
    number: Number,
    *,
    block: np.ndarray,
    doubt: float,
) -> np.ndarray:
    """Return draws and what they become, ``(2, n_knots)``.

    Values come with flags of those that count, both of shape ``(n,)``.
    """
    at, values = _quantiles(drawn[0][drawn[1]], block[drawn[1]]), number.values
    wanted = _quantiles(values, np.arange(len(values)) % _N_GROUPS)
    told = _told(drawn, true, number)
    if told > 0:
        theirs = _quantiles(true[0][true[1]], block[true[1]])
        wanted = wanted + told * (theirs - wanted)
    beyond = wanted - at
    chance = beyond[1:].var(axis=0) * (_N_GROUPS - 1)
    weight = doubt**2 / np.maximum(doubt**2 + chance, 1e-300)
    # What is smaller or larger than all values should not be drawn so often.
    below = (at[0] < values.min()) & (_QUANTILES * len(values) >= 1)
    above = (at[0] > values.max()) & ((1 - _QUANTILES) * len(values) >= 1)
    value = at[0] + np.where(below | above, 1.0, weight) * beyond[0]
    ceiling = np.minimum.accumulate(np.where(above, value, np.inf)[::-1])[::-1]
    value = np.maximum.accumulate(np.minimum(value, ceiling))
    value = value.clip(*_reach(values)).clip(number.low, number.high)
    # Lines go on as they are, to what draws may not go beyond.
    ends = np.array([-_FAR, max(number.low, value[0] - 1.0)])
    tops = np.array([min(number.high, value[-1] + 1.0), _FAR])
    first, last = at[0, 0] - value[0], at[0, -1] - value[-1]
    known = [*(ends + first), *at[0], *(tops + last)]
    become = [*ends.clip(number.low), *value, *tops.clip(max=number.high)]
    of_draws = np.concatenate([[0, 0], _QUANTILES, [1, 1]])
    line = stepped(np.array([known, become]), values, drawn=of_draws, ranks=_RANKS)
    return over_gaps(line, values, at=np.array(known), drawn=of_draws)


def _reach(values: np.ndarray) -> tuple[float, float]:
    """Return how far quantiles of draws may go beyond all values.

    As far as the outermost tenth of the values goes inwards: a smooth network may draw
    the ends of a column with short ones many times as far.
    """
    low, tenth, ninth, high = np.quantile(values, [0.0, 0.1, 0.9, 1.0])
    return float(2 * low - tenth), float(2 * high - ninth)


def _stays(values: np.ndarray) -> np.ndarray | None:
    """Return the line of draws that are left alone but near values that come back.

    Shape ``(2, n_knots)``; None if no value does.
    """
    if not len(values):
        return None
    ends = np.array([-_FAR, values.min(), values.max(), _FAR])
    alone = np.array([ends, ends])
    line = stepped(alone, values, drawn=np.array([0, 0, 1, 1]), ranks=_RANKS)
    return None if line is alone else line


def _padded(line: np.ndarray, n_knots: int) -> np.ndarray:
    """Repeat the last knot of a line ``(2, n)`` until there are so many."""
    return np.pad(line, ((0, 0), (0, n_knots - line.shape[1])), mode="edge")


def _quantiles(value: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return quantiles of all values, and without each block of them, (1 + b, k)."""
    left = [value, *(value[block != one] for one in range(_N_GROUPS))]
    kept = (some if len(some) else value for some in left)
    return np.array([np.quantile(some, _QUANTILES) for some in kept])


def _told(
    drawn: tuple[np.ndarray, np.ndarray],
    true: tuple[np.ndarray, np.ndarray],
    number: Number,
) -> float:
    """Return the correlation of draws and true values, by their ranks, from 0 on."""
    both = drawn[1] & true[1]
    if both.sum() < _ENOUGH_VALUES:
        return 0.0
    said, meant = (number.rank(value[both]) for value, _ in (drawn, true))
    if min(said.std(), meant.std()) == 0:
        return 0.0
    return max(float(np.corrcoef(said, meant)[0, 1]), 0.0)
