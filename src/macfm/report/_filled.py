"""The section on what was filled in."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from macfm import plot
from macfm.page import THEME
from macfm.report._facts import Facts
from macfm.report._figures import figure
from macfm.report._pairs import choose_pairs, choose_points
from macfm.report._words import lower_bound, number, value_words
from macfm.table import least_draws, range_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS, MOST_SURE, MOST_CELLS = 12, 4, 12
ENOUGH_VALUES = 2000  # drawn values that a histogram is made from
LEVEL = 0.9  # probability of the intervals
LEAST_FILLED = 5  # cells a distribution is drawn for, if there is one with more


def filled_section(facts: Facts) -> dict[str, Any]:
    """Return what the template shows of the filled cells."""
    columns = facts.filled_columns
    many = [name for name in columns if facts.n_filled[name] >= LEAST_FILLED]
    drawn = set((many or columns)[:MOST_PANELS])
    shown = [name for name in facts.frame.columns if name in drawn]
    drawn_part = bool(len(facts.drawn)) and len(facts.drawn) < int(
        facts.filled.any(axis=1).sum()
    )
    return {
        "n": int(facts.n_filled.sum()),
        "n_left": int(facts.completed.isna().sum().sum()),
        "rows": [_row(facts, name) for name in columns],
        "panels": [_distribution(facts, name, k) for k, name in enumerate(shown)],
        "n_panels_more": len(columns) - len(shown),
        "n_draws": len(facts.draws),
        "n_drawn_rows": len(facts.drawn) if drawn_part else None,
        "scatters": [
            _scatter(facts, x, y, k) for k, (x, y) in enumerate(choose_pairs(facts))
        ],
        "single": facts.imputer.settings_["n_trials"] == 0,
        "sure": _sure(facts),
        **_bounds_advice(facts),
        "row_word": _row_word(facts),
        "widest": _widest(facts),
        "range": _range(facts),
        "few_each": _share(facts) if _share(facts) < MOST_CELLS else None,
        "unsure": _unsure(facts),
    }


def _row(facts: Facts, name: Hashable) -> dict[str, Any]:
    """Observed against filled values of a column in a few numbers."""
    column = facts.column(name)
    seen = facts.before[name].dropna()
    new = facts.after[name][facts.filled[name].to_numpy()]
    row = {"name": name, "n": int(facts.n_filled[name])}
    if facts.is_number(name):
        parts = []
        for values in (seen, new):
            mean, sd = float(values.mean()), float(values.std(ddof=0))
            if column.kind in ("numeric", "integer"):
                # no more digits than the spread makes sense of
                digits = 2 - math.floor(math.log10(sd)) if sd > 0 else 6
                middle = number(round(mean, max(digits, 0)))
            else:
                middle = value_words(mean, column)
            spread = number(sd)
            unit = " days" if column.kind in ("datetime", "timedelta") else ""
            parts.append(middle if len(values) == 1 else f"{middle} ± {spread}{unit}")
        return row | {"observed": parts[0], "filled": parts[1]}
    return row | {"observed": _common(seen), "filled": _common(new)}


def _common(values: pd.Series) -> str:
    """The most frequent categories with their shares."""
    shares = values.value_counts(normalize=True).head(3)
    return ", ".join(f"{_brief(name)} {100 * s:.0f} %" for name, s in shares.items())


def _brief(text: object, most: int = 28) -> str:
    text = str(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _rows_of(facts: Facts, name: Hashable) -> np.ndarray:
    """Places among the drawn rows where a column was filled, in each draw too."""
    filled = facts.filled[name].to_numpy()[facts.drawn]
    for draw in facts.draws:
        filled &= draw[name].notna().to_numpy()
    return np.flatnonzero(filled)


def _beside_seen(
    facts: Facts, name: Hashable, places: np.ndarray, draws: list[pd.DataFrame]
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The observed rows of a column with some holes, and with draws of these."""
    table = facts.frame[[name]]
    seen = table[table[name].notna().to_numpy()]
    filled = [draw[[name]].iloc[places] for draw in draws]
    before, *after = (
        pd.concat([seen, rows], ignore_index=True)
        for rows in (table.iloc[facts.drawn[places]], *filled)
    )
    return before, after


