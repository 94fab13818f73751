"""What came out of a comparison on a user's own cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from macfm._plain import plain
from macfm._words import aligned, listed, seconds_words
from macfm.judge._advice import Advice, advise, verdict

FORMAT = 2
"""Version of the JSON layout."""
MOST_NAMES = 8


@dataclass(frozen=True, repr=False)
class Comparison:
    """Errors of several methods on observed cells that were hidden from them.

    Shown, it reads as its `summary`.

    Attributes
    ----------
    columns : DataFrame
        One row a method and column: ``method``, ``column``, ``kind`` ("number" or
        "category"), ``n_cells``, ``mae`` and ``rmse`` in standard deviations of the
        column, ``mae_ratio`` and ``rmse_ratio`` to those of mean imputation,
        ``accuracy`` of categories, the standard errors of these three under their
        names with ``_se``, and ``sd``, the standard deviation in the column's own unit
        (days for times).
    folds : DataFrame
        The same errors for each fold.
    overall : DataFrame
        One row a method: ``method``, ``title``; ``rmse_ratio``, ``mae_ratio`` and
        ``accuracy`` over all columns, each column counting the same, and their standard
        errors with ``_se``; ``seconds`` a fold, and whether it gives ``draws``.
    pairs : DataFrame
        The differences of these scores between every two methods: ``score``,
        ``method``, ``other``, ``difference`` of the first to the second, its standard
        error ``se`` and whether it is ``clear``, that is more than two of them.
    calibration : DataFrame
        How often macfm's intervals held the hidden number: ``column`` (None for all
        together), ``level``, ``n_cells``, ``coverage``, ``expected``, what a
        perfectly calibrated sampler reaches with as many draws, and ``off``: "narrow"
        or "wide" for a column whose coverage chance does not explain, else None.
    certainty : DataFrame
        For categories: ``column``, ``n_cells``, ``stated``, the share of draws that
        agree with the category filled in, and ``realised``, how often it was right.
    n_rows, n_rows_used : int
        Rows of the table, and rows the comparison looked at.
    n_folds : int
        Folds that were run.
    share : float
        Share of the observed cells that each fold hides.
    n_draws : int
        Draws behind the intervals.
    n_threads : int
        Threads of every method.
    seed : int
        Seed of the folds and the methods.
    flat : tuple of column names
        Columns of numbers that hardly vary, 95 % of their values within a fifth of a
        standard deviation; scores over all columns leave them out.
    left_out : dict of column name to str
        Columns that were not part of it, and why.
    notes : tuple of str
        What else a reader should know.
    """

    columns: pd.DataFrame
    folds: pd.DataFrame
    overall: pd.DataFrame
    pairs: pd.DataFrame
    calibration: pd.DataFrame
    certainty: pd.DataFrame
    n_rows: int
    n_rows_used: int
    n_folds: int
    share: float
    n_draws: int
    n_threads: int
    seed: int
    flat: tuple[Any, ...]
    left_out: dict[Any, str]
    notes: tuple[str, ...]

    @property
    def n_cells(self) -> int:
        """Cells that were hidden and scored."""
        ours = self.columns[self.columns["method"] == "macfm"]
        return int(ours["n_cells"].sum())

    @property
    def methods(self) -> list[str]:
        """Names of the methods, macfm first."""
        return self.overall["method"].tolist()

    def table(self, score: str, kind: str) -> pd.DataFrame:
        """Return one score, columns of the user's table downwards, methods across.

        Parameters
        ----------
        score : str
            A column of `columns`, such as ``"rmse_ratio"``.
        kind : {"number", "category"}
            Which columns.
        """
        part = self.columns[self.columns["kind"] == kind]
        # A name may be a tuple, which is one name here, not a path.
        names = pd.Index(list(dict.fromkeys(part["column"])), tupleize_cols=False)
        found = {}
        for method in self.methods:
            own = part[part["method"] == method]
            scores = dict(zip(own["column"], own[score], strict=True))
            found[method] = [scores.get(name, np.nan) for name in names]
        return pd.DataFrame(found, index=names)

    @property
    def advice(self) -> Advice:
        """Which method to use for this table, and why."""
        return advise(self)

    @property
    def verdict(self) -> list[str]:
        """Who does best on numbers and on categories, and who does as well."""
        return verdict(self)

    @property
    def far_off(self) -> pd.DataFrame:
        """Columns whose 90 % intervals hold far too few or too many hidden numbers."""
        level = self.calibration["level"].max()
        rows = self.calibration[self.calibration["level"] == level]
        return rows[rows["off"].notna()].sort_values("coverage", kind="stable")

    @property
    def rule(self) -> str:
        """How numbers are pooled over columns, in words."""
        said = (
            "All columns: root of the mean squared error, in standard deviations of "
            "each column (in the mean's own error where that is larger), every column "
            "counting the same, relative to filling in the mean."
        )
        if self.flat:
            said += (
                " Left out of it, since they hardly vary (95 % of the values within a "
                f"fifth of a standard deviation): {listed(self.flat, most=MOST_NAMES)}."
            )
        return said

    @property
    def error_rule(self) -> str:
        """What a standard error is here, and what counts as clear, in words."""
        folds = " and over folds, the larger of the two" if self.n_folds > 1 else ""
        return (
            f"± is one standard error, over rows{folds}. Two methods differ clearly if "
            "their scores on the same cells differ by more than two standard errors of "
            "that difference."
        )

    def summary(self) -> str:
        """Return the comparison as text."""
        if not self.n_cells:
            return "\n".join(["Nothing could be compared.", *self.notes])
        lines = [
            f"{self.n_cells:,} observed cells hidden in {self.n_rows_used:,} rows, "
            f"{_times(self.n_folds, self.share)}"
        ]
        for kind, score, heading in (
            ("number", "rmse_ratio", "RMSE, mean imputation = 1 (lower is better)"),
            ("category", "accuracy", "Right categories, % (higher is better)"),
        ):
            lines += self._table_lines(kind, score, heading)
        lines += ["", "All columns", *aligned(self._overall_rows())]
        lines += self._coverage_lines()
        if self.left_out:
            named = ", ".join(f"{name} ({why})" for name, why in self.left_out.items())
            lines += ["", f"Left out: {named}"]
        lines += ["", self.error_rule]
        if self.overall["rmse_ratio"].notna().any() or self.flat:
            lines.append(self.rule)
        lines += self.notes
        ends = [*self.verdict, *self.advice.sentences]
        return "\n".join([*lines, *(["", *ends] if ends else [])])

    def __repr__(self) -> str:
        return self.summary()

    def _table_lines(self, kind: str, score: str, heading: str) -> list[str]:
        """One score column by column."""
        scores, errors = self.table(score, kind), self.table(f"{score}_se", kind)
        if scores.empty:
            return []
        n_cells = self.table("n_cells", kind).iloc[:, 0].tolist()
        rows = [["column", "cells", *self.overall["title"]]]
        for place, name in enumerate(scores.index):
            cells = [
                _with_error(scores[m].iloc[place], errors[m].iloc[place], score, m)
                for m in self.methods
            ]
            rows.append([str(name), f"{n_cells[place]:.0f}", *cells])
        return ["", heading, *aligned(rows)]

    def _overall_rows(self) -> list[list[str]]:
        """Scores, seconds and draws, a line a method."""
        heads = {"rmse_ratio": "RMSE / mean", "accuracy": "right, %"}
        shown = [score for score in heads if self.overall[score].notna().any()]
        rows = [["method", *(heads[s] for s in shown), "seconds a fold", "draws"]]
        for entry in self.overall.to_dict("records"):
            name = entry["method"]
            scores = [_with_error(entry[s], entry[f"{s}_se"], s, name) for s in shown]
            seconds = seconds_words(entry["seconds"]).removesuffix(" s")
            draws = "yes" if entry["draws"] else "no"
            rows.append([entry["title"], *scores, seconds, draws])
        return rows

    def _coverage_lines(self) -> list[str]:
        """How often intervals held the hidden number, and where they are far off."""
        whole = self.calibration[self.calibration["column"].isna()]
        if not len(whole):
            return []
        lines = [
            "",
            f"Intervals of {self.n_draws} draws of macfm held the hidden number",
        ]
        lines += [
            f"{100 * row.level:.0f} % interval: {100 * row.coverage:.0f} % "
            f"(perfect: {100 * row.expected:.0f} %)"
            for row in whole.itertuples()
        ]
        off = [
            f"{row.column} {100 * row.coverage:.0f} % of {row.n_cells} (too {row.off})"
            for row in self.far_off.itertuples()
        ]
        if off:
            level = f"{100 * self.far_off['level'].iloc[0]:.0f} %"
            lines.append(f"Far off, at {level}: {', '.join(off)}")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, value in given.items():
            if isinstance(value, pd.DataFrame):
                given[name] = value.to_dict("records")
        said = {"verdict": self.verdict, "advice": self.advice}
        said["rules"] = [self.rule, self.error_rule]
        return plain({"format": FORMAT, "n_cells": self.n_cells, **given, **said})


def _times(n_folds: int, share: float) -> str:
    each = f"{100 * share:g} % of each column"
    return f"{each}, once" if n_folds == 1 else f"{each} in each of {n_folds} folds"


def _with_error(score: float, error: float, name: str, method: str) -> str:
    """Write a score and its standard error; a dash where there is none."""
    if not np.isfinite(score):
        return "–"
    factor, digits = (100, 1) if name == "accuracy" else (1, 2)
    text = f"{factor * score:.{digits}f}"
    if not np.isfinite(error) or (method == "mean" and name != "accuracy"):
        return text
    return f"{text} ±{factor * error:.{digits}f}"
