"""The report as one page that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from macfm.bench.report._style import require
from macfm.bench.report._table import Picture, ScoreTable, Section, is_number


def html(
    title: str,
    sections: Sequence[Section],
    *,
    drawings: Mapping[str, str],
    published: bool,
) -> str:
    """Return the page.

    Parameters
    ----------
    title : str
        Its heading.
    sections : sequence of Section
        What it shows.
    drawings : mapping
        SVG text of each picture that was drawn.
    published : bool
        Whether there is a switch for the published figures.
    """
    require("jinja2")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["code"] = _code
    environment.tests["table"] = lambda item: isinstance(item, ScoreTable)
    environment.tests["finite"] = is_number
    shown = [_drawn(section, drawings) for section in sections]
    beside = published and any(
        cell.published is not None
        for section in sections
        for table in section.tables
        for row in table.rows
        for cell in row.cells
    )
    return environment.get_template("report.html.jinja").render(
        title=title, sections=shown, drawings=drawings, published=beside
    )


def _drawn(section: Section, drawings: Mapping[str, str]) -> Section:
    """The section without pictures that were not drawn."""
    items = tuple(
        item
        for item in section.items
        if not isinstance(item, Picture) or item.slug in drawings
    )
    return Section(section.slug, section.title, section.text, items)


def _code(text: str) -> str:
    """Text with what stands between backticks set as code, the rest escaped."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    for place in range(1, len(parts), 2):
        parts[place] = Markup("<code>{}</code>").format(parts[place])
    return Markup("").join(parts)
