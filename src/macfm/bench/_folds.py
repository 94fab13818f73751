"""The folds of a comparison: fit, impute, score, sum up."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from macfm.bench.comparison import Comparison
from macfm.bench.frames import NUMBER_KINDS, number_text
from macfm.bench.methods import METHODS, make_method
from macfm.table import TableSchema

__all__ = ["Run", "SetUp", "expected_by_rank", "held_by_rank"]

LEVELS = (0.5, 0.8, 0.9)
MOST_DRAWN_ROWS = 500  # rows of a fold that are drawn for the calibration


def expected_by_rank(level: float, n_draws: int) -> float:
    """Return how often a calibrated sampler's central range holds the truth.

    Notes
    -----
    The truth and the draws are exchangeable, so that it lies below the k-th smallest of
    n draws with probability k / (n + 1). The range reaches from rank 1 + (n - 1) α to
    1 + (n - 1) (1 - α), α = (1 - level) / 2, which makes level (n - 1) / (n + 1).

    Examples
    --------
    >>> round(expected_by_rank(0.9, 20), 3)
    0.814
    """
    return level * (n_draws - 1) / (n_draws + 1)


def held_by_rank(draws: np.ndarray, truth: np.ndarray, level: float) -> np.ndarray:
    """Return whether the central range of the draws holds each truth, ties in halves.

    Parameters
    ----------
    draws : ndarray of shape (n_draws, n_cells)
        Draws of each cell.
    truth : ndarray of shape (n_cells,)
        What was hidden.
    level : float
        Probability of the range.

    Returns
    -------
    ndarray of shape (n_cells,)
        0 or 1, and in between where the truth lies at an end of the range.

    Notes
    -----
    Only ranks count. A truth that equals some draws takes every rank among them with
    the same probability; otherwise columns of few distinct values, whose intervals end
    on a value that many cells have, would always seem too wide.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.arange(21.0)[:, None].repeat(3, axis=1)
    >>> held_by_rank(draws, np.array([-1.0, 9.5, 21.0]), 0.9).tolist()
    [0.0, 1.0, 0.0]
    """
    n = len(draws)
    rank = np.arange(n + 1)  # draws below the truth
    end = 1 + (n - 1) * (1 - level) / 2
    above = np.clip(rank + 1 - end, 0, 1)
    held = above + above[::-1] - 1
    total = np.concatenate([[0.0], np.cumsum(held)])
    low, high = (draws < truth).sum(axis=0), (draws <= truth).sum(axis=0)
    return (total[high + 1] - total[low]) / (high + 1 - low)


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
        return self.schema.columns[place].kind in NUMBER_KINDS


@dataclass
class Run:
    """The fits, and what is known of their errors so far."""

    setup: SetUp
    others: list[Any]
    n_draws: int
    seed: int
    time_limit: float | None
    n_wanted: int
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
            fresh = make_method(method.name, seed=self.seed + fold)
            began = time.perf_counter()
            try:
                filled = fresh.fit(table.copy()).impute(table.copy())
            except Exception as error:
                line = " ".join(str(error).split())[:200]
                self.failed[method.name] = f"{type(error).__name__}: {line}"
                continue
            self._score(method.name, fold, filled, hidden, began)
        tell(n_fits - 1, "macfm")
        self._macfm(fold, hidden, n_left)
        self.n_folds += 1
        tell(n_fits, "macfm")

    def _macfm(self, fold: int, hidden: pd.DataFrame, n_left: int) -> None:
        from sklearn.base import clone

        imputer = clone(self.setup.imputer).set_params(random_state=self.seed + fold)
        if self.time_limit is not None:
            left = self.time_limit - (time.perf_counter() - self.began)
            most = max(0.8 * left / n_left, 1.0)
            own = imputer.max_seconds
            imputer.set_params(max_seconds=most if own is None else min(own, most))
        table = self.setup.frame.mask(hidden)
        began = time.perf_counter()
        filled = number_text(imputer.fit_transform(table), self.setup.schema)
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
            where = {"fold": fold, "method": method, "column": [name] * len(truth)}
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
        notes = [*self.setup.notes]
        if not len(columns):
            notes.append("No column has enough observed cells to hide some.")
        notes += [f"{name} failed: {why}." for name, why in self.failed.items()]
        if self.n_folds < self.n_wanted:
            notes.append(
                f"{self.n_folds} of {self.n_wanted} folds were run in "
                f"{self.time_limit:g} seconds."
            )
        return Comparison(
            columns=columns,
            folds=folds,
            overall=self._overall(columns),
            calibration=self._calibration(),
            certainty=self._certainty(),
            n_rows=self.setup.n_rows,
            n_rows_used=len(self.setup.frame),
            n_folds=self.n_folds,
            share=share,
            n_draws=self.n_draws,
            seed=self.seed,
            left_out=self.setup.left_out,
            notes=tuple(notes),
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

    def _overall(self, columns: pd.DataFrame) -> pd.DataFrame:
        """Means over columns, each column counting the same."""
        rows = []
        for name in self.ran:
            part = columns[columns["method"] == name]
            means = part[["mae_ratio", "rmse_ratio", "accuracy"]].astype(float).mean()
            title = "macfm" if name == "macfm" else METHODS[name].title
            seconds = float(np.mean(self.seconds.get(name, [np.nan])))
            about = {"method": name, "title": title}
            rows.append(about | means.to_dict() | {"seconds": seconds})
        return pd.DataFrame(rows)

    def _calibration(self) -> pd.DataFrame:
        """Coverage over all columns, then column by column."""
        names = ["column", "level", "n_cells", "coverage", "expected"]
        if not self.covered:
            return pd.DataFrame(columns=names)
        cells = pd.concat(self.covered, ignore_index=True)
        how = {"n_cells": ("held", "size"), "coverage": ("held", "mean")}
        whole = cells.groupby("level").agg(**how).reset_index()
        each = cells.groupby(["column", "level"], sort=False).agg(**how).reset_index()
        whole.insert(0, "column", pd.Series([None] * len(whole), dtype=object))
        each["column"] = each["column"].astype(object)
        table = pd.concat([whole, each], ignore_index=True)
        table["expected"] = [
            expected_by_rank(level, self.n_draws) for level in table["level"]
        ]
        return table[names]

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
