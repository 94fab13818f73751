"""What pages have in common: colours, the frame of a page, tables, drawings in it.

``render`` fills a template of another package, which finds ``page.html.jinja``,
``page.css`` and ``tables.html.jinja`` beside its own. It needs
``pip install "macfm[report]"``.
"""

from macfm.page._render import render, require
from macfm.page._svg import SETTINGS, inline_svg
from macfm.page._theme import MAP_THEMES, THEME

__all__ = ["MAP_THEMES", "SETTINGS", "THEME", "inline_svg", "render", "require"]
