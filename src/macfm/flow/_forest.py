"""Trees that find a column from the others of a row that a network has filled."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from macfm._parallel import side_by_side
from macfm.flow._middle import middle

# Each row hides its columns one by one, to be found from what the network makes of the
# rest; where that would fill more coordinates than this, or take more turns, several at
# a time.
_MAX_FILLED = 16_000_000
_MAX_TURNS = 64
_MIN_TURNS = 6
_MAX_ROWS = 20_000
# In a hurry so many rows tell what filling takes, which may be this share of the time;
# trees of fewer rows than these are not worth it.
_TIMED_ROWS = 4_096
_FILLING_SHARE = 0.6
_LEAST_ROWS = 200
_LEAF_ROWS = 2
# Beyond this many columns each has fewer trees, so that all have as many together.
_MANY_COLUMNS = 40
_ROWS_AT_A_TIME = 16_384
# Trees of fewer rows are grown faster than threads take turns.
_ENOUGH_FOR_THREADS = 120
# Of more coordinates each split looks at this share.
_FEW_COORDINATES = 40
_MANY_SHARE = 0.4

Fill = Callable[[Tensor, Tensor], Tensor]
"""Completes rows ``(n, d)`` with what is shown of them."""

Together = Callable[[Tensor], Tensor]
"""Makes one answer of those of all trees, ``(n, n_trees, w)`` to ``(n, w)``."""


class ColumnTrees(nn.Module):
    """The trees of one column.

    Nodes of all trees lie one after the other, a left child behind its parent. In a
    leaf the threshold is −∞ and the right child the leaf itself, so that rows that are
    there stay there.

    Parameters
    ----------
    place : Tensor of int64, shape (w,)
        Coordinates of the column.
    roots : Tensor of int64, shape (n_trees,)
        First node of each tree.
    feature, right : Tensor of int32, shape (n_nodes,)
        Coordinate that a node asks for, and its right child.
    threshold : Tensor of float32, shape (n_nodes,)
        Values up to it go left.
    value : Tensor of float32, shape (n_nodes, w)
        What a leaf says.
    depth : int
        Longest way from a root to a leaf.
    """

    place: Tensor
    roots: Tensor
    feature: Tensor
    right: Tensor
    threshold: Tensor
    value: Tensor

    PARTS = ("place", "roots", "feature", "right", "threshold", "value")

    def __init__(self, parts: Mapping[str, Tensor], *, depth: int) -> None:
        super().__init__()
        for name in self.PARTS:
            self.register_buffer(name, parts[name])
        self.depth = depth

    def forward(self, x: Tensor) -> Tensor:
        """Find the column of rows ``(n, d)`` from their other coordinates, (n, w)."""
        return self._said(x, mean_of_trees)

    def medians(self, x: Tensor) -> Tensor:
        """Find the column by what the middle one of the trees says, ``(n, w)``."""
        return self._said(x, median_of_trees)

    def _said(self, x: Tensor, together: Together) -> Tensor:
        found = []
        for rows in x.split(_ROWS_AT_A_TIME):
            node = self.roots.expand(len(rows), -1)
            for _ in range(self.depth):
                asked = rows.gather(1, self.feature[node].long())
                left = asked <= self.threshold[node]
                node = torch.where(left, node + 1, self.right[node].long())
            found.append(together(self.value[node]))
        return torch.cat(found).to(x.dtype)


def mean_of_trees(said: Tensor) -> Tensor:
    """Average what trees say, ``(n, n_trees, w)``."""
    return said.double().mean(dim=1)


def median_of_trees(said: Tensor) -> Tensor:
    """Return the median of what trees say, ``(n, n_trees, w)``."""
    return middle(said, dim=1)


def fit_trees(
    x: Tensor,
    observed: Tensor,
    *,
    weights: Tensor | None,
    group: Tensor,
    fill: Fill,
    n_trees: int,
    n_jobs: int,
    rng: np.random.Generator,
    max_seconds: float,
    only: Tensor | None,
) -> list[ColumnTrees]:
    """Fit trees to every column that varies.

    Parameters
    ----------
    x, observed : Tensor, shape (n, d)
        Encoded rows, 0 where not observed, and where they hold a value.
    weights : Tensor, shape (n,), or None
        How much each row counts.
    group : Tensor of int64, shape (d,)
        Column of each coordinate.
    fill : callable
        Completes rows; what it makes of the other columns is what the trees see.
    n_trees, n_jobs : int
        Trees a column, and threads to grow them with.
    rng : numpy.random.Generator
        Source of the turns and of the trees.
    max_seconds : float
        If this is short, fewer rows grow fewer trees; columns that are not begun by
        then go without.
    only : Tensor of bool, shape (d,), or None
        Coordinates of the columns that are wanted; None wants all.

    Notes
    -----
    A row's own value of a column must not reach the trees through the cells that were
    filled beside it. So every row hides its columns in turns, and the trees of a column
    see the row as it was filled in the turn that hid it. Hidden by itself, it is found
    from as many others as in the rows that are to be filled.
    """
    end = time.perf_counter() + max_seconds
    n_columns = int(group.max()) + 1
    n_trees = max(n_trees * _MANY_COLUMNS // max(n_columns, _MANY_COLUMNS), 1)
    n_turns = _n_turns(min(len(x), _MAX_ROWS), x.shape[1], n_columns)
    n_rows = _rows_in_time(x, observed, fill=fill, n_turns=n_turns, seconds=max_seconds)
    if n_rows < min(len(x), _LEAST_ROWS):
        return []
    n_rows = min(n_rows, _MAX_ROWS)
    if len(x) > n_rows:
        some = torch.from_numpy(rng.permutation(len(x))[:n_rows]).to(x.device)
        x, observed = x[some], observed[some]
        weights = None if weights is None else weights[some]
    turn = rng.permuted(
        np.tile(np.arange(n_columns) % n_turns, (len(x), 1)).astype(np.int64), axis=1
    )
    hidden_in = torch.from_numpy(turn).to(x.device)[:, group]
    filled = []
    for k in range(n_turns):
        if time.perf_counter() >= end:
            return []
        m_cond = observed & (hidden_in != k)
        filled.append(fill(torch.where(m_cond, x, 0.0), m_cond).cpu().numpy())
    seen = np.stack(filled)
    truth, known = x.cpu().numpy(), observed.cpu().numpy()
    of = group.cpu().numpy()
    counts = None if weights is None else weights.cpu().numpy()
    wanted = np.ones(len(of), dtype=bool) if only is None else only.cpu().numpy()
    trees: list[ColumnTrees] = []
    columns = np.unique(of[wanted])
    began = time.perf_counter()
    for n_before, k in enumerate(columns):
        now = time.perf_counter()
        if now >= end:
            break
        place, others = np.flatnonzero(of == k), np.flatnonzero(of != k)
        rows = np.flatnonzero(known[:, place[0]])
        target = truth[np.ix_(rows, place)]
        if not len(others) or len(rows) < 2 or np.ptp(target, axis=0).max() == 0:
            continue
        grown = _grow(
            np.ascontiguousarray(seen[turn[rows, k], rows][:, others]),
            target.astype(np.float64),
            weights=None if counts is None else counts[rows],
            n_trees=_trees_in_time(
                n_trees,
                n_grown=sum(len(one.roots) for one in trees),
                spent=now - began,
                left=end - now,
                n_columns=len(columns) - n_before,
            ),
            n_jobs=n_jobs,
            seed=int(rng.integers(2**31)),
        )
        trees.append(_packed(grown, place=place, others=others).to(x.device))
    return trees


def _n_turns(n: int, d: int, n_columns: int) -> int:
    """Return in how many turns rows ``(n, d)`` hide their columns."""
    affordable = max(_MAX_FILLED // (n * d), _MIN_TURNS)
    return min(n_columns, _MAX_TURNS, affordable)


def _rows_in_time(
    x: Tensor, observed: Tensor, *, fill: Fill, n_turns: int, seconds: float
) -> int:
    """Return how many rows can be filled in all turns in a share of some time."""
    if math.isinf(seconds):
        return len(x)
    few = slice(0, _TIMED_ROWS)
    began = time.perf_counter()
    fill(torch.where(observed[few], x[few], 0.0), observed[few]).cpu()  # and wait
    taken = max(time.perf_counter() - began, 1e-9)
    n_filled = len(x[few]) * max(_FILLING_SHARE * seconds - taken, 0.0) / taken
    return int(n_filled / n_turns)


def _trees_in_time(
    n_trees: int, *, n_grown: int, spent: float, left: float, n_columns: int
) -> int:
    """Return how many trees each of some columns can have in the time that is left."""
    if not n_grown or spent <= 0:
        return n_trees
    return int(max(min(n_trees, n_grown / spent * left / n_columns), 1))


def _grow(
    seen: np.ndarray,
    target: np.ndarray,
    *,
    weights: np.ndarray | None,
    n_trees: int,
    n_jobs: int,
    seed: int,
) -> list[Any]:
    """Grow trees that find ``(n, w)`` of float64 from ``(n, d)`` of float32.

    They are those of scikit-learn's `ExtraTreesRegressor`, which in small tables takes
    longer to copy itself and to wait for its threads than to grow them.
    """
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    n, d = seen.shape
    lot = np.random.RandomState(seed)
    seeds = [lot.randint(np.iinfo(np.int32).max) for _ in range(n_trees)]

    def grow(seed: int) -> Any:
        tree = ExtraTreeRegressor(
            min_samples_leaf=_LEAF_ROWS,
            max_features=1.0 if d <= _FEW_COORDINATES else _MANY_SHARE,
            random_state=seed,
        )
        with config_context(skip_parameter_validation=True):  # it is that of a thread
            tree.fit(seen, target, sample_weight=weights, check_input=False)
        return tree.tree_

    def grow_some(part: Sequence[int]) -> list[Any]:
        return [grow(one) for one in part]

    if n_jobs == 1 or n < _ENOUGH_FOR_THREADS:
        return grow_some(seeds)
    # One part a thread: threads that take tree by tree wait for each other.
    size = -(-n_trees // n_jobs)
    parts = [seeds[k : k + size] for k in range(0, n_trees, size)]
    grown = side_by_side(grow_some, parts, n_threads=n_jobs)
    return [tree for some in grown for tree in some]


def _packed(
    grown: Sequence[Any], *, place: np.ndarray, others: np.ndarray
) -> ColumnTrees:
    """Lay trees one behind the other."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ColumnTrees.PARTS[2:]}
    roots, n_nodes, depth = [], 0, 0
    for tree in grown:
        own = n_nodes + np.arange(tree.node_count)
        leaf = tree.children_left < 0
        assert (leaf | (tree.children_left == np.arange(tree.node_count) + 1)).all()
        parts["feature"].append(others[np.where(leaf, 0, tree.feature)])
        parts["right"].append(np.where(leaf, own, n_nodes + tree.children_right))
        parts["threshold"].append(
            np.where(leaf, -np.inf, _rounded_down(tree.threshold))
        )
        parts["value"].append(tree.value[:, :, 0])
        roots.append(n_nodes)
        n_nodes += tree.node_count
        depth = max(depth, tree.max_depth)
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    kinds = {"feature": np.int32, "right": np.int32}
    tensors = {
        name: torch.from_numpy(array.astype(kinds.get(name, np.float32)))
        for name, array in joined.items()
    }
    tensors["place"] = torch.from_numpy(place)
    tensors["roots"] = torch.tensor(roots)
    return ColumnTrees(tensors, depth=depth)


def _rounded_down(threshold: np.ndarray) -> np.ndarray:
    """Return the float32 at or below, which float32 values fall on the same side of."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)