def _distribution(facts: Facts, name: Hashable, k: int) -> Any:
    """Draw the observed distribution and that of the draws, or of filled values."""
    places = _rows_of(facts, name)
    table, completed = facts.frame[[name]], facts.completed[[name]]
    if facts.draws and len(places):
        most = max(ENOUGH_VALUES // len(places), 3)
        table, completed = _beside_seen(facts, name, places, facts.draws[:most])

    def draw(ax: Axes) -> None:
        plot.distributions(table, completed, [name], ax=ax, style=THEME)
        title = f"{facts.labels[name]} · {int(facts.n_filled[name]):,} filled"
        ax.set_title(title, loc="left", color=THEME.ink, fontsize=9.5)
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()

    label = f"Observed and filled values of {name}"
    return figure(f"column{k}", label, draw, size=(3.5, 2.6))


def _scatter(facts: Facts, x: Hashable, y: Hashable, k: int) -> Any:
    rows = choose_points(facts, x, y)
    before, after = (t[[x, y]].iloc[rows] for t in (facts.frame, facts.completed))

    def draw(ax: Axes) -> None:
        plot.scatter(before, after, x, y, ax=ax, style=THEME)

    return figure(f"pair{k}", f"{y} against {x}", draw, size=(4.5, 4.0))


def _sure(facts: Facts) -> list[Any]:
    """Draw the intervals of the columns with the most filled cells."""
    if len(facts.draws) < 2:
        return []
    pictures: list[Any] = []
    for name in facts.filled_columns:
        places = _rows_of(facts, name)
        if not facts.is_number(name) or len(places) < 3 or len(pictures) == MOST_SURE:
            continue
        before, draws = _beside_seen(facts, name, places, facts.draws)

        def draw(
            ax: Axes, draws: list = draws, before: Any = before, name: Any = name
        ) -> None:
            plot.intervals(draws, before, name, n=40, level=LEVEL, ax=ax, style=THEME)
            ax.set_title(facts.labels[name], loc="left", color=THEME.ink, fontsize=9.5)
            ax.set_ylabel("")

        label = f"Draws of the filled cells of {name}"
        pictures.append(figure(f"sure{len(pictures)}", label, draw, size=(4.8, 2.9)))
    return pictures


def _bounds_advice(facts: Facts) -> dict[str, Any]:
    """Columns that went below 0 unlike what was observed, and how to forbid it."""
    negative = _negative(facts)
    advice = lower_bound(negative[0], flags=facts.flags) if negative else ""
    return {"negative": negative, "bounds": advice}


def _row_word(facts: Facts) -> str:
    """What the labels of the rows are, as a heading."""
    names = [str(name) for name in facts.frame.index.names if name is not None]
    return " ".join(names) if names else "Row"


def _negative(facts: Facts) -> list[Hashable]:
    """Columns with negative filled numbers or draws although none was observed."""
    found = []
    for name in facts.filled_columns:
        if facts.column(name).kind not in ("numeric", "integer"):
            continue
        values = [facts.after[name][facts.filled[name].to_numpy()].to_numpy()]
        places = _rows_of(facts, name)
        values += [draw[name].to_numpy()[places] for draw in facts.drawn_values]
        drawn = np.concatenate(values).astype(float)
        if facts.before[name].min() >= 0 and (drawn < 0).any():
            found.append(name)
    return found


def _widest(facts: Facts) -> list[dict[str, Any]]:
    """The filled numbers whose draws are widest apart, in standard deviations."""
    if len(facts.draws) < 2:
        return []
    found = []
    for name in facts.filled_columns:
        places = _rows_of(facts, name)
        spread = float(facts.before[name].std(ddof=0)) if facts.is_number(name) else 0
        if not len(places) or not spread > 0:
            continue
        drawn = np.sort(
            [d[name].to_numpy(dtype=float)[places] for d in facts.drawn_values], axis=0
        )
        low, high = (drawn[end] for end in range_places(LEVEL, len(drawn)))
        width = (high - low) / spread
        for i in np.argsort(-width, kind="stable")[: _share(facts)]:
            found.append((float(width[i]), name, places[i], low[i], high[i]))
    found.sort(key=lambda entry: -entry[0])
    return [
        {
            "row": _label(facts, place),
            "column": name,
            "value": _cell(facts, name, place),
            "low": value_words(float(low), facts.column(name)),
            "high": value_words(float(high), facts.column(name)),
            "width": f"{width:.1f}",
        }
        for width, name, place, low, high in found[:MOST_CELLS]
    ]


def _range(facts: Facts) -> dict[str, str]:
    """What lies between the ends: an interval, or all draws where they are few."""
    n_draws = len(facts.draws)
    if n_draws >= least_draws(LEVEL):
        name = f"{100 * LEVEL:g} % interval"
        return {"heading": name, "many": f"{name}s of {n_draws} draws"}
    return {
        "heading": f"Range of {n_draws} draws",
        "many": f"ranges of {n_draws} draws, too few for {100 * LEVEL:g} % intervals",
    }


def _unsure(facts: Facts) -> list[dict[str, Any]]:
    """The filled categories on which the draws agree least."""
    if len(facts.draws) < 2:
        return []
    found = []
    for name in facts.filled_columns:
        places = _rows_of(facts, name)
        if facts.is_number(name) or not len(places):
            continue
        drawn = np.stack([d[name].to_numpy()[places] for d in facts.drawn_values])
        ours = facts.after[name].to_numpy()[facts.drawn[places]]
        agreed = (drawn == ours).mean(axis=0)
        for i in np.argsort(agreed, kind="stable")[: _share(facts)]:
            found.append((float(agreed[i]), name, places[i], drawn[:, i]))
    found.sort(key=lambda entry: entry[0])
    return [
        {
            "row": _label(facts, place),
            "column": name,
            "value": _brief(_cell(facts, name, place)),
            "agreed": f"{100 * agreed:.0f} %",
            "drawn": _common(pd.Series(drawn)),
        }
        for agreed, name, place, drawn in found[:MOST_CELLS]
        if agreed < 1
    ]


def _share(facts: Facts) -> int:
    """How many cells of one column a list may hold, so that others have room."""
    return MOST_CELLS if len(facts.filled_columns) < 4 else 4


def _label(facts: Facts, place: int) -> str:
    """The label of a drawn row, as its index has it."""
    label = facts.frame.index[facts.drawn[place]]
    return _brief(" ".join(map(str, label)) if isinstance(label, tuple) else label, 40)


def _cell(facts: Facts, name: Hashable, place: int) -> str:
    value = facts.after[name].iloc[facts.drawn[place]]
    value = float(value) if facts.is_number(name) else value
    return value_words(value, facts.column(name))
