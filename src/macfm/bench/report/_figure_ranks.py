"""Mean ranks with the critical difference: who is ahead, and of whom that is sure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from macfm.bench.report._names import FAMILY_COLOURS, FAMILY_MARKERS, METRICS, family
from macfm.bench.report._ranking import Ranking
from macfm.bench.report._style import INK, family_legend, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_ranks(
    rankings: Mapping[str, Ranking],
    *,
    titles: Mapping[str, str],
    methods: Mapping[str, str],
) -> Figure:
    """Draw a panel for each metric: methods from top to bottom, best first.

    `titles` and `methods` are the printed name and the registry name of each label.
    """
    n_methods = max(ranking.ranks.shape[1] for ranking in rankings.values())
    with style():
        height = 1.3 + 0.2 * n_methods
        figure, axes = panels(len(rankings), width=5.2, height=height, columns=2)
        for axis, (metric, ranking) in zip(axes, rankings.items(), strict=True):
            kinds = [family(methods[label]) for label in ranking.ranks]
            _panel(axis, ranking, kinds)
            axis.set_title(f"{METRICS[metric]}, out-of-sample", loc="left")
            axis.set_yticks(
                range(len(kinds)), [titles[label] for label in ranking.ranks]
            )
            for text, kind in zip(axis.get_yticklabels(), kinds, strict=True):
                text.set_fontweight("bold" if kind == "ours" else "normal")
        family_legend(
            figure, {family(methods[k]) for r in rankings.values() for k in r.ranks}
        )
    return figure


def _panel(axis: Axes, ranking: Ranking, kinds: list[str]) -> None:
    """Means as dots, the middle half of the ranks as lines, groups as bars."""
    means, n_methods = ranking.means, len(kinds)
    quarters = ranking.ranks.quantile([0.25, 0.75])
    for place, (label, kind) in enumerate(zip(means.index, kinds, strict=True)):
        colour = FAMILY_COLOURS[kind]
        axis.plot(quarters[label], [place, place], color=colour, lw=1.2, alpha=0.6)
        size = 7 if kind == "ours" else 5.5
        axis.plot(means[label], place, FAMILY_MARKERS[kind], ms=size, color=colour)
    step = 0.028 * n_methods
    groups = ranking.groups
    for number, (first, last) in enumerate(groups):
        x = n_methods + (number + 1.5) * step
        axis.plot([x, x], [first - 0.25, last + 0.25], color=INK, lw=2.4)
    axis.set_xlim(1 - step, n_methods + (len(groups) + 1.5) * step)
    ticks = [tick for tick in axis.get_xticks() if 1 < tick <= n_methods]
    axis.set_xticks([1, *ticks])
    axis.set_ylim(n_methods - 0.4, -2.2)
    _ruler(axis, ranking.distance, n_methods)
    axis.set_xlabel("mean rank, 1 is best")
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)


def _ruler(axis: Axes, distance: float, n_methods: int) -> None:
    """The critical difference as a length, unless it is longer than the axis."""
    text = f"critical difference {distance:.2f}"
    if distance < n_methods - 1:
        axis.plot([1, 1 + distance], [-1, -1], color=INK, lw=1.2, marker="|", ms=5)
    else:
        text += ", more than any two can differ"
    axis.text(1, -1.75, text, va="center", fontsize=8)
