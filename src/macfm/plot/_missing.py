"""A map of the holes."""

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
from macfm.profile import percent
from macfm.table import as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES, MOST_COLUMNS = 400, 60


def missing(
    df: Any,
    *,
    sort: bool = False,
    ax: Axes | None = None,
    style: str | Theme = "light",
) -> Axes:
    """Draw which cells are missing, rows downwards and columns across.

    Parameters
    ----------
    df : DataFrame (pandas or polars), pyarrow Table or float array
        The table. Of more than 60 columns, those with the most holes are shown; more
        than 400 rows are shown in bands, coloured by the share that is missing.
    sort : bool, default=False
        Put rows of the same missing pattern together, complete rows on top, instead
        of keeping their order.
    ax : Axes, default=None
        Where to draw; a new figure when None.
    style : {"light", "dark"} or Theme, default="light"
        The colours.

    Returns
    -------
    Axes
    """
    theme = theme_of(style)
    table = as_table(df)
    gone = ~table.observed
    names = table.columns
    n_rows, n_columns = gone.shape
    shown = np.sort(np.argsort(-gone.sum(axis=0), kind="stable")[:MOST_COLUMNS])
    width = max(4.5, min(0.62 * len(shown), 12))
    size = (width + 0.8, 4.4) if gone.any() else SENTENCE
    figure, ax = new_axes(ax, theme, size=size)
    if not gone.size:
        return say(ax, theme, "The table is empty.")
    if not gone.any():
        return say(ax, theme, f"Nothing is missing in {n_rows:,} rows.")

    cells = gone[:, shown]
    if sort:
        cells = cells[np.lexsort((*cells.T, cells.sum(axis=1)))]
    bands = np.array_split(cells, min(n_rows, MOST_LINES))
    shares = np.stack([band.mean(axis=0) for band in bands])

    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    colours = LinearSegmentedColormap.from_list("holes", [theme.pale, theme.filled])
    ax.imshow(
        shares,
        cmap=colours,
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, len(shown) - 0.5, n_rows + 0.5, 0.5),
    )
    for edge in np.arange(len(shown) - 1) + 0.5:
        ax.axvline(edge, color=theme.ground, linewidth=0.8 if len(shown) < 30 else 0.4)
    dress(ax, theme)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    inches = figure.get_size_inches()[0] * ax.get_position().width
    label_columns(
        ax,
        [names[j] for j in shown],
        gone.mean(axis=0)[shown],
        width=inches / len(shown),
    )
    ax.set_ylabel("rows, by pattern" if sort else "row")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
    several = (
        "" if len(shown) == n_columns else f"; {len(shown)} of {n_columns} columns"
    )
    title(ax, theme, f"{percent(gone.mean())} of {gone.size:,} cells missing{several}")
    ax.legend(
        handles=[
            Patch(color=theme.pale, label="observed"),
            Patch(color=theme.filled, label="missing"),
        ],
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=2,
        frameon=False,
        labelcolor=theme.ink,
        fontsize=8.5,
        borderaxespad=0.2,
        handlelength=1,
        columnspacing=1,
    )
    return ax
