"""The colours of a page, light and dark: those of the pictures and a few more."""

from __future__ import annotations

from dataclasses import replace

from macfm.plot import THEMES, Theme

THEME = Theme(ground="none")
"""The light theme without a ground; its colours become those of the page."""
_OWN = {
    "light": {
        **{"ground": "#fff", "quiet": "#5c6b78", "band": "#f5f7f9"},
        **{"ours": "#fdf3ec", "accent": "#b34700", "link": "#005a8c"},
    },
    "dark": {
        **{"ground": "#14191e", "quiet": "#9dabb7", "band": "#1b2228"},
        **{"ours": "#2a2019", "accent": "#ff9457", "link": "#7cc4f0"},
    },
}
MAP_THEMES = {
    shade: replace(theme, ground=_OWN[shade]["ground"])
    for shade, theme in THEMES.items()
}
"""For pictures with an image inside, which cannot follow the page."""


def _colours(theme: Theme) -> dict[str, str]:
    """Colours of a theme by the names they have in a style sheet."""
    named = ("ink", "rule", "observed", "pale", "filled")
    palette = {f"p{k}": colour for k, colour in enumerate(theme.palette)}
    return {name: getattr(theme, name) for name in named} | palette


COLOURS = {shade: _colours(theme) | _OWN[shade] for shade, theme in THEMES.items()}
"""Every variable of a style sheet, by shade."""
VARIABLES = {
    # In a light theme what is filled has a colour of the palette: the first name holds.
    colour: f"var(--{name})"
    for name, colour in reversed(_colours(THEME).items())
}
"""What stands in a drawing in place of each colour."""
