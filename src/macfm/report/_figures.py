"""Pictures of the page, drawn into axes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from macfm.page import SETTINGS, inline_svg, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def figure(
    slug: str,
    label: str,
    draw: Callable[[Axes], Any],
    *,
    size: tuple[float, float],
    shrink: float = 0.0,
) -> Any:
    """Draw a picture and return it as SVG markup for the page.

    `slug` is the prefix of the names inside it, different for each; `label` says what
    it shows, for those who cannot see it; `size` is in inches; `shrink` is the least
    scale on a narrow screen, where it scrolls instead of shrinking further.
    """
    require("matplotlib")
    import io

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        # Names may need glyphs that matplotlib's font has not and the browser's has,
        # and some spans of dates have no round ticks.
        warnings.simplefilter("ignore", UserWarning)
        canvas = Figure(size, layout="constrained", facecolor="none")
        FigureCanvasSVG(canvas)
        draw(canvas.subplots())
        canvas.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="none")
    return inline_svg(buffer.getvalue(), slug=slug, label=label, least=shrink)
