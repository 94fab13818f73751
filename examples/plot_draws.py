"""How sure a filled value is, and whether its interval can be trusted.

One filled number hides how much is unknown. Many draws give each hole an interval.
Whether such intervals hold what they promise is seen on cells that were hidden on
purpose: of the 90 % intervals, about nine in ten should hold the hidden value. Here
they hold somewhat more than they promise, so the draws are too wide, not too narrow.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from macfm import MACFMImputer
from macfm.judge import mechanisms
from macfm.plot import THEMES

THEME = THEMES["light"]
COLUMN = "mean smoothness"
# Of 39 draws, the k-th smallest and the k-th largest enclose 1 - 2k/40 of what one
# more draw would be: whole percentages without interpolation.
N_DRAWS = 39


def draw_hidden() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sorted draws of hidden cells, (39, n), their truth and column."""
    table = load_breast_cancer(as_frame=True).data.iloc[:, :10]
    hidden = mechanisms.mcar(table, 0.3, seed=1)
    train, test = slice(0, 400), slice(400, None)
    imputer = MACFMImputer(preset="fast", max_steps=400, random_state=0, verbose=False)
    imputer.fit(table.mask(hidden)[train])
    draws = imputer.sample(table.mask(hidden)[test], n_draws=N_DRAWS)
    rows, columns = np.nonzero(hidden[test].to_numpy())
    values = np.sort([draw.to_numpy()[rows, columns] for draw in draws], axis=0)
    return values, table[test].to_numpy()[rows, columns], columns


def held(values: np.ndarray, truth: np.ndarray, k: int) -> np.ndarray:
    """Whether the range from the k-th smallest to the k-th largest holds the truth."""
    return (values[k - 1] <= truth) & (truth <= values[-k])


def plot(values: np.ndarray, truth: np.ndarray, columns: np.ndarray) -> Figure:
    """Draw the intervals of one column, and the calibration of all."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 3.9), width_ratios=(1.5, 1), layout="constrained"
    )
    names = load_breast_cancer(as_frame=True).data.columns
    one = columns == list(names).index(COLUMN)
    order = np.argsort(np.median(values[:, one], axis=0))
    cells, true = values[:, one][:, order], truth[one][order]
    inside = held(cells, true, 2)
    place = np.arange(len(true))
    left.vlines(place, cells[1], cells[-2], color=THEME.observed, lw=3, alpha=0.6)
    left.plot(place[inside], true[inside], "o", ms=4, color=THEME.ink, label="inside")
    left.plot(
        *(place[~inside], true[~inside], "X"),
        ms=7,
        color=THEME.filled,
        label="outside",
    )
    left.set(
        title="90 % intervals, and the values that were hidden",
        xlabel=f"{len(true)} hidden cells of new rows, by the median of their draws",
        xticks=[],
        ylabel=COLUMN,
    )
    left.legend(frameon=False, loc="upper left")

    ks = np.arange(1, 20)
    promised = 1 - 2 * ks / (N_DRAWS + 1)
    kept = [held(values, truth, k).mean() for k in ks]
    right.plot([0, 100], [0, 100], ":", color=THEME.ink, lw=1)
    right.plot(100 * promised, 100 * np.array(kept), "o-", color=THEME.filled, ms=4)
    right.set(
        title="All ten columns",
        xlabel="probability of the interval, %",
        ylabel="hidden values inside, %",
        xlim=(0, 100),
        ylim=(0, 100),
        aspect="equal",
    )
    for ax in (left, right):
        ax.set_title(ax.get_title(), fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/draws.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    plot(*draw_hidden()).savefig(target, dpi=150)
