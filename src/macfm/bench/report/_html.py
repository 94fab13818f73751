"""The report as one page that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from macfm import page
from macfm.bench.report._table import Picture, ScoreTable, Section


def html(
    title: str,
    sections: Sequence[Section],
    *,
    drawings: Mapping[str, str],
    published: bool,
) -> str:
    """Return the page, with the SVG text of each picture that was drawn.

    There is a switch for the published figures if they are wanted and there are any.
    """
    shown = [_drawn(section, drawings) for section in sections]
    beside = published and any(
        cell.published is not None
        for section in sections
        for table in section.tables
        for row in table.rows
        for cell in row.cells
    )
    return page.render(
        __package__,
        tests={"table": lambda item: isinstance(item, ScoreTable)},
        title=title,
        contents=[(section.slug, section.title) for section in shown],
        sections=shown,
        drawings=drawings,
        published=beside,
    )


def _drawn(section: Section, drawings: Mapping[str, str]) -> Section:
    """The section without pictures that were not drawn."""
    items = tuple(
        item
        for item in section.items
        if not isinstance(item, Picture) or item.slug in drawings
    )
    return Section(section.slug, section.title, section.text, items)
