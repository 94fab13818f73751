"""Fit once, save, and fill rows elsewhere, one at a time.

The model is one file of weights, tables and JSON; loading it runs no code. The loaded
imputer gives the same values to the last bit on the same machine, whether rows come
together or alone. `describe_model` says what the file holds of the training rows: here
two numbers a column, and what the weights have learned.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from macfm import MACFMImputer, describe_model
from macfm.judge import mechanisms
from macfm.plot import THEMES

THEME = THEMES["light"]


def months() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Wines of two months, a fifth of the measurements missing."""
    table = load_wine(as_frame=True).data.iloc[:, :10]
    table = table.mask(mechanisms.mcar(table, 0.2, seed=0))
    return table[::2], table[1::2]


def draw_voyage(
    ax: Axes, imputer: MACFMImputer, loaded: MACFMImputer, new: pd.DataFrame
) -> None:
    """Compare new rows filled together here with the same filled singly there."""
    here = imputer.transform(new)
    there = pd.concat([loaded.transform(new.iloc[[i]]) for i in range(len(new))])
    assert here.equals(there)  # to the last bit
    gone = new.isna().to_numpy()
    z_here, z_there = ((t - new.mean()) / new.std() for t in (here, there))
    ax.axline((0, 0), slope=1, color=THEME.observed, lw=1)
    ax.plot(
        *(z_here.to_numpy()[gone], z_there.to_numpy()[gone], "o"),
        color=THEME.filled,
        ms=5,
        alpha=0.6,
        mew=0,
    )
    ax.set(
        title=f"{gone.sum()} filled cells of new rows",
        xlabel="the fitted imputer, all rows at once",
        ylabel="the loaded one, row by row",
        aspect="equal",
    )


def draw_contents(ax: Axes, contents: dict, train: pd.DataFrame) -> None:
    """Show what the file holds of each column, over values that it does not hold."""
    rng = np.random.default_rng(0)
    for place, column in enumerate(contents["columns"]):
        mean, std = column["mean"], column["std"]
        z = (train[column["name"]].dropna() - mean) / std
        jitter = place + rng.uniform(-0.25, 0.25, len(z))
        ax.plot(z, jitter, "o", ms=3, color=THEME.rule, mew=0, zorder=0)
        ax.plot([-1, 1], [place, place], color=THEME.filled, lw=2.5)
        ax.plot(0, place, "o", color=THEME.filled, ms=6)
        ax.text(3.9, place, f"{mean:.4g} ± {std:.2g}", va="center", fontsize=8.5)
    ax.plot([], [], "o-", color=THEME.filled, label="in the file: mean, deviation")
    ax.plot([], [], "o", color=THEME.rule, label="not in the file: the values")
    ax.set_yticks(range(train.shape[1]), train.columns)
    ax.invert_yaxis()
    size = contents["file_bytes"] / 1000
    weights = contents["training"]["n_weights"]
    ax.set(
        title=f"wine.macfm: {size:.0f} kB, {weights:,} weights",
        xlim=(-3.2, 5.6),
        xticks=[],
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False)
    ax.tick_params(axis="y", length=0, labelsize=8.5)


def ship(folder: Path) -> Figure:
    """Fit, save, load, fill, and draw."""
    january, february = months()
    imputer = MACFMImputer(
        preset="fast", d_model=64, max_steps=200, random_state=0, verbose=False
    ).fit(january)
    imputer.save(folder / "wine.macfm")
    loaded = MACFMImputer.load(folder / "wine.macfm")
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 4.2), width_ratios=(1, 1.25), layout="constrained"
    )
    draw_voyage(left, imputer, loaded, february)
    draw_contents(right, describe_model(folder / "wine.macfm"), january)
    for ax in (left, right):
        ax.set_title(ax.get_title(), fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    right.spines[["left", "bottom"]].set_visible(False)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/save_and_ship.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        ship(Path(folder)).savefig(target, dpi=150)
