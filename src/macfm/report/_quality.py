"""The section on how good it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from macfm.bench.compare import Comparison
from macfm.profile import percent
from macfm.report._facts import Facts
from macfm.report._quality_figures import coverage_figure, error_figure
from macfm.report._words import count, listed, number

__all__ = ["quality_section"]

MOST_ROWS = 30
LITTLE = 0.95  # of the error of the mean: hardly better


def quality_section(facts: Facts) -> dict[str, Any] | None:
    """Return what the template shows of the comparison, None without one."""
    found = facts.comparison
    if found is None:
        return None
    titles = dict(zip(found.overall["method"], found.overall["title"], strict=True))
    names = {method: _title(method, titles) for method in found.methods}
    return {
        "n_cells": found.n_cells,
        "how": _how(found),
        "verdict": _verdict(found, titles),
        "titles": list(names.values()),
        "numbers": _numbers(found),
        "categories": _categories(found),
        "dots": error_figure(found, names),
        "calibration": _levels(found),
        "spread_words": _spread_words(found),
        "curve": coverage_figure(found),
        "certainty": found.certainty.head(MOST_ROWS).to_dict("records"),
        "n_draws": found.n_draws,
        "notes": list(found.notes),
        "left_out": [(str(n), why) for n, why in found.left_out.items()][:MOST_ROWS],
    }


def _title(method: str, titles: dict[str, str]) -> str:
    return titles[method].lower() if method == "mean" else titles[method]


def _how(found: Comparison) -> str:
    """How the test was made."""
    folds = "" if found.n_folds == 1 else f" in each of {found.n_folds} rounds"
    rows = (
        ""
        if found.n_rows_used == found.n_rows
        else f", in {found.n_rows_used:,} of {found.n_rows:,} rows"
    )
    return (
        f"As a test, {100 * found.share:g} % of the observed cells of each column were "
        f"hidden by lot{folds} ({count(found.n_cells, 'cell')} in all{rows}), and all "
        f"methods were fitted to what was left. What follows is the error on the "
        f"hidden cells."
    )


def _verdict(found: Comparison, titles: dict[str, str]) -> list[str]:
    """The outcome in plain words."""
    said = []
    overall = found.overall.set_index("method")
    ratios = found.table("rmse_ratio", "number").astype(float).dropna(how="all")
    if len(ratios):
        said += _on_numbers(overall["rmse_ratio"], ratios, titles)
    right = found.table("accuracy", "category").astype(float)
    if len(right):
        others = [
            f"{percent(overall.loc[m, 'accuracy'])} with {_title(m, titles)}"
            for m in found.methods
            if m not in ("macfm", "mean")
        ]
        usual = percent(overall.loc["mean", "accuracy"])
        rest = f", {listed(others)}" if others else ""
        said.append(
            f"Categories: macfm found {percent(overall.loc['macfm', 'accuracy'])} of "
            f"the hidden ones (mean over {count(len(right), 'column')}); always "
            f"taking the most frequent one gives {usual}{rest}."
        )
    return said


def _on_numbers(
    overall: pd.Series, ratios: pd.DataFrame, titles: dict[str, str]
) -> list[str]:
    """Say how far below that of the mean the errors lie."""
    ours = overall["macfm"]
    others = {m: overall[m] for m in overall.index if m not in ("macfm", "mean")}
    beside = [f"{_title(m, titles)} {_below(r)}" for m, r in others.items()]
    mean_of = "" if len(ratios) == 1 else f" (mean over {len(ratios)} columns)"
    said = (
        f"Numbers: macfm's error (RMSE) lies {_below(ours)} that of filling in the "
        f"column mean{mean_of}{'; ' + listed(beside) if beside else ''}."
    )
    rivals = ratios.drop(columns="mean")
    if len(rivals.columns) > 1 and len(ratios) > 1:
        best = rivals.idxmin(axis=1)
        n_best = {m: int((best == m).sum()) for m in rivals}
        counts = [f"{_title(m, titles)} in {n}" for m, n in n_best.items()]
        counts[0] += " columns"
        said += f" The most accurate of them is {listed(counts)}."
        most = max(n_best.values()) > len(ratios) / 2
    else:
        n_best, most = {}, False
    sentences = [said]
    better = [
        m
        for m, r in others.items()
        if r < 0.97 * ours or (most and n_best[m] > len(ratios) / 2)
    ]
    if better:
        names = listed([_title(m, titles) for m in better])
        sentences.append(
            f"On this table {names} came out ahead. Small and linear tables often "
            "favour simpler methods; preset='best' or more training may close the gap."
        )
    hard = ratios.index[ratios["macfm"] > LITTLE].tolist()
    if hard:
        sentences.append(
            f"Hardly better than the mean: {listed(hard, most=8)}. The other columns "
            "say little about these values, so single filled values carry little "
            "information."
        )
    return sentences


def _below(ratio: float) -> str:
    """A ratio to the mean's error in words."""
    change = 100 * (1 - ratio)
    if abs(change) < 0.5:
        return "at"
    return f"{abs(change):.0f} % {'below' if change > 0 else 'above'}"


