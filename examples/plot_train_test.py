"""Impute inside cross-validation, and see what a leak would promise.

In a pipeline the imputer learns from the training rows of each fold only, and never
sees what is to be predicted; for prediction it gains nothing over column means here.
Imputing the whole table once, with the outcome as one of its columns, looks far better
and is worthless: the outcome of the test rows has been written into their features.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from macfm import MACFMImputer
from macfm.judge import mechanisms
from macfm.plot import THEMES

THEME = THEMES["light"]


def imputer() -> MACFMImputer:
    return MACFMImputer(preset="fast", max_steps=150, random_state=0, verbose=False)


def scores() -> dict[str, np.ndarray]:
    """R² of five folds, by what is done about the holes."""
    data = load_diabetes(as_frame=True)
    table = data.data.mask(mechanisms.mcar(data.data, 0.5, seed=0))
    folds = KFold(5, shuffle=True, random_state=0)

    def score(model: object, features: pd.DataFrame) -> np.ndarray:
        return cross_val_score(model, features, data.target, cv=folds)

    leaky = imputer().fit_transform(table.assign(outcome=data.target))
    return {
        "column means,\nridge regression": score(
            make_pipeline(SimpleImputer(), RidgeCV()), table
        ),
        "macfm in the pipeline,\nridge regression": score(
            make_pipeline(imputer(), RidgeCV()), table
        ),
        "no imputation,\nboosted trees": score(
            HistGradientBoostingRegressor(max_depth=3, max_iter=50), table
        ),
        "leak: imputed beforehand\nwith the outcome": score(
            RidgeCV(), leaky.drop(columns="outcome")
        ),
    }


def plot(found: dict[str, np.ndarray]) -> Figure:
    """Draw the folds and their mean."""
    figure, ax = plt.subplots(figsize=(8.4, 3.4), layout="constrained")
    for place, (name, values) in enumerate(found.items()):
        leak = name.startswith("leak")
        colour = THEME.observed if leak else THEME.filled
        ax.plot(values, [place] * len(values), "o", color=colour, alpha=0.5, ms=6)
        ax.plot(values.mean(), place, "|", color=THEME.ink, ms=22, mew=2.5)
        print(name.replace("\n", " "), np.round(values.mean(), 3))
    ax.set_yticks(range(len(found)), list(found))
    ax.get_yticklabels()[-1].set_color(THEME.observed)
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.set(
        xlabel="R² on five held-out folds, and their mean; half the cells are missing"
    )
    ax.grid(axis="x", color=THEME.rule, lw=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/train_test.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    plot(scores()).savefig(target, dpi=150)
