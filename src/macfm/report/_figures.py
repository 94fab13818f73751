"""Pictures that stand in a page, in its colours, light or dark."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from macfm.plot import THEMES, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MAP_THEMES", "THEME", "figure", "require"]

_LIGHT = THEMES["light"]
THEME = Theme(ground="none")
"""The light theme without a ground; its colours become those of the page."""
MAP_THEMES = {"light": _LIGHT, "dark": replace(THEMES["dark"], ground="#14191e")}
"""For pictures with an image inside, which cannot follow the page."""
VARIABLES = {
    _LIGHT.ink: "var(--ink)",
    _LIGHT.rule: "var(--rule)",
    _LIGHT.observed: "var(--observed)",
    _LIGHT.pale: "var(--pale)",
    _LIGHT.filled: "var(--filled)",
    _LIGHT.palette[0]: "var(--second)",
    _LIGHT.palette[2]: "var(--third)",
    _LIGHT.palette[3]: "var(--fourth)",
    _LIGHT.palette[4]: "var(--fifth)",
    _LIGHT.palette[5]: "var(--sixth)",
}
SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "svg.fonttype": "none",
    "svg.hashsalt": "macfm",
    "axes.unicode_minus": True,
    "text.usetex": False,
}


def require(package: str) -> None:
    """Raise an error that names the extra if a package of the report is absent."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ImportError(f'the report needs {package}: pip install "macfm[report]"')


def figure(
    slug: str,
    label: str,
    draw: Callable[[Axes], Any],
    *,
    size: tuple[float, float],
    shrink: float = 0.0,
) -> Any:
    """Draw a picture and return it as SVG markup for the page.

    Parameters
    ----------
    slug : str
        Prefix of the names inside the picture, different for each.
    label : str
        What it shows, for those who cannot see it.
    draw : callable
        Draws into the axes it is given.
    size : (width, height)
        In inches.
    shrink : float, default=0.0
        Least scale on a narrow screen, where it scrolls instead of shrinking further.
    """
    require("matplotlib")
    import io

    import matplotlib as mpl
    from markupsafe import Markup, escape
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
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    text = re.sub(r'\bid="', f'id="{slug}-', text)
    text = re.sub(r"url\(#", f"url(#{slug}-", text)
    text = re.sub(r'href="#', f'href="#{slug}-', text)
    text = re.sub(r"(\d+\.\d{2})\d+", r"\1", text)  # a hundredth of a point is enough
    for colour, variable in VARIABLES.items():
        text = text.replace(f"{colour};", f"{variable};")
        text = text.replace(f'{colour}"', f'{variable}"')
    wide = round(96 * size[0])
    style = f"max-width:{wide}px" + (
        f";min-width:{round(shrink * wide)}px" if shrink else ""
    )
    open_tag = re.compile(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>')
    head = (
        f'<svg role="img" aria-label="{escape(label)}" style="{style}" viewBox="\\1">'
    )
    return Markup(open_tag.sub(lambda m: head.replace("\\1", m[1]), text, count=1))
