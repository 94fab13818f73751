"""A graph of rows and columns whose edges are observed cells: GRAPE's network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from macfm.judge.learned._base import Clock

# Rows at a time where all training rows are read once more after training.
_PART = 1024


@dataclass(frozen=True)
class Task:
    """What one step learns from: cells to predict, some of them in the graph."""

    unit: Tensor
    """Values in [0, 1], shape ``(n, d)``."""
    observed: Tensor
    """True where a prediction is scored, shape ``(n, d)``."""
    shown: Tensor
    """True where the graph has an edge, a part of `observed`; shape ``(n, d)``."""

    def loss(self, guess: Tensor) -> Tensor:
        """Return the mean squared error over all observed cells, shown or not."""
        squared = (guess - self.unit).square()
        n_cells = self.observed.sum().clamp(min=1)
        return torch.where(self.observed, squared, 0.0).sum() / n_cells


def tasks(
    unit: Tensor,
    observed: Tensor,
    group: Tensor,
    *,
    settings: Mapping[str, Any],
    clock: Clock,
    generator: torch.Generator,
) -> Iterator[Task]:
    """Yield `n_steps` tasks, or fewer when the clock is up, but at least one.

    Each shows a fresh random `shown_share` of the observed cells of all rows, or of
    `batch_size` random ones. `group` has the column of each coordinate.
    """
    n, size = len(unit), settings["batch_size"]
    # NOTE[DIFF]: a category is an edge for each of its indicators, and they go
    # together: any one of them would tell the others.
    n_columns = int(group.max()) + 1
    for step in range(settings["n_steps"]):
        if step and clock.is_up():
            return
        rows: Tensor | slice = slice(None)
        if size is not None and size < n:
            # Columns hear the mean over rows, which some rows stand in for.
            order = torch.randperm(n, generator=generator, device=generator.device)
            rows = order[:size]
        known = observed[rows]
        lot = torch.rand(
            len(known), n_columns, generator=generator, device=generator.device
        )
        shown = known & (lot < settings["shown_share"])[:, group]
        yield Task(unit[rows], known, shown)


@dataclass(frozen=True)
class States:
    """What nodes and edges hold between two layers."""

    rows: Tensor
    """Row nodes, shape ``(n, d_node)``."""
    columns: Tensor
    """Column nodes, shape ``(d, d_node)``."""
    up: Tensor
    """Edges from rows to columns, shape ``(n, d, d_edge)``."""
    down: Tensor
    """Edges from columns to rows, shape ``(n, d, d_edge)``."""


class Layer(nn.Module):
    """One exchange of messages; both directions share its weights.

    A node hears the mean of ReLU(W_m [h_source, e]) over its edges and becomes
    ReLU(W_a [mean, h]), scaled to length 1; then an edge becomes
    ReLU(W_e [h_source, h_target, e]).
    """

    def __init__(self, d_node: int, d_edge: int, width: int, *, last: bool) -> None:
        super().__init__()
        self.message = nn.Linear(d_node + d_edge, width)
        self.node = nn.Linear(width + d_node, width)
        # NOTE[DIFF]: the reference updates edges once more, which nothing reads.
        self.edge = None if last else nn.Linear(2 * width + d_edge, width)

    def forward(self, states: States, shown: Tensor, columns: Tensor) -> States:
        """Return new states of rows and edges, given those of the columns."""
        heard = _joint(self.message, states.columns, states.down).relu()
        n_heard = shown.sum(dim=1, keepdim=True).clamp(min=1)
        mean = torch.einsum("nd,ndk->nk", shown.to(heard.dtype), heard) / n_heard
        rows = self.become(mean, states.rows)
        up, down = states.up, states.down
        if self.edge is not None:
            up = _joint(self.edge, rows[:, None], columns, up).relu()
            down = _joint(self.edge, columns, rows[:, None], down).relu()
        return States(rows, columns, up, down)

    def heard_by_columns(self, states: States, shown: Tensor) -> Tensor:
        """Return the sum of messages to each column, shape ``(d, width)``."""
        heard = _joint(self.message, states.rows[:, None], states.up).relu()
        return torch.einsum("nd,ndk->dk", shown.to(heard.dtype), heard)

    def become(self, mean: Tensor, nodes: Tensor) -> Tensor:
        """Return new states of nodes that heard this mean."""
        return functional.normalize(_joint(self.node, mean, nodes).relu(), dim=-1)


class Bipartite(nn.Module):
    """Layers on rows that start as ones and columns that start as one-hot vectors.

    Parameters
    ----------
    d : int
        Number of coordinates.
    width : int
        Size of the states of nodes and edges.
    n_layers : int
        Number of layers.
    """

    def __init__(self, d: int, *, width: int, n_layers: int) -> None:
        super().__init__()
        self.d = d
        self.layers = nn.ModuleList()
        d_node, d_edge = d, 1
        for place in range(n_layers):
            last = place == n_layers - 1
            self.layers.append(Layer(d_node, d_edge, width, last=last))
            d_node = d_edge = width

    def forward(self, unit: Tensor, shown: Tensor) -> tuple[Tensor, Tensor]:
        """Return states of rows and columns in the graph of these rows."""
        states = self._start(unit)
        n_heard = _edges_of_columns(shown)
        for layer in self._stack:
            mean = layer.heard_by_columns(states, shown) / n_heard
            states = layer(states, shown, layer.become(mean, states.columns))
        return states.rows, states.columns

    @torch.no_grad()
    def frozen_columns(self, unit: Tensor, shown: Tensor) -> list[Tensor]:
        """Return the columns' states in the graph of these rows, from first to last.

        Rows pass in parts, from the start for each layer: that takes more time than
        `forward`, once, and little memory.
        """
        columns = [torch.eye(self.d, device=unit.device)]
        n_heard = _edges_of_columns(shown)
        for layer in self._stack:
            parts = zip(unit.split(_PART), shown.split(_PART), strict=True)
            heard = torch.stack(
                [
                    layer.heard_by_columns(self._follow(*part, columns), part[1])
                    for part in parts
                ]
            )
            columns.append(layer.become(heard.sum(dim=0) / n_heard, columns[-1]))
        return columns

    def rows(self, unit: Tensor, shown: Tensor, columns: list[Tensor]) -> Tensor:
        """Return the states of rows that hear columns frozen before."""
        return self._follow(unit, shown, columns).rows

    def _follow(self, unit: Tensor, shown: Tensor, columns: list[Tensor]) -> States:
        """States after as many layers as columns are known."""
        states = self._start(unit)
        for layer, new in zip(self._stack, columns[1:], strict=False):
            states = layer(states, shown, new)
        return states

    @property
    def _stack(self) -> list[Layer]:
        return cast("list[Layer]", list(self.layers))

    def _start(self, unit: Tensor) -> States:
        edges = unit[..., None]
        one_hot = torch.eye(self.d, device=unit.device)
        return States(torch.ones_like(unit), one_hot, edges, edges)


class Head(nn.Module):
    """From states of rows and columns to a value for every cell."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.node = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.pair = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return values in [0, 1], nearly; shape ``(n, d)``."""
        pair = _joint(self.pair, self.node(rows)[:, None], self.node(columns))
        return self.out(pair.relu()).squeeze(-1)


def _edges_of_columns(shown: Tensor) -> Tensor:
    return shown.sum(dim=0)[:, None].clamp(min=1)


def _joint(layer: nn.Linear, *parts: Tensor) -> Tensor:
    """Apply a layer to parts side by side, each of them broadcast after its product."""
    weights = layer.weight.split([part.shape[-1] for part in parts], dim=1)
    products = [
        functional.linear(part, weight)
        for part, weight in zip(parts, weights, strict=True)
    ]
    # The largest part comes last: what is small is added up first.
    return sum(products[:-1], start=layer.bias) + products[-1]
