"""The folds of a comparison: fit, impute, score, sum up."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from macfm._words import read_seconds
from macfm.judge._comparison import Comparison
from macfm.judge._coverage import LEVELS, coverage_table, held_by_rank
from macfm.judge._pool import PAIRS, SCORES, Pool, is_flat
from macfm.judge._threads import threads
from macfm.judge.frames import number_text
from macfm.judge.methods import METHODS, Method, make_method
from macfm.table import TableSchema

MOST_DRAWN_ROWS = 500  # rows of a fold that are drawn for the calibration


@dataclass(frozen=True)
class SetUp:
    """The part of a table that takes part."""

    n_rows: int
    frame: pd.DataFrame
    schema: TableSchema
    scored: list[Hashable]
    imputer: Any
    left_out: dict[Hashable, str]
    notes: tuple[str, ...]

    def is_number(self, name: Hashable) -> bool:
        """Whether a column holds numbers."""
        place = self.schema.names.index(name)
        return self.schema.columns[place].is_numeric


@dataclass
class Run:
    """The fits, and what is known of their errors so far."""

    setup: SetUp
    others: list[Any]
    n_draws: int
    seed: int
    time_limit: float | None
    n_wanted: int
    n_threads: int
    began: float = field(default_factory=lambda: time.perf_counter())
    n_folds: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    errors: list[pd.DataFrame] = field(default_factory=list)
    covered: list[pd.DataFrame] = field(default_factory=list)
    agreed: list[pd.DataFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.truth = number_text(self.setup.frame, self.setup.schema)
        numbers = [n for n in self.setup.scored if self.setup.is_number(n)]
        self.sd = self.truth[numbers].std(ddof=0)
        self.flat = [n for n in numbers if is_flat(self.truth[n].dropna().to_numpy())]
        self.cut_short: list[float] = []
        self.on_gpu = _is_gpu(self.setup.imputer.device)

    def may_go_on(self, fold: int) -> bool:
        """Whether the time left is enough for another fold."""
        if self.time_limit is None or fold == 0:
            return True
        spent = time.perf_counter() - self.began
        return spent + 0.8 * spent / fold <= self.time_limit

    def fold(
        self,
        fold: int,
        hidden: pd.DataFrame,
        *,
        n_left: int,
        progress: Callable[[int, int, str], None] | None,
    ) -> None:
        """Fit every method to what a fold leaves, and score what it hides."""
        n_fits = 1 + len(self.others)
        done, total = fold * n_fits, (fold + n_left) * n_fits

        def tell(place: int, name: str) -> None:
            if progress is not None:
                progress(done + place, total, name)

        table = self.truth.mask(hidden)
        for place, method in enumerate(self.others):
            tell(place, method.name)
            if method.name in self.failed:
                continue
            fresh = make_method(
                method.name,
                seed=self.seed + fold,
                n_threads=self.n_threads,
                **self._modest(method, n_left * n_fits),
            )
            began = time.perf_counter()
            try:
                with threads(self.n_threads):
                    filled = fresh.fit(table.copy()).impute(table.copy())
                _check_filled(filled, hidden)
            except Exception as error:
                line = " ".join(str(error).split())[:200]
                self.failed[method.name] = f"{type(error).__name__}: {line}"
                continue
            self._score(method.name, fold, filled, hidden, began)
        tell(n_fits - 1, "macfm")
        with threads(self.n_threads):
            self._macfm(fold, hidden, n_left)
        self.n_folds += 1
        tell(n_fits, "macfm")

    def _modest(self, method: Method, n_fits_left: int) -> dict[str, Any]:
        """Settings of a method that would take long, and its share of the time."""
        settings = dict(method.modest)
        if self.time_limit is not None and "budget" in method.defaults:
            settings["budget"] = self._share(n_fits_left)
        return settings

    def _share(self, n_fits_left: int) -> float:
        """Return the seconds that one of so many fits may take."""
        assert self.time_limit is not None
        left = self.time_limit - (time.perf_counter() - self.began)
        return max(0.8 * left / n_fits_left, 1.0)

    def _macfm(self, fold: int, hidden: pd.DataFrame, n_left: int) -> None:
        from sklearn.base import clone

        imputer = clone(self.setup.imputer).set_params(random_state=self.seed + fold)
        if self.time_limit is not None:
            most = self._share(n_left)
            own = imputer.budget
            own = most if own is None else read_seconds(own)
            imputer.set_params(budget=min(own, most))
        table = self.setup.frame.mask(hidden)
        began = time.perf_counter()
        filled = number_text(imputer.fit_transform(table), self.setup.schema)
        if imputer.out_of_time_:
            self.cut_short.append(read_seconds(imputer.budget))
        self._score("macfm", fold, filled, hidden, began)
        rows = np.flatnonzero(hidden.any(axis=1))
        if len(rows) > MOST_DRAWN_ROWS:
            rng = np.random.default_rng([self.seed, fold])
            rows = np.sort(rng.permutation(rows)[:MOST_DRAWN_ROWS])
        draws = imputer.sample(table.iloc[rows], n_draws=self.n_draws)
        draws = [number_text(draw, self.setup.schema) for draw in draws]
        self._calibrate(filled.iloc[rows], draws, rows, hidden.iloc[rows])

    def _score(
        self,
        method: str,
        fold: int,
        filled: pd.DataFrame,
        hidden: pd.DataFrame,
        began: float,
    ) -> None:
        """Keep the error of every hidden cell."""
        self.seconds.setdefault(method, []).append(time.perf_counter() - began)
        for name in self.setup.scored:
            rows = hidden[name].to_numpy()
            ours, truth = (t.loc[rows, name].to_numpy() for t in (filled, self.truth))
            if self.setup.is_number(name):
                miss = (ours - truth).astype(float) / self.sd[name]
                cells = {"miss": np.abs(miss), "hit": np.nan}
            else:
                cells = {"miss": np.nan, "hit": (ours == truth).astype(float)}
            where = {"fold": fold, "method": method, "row": np.flatnonzero(rows)}
            where["column"] = [name] * len(truth)
            self.errors.append(pd.DataFrame(where | cells))

    def _calibrate(
        self,
        filled: pd.DataFrame,
        draws: list[pd.DataFrame],
        rows: np.ndarray,
        hidden: pd.DataFrame,
    ) -> None:
        """Keep whether intervals held numbers, and draws agreed on categories."""
        truth = self.truth.iloc[rows]
        for name in self.setup.scored:
            cells = hidden[name].to_numpy()
            if not cells.any():
                continue
            drawn = np.stack([draw[name].to_numpy()[cells] for draw in draws])
            target = truth[name].to_numpy()[cells]
            if self.setup.is_number(name):
                drawn, target = drawn.astype(float), target.astype(float)
                for level in LEVELS:
                    held = held_by_rank(drawn, target, level)
                    where = {"column": [name] * len(target), "level": level}
                    self.covered.append(pd.DataFrame(where | {"held": held}))
                continue
            ours = filled[name].to_numpy()[cells]
            agreed = {
                "stated": (drawn == ours).mean(axis=0),
                "realised": ours == target,
            }
            self.agreed.append(pd.DataFrame({"column": [name] * len(ours)} | agreed))

    def result(self, *, share: float) -> Comparison:
        """Sum up."""
        folds = self._pooled(["fold", "method", "column"])
        columns = self._pooled(["method", "column"])
        mean = columns[columns["method"] == "mean"].set_index("column")
        for score in ("mae", "rmse"):
            unit = columns["column"].map(mean[score])
            columns[f"{score}_ratio"] = columns[score] / unit.where(unit > 0)
        columns["sd"] = columns["column"].map(self.sd)
        pool = self._pool()
        if pool is not None:
            columns = columns.merge(pool.by_column(), on=["method", "column"])
        overall = [] if pool is None else pool.overall().to_dict("records")
        return Comparison(
            columns=columns,
            folds=folds,
            overall=self._overall(overall),
            pairs=pd.DataFrame(columns=PAIRS) if pool is None else pool.pairs(),
            calibration=coverage_table(self.covered, n_draws=self.n_draws),
            certainty=self._certainty(),
            n_rows=self.setup.n_rows,
            n_rows_used=len(self.setup.frame),
            n_folds=self.n_folds,
            share=share,
            n_draws=self.n_draws,
            n_threads=self.n_threads,
            seed=self.seed,
            flat=tuple(self.flat),
            left_out=self.setup.left_out,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> list[str]:
        """What else a reader should know."""
        notes = [*self.setup.notes]
        if not self.errors:
            notes.append("No column has enough observed cells to hide some.")
        notes += [f"{name} failed: {why}." for name, why in self.failed.items()]
        if self.n_folds < self.n_wanted:
            notes.append(
                f"{self.n_folds} of {self.n_wanted} folds were run in "
                f"{self.time_limit:g} seconds."
            )
        if self.on_gpu:
            notes.append("macfm ran on a GPU, the other methods on the CPU.")
        if self.cut_short:
            notes.append(
                f"The time limit ended macfm's training after "
                f"{min(self.cut_short):.0f} s in {len(self.cut_short)} of "
                f"{self.n_folds} folds; with more time it may do better."
            )
        return notes

    def _pool(self) -> Pool | None:
        """The cells of all methods side by side, None if there are none."""
        if not self.errors:
            return None
        scored = self.setup.scored
        cells = pd.concat(self.errors, ignore_index=True)
        place = {name: k for k, name in enumerate(scored)}
        return Pool.of(
            cells.assign(column=[place[name] for name in cells["column"]]),
            self.ran,
            scored,
            numbers=[self.setup.is_number(name) for name in scored],
            flat=[name in self.flat for name in scored],
            seed=self.seed,
        )

    @property
    def ran(self) -> list[str]:
        """The methods that did not fail, macfm first."""
        return ["macfm", *(m.name for m in self.others if m.name not in self.failed)]

    def _pooled(self, keys: list[str]) -> pd.DataFrame:
        """Errors over the cells that share the keys."""
        scores = ["kind", "n_cells", "mae", "rmse", "accuracy"]
        if not self.errors:
            return pd.DataFrame(columns=[*keys, *scores])
        cells = pd.concat(self.errors, ignore_index=True)
        cells = cells[cells["method"].isin(self.ran)]
        cells["square"] = cells["miss"] ** 2
        groups = cells.groupby(keys, sort=False)
        pooled = groups.agg(
            n_cells=("method", "size"),
            mae=("miss", "mean"),
            rmse=("square", "mean"),
            accuracy=("hit", "mean"),
        ).reset_index()
        pooled["rmse"] = np.sqrt(pooled["rmse"])
        names = [self.setup.is_number(name) for name in pooled["column"]]
        pooled["kind"] = np.where(names, "number", "category")
        place = pooled["method"].map(self.ran.index)
        order = np.lexsort((place, *([pooled["fold"]] if "fold" in pooled else [])))
        return pooled.iloc[order][[*keys, *scores]].reset_index(drop=True)

    def _overall(self, scores: list[dict[str, Any]]) -> pd.DataFrame:
        """Scores over all columns, with what else counts when one has to choose."""
        rows = []
        for place, name in enumerate(self.ran):
            ours = name == "macfm"
            about = {
                "method": name,
                "title": "macfm" if ours else METHODS[name].title,
                "seconds": float(np.mean(self.seconds.get(name, [np.nan]))),
                "draws": ours or METHODS[name]().draws,
            }
            rows.append(about | (scores[place] if scores else {}))
        names = ["method", "title", *(f"{s}{e}" for s in SCORES for e in ("", "_se"))]
        return pd.DataFrame(rows).reindex(columns=[*names, "seconds", "draws"])

    def _certainty(self) -> pd.DataFrame:
        """How often draws agreed with a filled category, and how often it was right."""
        if not self.agreed:
            return pd.DataFrame(columns=["column", "n_cells", "stated", "realised"])
        cells = pd.concat(self.agreed, ignore_index=True)
        how = {
            "n_cells": ("stated", "size"),
            "stated": ("stated", "mean"),
            "realised": ("realised", "mean"),
        }
        return cells.groupby("column", sort=False).agg(**how).reset_index()


def _is_gpu(device: str) -> bool:
    """Whether an imputer with that parameter computes on a GPU."""
    import torch

    return device != "cpu" and torch.cuda.is_available()


def _check_filled(filled: pd.DataFrame, hidden: pd.DataFrame) -> None:
    """Refuse a table with hidden cells that were not filled."""
    n_empty = int((filled.isna().to_numpy() & hidden.to_numpy()).sum())
    if n_empty:
        raise ValueError(f"{n_empty} of the hidden cells were left empty")
