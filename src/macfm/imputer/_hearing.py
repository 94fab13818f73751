"""What held-out rows add to trained networks, in the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from macfm.flow import (
    Calibration,
    ColumnTrees,
    Fill,
    GuidedEnsemble,
    SolverConfig,
    TrainingRows,
    Validation,
    Witness,
    calibrate,
    find_calm,
    fit_trees,
    leave_out,
    mean_rows,
)
from macfm.imputer._settings import Settings

# Below this many rows trees are grown again from all of them, held-out ones included.
_FEW_ROWS = 2_000
# Below this many, all are left out in turn to hear what trees are worth, with a part of
# the trees: held-out rows are too few to tell.
_FOLDED_ROWS = 1_500
_N_FOLDS = 4
_FOLD_TREES = 3
# Share of what is left of a budget after training that growing trees may take: they
# have to be judged too.
_GROWING_SHARE = 0.75
# Draws are judged by this solver: that of the read-out may change after fit.
_SOLVER = SolverConfig("heun", n_steps=6, grid="uniform", grid_beta=2.0)


@dataclass(frozen=True)
class Hearing:
    """Rows, and the settings by which they are heard."""

    rows: TrainingRows
    settings: Settings
    group: Tensor
    is_num: Tensor
    seed: int
    n_threads: int
    """Those that grow trees."""
    seconds_left: Callable[[], float]
    """What is left of the time budget, infinitely much without one."""
    hurried: bool
    """Whether so little is left that something has to be cut short."""

    def hear(self, network: GuidedEnsemble, known: Validation) -> Calibration:
        """Grow trees in the time that is left, and hear what held-out rows say."""
        rows, settings = self.rows, self.settings
        n_trees = settings.values["n_trees"]
        # Trees would see fewer rows, each filled in more steps, in the same time.
        if settings.values["mean_steps"] > 1 and not (n_trees and self.hurried):
            network.calm = find_calm(
                network,
                known,
                n_steps=settings.values["mean_steps"],
                group=self.group,
                is_num=self.is_num,
                path=settings.path,
            )
        fill = partial(mean_rows, network, path=settings.path)
        trees, folds, began = [], [], time.perf_counter()
        if n_trees:
            trees = self._trees(rows.x, rows.observed, rows.weights, fill=fill)
        seconds = time.perf_counter() - began
        if trees and 2 * seconds < self.seconds_left():
            folds = self._folds()
        whole = rows.with_held_out()
        found = calibrate(
            Witness(network, trees, known),
            folds,
            levels=rows.levels,
            atoms=rows.atoms,
            scores=rows.scores,
            margins=settings.values["margins"],
            hurried=self.hurried,
            x=whole[0],
            observed=whole[1],
            group=self.group,
            is_num=self.is_num,
            path=settings.path,
            solver=_SOLVER,
            generator=torch.Generator(self.group.device).manual_seed(self.seed),
        )
        polish, few = found.polish, len(rows.x) < _FEW_ROWS
        in_time = seconds < _GROWING_SHARE * self.seconds_left()
        if len(polish.trees) and few and in_time:
            grown = self._trees(*whole, fill=fill, only=polish.share > 0)
            if len(grown) == len(polish.trees):  # there was time for all of them
                return replace(found, polish=polish.with_trees(grown))
        return found

    def _trees(
        self,
        x: Tensor,
        observed: Tensor,
        weights: Tensor | None,
        *,
        fill: Fill,
        part: int = 1,
        only: Tensor | None = None,
    ) -> list[ColumnTrees]:
        """Grow a part of the trees from rows that are filled so, in the time left."""
        return fit_trees(
            x,
            observed,
            weights=weights,
            group=self.group,
            fill=fill,
            n_trees=-(-self.settings.values["n_trees"] // part),
            n_jobs=self.n_threads,
            rng=np.random.default_rng(self.seed),
            max_seconds=_GROWING_SHARE * self.seconds_left(),
            only=only,
        )

    def _folds(self) -> list[Witness]:
        """Hear about few rows from those that are not among them; none in a hurry."""
        if self.rows.n_rows >= _FOLDED_ROWS:
            return []
        path, witnesses = self.settings.path, []
        for fold in leave_out(
            self.rows, n_folds=_N_FOLDS, group=self.group, path=path, seed=self.seed
        ):
            trees = self._trees(
                fold.x,
                fold.observed,
                fold.weights,
                fill=partial(mean_rows, fold.guide, path=path),
                part=_FOLD_TREES,
            )
            witnesses.append(Witness(fold.guide, trees, fold.validation))
            if self.seconds_left() <= 0:  # others would be heard more than these
                return []
        return witnesses
