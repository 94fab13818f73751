"""Bars of errors: a panel for each dataset, the best method on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from macfm.bench.report._frame import datasets_of, method_of, row_titles
from macfm.bench.report._names import FAMILY_COLOURS, METRICS, family
from macfm.bench.report._style import INK, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Bars end here, in training standard deviations.
CAP = 2.0
#: Colours of bars in which numbers are white.
DARK = (FAMILY_COLOURS["ours"], FAMILY_COLOURS["learned"])


def draw_bars(rows: pd.DataFrame, *, metric: str) -> Figure:
    """Draw the errors of one mechanism and rate.

    Bars are for new rows, circles for the training rows.
    """
    titles, methods = row_titles(rows), method_of(rows)
    names = [f"out_{metric}", f"in_{metric}"]
    means = rows.groupby(["dataset", "label"])[names].mean()
    reasons = rows.groupby(["dataset", "label"])["status"].last()
    datasets = [d for d in datasets_of(rows) if means.loc[d].notna().any(axis=None)]
    with style():
        height = 0.75 + 0.2 * len(titles)
        figure, axes = panels(len(datasets), width=3.3, height=height, columns=3)
        limit = min(CAP, 1.2 * float(means.max(axis=None)))  # room for the number
        for axis, dataset in zip(axes, datasets, strict=True):
            part = means.loc[dataset]
            part = part.sort_values(names[0], ascending=False, na_position="first")
            colours = [FAMILY_COLOURS[family(methods[label])] for label in part.index]
            texts = [reasons[dataset, label] for label in part.index]
            texts = ["no number" if text == "ok" else text for text in texts]
            _panel(axis, part.to_numpy(), colours, texts, limit=limit)
            _name_bars(axis, [(titles[k], methods[k]) for k in part.index])
            axis.set_title(dataset, loc="left", fontweight="bold")
        figure.supxlabel(
            f"{METRICS[metric]}, training standard deviations", fontsize="medium"
        )
        _legend(figure, {family(method) for method in methods.values()})
    return figure


def _panel(
    axis: Axes,
    values: np.ndarray,
    colours: list[str],
    reasons: list[str],
    *,
    limit: float,
) -> None:
    """Bars of one dataset, cut at the cap with the value beside.

    Where there is no value, the reason stands in the place of the bar.
    """
    for place, ((out, inside), colour) in enumerate(zip(values, colours, strict=True)):
        if np.isnan(out):
            axis.text(0.02 * limit, place, reasons[place], va="center", fontsize=7.5)
            continue
        axis.barh(place, min(out, CAP), height=0.68, color=colour, linewidth=0)
        if inside <= CAP:
            ring: dict[str, Any] = {
                "ms": 3.6,
                "mfc": "none",
                "mec": INK,
                "mew": 0.9,
                "zorder": 3,
            }
            axis.plot(inside, place, "o", **ring)
        text = f"{out:.2f}" if out <= CAP else f"{out:.2f} ▸"
        end, within = _label_place(out, inside, limit)
        axis.text(
            end,
            place,
            text,
            ha="right" if within else "left",
            va="center",
            fontsize=7.5,
            color="white" if within and colour in DARK else INK,
        )
    axis.set_xlim(0, limit)
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)


def _label_place(out: float, inside: float, limit: float) -> tuple[float, bool]:
    """Where a bar's number stands, and whether it ends there, within the bar.

    Behind bar and circle if there is room, else within the bar and clear of the circle;
    a short bar whose circle is far away has its number in between.
    """
    gap, width = 0.03 * limit, 0.13 * limit
    if out > CAP:
        return 0.985 * limit, True
    if np.fmax(out, inside) <= 0.84 * limit:
        return np.fmax(out, inside) + gap, False
    if out < width + 2 * gap:
        return out + gap, False
    end = out - gap
    covered = end - width - gap < inside < out
    return (inside - gap if covered and inside > width + gap else end), True


def _name_bars(axis: Axes, names: list[tuple[str, str]]) -> None:
    axis.set_yticks(range(len(names)), [title for title, _ in names])
    axis.set_ylim(-0.6, len(names) - 0.4)
    for text, (_, method) in zip(axis.get_yticklabels(), names, strict=True):
        if family(method) == "ours":
            text.set_fontweight("bold")


def _legend(figure: Figure, present: set[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=colour, label=name)
        for name, colour in FAMILY_COLOURS.items()
        if name in present
    ]
    circle = Line2D([], [], marker="o", ls="", mfc="none", mec=INK, ms=4)
    circle.set_label("in-sample")
    figure.legend(
        handles=[*handles, circle],
        loc="outside upper center",
        ncols=len(handles) + 1,
        columnspacing=1.4,
        handlelength=1.2,
    )
