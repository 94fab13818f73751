"""What pages share: one palette, drawings that stay apart, packages named."""

import re
from pathlib import Path

import pytest

import macfm.page
from macfm import plot
from macfm.page import inline_svg, require
from macfm.page._theme import COLOURS, VARIABLES

SRC = Path(macfm.page.__file__).parents[1]
SHEETS = sorted(SRC.rglob("*.css"))
DRAWING = (
    '<?xml?><svg xmlns="x" viewBox="0 0 72 36"><g id="a"/><use href="#a"/>'
    '<path d="M 0.12345 1" style="fill: #22303c"/><path d="" style="fill: #ffffff"/>'
    '<text style="fill: #ffffff">7</text><g clip-path="url(#a)"/></svg>'
)


def test_a_drawing_keeps_its_names_to_itself():
    text = inline_svg(DRAWING.encode(), slug="bars", label='a "b"')
    for part in ('id="bars-a"', 'href="#bars-a"', "url(#bars-a)", "M 0.12 1"):
        assert part in text
    assert 'aria-label="a &quot;b&quot;"' in text


def test_a_drawing_takes_the_colours_of_the_page_and_loses_its_ground():
    text = inline_svg(DRAWING, slug="a", label="")
    assert "fill: var(--ink)" in text
    assert 'style="fill: none"' in text
    assert '<text style="fill: #ffffff">' in text


@pytest.mark.parametrize(
    ("least", "style"),
    [(0.0, "max-width:96px"), (0.5, "max-width:96px;min-width:48px")],
)
def test_a_drawing_is_no_wider_than_it_was_made(least, style):
    text = inline_svg(DRAWING, slug="a", label="", least=least)
    assert f'style="{style}" viewBox="0 0 72 36">' in text


def test_pictures_and_pages_have_one_palette():
    for shade, theme in plot.THEMES.items():
        assert set(theme.palette) <= set(COLOURS[shade].values())
        assert COLOURS[shade]["filled"] == theme.filled
    assert COLOURS["light"].keys() == COLOURS["dark"].keys()
    assert VARIABLES[plot.THEMES["light"].filled] == "var(--filled)"


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.parts[-3])
def test_style_sheets_use_the_palette_and_no_colours_of_their_own(sheet):
    text = sheet.read_text(encoding="utf-8")
    assert set(re.findall(r"var\(--(\w+)\)", text)) <= set(COLOURS["light"])
    assert not re.search(r"#[0-9a-f]{3,6}\b", text)


def test_an_absent_package_is_named_with_its_extra():
    with pytest.raises(ImportError, match=r"needs nothing_such: pip .*\(or else\)$"):
        require("nothing_such", "or else")
