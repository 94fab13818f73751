"""What came out of a comparison on a user's own cells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Comparison"]

FORMAT = 1
"""Version of the JSON layout."""


@dataclass(frozen=True)
class Comparison:
    """Errors of several methods on observed cells that were hidden from them.

    Attributes
    ----------
    columns : DataFrame
        One row a method and column: ``method``, ``column``, ``kind`` ("number" or
        "category"), ``n_cells``, ``mae`` and ``rmse`` in standard deviations of the
        column, ``mae_ratio`` and ``rmse_ratio`` to those of mean imputation,
        ``accuracy`` of categories, and ``sd``, the standard deviation in the column's
        own unit (days for times).
    folds : DataFrame
        The same errors for each fold.
    overall : DataFrame
        One row a method: ``method``, ``title``, means over columns of ``mae_ratio``,
        ``rmse_ratio`` and ``accuracy``, and ``seconds`` a fold.
    calibration : DataFrame
        How often macfm's intervals held the hidden number: ``column`` (None for all
        together), ``level``, ``n_cells``, ``coverage``, and ``expected``, what a
        perfectly calibrated sampler reaches with as many draws.
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
    seed : int
        Seed of the folds and the methods.
    left_out : dict of column name to str
        Columns that were not part of it, and why.
    notes : tuple of str
        What else a reader should know.
    """

    columns: pd.DataFrame
    folds: pd.DataFrame
    overall: pd.DataFrame
    calibration: pd.DataFrame
    certainty: pd.DataFrame
    n_rows: int
    n_rows_used: int
    n_folds: int
    share: float
    n_draws: int
    seed: int
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
        names = list(dict.fromkeys(part["column"]))
        wide = {
            method: part[part["method"] == method].set_index("column")[score]
            for method in self.methods
        }
        return pd.DataFrame(wide).reindex(names)

    def summary(self) -> str:
        """Return the comparison as text."""
        if not self.n_cells:
            return "\n".join(["Nothing could be compared.", *self.notes])
        titles = self.overall["title"].tolist()
        lines = [
            f"{self.n_cells:,} observed cells hidden in {self.n_rows_used:,} rows, "
            f"{_times(self.n_folds, self.share)}"
        ]
        for kind, score, heading, mean in (
            ("number", "rmse_ratio", "RMSE, mean imputation = 1 (lower is better)", 1),
            ("category", "accuracy", "Right categories, % (higher is better)", 100),
        ):
            scores = self.table(score, kind) * mean
            if scores.empty:
                continue
            digits = 2 if mean == 1 else 1
            n_cells = self.table("n_cells", kind)["macfm"]
            rows = [["column", "cells", *titles]]
            rows += [
                [
                    str(name),
                    f"{n_cells[name]:.0f}",
                    *_formatted(scores.loc[name], digits),
                ]
                for name in scores.index
            ]
            if len(scores) > 1:
                rows.append(["all columns", "", *_formatted(scores.mean(), digits)])
            lines += ["", heading, *_aligned(rows)]
        whole = self.calibration[self.calibration["column"].isna()]
        if len(whole):
            lines += ["", f"Intervals of {self.n_draws} draws held the hidden number"]
            lines += [
                f"{100 * row.level:.0f} % interval: {100 * row.coverage:.0f} % "
                f"(perfect: {100 * row.expected:.0f} %)"
                for row in whole.itertuples()
            ]
        if self.left_out:
            named = ", ".join(f"{name} ({why})" for name, why in self.left_out.items())
            lines += ["", f"Left out: {named}"]
        return "\n".join([*lines, *([""] if self.notes else []), *self.notes])

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        frames = ("columns", "folds", "overall", "calibration", "certainty")
        plain = {
            name: _plain(getattr(self, name))
            for name in self.__dataclass_fields__
            if name not in frames
        }
        for name in frames:
            plain[name] = [
                _plain(row) for row in getattr(self, name).to_dict("records")
            ]
        return {"format": FORMAT, "n_cells": self.n_cells, **plain}


def _times(n_folds: int, share: float) -> str:
    each = f"{100 * share:g} % of each column"
    return f"{each}, once" if n_folds == 1 else f"{each} in each of {n_folds} folds"


def _formatted(scores: Iterable[float], digits: int) -> list[str]:
    """Write scores; a dash where there is none."""
    return [f"{s:.{digits}f}" if np.isfinite(s) else "–" for s in scores]


def _aligned(rows: list[list[str]]) -> list[str]:
    """Lay out a table, the first column left and the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _plain(value: Any) -> Any:
    """Return JSON types; NaN becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, type(None))) else str(value)
