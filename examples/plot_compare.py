"""Which imputer is best? Hide cells and see.

A quarter of the cells of three tables are hidden, five imputers fill them, and the
error is compared with that of filling in the column mean. The order changes from table
to table: linear regressions do well where columns are nearly linear in each other, and
learn nothing from a curve. `macfm compare` does this on a table of yours.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_wine

from macfm.judge import mechanisms
from macfm.judge.methods import Method, make_method
from macfm.plot import THEMES

THEME = THEMES["light"]


def helix(n: int = 600) -> pd.DataFrame:
    """Points on a screw line, with a little noise in each of four columns."""
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 4 * np.pi, n)
    points = [np.cos(turn), np.sin(turn), turn / 4, np.cos(2 * turn)]
    table = np.column_stack(points) + rng.normal(0, 0.05, (n, 4))
    return pd.DataFrame(table, columns=["x", "y", "height", "twice"])


TABLES = {
    "wine": load_wine(as_frame=True).data,
    "tumours": load_breast_cancer(as_frame=True).data.iloc[:, :10],
    "screw line": helix(),
}


def imputers() -> dict[str, tuple[Method, str, str]]:
    """The imputers, each with its mark and colour."""
    fast = {"preset": "fast", "max_steps": 300}
    few = {"n_trees": 30, "max_iter": 3}
    return {
        "column mean": (make_method("mean"), "|", THEME.observed),
        "nearest rows": (make_method("knn"), "s", THEME.palette[0]),
        "regressions": (make_method("mice"), "D", THEME.palette[2]),
        "forests": (make_method("missforest", **few), "^", THEME.palette[3]),
        "macfm": (make_method("macfm", **fast), "o", THEME.filled),
    }


def error(method: Method, table: pd.DataFrame) -> float:
    """Root mean squared error on hidden cells, in standard deviations."""
    hidden = mechanisms.mcar(table, 0.25, seed=0)
    incomplete = table.mask(hidden)
    filled = method.fit(incomplete).impute(incomplete)
    off = (filled - table) / incomplete.std()
    return np.sqrt(np.mean(off.to_numpy()[hidden] ** 2))


def compare() -> Figure:
    """Draw the errors of every imputer on every table."""
    figure, ax = plt.subplots(figsize=(8.4, 3.6), layout="constrained")
    for place, (table_name, table) in enumerate(TABLES.items()):
        ax.axhline(place + 0.5, color=THEME.rule, lw=1, zorder=0)
        mean = error(make_method("mean"), table)
        for k, (name, (method, mark, colour)) in enumerate(imputers().items()):
            relative = error(method, table) / mean
            look = {"ms": 14, "mew": 2.5} if mark == "|" else {"ms": 8, "alpha": 0.9}
            label = name if place == 0 else None
            ax.plot(
                relative, place + 0.1 * (k - 2), mark, color=colour, label=label, **look
            )
            print(f"{table_name:<12} {name:<14} {relative:.2f}")
    sizes = [f"{name}\n{t.shape[0]} × {t.shape[1]}" for name, t in TABLES.items()]
    ax.set_yticks(range(len(sizes)), sizes)
    ax.set(
        xlabel="error on hidden cells, column mean = 1 (smaller is better)",
        xlim=(0.4, 1.05),
        ylim=(len(sizes) - 0.5, -0.5),
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=5, frameon=False)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/compare.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    compare().savefig(target, dpi=150)
