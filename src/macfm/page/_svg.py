"""Drawings that stand in a page, in its colours, light or dark."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from macfm.page._theme import VARIABLES

if TYPE_CHECKING:
    from markupsafe import Markup

# Its keys are of a type of matplotlib, of which nothing is known here.
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "svg.fonttype": "none",
    "svg.hashsalt": "macfm",
    "axes.unicode_minus": True,
    "text.usetex": False,
}
"""matplotlib's, for an SVG that has text and is the same each time."""


def inline_svg(
    drawing: str | bytes, *, slug: str, label: str, least: float = 0.0
) -> Markup:
    """Return an SVG of matplotlib to stand inside a page, in the colours around it.

    Parameters
    ----------
    drawing : str or bytes
        The SVG.
    slug : str
        Prefix of the names inside it, so that several can stand on one page.
    label : str
        What it shows, for those who cannot see it.
    least : float, default=0.0
        Least scale on a narrow screen, where it scrolls instead of shrinking further.
    """
    from markupsafe import Markup

    text = drawing.decode("utf-8") if isinstance(drawing, bytes) else drawing
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{slug}-", text)
    text = re.sub(r"(\d+\.\d{2})\d+", r"\1", text)  # a hundredth of a point is enough
    # White areas are the ground of the figure and of its axes.
    text = re.sub(r'(<path [^>]*style="fill: )#ffffff', r"\g<1>none", text)
    for colour, variable in VARIABLES.items():
        text = re.sub(rf'{colour}(?=[;"])', variable, text)
    head = f'<svg role="img" aria-label="{escape(label)}"'
    box = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) [^"]*"', text)
    if box is not None:
        wide = float(box[1]) * 96 / 72  # points to pixels
        least_width = f";min-width:{round(least * wide)}px" if least else ""
        head += f' style="max-width:{round(wide)}px{least_width}" {box[0]}'
    return Markup(re.sub(r"<svg[^>]*>", lambda _: f"{head}>", text, count=1))
