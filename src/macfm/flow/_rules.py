"""Rules that the holes of a table follow, so that training hides cells likewise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from macfm.flow._levels import number_rows

# A column's holes follow another column's values if these explain so much of them.
_EXPLAINED = 0.25
# Fewer rows on either side prove nothing.
_MIN_ROWS = 20
_MIN_HOLES = 5
_N_BINS = 10


@dataclass(frozen=True)
class Rules:
    """Which columns are shown, and which go, where another column is hidden.

    Notes
    -----
    Where an age at diagnosis is recorded for the sick alone, its absence says that a
    person is healthy, and a network that hides it at random unlearns that. Where the
    whole questionnaire is missing for some, its absence says nothing, and a network
    that never sees both missing learns something false. What a table's own holes do
    tells the two apart: when column k is hidden, a column j

    - whose holes depend on the values of k, and which is recorded as often where k is
      missing as where it is not, stays shown (``shown[k, j]``);
    - which is recorded less often where k is missing goes as well, with probability
      ``gone[k, j]`` = 1 − P(j recorded | k missing) / P(j recorded | k recorded).
    """

    shown: Tensor
    """Flags of shape ``(n_columns, n_columns)``, float32."""
    gone: Tensor
    """Probabilities of shape ``(n_columns, n_columns)``, float32."""

    def apply(self, hidden: Tensor, *, generator: torch.Generator) -> Tensor:
        """Change flags of hidden columns, ``(n, n_columns)``, as the rules have it."""
        seed = hidden.to(self.shown.dtype)
        kept = (seed @ self.shown) > 0
        stays = torch.exp(seed @ torch.log1p(-self.gone.clamp(max=0.999)))
        draw = torch.rand(hidden.shape, generator=generator, device=hidden.device)
        return (hidden & ~kept) | (draw > stays)

    def to(self, device: torch.device) -> Rules:
        """Return the rules on another device."""
        return Rules(shown=self.shown.to(device), gone=self.gone.to(device))


def find_rules(
    x: np.ndarray, observed: np.ndarray, *, group: np.ndarray, is_num: np.ndarray
) -> Rules | None:
    """Find the rules in the holes of encoded rows; None if there are none.

    Parameters
    ----------
    x, observed : ndarray, shape (n, d)
        Encoded rows and where they hold a value.
    group, is_num : ndarray, shape (d,)
        Column of each coordinate, and whether it is numeric.
    """
    n_groups = int(group.max()) + 1 if len(group) else 0
    first = np.searchsorted(group, np.arange(n_groups))
    recorded = observed[:, first]
    shown = np.zeros((n_groups, n_groups), dtype=np.float32)
    gone = np.zeros((n_groups, n_groups), dtype=np.float32)
    n_holes = (~recorded).sum(axis=0)
    mixed = (n_holes >= _MIN_ROWS) & (len(x) - n_holes >= _MIN_ROWS)
    for k in np.flatnonzero((n_holes >= _MIN_HOLES) & mixed.any()):
        with_k = recorded[:, k]
        if with_k.sum() < _MIN_ROWS:
            continue
        here, there = recorded[with_k].mean(axis=0), recorded[~with_k].mean(axis=0)
        ratio = np.divide(there, here, out=np.ones(n_groups), where=here > 0)
        expected = here * n_holes[k]
        clear = expected - there * n_holes[k] > 3 * np.sqrt(expected)
        fewer = mixed & clear & (ratio < 0.5)
        place = group == k
        if is_num[first[k]]:
            place = first[k : k + 1]  # a number says what its atoms and score say
        codes = _codes(x[np.ix_(with_k, place)])
        follows = mixed & (_explained(recorded[with_k], codes) >= _EXPLAINED)
        fewer[k] = follows[k] = False
        gone[k] = np.where(fewer, 1 - ratio, 0.0)
        shown[k] = follows & ~fewer
    if not (shown.any() or gone.any()):
        return None
    return Rules(shown=torch.from_numpy(shown), gone=torch.from_numpy(gone))


def _codes(x: np.ndarray) -> np.ndarray:
    """Number the values of a column: categories as they are, numbers by deciles."""
    if x.shape[1] > 1:
        return number_rows(x)[1]
    value = x[:, 0]
    if len(np.unique(value)) > _N_BINS:
        cuts = np.quantile(value, np.linspace(0, 1, _N_BINS + 1)[1:-1])
        return np.searchsorted(cuts, value)
    return np.unique(value, return_inverse=True)[1]


def _explained(recorded: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Share of the variance of each flag that the codes explain, (n_columns,)."""
    counts = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    first = np.r_[0, np.cumsum(counts)[:-1]]
    sums = np.add.reduceat(recorded[order], first, axis=0, dtype=np.int64)
    sums[counts == 0] = 0  # where reduceat gives the next row
    mean = sums.sum(axis=0) / len(recorded)
    means = sums / np.maximum(counts, 1)[:, None]
    between = (counts[:, None] * (means - mean) ** 2).sum(axis=0) / len(recorded)
    total = mean * (1 - mean)
    share = np.divide(between, total, out=np.zeros_like(between), where=total > 0)
    # Less what codes without any meaning would explain.
    return share - (len(counts) - 1) / len(recorded)
