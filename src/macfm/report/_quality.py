"""The section on how good it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from macfm._words import count, listed, seconds_words
from macfm.judge import Comparison
from macfm.report._facts import Facts
from macfm.report._quality_figures import (
    MOST_DRAWN,
    coverage_figure,
    error_figure,
)
from macfm.report._words import number, setting

LITTLE = 0.95  # of the error of the mean: hardly better


def quality_section(facts: Facts) -> dict[str, Any] | None:
    """Return what the template shows of the comparison, None without one."""
    found = facts.comparison
    if found is None:
        return None
    titles = dict(zip(found.overall["method"], found.overall["title"], strict=True))
    names = {m: t.lower() if m == "mean" else t for m, t in titles.items()}
    return {
        "n_cells": found.n_cells,
        "how": _how(found),
        "verdict": _verdict(found),
        "advice": _advice(found, facts),
        "titles": list(names.values()),
        "numbers": _numbers(found),
        "categories": _categories(found),
        "methods": _methods(found, names),
        "rule": found.rule,
        "error_rule": found.error_rule,
        "dots": error_figure(found, names),
        "n_drawn": MOST_DRAWN,
        "calibration": _levels(found),
        "spread_words": _spread_words(found),
        "off_words": _off_words(found),
        "curve": coverage_figure(found),
        "certainty": found.certainty.to_dict("records"),
        "n_draws": found.n_draws,
        "n_threads": found.n_threads,
        "notes": list(found.notes),
        "left_out": [(str(n), why) for n, why in found.left_out.items()],
    }


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


def _verdict(found: Comparison) -> list[str]:
    """The outcome in plain words."""
    said = []
    overall = found.overall.set_index("method")["rmse_ratio"]
    if np.isfinite(overall.get("macfm", np.nan)):
        said.append(
            f"Numbers: macfm's error (RMSE) lies {_below(overall['macfm'])} that of "
            "filling in the column mean."
        )
    said += found.verdict
    ratios = found.table("rmse_ratio", "number").astype(float).dropna(how="all")
    least = ratios.drop(columns="mean", errors="ignore").min(axis=1)
    hard = [name for name in ratios.index[least > LITTLE] if name not in found.flat]
    if hard:
        said.append(
            f"No method is much better than the mean on {_few(hard)}: the other "
            "columns say little about these values, so single filled values carry "
            "little information."
        )
    return said


def _few(names: list[Any]) -> str:
    """List names, fewer of them if they are long."""
    return listed(names, most=8 if sum(len(str(n)) for n in names[:8]) < 160 else 3)


def _advice(found: Comparison, facts: Facts) -> list[str]:
    """What to use for this table; more training if ours is behind and was cheap."""
    advice = found.advice
    said = [" ".join(advice.sentences)] if advice.sentences else []
    ours = advice.method in ("macfm", "mean", None)
    if not ours and facts.imputer.preset != "best":
        best = setting("preset", "best", flags=facts.flags)
        said.append(f"Of macfm itself, {best} may come closer, in more time.")
    return said


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
    errors = found.table("rmse_ratio_se", "number").astype(float)
    ours = found.columns[found.columns["method"] == "macfm"]
    entries = {entry["column"]: entry for entry in ours.to_dict("records")}
    rows = [
        {
            "name": name,
            "n": int(entries[name]["n_cells"]),
            "typical": number(entries[name]["mae"] * entries[name]["sd"]),
            "flat": name in found.flat,
            "cells": _marked(ratios.iloc[k], errors.iloc[k], best=min),
        }
        for k, name in enumerate(ratios.index)
    ]
    return {"rows": rows, "overall": _overall(found, "rmse_ratio", best=min)}


def _categories(found: Comparison) -> dict[str, Any] | None:
    right = 100 * found.table("accuracy", "category").astype(float)
    if right.empty:
        return None
    errors = 100 * found.table("accuracy_se", "category").astype(float)
    cells = found.table("n_cells", "category")["macfm"]
    rows = [
        {
            "name": name,
            "n": int(cells.iloc[k]),
            "flat": False,
            "cells": _marked(right.iloc[k], errors.iloc[k], best=max, digits=0),
        }
        for k, name in enumerate(right.index)
    ]
    return {"rows": rows, "overall": _overall(found, "accuracy", best=max)}


def _overall(
    found: Comparison, score: str, *, best: Any
) -> list[dict[str, Any]] | None:
    """One score over all columns."""
    table = found.overall.set_index("method")
    factor, digits = (100, 1) if score == "accuracy" else (1, 2)
    scores, errors = factor * table[score], factor * table[f"{score}_se"]
    if scores.isna().all():
        return None
    return _marked(scores, errors, best=best, digits=digits)


def _methods(found: Comparison, names: dict[str, str]) -> list[dict[str, Any]]:
    """The methods, each with its scores over all columns, its seconds and draws."""
    scores = {
        score: _overall(found, score, best=best)
        for score, best in (("rmse_ratio", min), ("accuracy", max))
    }
    return [
        {
            "title": names[row.method],
            "method": row.method,
            "numbers": scores["rmse_ratio"][k] if scores["rmse_ratio"] else None,
            "categories": scores["accuracy"][k] if scores["accuracy"] else None,
            "seconds": seconds_words(row.seconds),
            "draws": "yes" if row.draws else "no",
            "advised": row.method == found.advice.method,
        }
        for k, row in enumerate(found.overall.itertuples())
    ]


def _marked(
    scores: pd.Series, errors: pd.Series, *, best: Any, digits: int = 2
) -> list[dict[str, Any]]:
    """Scores and their errors as text, the best marked; ties as they are shown.

    A ratio of the mean to itself has no error.
    """
    shown = [f"{s:.{digits}f}" if np.isfinite(s) else "–" for s in scores]
    finite = [float(t) for t in shown if t != "–"]
    top = best(finite) if finite else None
    return [
        {
            "text": text,
            "error": f"{errors[method]:.{digits}f}" if errors[method] > 0 else "",
            "best": text != "–" and float(text) == top,
            "method": method,
        }
        for text, method in zip(shown, scores.index, strict=True)
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


def _off_words(found: Comparison) -> str | None:
    """Name the columns whose intervals are far off."""
    off = found.far_off
    if not len(off):
        return None
    parts = []
    for side in ("narrow", "wide"):
        rows = off[off["off"] == side]
        named = [
            f"{row.column} ({100 * row.coverage:.0f} % of {row.n_cells})"
            for row in rows.itertuples()
        ]
        if named:
            parts.append(f"too {side} for {_few(named)}")
    level = 100 * off["level"].iloc[0]
    return (
        f"Single columns are far off: {level:.0f} % intervals are {'; '.join(parts)}. "
        "Only columns are named whose coverage chance would not explain (binomial "
        "test, 5 % for all columns together)."
    )
