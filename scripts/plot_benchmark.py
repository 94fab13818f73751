"""Draw the main benchmark in one picture, from its records.

    python scripts/plot_benchmark.py

Reads benchmarks/main/*.jsonl and writes docs/images/benchmark.png: the error of each
method on hidden cells of rows it was not fitted on, over that of the column mean, as
the geometric mean over the masks, then the tables, that all of them have; a point for
each mechanism.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import matplotlib.pyplot as plt

from macfm.bench.records import latest, read_records
from macfm.plot import THEMES

ROOT = Path(__file__).resolve().parents[1]
NAMES = {
    "macfm-median": "MACFM, median",
    "macfm": "MACFM, mean (default)",
    "macfm-paper": "MACFM as published",
    "missforest": "MissForest",
    "miceforest": "miceforest",
    "hyperimpute": "HyperImpute",
    "gcimpute": "gcimpute",
    "em": "EM",
    "mice": "MICE",
    "softimpute": "SoftImpute",
    "knn": "kNN",
    "median": "column median",
}
MARKS = {"mcar": "o", "mar": "s", "mnar": "D"}
OURS, OTHERS = "#d55e00", "#0072b2"


def ratios(score: str) -> dict[tuple[str, str], float]:
    """Return the error over the mean's by method and mechanism."""
    errors = {}
    for path in sorted((ROOT / "benchmarks" / "main").glob("*.jsonl")):
        for record in latest(read_records(path)):
            if record["ablation"] is None and record["status"] == "ok":
                place = (record["mechanism"], record["dataset"], record["mask"])
                errors[record["method"], place] = record["scores"]["out"][score]
    shared = set.intersection(
        *({place for method, place in errors if method == name} for name in NAMES)
    )
    print(len(shared), "cells:", *sorted({place[1] for place in shared}))
    by_mask, by_table = defaultdict(list), defaultdict(list)
    for (method, place), error in errors.items():
        if place in shared:
            ratio = math.log(error / errors["mean", place])
            by_mask[method, *place[:2]].append(ratio)
    for (method, mechanism, _), logs in by_mask.items():
        by_table[method, mechanism].append(fmean(logs))
    return {key: math.exp(fmean(logs)) for key, logs in by_table.items()}


def main() -> None:
    """Draw two panels, one for each error."""
    ink, rule = THEMES["light"].ink, THEMES["light"].rule
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.9), sharey=True)
    titles = {
        "mae": "MAE over the column mean's",
        "rmse": "RMSE over the column mean's",
    }
    for ax, (score, title) in zip(axes, titles.items(), strict=True):
        found = ratios(score)
        for y, (method, name) in enumerate(NAMES.items()):
            color = OURS if name.startswith("MACFM") else OTHERS
            values = [found[method, mechanism] for mechanism in MARKS]
            ax.plot([min(values), max(values)], [y, y], color=color, lw=1, zorder=2)
            for value, mark in zip(values, MARKS.values(), strict=True):
                ax.plot(value, y, mark, color=color, ms=5, mec="white", mew=0.5)
            print(f"{score:<4} {name:<22}", *(f"{value:.3f}" for value in values))
        ax.axvline(1, color=ink, lw=0.8)
        ax.grid(axis="x", color=rule, lw=0.6)
        ax.set_axisbelow(True)
        ax.set_title(title, loc="left", fontsize=10, color=ink)
        ax.tick_params(length=0, labelsize=9, colors=ink)
        ax.spines[:].set_visible(False)
    axes[0].set_yticks(range(len(NAMES)), NAMES.values())
    axes[0].invert_yaxis()
    for label in axes[0].get_yticklabels():
        label.set_fontweight("bold" if label.get_text().startswith("MACFM") else None)
    for mechanism, mark in MARKS.items():
        axes[0].plot([], [], mark, color=ink, ms=5, label=mechanism.upper())
    legend = axes[0].legend(
        loc="upper right",
        bbox_to_anchor=(0.96, 1),
        fontsize=9,
        labelcolor=ink,
        framealpha=1,
        edgecolor="none",
    )
    legend.set_zorder(3)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "benchmark.png", dpi=150)


if __name__ == "__main__":
    main()
