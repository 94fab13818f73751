"""Pool an estimate over several completed tables (Rubin's rules).

The dose is missing more often where the response is low, so the complete rows tell a
wrong slope. Filling in means does not help, and filling in single best guesses makes
it too steep and too sure. Each of 20 draws is analysed as if it were complete; the
estimates are averaged, and their scatter is added to the variance.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from macfm import MACFMImputer
from macfm.plot import THEMES

THEME = THEMES["light"]
SLOPE = 1.0


def trial(n: int = 800) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table whose slope is known, and the same with holes in the dose."""
    rng = np.random.default_rng(4)
    dose = rng.normal(size=n)
    weight = 0.5 * dose + rng.normal(0, 0.9, n)
    response = SLOPE * dose + rng.normal(0, 1, n)
    table = pd.DataFrame({"dose": dose, "weight": weight, "response": response})
    lost = rng.uniform(size=n) < 1 / (1 + np.exp(2 * response + 0.3))
    return table, table.assign(dose=table["dose"].mask(lost))


def slope(table: pd.DataFrame) -> tuple[float, float]:
    """Least-squares slope of the response on the dose, and its variance."""
    x = table["dose"] - table["dose"].mean()
    y = table["response"] - table["response"].mean()
    estimate = (x @ y) / (x @ x)
    residual = y - estimate * x
    return estimate, (residual @ residual) / (len(x) - 2) / (x @ x)


def pool(results: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Rubin's rules: the pooled estimate, its variance and degrees of freedom."""
    estimates, variances = np.array(results).T
    m = len(results)
    within, between = variances.mean(), estimates.var(ddof=1)
    total = within + (1 + 1 / m) * between
    freedom = (m - 1) * (1 + within / ((1 + 1 / m) * between)) ** 2
    return estimates.mean(), total, freedom


def analyse() -> dict[str, tuple[float, float, float]]:
    """Estimate the slope in five ways."""
    complete, table = trial()
    n = len(table)
    means = table.fillna({"dose": table["dose"].mean()})
    imputer = MACFMImputer(preset="fast", max_steps=500, random_state=0, verbose=False)
    guess = imputer.fit_transform(table)
    draws = imputer.sample(table, n_draws=20)
    return {
        "all doses known": (*slope(complete), n - 2),
        "complete rows only": (*slope(table.dropna()), len(table.dropna()) - 2),
        "column mean": (*slope(means), n - 2),
        "one best guess": (*slope(guess), n - 2),
        "20 draws, pooled": pool([slope(draw) for draw in draws]),
    }


def plot(found: dict[str, tuple[float, float, float]]) -> Figure:
    """Draw the estimates with their 95 % intervals."""
    figure, ax = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
    ax.axvline(SLOPE, color=THEME.ink, lw=1, ls=":")
    ax.text(SLOPE, -0.55, "true slope", ha="center", color=THEME.ink)
    for place, (name, (estimate, variance, freedom)) in enumerate(found.items()):
        half = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
        colour = THEME.filled if "pooled" in name else THEME.observed
        colour = THEME.ink if "known" in name else colour
        ax.plot([estimate - half, estimate + half], [place, place], color=colour, lw=3)
        ax.plot(estimate, place, "o", color=colour, ms=9)
        print(f"{name:<20} {estimate:.3f} ± {half:.3f}")
    ax.set_yticks(range(len(found)), list(found))
    ax.set_ylim(len(found) - 0.5, -0.6)
    ax.set(xlabel="slope of the response on the dose, with its 95 % interval")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/pooling.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    plot(analyse()).savefig(target, dpi=150)
