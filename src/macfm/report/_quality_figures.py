"""Pictures of errors and of coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from macfm.judge import Comparison
from macfm.page import THEME
from macfm.plot import short_names
from macfm.report._figures import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 24
LOOKS = {
    "macfm": (THEME.filled, "o", 46),
    "knn": (THEME.palette[0], "s", 26),
    "mice": (THEME.palette[2], "^", 32),
    "extra-trees": (THEME.palette[5], "D", 24),
}


def error_figure(found: Comparison, names: dict[str, str]) -> Any:
    """Draw the errors of all methods, a line a column; None for a single column."""
    ratios = found.table("rmse_ratio", "number").astype(float).dropna(how="all")
    if len(ratios) < 2:
        return None
    ratios = ratios.sort_values("macfm", kind="stable")
    if len(ratios) > MOST_DRAWN:  # evenly, from the best to the worst
        ratios = ratios.iloc[np.linspace(0, len(ratios) - 1, MOST_DRAWN).astype(int)]

    def draw(ax: Axes) -> None:
        place = np.arange(len(ratios))
        most = float(np.clip(np.nanmax(ratios.to_numpy()) * 1.05, 1.08, 1.6))
        ax.hlines(place, 0, most, color=THEME.rule, linewidth=0.6, zorder=0)
        ax.axvline(1, color=THEME.ink, linewidth=1, linestyle=(0, (4, 3)))
        ax.text(1, -0.75, "mean", color=THEME.ink, fontsize=8.5, ha="center")
        spare = iter(("v", "P", "X", "*"))
        # macfm last, on top of what it coincides with
        for method in [m for m in found.methods[::-1] if m != "mean"]:
            look = LOOKS.get(method) or (THEME.palette[3], next(spare, "o"), 28)
            ax.scatter(
                ratios[method].clip(upper=most),
                place,
                color=look[0],
                marker=look[1],
                s=look[2],
                label=names[method],
                linewidth=0,
                zorder=3,
                clip_on=False,
            )
        ax.set_yticks(place, short_names(list(ratios.index), most=22))
        ax.set(xlim=(0, most), ylim=(len(ratios) - 0.4, -0.6))
        ax.set_xlabel("RMSE relative to the mean", color=THEME.ink, fontsize=9)
        ax.tick_params(colors=THEME.ink, labelsize=8.5, length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.spines["bottom"].set(color=THEME.ink, linewidth=0.8)
        ax.set_facecolor("none")
        handles, labels = ax.get_legend_handles_labels()
        ax.legend(
            handles[::-1],
            labels[::-1],
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=4,
            frameon=False,
            fontsize=8.5,
            labelcolor=THEME.ink,
            borderaxespad=1.3,
        )

    size = (4.9, 1.35 + 0.27 * len(ratios))
    return figure("dots", "Errors relative to mean imputation", draw, size=size)


def coverage_figure(found: Comparison) -> Any:
    """Draw nominal against realised coverage; None without numbers."""
    table = found.calibration
    whole = table[table["column"].isna()]
    if not len(whole):
        return None
    each = table[table["column"].notna() & (table["n_cells"] >= 20)]

    def draw(ax: Axes) -> None:
        ax.plot(
            100 * whole["level"],
            100 * whole["expected"],
            color=THEME.ink,
            linewidth=1,
            linestyle=(0, (4, 3)),
            label="perfect",
        )
        if each["column"].nunique() > 1:
            ax.scatter(
                100 * each["level"],
                100 * each["coverage"],
                color=THEME.observed,
                s=12,
                linewidth=0,
                alpha=0.7,
                label="single columns",
            )
        ax.plot(
            100 * whole["level"],
            100 * whole["coverage"],
            color=THEME.filled,
            marker="o",
            linewidth=1.6,
            label="all columns",
        )
        ax.set(xlim=(42, 98), ylim=(0, 103), xticks=[50, 80, 90])
        ax.set_xlabel("interval, %", color=THEME.ink, fontsize=9)
        ax.set_ylabel("hidden values inside, %", color=THEME.ink, fontsize=9)
        ax.tick_params(colors=THEME.ink, labelsize=8.5)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set(color=THEME.ink, linewidth=0.8)
        ax.set_facecolor("none")
        # Points may lie anywhere: the legend stands above them.
        ax.legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=3,
            frameon=False,
            fontsize=8.5,
            labelcolor=THEME.ink,
        )

    return figure("coverage", "Coverage of the intervals", draw, size=(4.2, 3.4))
