"""The columns that are missing together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from macfm.plot._style import (
    SENTENCE,
    Theme,
    dress,
    label_columns,
    new_axes,
    say,
    theme_of,
    title,
)
from macfm.profile import missing_patterns, percent
from macfm.table import as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 30


def patterns(
    df: Any,
    *,
    n: int = 12,
    ax: Axes | None = None,
    style: str | Theme = "light",
) -> Axes:
    """Draw the most frequent missing patterns and how many rows have each.

    Parameters
    ----------
    df : DataFrame (pandas or polars), pyarrow Table or float array
        The table. Columns without holes are left out; of more than 30 with holes,
        those with the most are shown.
    n : int, default=12
        How many patterns to draw.
    ax : Axes, default=None
        Where to draw; a new figure when None. The bars stand in an inset to its right.
    style : {"light", "dark"} or Theme, default="light"
        The colours.

    Returns
    -------
    Axes
        Those of the patterns; the bars are ``ax.child_axes[0]``.
    """
    theme = theme_of(style)
    table = as_table(df)
    rates = (~table.observed).mean(axis=0) if table.n_rows else np.zeros(0)
    most = np.argsort(-rates, kind="stable")[:MOST_COLUMNS]
    shown = [j for j in most if rates[j] > 0]
    found = missing_patterns(df, n_patterns=n)
    rows = found.most_frequent
    bar_share = 0.32 if len(shown) > 8 else 0.6
    width = max(4.0, min(0.62 * len(shown), 10))
    size = (width * (1 + bar_share) + 1.2, 1.6 + 0.3 * max(len(rows), 3))
    figure, ax = new_axes(ax, theme, size=size if shown else SENTENCE)
    if not shown:
        return say(ax, theme, f"Nothing is missing in {table.n_rows:,} rows.")

    place = {str(table.columns[j]): x for x, j in enumerate(shown)}
    for y, row in enumerate(rows):
        gone = {place[str(name)] for name in row.missing if str(name) in place}
        for x in range(len(shown)):
            colour = theme.filled if x in gone else theme.pale
            ax.add_patch(_cell(x, y, colour))
    ax.set(xlim=(-0.5, len(shown) - 0.5), ylim=(len(rows) - 0.5, -0.5), yticks=[])
    dress(ax, theme)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    inches = figure.get_size_inches()[0] * ax.get_position().width / (1 + bar_share)
    names = [table.columns[j] for j in shown]
    label_columns(ax, names, rates[shown], width=inches / len(shown))

    bars = ax.inset_axes((1.02, 0, bar_share, 1), sharey=ax)
    counts = [row.n_rows for row in rows]
    colours = [theme.filled if row.missing else theme.observed for row in rows]
    bars.barh(range(len(rows)), counts, height=0.7, color=colours)
    for y, row in enumerate(rows):
        bars.annotate(
            f"{row.n_rows:,} ({percent(row.share)})",
            (row.n_rows, y),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            color=theme.ink,
            fontsize=8.5,
        )
    room = min(1.1 / (inches * bar_share), 0.75)  # for the labels
    bars.set_xlim(0, max(counts) / (1 - room))
    dress(bars, theme)
    bars.set_axis_off()

    covered = sum(row.share for row in rows)
    many = (
        f"{len(rows)} of {found.n_patterns:,} patterns, {percent(covered)} of the rows"
    )
    every = f"all {found.n_patterns} patterns"
    title(
        ax,
        theme,
        f"Missing together: {many if found.n_patterns > len(rows) else every}",
    )
    return ax


def _cell(x: int, y: int, colour: str) -> Any:
    """One column of one pattern."""
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.45, y - 0.4), 0.9, 0.8, facecolor=colour, linewidth=0)