def _numbers(found: Comparison) -> dict[str, Any] | None:
    ratios = found.table("rmse_ratio", "number").astype(float)
    if ratios.empty:
        return None
    ours = found.columns[found.columns["method"] == "macfm"].set_index("column")
    rows = [
        {
            "name": name,
            "n": int(ours.loc[name, "n_cells"]),
            "typical": number(ours.loc[name, "mae"] * ours.loc[name, "sd"]),
            "cells": _marked(ratios.loc[name], best=min),
        }
        for name in ratios.index[:MOST_ROWS]
    ]
    means = ratios.mean()
    return {
        "rows": rows,
        "n_more": len(ratios) - len(rows),
        "overall": _marked(means, best=min) if len(ratios) > 1 else None,
    }


def _categories(found: Comparison) -> dict[str, Any] | None:
    right = 100 * found.table("accuracy", "category").astype(float)
    if right.empty:
        return None
    cells = found.table("n_cells", "category")["macfm"]
    rows = [
        {
            "name": name,
            "n": int(cells[name]),
            "cells": _marked(right.loc[name], best=max, digits=0),
        }
        for name in right.index[:MOST_ROWS]
    ]
    return {
        "rows": rows,
        "n_more": len(right) - len(rows),
        "overall": _marked(right.mean(), best=max, digits=0)
        if len(right) > 1
        else None,
    }


def _marked(scores: pd.Series, *, best: Any, digits: int = 2) -> list[dict[str, Any]]:
    """Scores as text, the best of them marked; ties as they are shown."""
    shown = [f"{s:.{digits}f}" if np.isfinite(s) else "–" for s in scores]
    finite = [float(t) for t in shown if t != "–"]
    top = best(finite) if finite else None
    return [
        {"text": t, "best": t != "–" and float(t) == top, "method": m}
        for t, m in zip(shown, scores.index, strict=True)
    ]


def _levels(found: Comparison) -> list[dict[str, Any]]:
    """Coverage of each level over all columns."""
    whole = found.calibration[found.calibration["column"].isna()]
    return [
        {
            "level": f"{100 * row.level:.0f} %",
            "coverage": f"{100 * row.coverage:.0f} %",
            "expected": f"{100 * row.expected:.0f} %",
            "n": int(row.n_cells),
        }
        for row in whole.itertuples()
    ]


def _spread_words(found: Comparison) -> str | None:
    """Whether intervals are too narrow, about right or too wide."""
    whole = found.calibration[found.calibration["column"].isna()]
    if not len(whole):
        return None
    row = whole.iloc[-1]
    gap = row["coverage"] - row["expected"]
    error = np.sqrt(row["expected"] * (1 - row["expected"]) / row["n_cells"])
    level = f"{100 * row['level']:.0f} %"
    fact = (
        f"The {level} interval of {found.n_draws} draws held "
        f"{100 * row['coverage']:.0f} % of the hidden numbers. Perfectly calibrated "
        f"draws would reach {100 * row['expected']:.0f} %, since so few seldom "
        f"reach into the tails"
    )
    if abs(gap) <= max(0.03, 2 * error):
        return f"{fact}: the intervals are about as wide as they should be."
    if gap < 0:
        return (
            f"{fact}: the intervals are too narrow, so values are less certain than "
            "they look."
        )
    return (
        f"{fact}: the intervals are wider than they need be, which errs on the safe "
        "side."
    )
