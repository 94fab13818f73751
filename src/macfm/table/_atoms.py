"""Values that a column of numbers often repeats, such as an amount that is mostly 0.

Numbers drawn near such an *atom* are never quite it. So each gets a coordinate of its
own beside the number's, which says whether the cell holds it; a draw that says so is
the atom itself. The number's own coordinate stays as it is in all cells, and with it
the conditional mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from macfm.table._column import ColumnData, ColumnSchema
from macfm.table._transform import NumericTransform

LEAST = ((0.1, 20), (0.05, 200))
"""Shares of the observed cells, each with how many, that make a value an atom."""

CELLS_BESIDE, VALUES_BESIDE = 20, 2
"""Cells, and distinct values in them, without which there is no more than the atoms."""

STANDS_OUT = 3
"""How many times as frequent as the most frequent value beside them atoms are."""

MAX_ATOMS = 3
"""Most atoms of a column; the most frequent are taken."""


def find_atoms(column: ColumnSchema, data: ColumnData, *, origin: int) -> tuple:
    """Return the atoms of a column of numbers, the most frequent first."""
    values, counts = np.unique(data.seen, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    values, counts = values[order], counts[order]
    plain = int if column.kind == "integer" else float
    n_observed = counts.sum()
    enough = min(max(share * n_observed, n_cells) for share, n_cells in LEAST)
    often = counts[:MAX_ATOMS] >= enough
    # In a column of few values each is frequent, and none stands out.
    beside = np.append(counts[1:], 0)[:MAX_ATOMS]
    stand_out = often & (counts[:MAX_ATOMS] >= STANDS_OUT * beside)
    n_often = int(np.flatnonzero(stand_out)[-1]) + 1 if stand_out.any() else 0
    n_beside = n_observed - counts[:n_often].sum()
    if n_beside < CELLS_BESIDE or len(values) - n_often < VALUES_BESIDE:
        return ()
    atoms = [plain(value) + plain(0) for value in values[:n_often]]  # no -0.0
    return tuple(atom for atom in atoms if _can_be_drawn(atom, column, origin))


def _can_be_drawn(atom: float, column: ColumnSchema, origin: int) -> bool:
    """Whether it is legal, and a float tells its distance from the origin."""
    lo, hi = column.bounds or (None, None)
    legal = (lo is None or lo <= atom) and (hi is None or atom <= hi)
    return legal and float(atom - origin) == atom - origin


@dataclass(frozen=True)
class AtomCodec:
    """One coordinate an atom, centred; their variances sum to 1."""

    #: Distances of the atoms from the column's origin; shape (k,).
    offsets: np.ndarray
    #: What the column's number is in cells that hold them, float32; shape (k,).
    numbers: np.ndarray
    #: Their shares of the observed cells of fit; shape (k,).
    shares: np.ndarray

    @classmethod
    def make(
        cls,
        column: ColumnSchema,
        origin: int,
        transform: NumericTransform,
        shares: np.ndarray,
    ) -> AtomCodec:
        """Make it for the atoms of a column."""
        offsets = offsets_of(column, origin)
        return cls(offsets, transform.forward(offsets).astype(np.float32), shares)

    @property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """What the coordinates are where the cell holds another value, and the atom.

        Two arrays of shape (k,).
        """
        # As in a one-hot code; an atom alone is a category of two.
        scale = float(np.sqrt(np.sum(self.shares * (1 - self.shares)))) or 1.0
        return -self.shares / scale, (1 - self.shares) / scale

    def encode(self, offsets: np.ndarray) -> np.ndarray:
        """Turn distances from the origin, shape (n,), into shape (n, k)."""
        low, high = self.levels
        return np.where(offsets[:, None] == self.offsets, high, low)

    def restore(self, offsets: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Put the atom itself where the number of x, shape (m, 1 + k), is that of one.

        Where several atoms have the same number the one that x speaks for is taken.
        """
        is_atom = x[:, :1].astype(np.float32) == self.numbers
        if not is_atom.any():
            return offsets
        low, high = self.levels
        spoken_for = np.where(is_atom, (x[:, 1:] - low) / (high - low), -np.inf)
        nearest = self.offsets[spoken_for.argmax(axis=1)]
        return np.where(is_atom.any(axis=1), nearest, offsets)


def offsets_of(column: ColumnSchema, origin: int) -> np.ndarray:
    """Distances of the atoms of a column from its origin, shape (k,)."""
    return np.array([float(atom - origin) for atom in column.atoms or ()], dtype=float)


def shares_of(offsets: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Share of each of k values among those seen, shape (k,)."""
    counts = (seen[:, None] == offsets).sum(axis=0)
    return counts / max(len(seen), 1)
