"""Two columns against each other, filled points marked."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from macfm.plot._style import (
    Theme,
    dates_on,
    dress,
    legend_below,
    new_axes,
    numbers_on,
    say,
    short,
    short_names,
    theme_of,
    title,
)
from macfm.plot._values import Values, completed_values
from macfm.table import as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS, MOST_CATEGORIES = 5000, 12


def scatter(
    df: Any,
    completed: Any,
    x: Hashable,
    y: Hashable,
    *,
    ax: Axes | None = None,
    style: str | Theme = "light",
) -> Axes:
    """Draw two columns of a completed table, with the filled points marked.

    Parameters
    ----------
    df : DataFrame (pandas or polars), pyarrow Table or float array
        The table with holes.
    completed : table, or list of tables
        The completed table; of several draws the first is shown.
    x, y : hashable
        Names of the columns. Categories are spread a little, so that points do not
        hide each other. Of more than 5,000 observed points, 5,000 are shown.
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
    columns = [completed_values(table, completed, name) for name in (x, y)]
    _, ax = new_axes(ax, theme, size=(5.2, 4.2))
    ready = [before.observed | filled for before, _, filled in columns]
    there = ready[0] & ready[1]
    if not there.any():
        return say(ax, theme, f"No row has both {short(x)} and {short(y)}.")

    places = []
    labels = short_names([x, y], most=40)
    for axis, (before, after, _), label in zip("xy", columns, labels, strict=True):
        place, ticks = _places(before, after[0], there, axis)
        places.append(place)
        getattr(ax, f"set_{axis}label")(label)
        if ticks is not None:
            getattr(ax, f"set_{axis}ticks")(range(len(ticks)), ticks)
        elif before.kind == "time":
            dates_on(getattr(ax, f"{axis}axis"), maxticks=6)
    names = short_names([x, y])
    x_gone, y_gone = (there & filled for _, _, filled in columns)
    groups = (
        ("observed", there & ~x_gone & ~y_gone, theme.observed, "o", 0.5),
        (f"{names[0]} filled in", x_gone & ~y_gone, theme.palette[0], "D", 0.85),
        (f"{names[1]} filled in", y_gone & ~x_gone, theme.filled, "o", 0.85),
        ("both filled in", x_gone & y_gone, theme.palette[2], "^", 0.85),
    )
    for label, rows, colour, marker, alpha in groups:
        rows = np.flatnonzero(rows)
        if not len(rows):
            continue
        n_all = len(rows)
        if label == "observed" and n_all > MOST_POINTS:
            rows = rows[np.linspace(0, n_all - 1, MOST_POINTS).astype(int)]
        ax.scatter(
            places[0][rows],
            places[1][rows],
            s=14 if n_all < 1500 else 7,
            color=colour,
            marker=marker,
            alpha=alpha,
            linewidth=0,
            label=f"{label} ({n_all:,})",
        )
    dress(ax, theme)
    for side, (before, _, _) in zip((ax.xaxis, ax.yaxis), columns, strict=True):
        if before.kind == "number":
            numbers_on(side, before.seen)
    x_short, y_short = short_names([x, y], most=24)
    title(ax, theme, f"{y_short} against {x_short}")
    legend_below(ax, theme, ncols=2, markerscale=1.6)
    return ax


def _places(
    before: Values, values: np.ndarray, there: np.ndarray, axis: str
) -> tuple[np.ndarray, list[str] | None]:
    """Return coordinates, and the names of categories if it is a column of those."""
    if before.kind != "category":
        return values, None
    names, codes = np.unique(values[there].astype(str), return_inverse=True)
    common = np.argsort(-np.bincount(codes), kind="stable")[:MOST_CATEGORIES]
    rank = {name: k for k, name in enumerate(before.order or ())}
    texts = names.tolist()
    order = sorted(common, key=lambda c: (rank.get(texts[c], len(rank)), texts[c]))
    place = np.full(len(names), float(len(order)))
    place[order] = np.arange(len(order))
    labels = short_names([names[c] for c in order])
    if len(names) > len(order):
        labels.append(f"{len(names) - len(order)} others")
    spread = np.random.default_rng(0 if axis == "x" else 1).uniform(
        -0.3, 0.3, len(codes)
    )
    coordinates = np.full(len(values), np.nan)
    coordinates[there] = place[codes] + spread
    return coordinates, labels
