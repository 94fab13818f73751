"""How sure the filled cells of a column are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from macfm._errors import ParameterError
from macfm.plot._distributions import category_shares
from macfm.plot._style import (
    SENTENCE,
    Theme,
    dates_on,
    dress,
    legend,
    new_axes,
    numbers_on,
    say,
    short,
    short_names,
    theme_of,
    title,
)
from macfm.plot._values import Values, column_values, completed_values
from macfm.table import Table, as_table, least_draws, range_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CELLS = 500


def intervals(
    imputer_or_draws: Any,
    df: Any,
    column: Hashable,
    n: int = 50,
    *,
    level: float = 0.9,
    n_draws: int = 50,
    ax: Axes | None = None,
    style: str | Theme = "light",
) -> Axes:
    """Draw the median and the interval of each filled cell of a column.

    The ends of an interval are draws, as in ``imputer.intervals``. Where they are too
    few for `level`, it is the range of them all, and called that.

    Of a column of categories, draw how often each cell got each category.

    Parameters
    ----------
    imputer_or_draws : MACFMImputer or list of tables
        A fitted imputer, from which draws are taken, or the draws of ``sample(df)``.
    df : DataFrame (pandas or polars), pyarrow Table or float array
        The table with holes.
    column : hashable
        Name of the column.
    n : int, default=50
        Show this many cells; of more, evenly from the lowest to the highest.
    level : float, default=0.9
        Probability of the interval.
    n_draws : int, default=50
        Draws taken from an imputer, for at most 500 cells.
    ax : Axes, default=None
        Where to draw; a new figure when None.
    style : {"light", "dark"} or Theme, default="light"
        The colours.

    Returns
    -------
    Axes
    """
    theme = theme_of(style)
    if not 0 < level < 1:
        raise ParameterError(
            f"level must lie between 0 and 1, got level={level!r}", parameter="level"
        )
    table = as_table(df)
    before = column_values(table, column)
    size = SENTENCE if before.observed.all() else (6.4, 3.6)
    _, ax = new_axes(ax, theme, size=size)
    if before.observed.all():
        return say(ax, theme, f"Nothing is missing in {short(column)}.")
    if isinstance(imputer_or_draws, Sequence):
        _, after, filled = completed_values(table, imputer_or_draws, column)
        draws = after[:, filled]
    else:
        draws = _draw(imputer_or_draws, table, before, column, n_draws=n_draws)
    if not draws.shape[1]:
        return say(ax, theme, f"No cell of {short(column)} was filled.")
    if len(draws) < 2:
        raise ParameterError(
            "intervals need at least 2 draws, got 1; use imputer.sample(df)",
            parameter="imputer_or_draws",
        )
    paint = _shares if before.kind == "category" else _spans
    paint(ax, theme, before, draws, n=n, level=level)
    n_filled, n_shown = draws.shape[1], min(n, draws.shape[1])
    some = "" if n_shown == n_filled else f", {n_shown} of {n_filled:,} shown"
    if before.kind != "category":
        ax.set_ylabel(short(column, most=30))
    title(ax, theme, f"{short(column, most=30)}: how sure the filled cells are{some}")
    return ax


def _draw(
    imputer: Any, table: Table, before: Values, column: Hashable, *, n_draws: int
) -> np.ndarray:
    """Return draws of the missing cells, shape (n_draws, n_cells)."""
    if not hasattr(imputer, "sample"):
        raise TypeError(
            "expected a fitted MACFMImputer or a list of completed tables, got "
            f"{type(imputer).__name__}"
        )
    rows = np.flatnonzero(~before.observed)
    if len(rows) > MOST_CELLS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_CELLS).astype(int)]
    part = table.take(rows)
    draws = imputer.sample(part, n_draws=n_draws)
    _, after, filled = completed_values(as_table(part), draws, column)
    return after[:, filled]


def _evenly(order: np.ndarray, n: int) -> np.ndarray:
    """Return at most ``n`` of the entries, from first to last."""
    if len(order) <= n:
        return order
    return order[np.linspace(0, len(order) - 1, n).round().astype(int)]


def _spans(
    ax: Axes, theme: Theme, before: Values, draws: np.ndarray, *, n: int, level: float
) -> None:
    """Draw medians and intervals over the range of observed values."""
    middle, in_order = np.median(draws, axis=0), np.sort(draws, axis=0)
    low, high = (in_order[end] for end in range_places(level, len(draws)))
    order = _evenly(np.lexsort((high - low, middle)), n)
    place = np.arange(len(order))
    percent = f"{100 * level:g} %"
    enough = len(draws) >= least_draws(level)
    if before.observed.any():
        band = np.quantile(before.seen, [(1 - level) / 2, (1 + level) / 2])
        label = f"{percent} of observed values"
        ax.axhspan(*band, color=theme.pale, linewidth=0, zorder=0, label=label)
    width = float(np.clip(240 / len(order), 1.2, 5))
    ax.vlines(
        place,
        low[order],
        high[order],
        color=theme.filled,
        linewidth=width,
        alpha=0.45,
        label=f"{percent} interval" if enough else f"range of {len(draws)} draws",
    )
    ax.plot(
        place,
        middle[order],
        "o",
        markersize=min(width + 1.5, 5),
        color=theme.filled,
        markeredgecolor=theme.ink,
        markeredgewidth=0.5,
        label="median",
    )
    dress(ax, theme)
    if before.kind == "time":
        dates_on(ax.yaxis, maxticks=6)
    else:
        numbers_on(ax.yaxis, before.seen)
    ax.set(xlabel="filled cells, by median", xticks=[], xlim=(-1, len(order)))
    ax.margins(y=0.06)
    legend(ax, theme, loc="upper left", ncols=3, columnspacing=1.2, handlelength=1.4)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + 0.14 * (top - bottom))  # room for the legend


def _shares(
    ax: Axes, theme: Theme, before: Values, draws: np.ndarray, *, n: int, level: float
) -> None:
    """Draw for each cell how often it got each category."""
    cells = [*draws.T]
    labels, shares = category_shares(cells, before.order, most=7)
    likely = shares.argmax(axis=1)
    order = _evenly(np.lexsort((-shares.max(axis=1), likely)), n)
    bottom = np.zeros(len(order))
    for k, label in enumerate(short_names(labels)):
        height = 100 * shares[order, k]
        ax.bar(
            np.arange(len(order)),
            height,
            bottom=bottom,
            width=0.9,
            color=theme.palette[k % len(theme.palette)],
            label=label,
        )
        bottom += height
    dress(ax, theme)
    ax.set(
        xlabel="filled cells, by most likely category",
        ylabel="% of draws",
        xticks=[],
        xlim=(-1, len(order)),
        ylim=(0, 100),
    )
    legend(ax, theme, loc="center left", bbox_to_anchor=(1.0, 0.5))
