"""Why the reason for a hole matters: MCAR, MAR and MNAR.

Half of the weights are hidden in four ways: by lot, by height, by the weight itself,
and for the heaviest. By lot, even the rows that are left tell the mean. By height they
do not, but imputing from the height corrects most of it. Where the weight itself
decides, no imputer can know, and by how much the filled values are wrong nobody can
tell.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from macfm import MACFMImputer
from macfm.judge import mechanisms
from macfm.plot import THEMES

THEME = THEMES["light"]


def people(n: int = 600) -> pd.DataFrame:
    """Height and weight of made-up people."""
    rng = np.random.default_rng(1)
    height = rng.normal(170, 9, n)
    weight = 70 + 1.0 * (height - 170) + rng.normal(0, 7, n)
    return pd.DataFrame({"height": height, "weight": weight})


def masks(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Hide half of the weights, each time for another reason."""
    weight, rate = table[["weight"]], 0.5
    by_height = 1 / (1 + np.exp(-0.12 * (table["height"] - 170)))
    own = mechanisms.mnar_self(weight, rate, seed=3)
    heaviest = mechanisms.mnar_quantile(weight, rate, seed=0)
    lot = np.random.default_rng(0).uniform(size=len(table))
    return {
        "MCAR: by lot": mechanisms.mcar(weight, rate, seed=0)["weight"].to_numpy(),
        "MAR: by height": (lot < by_height).to_numpy(),
        "MNAR: by the weight": own["weight"].to_numpy(),
        "MNAR: the heaviest": heaviest["weight"].to_numpy(),
    }


def panel(ax: Axes, table: pd.DataFrame, hidden: np.ndarray) -> None:
    """Draw what is seen, what is hidden, and three means of the weight."""
    seen = table.assign(weight=table["weight"].mask(hidden))
    imputer = MACFMImputer(preset="fast", max_steps=150, random_state=0, verbose=False)
    filled = imputer.fit_transform(seen)
    style = {"ms": 4, "mew": 0}
    ax.plot(
        "height", "weight", "o", data=seen, color=THEME.observed, label="_", **style
    )
    ax.plot(
        "height",
        "weight",
        "o",
        data=table[hidden],
        color=THEME.rule,
        label="_",
        **style,
    )
    lines = (
        ("all", table["weight"].mean(), THEME.ink, "-"),
        ("seen", seen["weight"].mean(), THEME.palette[0], "--"),
        ("imputed", filled["weight"].mean(), THEME.filled, "-"),
    )
    for name, level, colour, dash in lines:
        ax.axhline(level, color=colour, ls=dash, lw=1.8, label=f"mean: {name}")
    ax.spines[["top", "right"]].set_visible(False)


def plot(table: pd.DataFrame) -> Figure:
    """Draw one panel a mechanism."""
    figure, axes = plt.subplots(
        1, 4, figsize=(11, 3.5), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (name, hidden) in zip(axes, masks(table).items(), strict=True):
        panel(ax, table, hidden)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("height, cm")
    axes[0].set_ylabel("weight, kg")
    handles, labels = axes[0].get_legend_handles_labels()
    dots = [
        axes[0].plot([], [], "o", color=colour)[0]
        for colour in (THEME.observed, THEME.rule)
    ]
    figure.legend(
        [*dots, *handles],
        ["seen", "hidden", *labels],
        loc="outside lower center",
        ncols=5,
        frameon=False,
    )
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/mechanisms.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    plot(people()).savefig(target, dpi=150)
