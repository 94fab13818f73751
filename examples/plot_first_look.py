"""A first look at what is missing from the Titanic's passenger list.

Before anything is filled: where the holes are, and whether they can be predicted from
the rest of the table. Nobody without a lifeboat has a boat number, and it is mostly the
first class whose cabins are known, so dropping incomplete rows would leave a table of
rich survivors.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from impute_table import IDENTIFIERS, load_passengers
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import macfm
from macfm import plot
from macfm.profile import Dependence

THEME = plot.THEMES["light"]


def draw_dependence(ax: Axes, dependence: Dependence) -> None:
    """Show how well the holes of each column are predicted, and by what."""
    found = sorted(dependence.columns, key=lambda column: column.auc)
    place = np.arange(len(found))
    for y, column in zip(place, found, strict=True):
        ax.plot([column.low, column.high], [y, y], color=THEME.filled, lw=2.5)
        ax.plot(column.auc, y, "o", color=THEME.filled, ms=7)
        if column.drivers:
            driver = f"most of all by {column.drivers[0].column}"
            ax.annotate(driver, (0.515, y - 0.32), color=THEME.ink, fontsize=8.5)
    ax.axvline(0.5, color=THEME.ink, lw=0.8, ls=":")
    ax.set_yticks(place, [column.column for column in found])
    ax.set(
        xlabel="AUC: 0.5 is guessing, 1 is certainty",
        xlim=(0.47, 1.02),
        ylim=(-0.6, len(found) - 0.4),
    )
    ax.set_title("Can the holes be predicted?", loc="left", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)


def look(passengers: pd.DataFrame) -> Figure:
    """Draw the map of the holes and what they depend on."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 4.2), width_ratios=(1.5, 1), layout="constrained"
    )
    plot.missing(passengers, sort=True, ax=left)
    found = macfm.profile(passengers, ignore=IDENTIFIERS)
    draw_dependence(right, found.dependence)
    for finding in found.findings:
        print(finding.message)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/first_look.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    look(load_passengers(drop=["destination"])).savefig(target, dpi=150)
