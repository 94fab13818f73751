"""The section on what was missing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from macfm import plot
from macfm._words import count, percent
from macfm.page import MAP_THEMES, THEME
from macfm.profile import CAVEAT
from macfm.report._facts import Facts
from macfm.report._figures import figure
from macfm.table import is_mask

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SKIPS = 8


def missing_section(facts: Facts) -> dict[str, Any]:
    """Return what the template shows of the holes."""
    found = facts.profile
    with_holes = [c for c in found.columns if c.n_missing]
    with_holes.sort(key=lambda c: -c.n_missing)
    dependence = {}
    if found.dependence is not None:
        dependence = {str(c.column): c for c in found.dependence.columns}
    rows = [
        {
            "name": c.name,
            "kind": facts.column(_native(facts, c.name)).words,
            "n": c.n_missing,
            "rate": c.missing_rate,
            "depends": dependence.get(str(c.name)),
        }
        for c in with_holes
    ]
    return {
        "words": _words(facts),
        "rows": rows,
        "map": _map(facts) if with_holes else None,
        "patterns": _patterns(facts) if with_holes else None,
        "little": found.little.sentence() if found.little and with_holes else None,
        "sentences": [
            c.sentence() for c in dependence.values() if c.strength != "none"
        ][:8],
        "n_examined": len(dependence),
        "caveat": CAVEAT,
        "findings": [
            *_skips(facts),
            *(f.message for f in found.findings if f.code != "does_not_apply"),
        ],
    }


def _skips(facts: Facts) -> list[str]:
    """Say which holes may mean “does not apply”, unless they were left."""
    leave = facts.imputer.leave
    told = set() if is_mask(leave) else set(map(str, leave or ()))
    return [
        skip.advice(flags=facts.flags)
        for skip in facts.profile.skips
        if not told.issuperset(map(str, skip.columns))
    ][:MOST_SKIPS]


def _native(facts: Facts, name: Any) -> Any:
    """The name in the table of a name in the profile."""
    names = facts.schema.names
    return name if name in names else names[[str(n) for n in names].index(str(name))]


def _words(facts: Facts) -> str:
    """One paragraph."""
    found = facts.profile
    if not found.n_missing:
        return (
            f"Nothing is missing: all {found.n_rows * found.n_columns:,} cells of the "
            f"{count(found.n_rows, 'row')} hold a value."
        )
    n_columns = sum(1 for c in found.columns if c.n_missing)
    complete = found.patterns
    said = (
        f"{count(found.n_missing, 'cell')} of {found.n_rows * found.n_columns:,} "
        f"({percent(found.missing_rate)}) {'was' if found.n_missing == 1 else 'were'} "
        f"missing, in {n_columns} of {count(found.n_columns, 'column')}. "
        f"{count(complete.n_complete, 'row')} ({percent(complete.complete_share)}) "
        f"{'was' if complete.n_complete == 1 else 'were'} complete"
    )
    if complete.n_patterns > 1:
        said += f"; {complete.n_patterns:,} patterns of missing columns occur"
    said += "."
    if complete.monotone:
        said += (
            " The patterns are nested in each other (monotone), as when participants "
            "leave a study."
        )
    return said


def _map(facts: Facts) -> dict[str, Any]:
    """Draw the map in light and in dark."""
    n_columns = min(len(facts.frame.columns), 60)
    size = (max(5.2, min(0.62 * n_columns, 10.5)) + 0.8, 4.2)
    return {
        shade: figure(
            f"map-{shade}",
            "Map of the missing cells, rows downwards and columns across",
            partial(_draw_map, facts, theme),
            size=size,
            shrink=0.7,
        )
        for shade, theme in MAP_THEMES.items()
    }


def _draw_map(facts: Facts, theme: plot.Theme, ax: Axes) -> None:
    plot.missing(facts.frame, ax=ax, style=theme)


def _patterns(facts: Facts) -> Any:
    n_columns = min(int(facts.frame.isna().any().sum()), 30)
    n_patterns = min(facts.profile.patterns.n_patterns, 12)
    bars = 1.32 if n_columns > 8 else 1.6
    width = max(3.4, min(0.62 * n_columns, 10)) * bars + 1.2
    return figure(
        "patterns",
        "The most frequent patterns of missing columns",
        lambda ax: plot.patterns(facts.frame, ax=ax, style=THEME),
        size=(min(width, 11.4), 1.6 + 0.3 * max(n_patterns, 3)),
        shrink=0.7,
    )
