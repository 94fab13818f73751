"""How pictures look: one palette, two themes, no global settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from macfm._errors import ParameterError
from macfm.profile import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#e69f00", "#7f7f7f", "#a6761d"),
)
"""Okabe and Ito's colours, which people who see colours differently can tell apart."""


@dataclass(frozen=True)
class Theme:
    """The colours of a picture.

    Attributes
    ----------
    ink : str
        Text, axes and ticks.
    rule : str
        Thin lines behind the data.
    ground : str
        Background of figures made here, ``"none"`` for a transparent one. The figure of
        an ``ax`` that was passed in keeps its own.
    observed : str
        What was observed.
    pale : str
        Large areas of what was observed.
    filled : str
        What was missing or filled in.
    palette : tuple of str
        Further colours, for lines and categories.
    """

    ink: str = "#22303c"
    rule: str = "#d5dbe1"
    ground: str = "white"
    observed: str = "#8fa0b0"
    pale: str = "#e4e9ee"
    filled: str = "#d55e00"
    palette: tuple[str, ...] = PALETTE


THEMES = {
    "light": Theme(),
    "dark": Theme(
        ink="#e3e8ec",
        rule="#3d4852",
        ground="#171c21",
        observed="#8496a8",
        pale="#2c353d",
        filled="#f08a3c",
        palette=(
            *("#56b4e9", "#e69f00", "#35c496", "#e39ac4"),
            *("#4a9bd4", "#f0e442", "#a5adb5", "#c79a4b"),
        ),
    ),
}


def theme_of(style: str | Theme) -> Theme:
    """Return the theme of a name, or the theme itself."""
    if isinstance(style, Theme):
        return style
    if style in THEMES:
        return THEMES[style]
    raise ParameterError(
        f"style must be a Theme or one of {list(THEMES)}, got style={style!r}",
        parameter="style",
    )


