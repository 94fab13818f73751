"""GRAPE: cells are edges between rows and columns, and absent edges are predicted."""

from __future__ import annotations

import torch
from torch import Tensor

from macfm.judge.learned._base import Clock, MinMax, Model, Rows, by_chunks
from macfm.judge.learned._bipartite import Bipartite, Head, Task, tasks
from macfm.judge.learned._step import descent, make_optimizer


class GRAPE(Model):
    """A network on the graph of rows and columns, and a head on their pairs.

    It learns mean[(x − x̂)²] over all observed cells from a graph that holds a random
    part of them. After training, columns keep the states that all training rows give
    them. A row, new or not, is then filled from its own cells and these columns; for
    a training row that is what the whole graph says.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Take the steps, then freeze the columns."""
        settings, d = self.settings, rows.x.shape[1]
        self._scale = MinMax.fit(rows, self.columns)
        unit = self._scale.unit(rows.x)
        width = settings["width"]
        self._graph = Bipartite(d, width=width, n_layers=settings["n_layers"])
        self._head = Head(width)
        networks = torch.nn.ModuleList([self._graph, self._head]).to(self.device)
        optimizer = make_optimizer(
            networks.parameters(), rate=settings["learning_rate"], fused=False
        )
        step = descent(self._loss, [optimizer])
        for task in tasks(
            unit,
            rows.observed,
            self.columns.group,
            settings=settings,
            clock=clock,
            generator=self.generator(),
        ):
            step(task.unit, task.observed, task.shown)
        # NOTE[DIFF]: the reference builds a graph of the rows it fills. Frozen columns
        # fill a row the same in any company, and cost one pass.
        self._columns = self._graph.frozen_columns(unit, rows.observed)

    def _loss(self, unit: Tensor, observed: Tensor, shown: Tensor) -> Tensor:
        guess = self._head(*self._graph(unit, shown))
        return Task(unit, observed, shown).loss(guess)

    def fill(self, rows: Rows) -> Tensor:
        """Fill from each row's cells and the frozen columns."""

        def guess(part: Rows) -> Tensor:
            unit = self._scale.unit(part.x)
            states = self._graph.rows(unit, part.observed, self._columns)
            return self._scale.back(self._head(states, self._columns[-1]))

        return by_chunks(guess, rows)
