"""How figures look, and how they are kept."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from macfm.bench.report._names import FAMILY_COLOURS, FAMILY_MARKERS
from macfm.page import SETTINGS, THEME, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

INK, LINES = THEME.ink, THEME.palette
MARKERS = "osD^vPX*"
STYLE: dict[RcKeyType, Any] = SETTINGS | {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "grid.color": THEME.rule,
    "grid.linewidth": 0.6,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the report's style, leaving matplotlib's settings as they were."""
    require("matplotlib")
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def panels(n: int, *, width: float, height: float, columns: int) -> tuple[Figure, list]:
    """Return a figure with `n` panels in rows, each `width` × `height` inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_columns = min(n, columns)
    n_rows = -(-n // n_columns)
    figure = Figure((n_columns * width, n_rows * height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for spare in axes[n:]:
        spare.set_axis_off()
    return figure, list(axes[:n])


def family_legend(figure: Figure, present: Collection[str]) -> None:
    """Name the kinds of methods that are `present` above a figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, marker=FAMILY_MARKERS[name], ls="", label=name)
        for name, colour in FAMILY_COLOURS.items()
        if name in present
    ]
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        columnspacing=1.4,
        handletextpad=0.3,
    )


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG."""
    return _saved(figure, format="png", dpi=150, facecolor="white")


def svg(figure: Figure) -> bytes:
    """Return a figure as an SVG, the same bytes each time."""
    return _saved(figure, format="svg", metadata={"Date": None}, facecolor="white")


def _saved(figure: Figure, **how: Any) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, **how)
    return buffer.getvalue()
