"""What was filled in, against what was observed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from macfm._errors import ParameterError
from macfm.plot._style import (
    SENTENCE,
    Theme,
    dates_on,
    dress,
    legend,
    new_panels,
    numbers_on,
    say,
    short,
    short_names,
    theme_of,
    title,
)
from macfm.plot._values import Values, completed_values, position
from macfm.profile import percent
from macfm.table import as_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS, MOST_CATEGORIES, MOST_BINS = 12, 8, 40


def distributions(
    df: Any,
    completed: Any,
    columns: Sequence[Hashable] | None = None,
    *,
    ax: Axes | Sequence[Axes] | None = None,
    style: str | Theme = "light",
) -> np.ndarray:
    """Draw, for each column, the observed values against the filled ones.

    The two need not agree: if large values are missing more often, the filled ones
    should be larger.

    Parameters
    ----------
    df : DataFrame (pandas or polars), pyarrow Table or float array
        The table with holes.
    completed : table, or list of tables
        The completed table, or the draws of ``imputer.sample``. Draws show the spread
        that single best guesses lack.
    columns : list of names, default=None
        Columns to show; up to 12 of those with the most filled cells when None.
    ax : Axes or sequence of Axes, default=None
        Where to draw, one for each column; a new figure when None.
    style : {"light", "dark"} or Theme, default="light"
        The colours.

    Returns
    -------
    ndarray of Axes
        One for each column.
    """
    theme = theme_of(style)
    table = as_table(df)
    if columns is None:
        columns = _with_holes(table)
    elif isinstance(columns, str):
        columns = [columns]
    for name in columns:
        position(table, name)
    if ax is None:
        n_panels = max(len(columns), 1)
        across = n_panels if n_panels < 4 else min(4, -(-n_panels // 2))
        size = (3.3, 2.7) if len(columns) else SENTENCE
        axes = new_panels(n_panels, theme, size=size, columns=across)[1]
    else:
        axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) < max(len(columns), 1):
        raise ParameterError(
            f"{len(columns)} columns need as many axes, got {len(axes)}", parameter="ax"
        )
    if not columns:
        say(axes[0], theme, "Nothing is missing: there is nothing to compare.")
    for panel, name in zip(axes, columns, strict=False):
        before, after, filled = completed_values(table, completed, name)
        if not filled.any() or not before.observed.any():
            which = "filled in" if before.observed.any() else "observed"
            say(panel, theme, f"{short(name)}: no value was {which}.")
            continue
        draw = _bars if before.kind == "category" else _histograms
        draw(panel, theme, before, after[:, filled].ravel())
        count = f"{int(filled.sum()):,} of {len(filled):,} filled"
        title(panel, theme, f"{short(name, most=24)}  ·  {count}", size=9.5)
    legend_on = next(
        (panel for panel in axes if panel.get_legend_handles_labels()[0]), None
    )
    if legend_on is not None:
        _make_room(legend_on)
        legend(legend_on, theme, loc="upper right", ncols=2, columnspacing=1.2)
    return np.array(axes[: max(len(columns), 1)], dtype=object)


def _make_room(ax: Axes) -> None:
    """Let the axes reach further up, for a legend over what is drawn."""
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + 0.16 * (top - bottom))


def _with_holes(table: Any) -> list[Hashable]:
    """Columns with holes and values, at most 12, in table order."""
    n_missing = (~table.observed).sum(axis=0)
    usable = (n_missing > 0) & (n_missing < table.n_rows)
    most = np.argsort(-np.where(usable, n_missing, 0), kind="stable")[:MOST_PANELS]
    return [table.columns[j] for j in sorted(most) if usable[j]]


def _histograms(ax: Axes, theme: Theme, before: Values, filled: np.ndarray) -> None:
    """Draw numbers or times with the same bins."""
    seen = before.seen
    bins, beyond = _bins(seen, filled)
    looks: tuple[tuple[np.ndarray, dict[str, Any]], ...] = (
        (seen, {"color": theme.observed, "alpha": 0.8, "label": "observed"}),
        (
            filled,
            {
                "histtype": "step",
                "color": theme.filled,
                "linewidth": 2,
                "label": "filled in",
            },
        ),
    )
    for values, look in looks:
        weights = np.full(len(values), 100 / len(values))
        ax.hist(values, bins=bins.tolist(), weights=weights, **look)
    dress(ax, theme)
    ax.set_ylabel("% of values")
    if beyond:
        ax.set_xlabel(f"{percent(beyond)} lie beyond this range")
    if before.kind == "time":
        dates_on(ax.xaxis, maxticks=5)
    else:
        numbers_on(ax.xaxis, seen)


def _bins(seen: np.ndarray, filled: np.ndarray) -> tuple[np.ndarray, float]:
    """Return common bin edges, and the share of values that lie outside them."""
    both = np.concatenate([seen, filled])
    low, high = both.min(), both.max()
    inner = np.quantile(seen, [0.005, 0.995])
    inner = np.array(
        [
            min(inner[0], np.quantile(filled, 0.005)),
            max(inner[1], np.quantile(filled, 0.995)),
        ]
    )
    if high - low > 2 * (inner[1] - inner[0]) > 0:  # a tail would hide the rest
        low, high = inner
    beyond = float(np.mean((both < low) | (both > high)))
    if (seen == np.round(seen)).all() and (high - low) <= MOST_BINS:
        return np.arange(np.floor(low), np.ceil(high) + 2) - 0.5, beyond
    if high == low:
        return np.array([low - 0.5, high + 0.5]), beyond
    inside = seen[(seen >= low) & (seen <= high)]
    n_bins = len(np.histogram_bin_edges(inside, bins="auto")) - 1
    return np.linspace(low, high, int(np.clip(n_bins, 10, MOST_BINS)) + 1), beyond


def _bars(ax: Axes, theme: Theme, before: Values, filled: np.ndarray) -> None:
    """Draw the shares of categories side by side."""
    labels, shares = category_shares([before.seen, filled], before.order)
    place = np.arange(len(labels))
    ax.barh(
        place - 0.2,
        100 * shares[0],
        height=0.38,
        color=theme.observed,
        label="observed",
    )
    ax.barh(
        place + 0.2, 100 * shares[1], height=0.38, color=theme.filled, label="filled in"
    )
    ax.set_yticks(place, short_names(labels))
    ax.invert_yaxis()
    ax.set_xlabel("% of values")
    dress(ax, theme)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def category_shares(
    groups: Sequence[np.ndarray],
    order: tuple[str, ...] | None,
    *,
    most: int = MOST_CATEGORIES,
) -> tuple[list[str], np.ndarray]:
    """Return the commonest categories, the others as one, and their shares.

    Shares have the shape (n_groups, n_labels) and sum to 1 in each group.
    """
    names, codes = np.unique(np.concatenate(groups).astype(str), return_inverse=True)
    sizes = np.bincount(codes)
    common = np.argsort(-sizes, kind="stable")
    if len(names) > most:
        common = common[: most - 1]
    if order is not None:
        rank = {name: i for i, name in enumerate(order)}
        texts = names.tolist()
        common = np.array(sorted(common, key=lambda c: rank.get(texts[c], len(rank))))
    labels = [str(name) for name in names[common]]
    ends = np.cumsum([len(group) for group in groups])[:-1]
    shares: np.ndarray = np.stack(
        [
            np.bincount(part, minlength=len(names))[common] / max(len(part), 1)
            for part in np.split(codes, ends)
        ]
    )
    if len(names) > len(common):
        labels.append(f"{len(names) - len(common)} others")
        shares = np.column_stack([shares, 1 - shares.sum(axis=1)])
    return labels, shares
