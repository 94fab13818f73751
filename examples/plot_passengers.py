"""How old were the passengers of the Titanic whose age nobody wrote down.

Many completed tables instead of one: the spread of a passenger's age over them says how
sure it is. Children are recognised by their family and ticket, adults only roughly.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from impute_table import IDENTIFIERS, load_passengers
from matplotlib.figure import Figure

from macfm import MACFMImputer

OBSERVED, FILLED, INK = "#9aa5b1", "#d55e00", "#22303c"


def draw_ages() -> tuple[np.ndarray, np.ndarray]:
    """Return the observed ages and 100 draws of the missing ones, (100, n)."""
    passengers = load_passengers()
    imputer = MACFMImputer(
        ordinal={"class": [1, 2, 3]},
        bounds={"age": (0, None), "fare": (0, None)},
        numeric_transform="auto",
        ignore=IDENTIFIERS,
        max_steps=1200,  # under a minute on one core
        random_state=0,
    ).fit(passengers)
    missing = passengers["age"].isna()
    draws = imputer.sample(passengers[missing], n_draws=100)
    ages = np.stack([draw["age"].to_numpy() for draw in draws])
    return passengers["age"][~missing].to_numpy(), ages


def plot(observed: np.ndarray, ages: np.ndarray) -> Figure:
    """Compare the distributions, and show the interval of each passenger."""
    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.edgecolor": INK})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 3.6), width_ratios=(1, 1.35), layout="constrained"
    )
    bins = np.arange(0, 85, 5)
    style = {"bins": bins, "density": True}
    left.hist(observed, color=OBSERVED, alpha=0.75, label="observed", **style)
    left.hist(
        ages.ravel(), histtype="step", lw=2.2, color=FILLED, label="filled in", **style
    )
    left.set(xlabel="age", ylabel="share a year of age", title="All passengers")
    left.legend(frameon=False)

    order = np.argsort(ages.mean(axis=0))
    low, high = np.quantile(ages[:, order], [0.05, 0.95], axis=0)
    place = np.arange(len(order))
    right.vlines(place, low, high, color=FILLED, alpha=0.35, lw=1.6)
    right.plot(place, ages.mean(axis=0)[order], ".", ms=4, color=INK, label="mean")
    right.plot([], [], color=FILLED, alpha=0.5, lw=3, label="90 % interval")
    right.set(
        xlabel=f"{len(order)} passengers of unknown age, by mean",
        ylabel="age",
        title="How sure each one is",
        xlim=(-3, len(order) + 2),
        ylim=(0, None),
    )
    right.legend(frameon=False, loc="upper left")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/passengers.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    plot(*draw_ages()).savefig(target, dpi=150)
