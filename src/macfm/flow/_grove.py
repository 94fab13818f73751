"""Trees of several columns in one table of nodes, all of their ways walked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from macfm._parallel import side_by_side
from macfm.flow._forest import (
    ColumnTrees,
    Together,
    mean_of_trees,
    median_of_trees,
)

MAX_STEP = 2**24 - 1
"""Farthest that a right child may lie behind its node."""

# Of the 32 bits beside a threshold 24 are for that step, 8 for the coordinate.
_STEP_BITS = 24
_MAX_FEATURE = 2**8 - 1
# Ways walked together: what they read and write stays in a core's cache.
_TOGETHER = 2**15
# Beyond so many ways columns are asked one after the other, which bounds memory.
_AT_A_TIME = 2**20
# Those that have ended are taken out after some steps, and then every few.
_FIRST_LOOK = 6
_LOOK_EVERY = 3


@dataclass(frozen=True)
class _Column:
    """The trees of one column inside the table."""

    first: int
    """Where its nodes begin."""
    roots: np.ndarray
    """First node of each tree, shape ``(n_trees,)``."""
    value: Tensor
    """What its leaves say, shape ``(n_nodes, w)``."""


@dataclass(frozen=True)
class _Table:
    """The trees of all columns."""

    nodes: np.ndarray
    """One integer a node, those of one column behind those of the other."""
    columns: list[_Column]
    """Where those of each column are."""

    def find(
        self,
        rows: Mapping[int, Tensor],
        values: np.ndarray,
        x: Tensor,
        together: Together,
    ) -> dict[int, Tensor]:
        """Find columns in rows of ``x``, whose ``values`` are in flat order."""
        asked = {k: self.columns[k] for k in rows}
        n_trees = {k: len(one.roots) for k, one in asked.items()}
        root = [np.tile(one.roots, len(rows[k])) for k, one in asked.items()]
        place = [(rows[k].numpy() * x.shape[1]).repeat(n_trees[k]) for k in asked]
        ends = _walked(self.nodes, values, np.concatenate(root), np.concatenate(place))
        found, way = {}, 0
        for k, one in asked.items():
            own = ends[way : way + len(rows[k]) * n_trees[k]] - one.first
            said = one.value.index_select(0, torch.from_numpy(own))
            said = said.view(len(rows[k]), n_trees[k], -1)
            found[k] = together(said).to(x.dtype)
            way += len(own)
        return found


class Grove:
    """The trees of several columns, asked for all their holes at once.

    Parameters
    ----------
    trees : sequence of ColumnTrees
        Those of each column.

    Notes
    -----
    On a CPU a step of many ways costs a few operations on integers. A node is one: its
    threshold, the coordinate that it asks for, and how far its right child is, which is
    0 in a leaf. Thresholds and values are compared as integers of the same order, so a
    way ends in the leaf in which `ColumnTrees` ends, whoever walks with it.
    """

    def __init__(self, trees: Sequence[ColumnTrees]) -> None:
        self.trees = list(trees)
        self._table: _Table | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The table follows from the trees, and is as large.
        return {**self.__dict__, "_table": None}

    def __call__(self, x: Tensor, rows: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Find columns in some rows of ``(n, d)``, from their other coordinates.

        ``rows`` holds the rows, shape ``(n_k,)``, of each column k that is asked for,
        by its place among the trees; what is found has the shape ``(n_k, w)``.
        """
        if x.device.type != "cpu":
            return {k: self.trees[k](x[some]) for k, some in rows.items()}
        return self._found(x, rows, mean_of_trees)

    def medians(self, x: Tensor, rows: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Find columns likewise, by what the middle one of their trees says."""
        if x.device.type != "cpu":
            return {k: self.trees[k].medians(x[some]) for k, some in rows.items()}
        return self._found(x, rows, median_of_trees)

    def _found(
        self, x: Tensor, rows: Mapping[int, Tensor], together: Together
    ) -> dict[int, Tensor]:
        if not rows:
            return {}
        if self._table is None:
            self._table = _packed(self.trees)
        values = _ordered(x.numpy().ravel())
        found: dict[int, Tensor] = {}
        part: dict[int, Tensor] = {}
        n_ways = 0
        for k, some in rows.items():
            own = len(some) * len(self._table.columns[k].roots)
            if part and n_ways + own > _AT_A_TIME:
                found |= self._table.find(part, values, x, together)
                part, n_ways = {}, 0
            part[k] = some
            n_ways += own
        if part:
            found |= self._table.find(part, values, x, together)
        return found


def _packed(grown: Sequence[ColumnTrees]) -> _Table:
    """Put the trees of all columns into one table."""
    nodes, columns, first = [], [], 0
    for trees in grown:
        step = trees.right.numpy() - np.arange(len(trees.right))
        feature = trees.feature.numpy().astype(np.int64)
        assert step.max() <= MAX_STEP
        assert feature.max() <= _MAX_FEATURE
        order = _ordered(trees.threshold.numpy())
        nodes.append(order << 32 | feature << _STEP_BITS | step)
        columns.append(_Column(first, first + trees.roots.numpy(), trees.value))
        first += len(step)
    return _Table(np.concatenate(nodes), columns)


def _ordered(values: np.ndarray) -> np.ndarray:
    """Return integers in the order of float32 values, equal for equal ones."""
    bits = (values + np.float32(0)).view(np.int32)  # no -0.0
    return np.where(bits < 0, bits ^ np.int32(2**31 - 1), bits).astype(np.int64)


def _walked(
    nodes: np.ndarray, values: np.ndarray, root: np.ndarray, place: np.ndarray
) -> np.ndarray:
    """Return the leaves in which ways end, shape ``(n_ways,)``.

    ``root`` is where each begins, ``place`` where its row begins among the values.
    """
    pieces = [slice(k, k + _TOGETHER) for k in range(0, len(root), _TOGETHER)]
    ends = np.empty_like(root)

    def walk(some: slice) -> None:
        ends[some] = _walk(nodes, values, root[some], place[some])

    side_by_side(walk, pieces, n_threads=torch.get_num_threads())
    return ends


def _walk(
    nodes: np.ndarray, values: np.ndarray, node: np.ndarray, place: np.ndarray
) -> np.ndarray:
    """Walk some ways to their ends, step by step together."""
    ends, way = node.copy(), np.arange(len(node))
    node = node.copy()
    here, step, asked, value = (np.empty_like(node) for _ in range(4))
    n_steps = 0
    while True:
        # All indices are sound: "clip" lets numpy write without looking first.
        nodes.take(node, out=here, mode="clip")
        np.bitwise_and(here, MAX_STEP, out=step)
        if n_steps >= _FIRST_LOOK and (n_steps - _FIRST_LOOK) % _LOOK_EVERY == 0:
            ends[way] = node
            live = np.flatnonzero(step)
            if not len(live):
                return ends
            way, node, place, here, step = (
                part.take(live) for part in (way, node, place, here, step)
            )
            asked, value = asked[: len(live)], value[: len(live)]
        np.right_shift(here, _STEP_BITS, out=asked)
        np.bitwise_and(asked, _MAX_FEATURE, out=asked)
        np.add(asked, place, out=asked)
        values.take(asked, out=value, mode="clip")
        np.right_shift(here, 32, out=here)
        np.subtract(here, value, out=here)
        np.right_shift(here, 63, out=here)  # -1 beyond the threshold, else 0
        np.subtract(step, 1, out=step)
        np.bitwise_and(step, here, out=step)
        np.add(node, step, out=node)
        np.add(node, 1, out=node)
        n_steps += 1
