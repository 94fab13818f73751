"""Fill in categories, and see which of them are in doubt.

The species of two irises in five is hidden. It is coded 0, 1, 2, and those are names,
not quantities, which `categorical` says. Draws that disagree mark the flowers that lie
where two species meet; there the filled name is a guess, elsewhere it is as good as
known.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from macfm import MACFMImputer
from macfm.plot import THEMES

THEME = THEMES["light"]
SPECIES = ("setosa", "versicolor", "virginica")
COLOURS = (THEME.palette[0], THEME.palette[1], THEME.palette[2])
X, Y = "petal length (cm)", "petal width (cm)"


def fill() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Return the table with holes, the filled one, and the shares of the draws."""
    rng = np.random.default_rng(0)
    flowers = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
    flowers["species"] = flowers["species"].astype("Int64")
    flowers.loc[rng.uniform(size=len(flowers)) < 0.4, "species"] = pd.NA
    flowers.loc[rng.uniform(size=len(flowers)) < 0.1, "sepal width (cm)"] = np.nan
    imputer = MACFMImputer(
        categorical=["species"],
        preset="fast",
        max_steps=400,
        random_state=0,
        verbose=False,
    )
    filled = imputer.fit_transform(flowers)
    draws = imputer.sample(flowers, n_draws=50)
    shares = np.stack(
        [np.mean([d["species"] == s for d in draws], 0) for s in (0, 1, 2)]
    )
    return flowers, filled, shares


def plot(flowers: pd.DataFrame, filled: pd.DataFrame, shares: np.ndarray) -> Figure:
    """Draw the flowers, and how the draws of the unknown ones divide."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 4.2), width_ratios=(1.25, 1), layout="constrained"
    )
    gone = flowers["species"].isna().to_numpy()
    doubt = shares.max(axis=0) < 0.9
    for code, (name, colour) in enumerate(zip(SPECIES, COLOURS, strict=True)):
        mine = filled["species"].to_numpy() == code
        for rows, face, label in (
            (mine & ~gone, colour, name),
            (mine & gone, "none", None),
        ):
            left.scatter(
                *(flowers.loc[rows, X], flowers.loc[rows, Y]),
                facecolors=face,
                edgecolors=colour,
                s=34,
                lw=1.5,
                label=label,
                alpha=0.85,
            )
    unsure = gone & doubt
    left.scatter(
        *(flowers.loc[unsure, X], flowers.loc[unsure, Y]),
        s=170,
        facecolors="none",
        edgecolors=THEME.ink,
        lw=1.2,
        label="in doubt",
    )
    left.scatter([], [], facecolors="none", edgecolors=THEME.ink, s=34, label="filled")
    left.set(xlabel=X, ylabel=Y, title="Known and filled species")
    left.legend(frameon=False, loc="upper left")

    order = np.flatnonzero(gone)[np.argsort(shares[:, gone].T @ [0, 1, 2])]
    base = np.zeros(len(order))
    for share, colour in zip(100 * shares[:, order], COLOURS, strict=True):
        right.bar(np.arange(len(order)), share, bottom=base, color=colour, width=1.0)
        base += share
    right.set(
        title="How 50 draws divide",
        xlabel=f"{len(order)} flowers of hidden species",
        ylabel="% of draws",
        xticks=[],
        ylim=(0, 100),
        xlim=(-0.5, len(order) - 0.5),
    )
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/categories.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    plot(*fill()).savefig(target, dpi=150)
