"""Dates that stay dates, rain that is never negative.

A weather station lost the date of some readings and the rain of others. Filled dates
are whole days, found from temperature and daylight. With `bounds` they lie in the year
that the table covers, and no draw of the rain falls below nought.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.dates import DateFormatter, MonthLocator
from matplotlib.figure import Figure

from macfm import MACFMImputer
from macfm.plot import THEMES

THEME = THEMES["light"]
BOUNDS = {"rain": (0, None), "date": ("2024-03-01", "2025-02-28")}


def readings(n: int = 700) -> pd.DataFrame:
    """Make readings of one year: date, temperature, daylight, cloud and rain."""
    rng = np.random.default_rng(0)
    day = np.sort(rng.integers(0, 365, n))
    year = 2 * np.pi * day / 365
    cloud = rng.beta(2, 2, n)
    return pd.DataFrame(
        {
            "date": pd.Timestamp("2024-03-01") + pd.to_timedelta(day, unit="D"),
            # The warmest weeks come a month after the longest days.
            "temperature": 11 + 9 * np.sin(year - 0.6) + rng.normal(0, 2.0, n),
            "daylight": 12 + 4.5 * np.sin(year - 0.05) + rng.normal(0, 0.1, n),
            "cloud": cloud,
            "rain": rng.gamma(1.0, 0.3 + 6 * cloud**2),
        }
    )


def draw_rain(table: pd.DataFrame, bounds: dict | None) -> tuple[np.ndarray, list]:
    """Return draws of the missing rain, and the completed tables."""
    imputer = MACFMImputer(
        bounds=bounds, preset="fast", max_steps=400, random_state=0, verbose=False
    ).fit(table)
    draws = imputer.sample(table[table.isna().any(axis=1)], n_draws=10)
    gone = table["rain"].isna()[table.isna().any(axis=1)].to_numpy()
    return np.concatenate([draw["rain"].to_numpy()[gone] for draw in draws]), draws


def plot(truth: pd.DataFrame) -> Figure:
    """Draw filled dates against the true ones, and the rain with and without bounds."""
    rng = np.random.default_rng(1)
    table = truth.copy()
    table.loc[rng.uniform(size=len(table)) < 0.15, "date"] = pd.NaT
    table.loc[rng.uniform(size=len(table)) < 0.25, "rain"] = np.nan
    free, _ = draw_rain(table, None)
    bound, draws = draw_rain(table, BOUNDS)

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 4.0), width_ratios=(1.1, 1), layout="constrained"
    )
    lost = table.index[table["date"].isna()]
    for draw in draws:
        left.plot(
            *(truth.loc[lost, "date"], draw.loc[lost, "date"], "."),
            color=THEME.filled,
            ms=5,
            alpha=0.3,
            mew=0,
        )
    ends = [truth["date"].min(), truth["date"].max()]
    left.plot(ends, ends, ":", color=THEME.ink, lw=1)
    left.plot([], [], "o", color=THEME.filled, ms=5, label="10 draws of each")
    left.set(xlabel="true date", ylabel="filled date", title="Dates that were lost")
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_locator(MonthLocator(bymonth=(3, 6, 9, 12)))
        axis.set_major_formatter(DateFormatter("%b %Y"))
    left.legend(frameon=False, loc="upper left")

    bins = np.arange(-6, 20, 1)
    parts = (
        (table["rain"].dropna(), "observed", {"color": THEME.pale}),
        (free, "filled, no bounds", {"color": THEME.palette[0], "histtype": "step"}),
        (bound, "filled, bounds", {"color": THEME.filled, "histtype": "step"}),
    )
    for values, label, look in parts:
        weights = np.full(len(values), 100 / len(values))
        right.hist(values, bins, weights=weights, lw=2, label=label, **look)
    right.axvline(0, color=THEME.ink, lw=0.8)
    right.set(xlabel="rain, mm", ylabel="% of values", title="Rain that was lost")
    right.legend(frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "output/dates_and_bounds.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    plot(readings()).savefig(target, dpi=150)
