"""Error against time on one machine: which methods, over which datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
from scipy.stats import gmean

from macfm.bench.report._errors import BASE
from macfm.bench.report._figure_pareto import Point, draw_pareto
from macfm.bench.report._frame import (
    CELL,
    crowded,
    datasets_of,
    method_of,
    row_titles,
)
from macfm.bench.report._names import METRICS
from macfm.bench.report._statistics import everywhere
from macfm.bench.report._table import Picture


def pareto_pictures(
    rows: pd.DataFrame, slug: str, name: str, *, elsewhere: Sequence[str] = ()
) -> list[Picture]:
    """Return a picture over all datasets, and one over those that all methods have.

    The second is there if methods are left out of the first for want of a result on
    some dataset. `rows` are those of one machine that have a result, with a column
    ``total`` of seconds; methods that have none there are named as `elsewhere`.
    """
    more = ""
    if elsewhere:
        more = f" Without a time on this machine: {', '.join(elsewhere)}."
    points = _points(rows)
    if not any(points.values()):
        return []
    title = f"Error against time, {name}"
    pictures = [_picture(rows, points, f"pareto-{slug}", title, more)]
    shared = _shared_datasets(rows)
    if _left_out(rows, points) and shared:
        part = rows[rows["dataset"].isin(shared)]
        title = f"Error against time on {', '.join(shared)}, {name}"
        slug = f"pareto-{slug}-shared"
        pictures.append(_picture(part, _points(part), slug, title, more))
    return pictures


def _shared_datasets(rows: pd.DataFrame) -> list[str]:
    """The datasets on which every method has an error."""
    scored = rows[rows["out_mae"].notna()]
    done = scored.groupby("dataset")["label"].nunique()
    return [d for d in datasets_of(scored) if done[d] == rows["label"].nunique()]


def _points(rows: pd.DataFrame) -> dict[str, list[Point]]:
    return {metric: pareto_points(rows, metric) for metric in METRICS}


def _shown(points: Mapping[str, list[Point]]) -> set[str]:
    return {point.label for found in points.values() for point in found}


def _left_out(rows: pd.DataFrame, points: Mapping[str, list[Point]]) -> list[str]:
    shown = _shown(points)
    return [title for title in row_titles(rows).values() if title not in shown]


def _picture(
    rows: pd.DataFrame, points: dict[str, list[Point]], slug: str, title: str, more: str
) -> Picture:
    caption = (
        "Out-of-sample error relative to mean imputation against the seconds to fit "
        "and to impute both parts, both on logarithmic scales, geometric means over "
        "cells. The line joins the methods that no other beats in both; open signs "
        "rest on fewer cells than others."
    )
    left_out = _left_out(rows, points)
    if left_out:
        caption += (
            " Left out, without a result on some of the datasets: "
            f"{', '.join(left_out)}."
        )
    return Picture(
        slug=slug,
        title=title,
        caption=caption + more + _company(rows, _shown(points)),
        draw=partial(draw_pareto, points),
    )


def _company(rows: pd.DataFrame, shown: set[str]) -> str:
    """Which of the methods shown had to share the machine."""
    busy = rows.loc[crowded(rows), "label"].unique()
    names = [
        title
        for label, title in row_titles(rows).items()
        if title in shown and label in busy
    ]
    if not names:
        return ""
    if len(names) == len(shown):
        return " All of them ran beside other jobs."
    return f" Of them these ran beside other jobs: {', '.join(names)}."


def pareto_points(rows: pd.DataFrame, metric: str) -> list[Point]:
    """Return each method's seconds and its error relative to mean imputation.

    Cells without mean imputation do not count; methods without a result on some of the
    datasets that are left have no point.
    """
    errors = rows.pivot(index=CELL, columns="label", values=f"out_{metric}")
    times = rows.pivot(index=CELL, columns="label", values="total")
    if BASE not in errors:
        return []
    errors = errors[errors[BASE] > 0]
    ratios = errors.where(errors > 0).div(errors[BASE], axis=0)
    times = times.loc[ratios.index]
    usable = ratios.notna() & (times > 0) & everywhere(errors)
    full, methods, points = usable.sum().max(), method_of(rows), []
    for label, title in row_titles(rows).items():
        here = usable[label]
        if here.any():
            point = Point(
                label=title,
                method=methods[label],
                seconds=gmean(times.loc[here, label]),
                error=gmean(ratios.loc[here, label]),
                complete=bool(here.sum() == full),
            )
            points.append(point)
    return points