def require() -> None:
    """Raise an error that names the extra if matplotlib is absent."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise ImportError('macfm.plot needs matplotlib: pip install "macfm[plot]"')


SENTENCE = (5.0, 1.2)
"""Size of a figure with nothing to draw, in inches."""


def new_axes(
    ax: Axes | None, theme: Theme, *, size: tuple[float, float]
) -> tuple[Figure, Axes]:
    """Return the figure and the axes to draw into, new ones if ``ax`` is None."""
    if ax is not None:
        return ax.figure.figure, ax
    figure, axes = new_panels(1, theme, size=size, columns=1)
    return figure, axes[0]


def new_panels(
    n: int, theme: Theme, *, size: tuple[float, float], columns: int
) -> tuple[Figure, list[Axes]]:
    """Return a figure of ``n`` axes in rows, each of ``size`` inches."""
    require()
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    n_columns = min(n, columns)
    n_rows = -(-n // n_columns)
    figure, grid = plt.subplots(
        n_rows,
        n_columns,
        figsize=(n_columns * size[0], n_rows * size[1]),
        squeeze=False,
        layout="constrained",
        facecolor=theme.ground,
    )
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(w_pad=0.08, h_pad=0.08)
    axes = list(grid.ravel())
    for spare in axes[n:]:
        spare.remove()
    return figure, axes[:n]


def dress(ax: Axes, theme: Theme, *, grid: Literal["x", "y"] | None = None) -> None:
    """Give axes the theme's colours; ``grid`` is "x", "y" or None."""
    ax.set_facecolor("none")
    ax.tick_params(colors=theme.ink, labelsize=8.5)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=theme.ink, fontsize=9)
    for label in (ax.xaxis.get_offset_text(), ax.yaxis.get_offset_text()):
        label.set(color=theme.ink, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(color=theme.ink, linewidth=0.8)
    if grid is not None:
        ax.grid(axis=grid, color=theme.rule, linewidth=0.6)
        ax.set_axisbelow(True)


def title(ax: Axes, theme: Theme, text: str, *, size: float = 10) -> None:
    """Write a title over the left end of the axes."""
    ax.set_title(text, loc="left", color=theme.ink, fontsize=size)


def legend(ax: Axes, theme: Theme, **where: Any) -> None:
    """Add a legend without a frame."""
    ax.legend(frameon=False, labelcolor=theme.ink, fontsize=8.5, **where)


def legend_below(ax: Axes, theme: Theme, **how: Any) -> None:
    """Add a legend under the axes, where it covers nothing."""
    inches = ax.figure.figure.get_size_inches()[1] * ax.get_position().height
    legend(ax, theme, loc="upper center", bbox_to_anchor=(0.5, -0.45 / inches), **how)


def say(ax: Axes, theme: Theme, text: str) -> Axes:
    """Show a sentence where there is nothing to draw."""
    ax.set_axis_off()
    ax.text(
        *(0.5, 0.5, text),
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=theme.ink,
        fontsize=10,
        wrap=True,
    )
    return ax


def short(text: object, *, most: int = 18) -> str:
    """Shorten a long label in the middle.

    Examples
    --------
    >>> short("age"), short("a_very_long_name_of_a_column")
    ('age', 'a_very_lon…_column')
    """
    text = " ".join(str(text).split())
    if len(text) > most:
        tail = most // 3 + 1
        text = f"{text[: most - tail - 1]}…{text[-tail:]}"
    return text.replace("$", r"\$")  # after the cut, which could part the two


def short_names(names: Sequence[object], *, most: int = 18) -> list[str]:
    """Shorten long names so that different ones stay so.

    Parameters
    ----------
    names : sequence
        Names of columns, for instance.
    most : int, default=18
        Characters to keep.

    Returns
    -------
    list of str
        Names that would look the same begin shortly before they differ.

    Examples
    --------
    >>> short_names([f"pressure_at_visit_{k}_in_millimetres" for k in (1, 2)])
    ['…visit_1_in_milli…', '…visit_2_in_milli…']
    """
    texts = [" ".join(str(name).split()) for name in names]
    shown = [short(text, most=most) for text in texts]
    for label in dict.fromkeys(shown):
        alike = [i for i, other in enumerate(shown) if other == label]
        letters = zip(*(texts[i] for i in alike), strict=False)
        differ = (k for k, some in enumerate(letters) if len(set(some)) > 1)
        start = next(differ, 0) - most // 3
        for i in alike:
            part = texts[i][max(start, 0) :]
            cut = part if len(part) < most else f"{part[: most - 2]}…"
            shown[i] = f"…{cut}".replace("$", r"\$") if start > 0 else shown[i]
    return shown


def label_columns(
    ax: Axes,
    names: Sequence[object],
    rates: Sequence[float] | np.ndarray,
    *,
    width: float,
) -> None:
    """Name the columns of a map under it, each with its missing rate.

    ``width`` is the room of a column in inches; narrow columns are labelled aslant.
    """
    shown = short_names(names)
    upright = width >= 0.085 * max(map(len, shown), default=0) + 0.1
    joint = "\n{}" if upright else " ({})"
    labels = [
        name + joint.format(percent(rate)) if rate else name
        for name, rate in zip(shown, rates, strict=True)
    ]
    turned: dict[str, Any] = (
        {} if upright else {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
    )
    if width < 0.2:
        turned["rotation"] = 90
        turned["va"] = "center"
    ax.set_xticks(range(len(names)), labels, **turned)


def numbers_on(axis: Any, values: np.ndarray) -> None:
    """Write the numbers of an axis without crowding it, thousands as k.

    Where all `values` are whole numbers, so are the ticks.
    """
    from matplotlib.ticker import EngFormatter, MaxNLocator

    known = values[np.isfinite(values)]
    whole = bool((known == np.round(known)).all())
    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=whole))
    low, high = axis.get_view_interval()
    if max(abs(low), abs(high)) >= 1e4:
        axis.set_major_formatter(EngFormatter(sep=""))


def dates_on(axis: Any, *, maxticks: int) -> None:
    """Write the dates of an axis briefly."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=maxticks)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))
