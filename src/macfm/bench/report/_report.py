"""Writes the report: what it says, then each form it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from macfm._replace import replace_file
from macfm.bench.report._ablations import ablation_section
from macfm.bench.report._csv import records_csv, table_csv
from macfm.bench.report._errors import error_sections, ratio_section
from macfm.bench.report._frame import tidy
from macfm.bench.report._html import html
from macfm.bench.report._latex import latex
from macfm.bench.report._markdown import markdown
from macfm.bench.report._ranks import rank_section
from macfm.bench.report._scores import (
    categorical_section,
    distribution_section,
    failure_section,
    legal_section,
    rates_section,
)
from macfm.bench.report._style import png, svg
from macfm.bench.report._summary import summary_section
from macfm.bench.report._table import Picture, ScoreTable, Section
from macfm.bench.report._timing import timing_section
from macfm.page import inline_svg, require


def write_pages(
    records: Iterable[Mapping[str, Any]],
    output: str | Path,
    *,
    published: bool = True,
    figures: bool = True,
    title: str = "Imputation benchmark",
    sources: Sequence[str] = (),
    command: str | None = None,
) -> list[Path]:
    """Write the report of some records into a folder.

    Parameters
    ----------
    records : iterable of mappings
        Records, as `macfm.bench.records.read_records` returns them. The last record
        of a cell wins.
    output : str or Path
        Folder; made if it is not there. It gets ``index.html``, ``report.md``,
        ``tables.tex``, ``csv/*.csv``, ``figures/*.png`` and ``figures/*.svg``.
    published : bool, default=True
        Put the figures printed in the Impute-MACFM paper beside ours; in the page
        they are behind a switch.
    figures : bool, default=True
        Draw the figures. Needs matplotlib.
    title : str, default="Imputation benchmark"
        Heading of the report.
    sources : sequence of str, default=()
        Names of the files the records come from.
    command : str, default=None
        The command that made them; None derives one from the records.

    Returns
    -------
    list of Path
        Every file written.
    """
    require("jinja2")
    if figures:
        require("matplotlib", "figures=False writes it without")
    frame = tidy(records)
    sections = make_sections(
        frame, published=published, sources=sources, command=command
    )
    folder = Path(output)
    files: dict[str, str | bytes] = {}
    drawings = {}
    pictures = [picture for section in sections for picture in section.pictures]
    for picture in pictures if figures else ():
        figure = picture.draw()
        drawing = svg(figure)
        files[f"figures/{picture.slug}.svg"] = drawing
        files[f"figures/{picture.slug}.png"] = png(figure)
        label = f"{picture.title}. {picture.caption}"
        drawings[picture.slug] = inline_svg(
            drawing, slug=picture.slug, label=label, least=0.7
        )
    for table in _tables(sections):
        files[f"csv/{table.slug}.csv"] = table_csv(table)
    files["csv/records.csv"] = records_csv(frame)
    files["tables.tex"] = latex(sections)
    files["report.md"] = markdown(title, sections, pictures=drawings)
    files["index.html"] = html(title, sections, drawings=drawings, published=published)
    return [_write(folder / name, content) for name, content in files.items()]


def make_sections(
    frame: pd.DataFrame,
    *,
    published: bool,
    sources: Sequence[str],
    command: str | None,
) -> list[Section]:
    """Return everything the report says, without the parts that have no records."""
    made_up = frame["synthetic"].astype(bool)  # of no type where there are no records
    return [
        summary_section(frame, sources=sources, command=command),
        *_sections_of(frame[~made_up], beside=published),
        *map(_set_apart, _sections_of(frame[made_up], beside=False)),
    ]


def _sections_of(frame: pd.DataFrame, *, beside: bool) -> list[Section]:
    """The sections on some rows, the published figures `beside` them if wanted."""
    if frame.empty:
        return []
    parts = [
        *error_sections(frame, beside=beside),
        rank_section(frame),
        ratio_section(frame),
        categorical_section(frame),
        distribution_section(frame),
        legal_section(frame),
        timing_section(frame, beside=beside),
        ablation_section(frame),
        rates_section(frame),
        failure_section(frame),
    ]
    return [part for part in parts if part is not None]


def _set_apart(section: Section) -> Section:
    """Say of a section, and of all that is in it, that its data are synthetic."""
    slug, title = _marked(section)
    items = tuple(map(_item_apart, section.items))
    return replace(section, slug=slug, title=title, items=items)


def _item_apart(item: ScoreTable | Picture) -> ScoreTable | Picture:
    slug, title = _marked(item)
    if isinstance(item, ScoreTable) and item.tests is not None:
        tests = replace(item.tests, slug=_marked(item.tests)[0])
        return replace(item, slug=slug, title=title, tests=tests)
    return replace(item, slug=slug, title=title)


def _marked(part: Section | ScoreTable | Picture) -> tuple[str, str]:
    return f"synthetic-{part.slug}", f"Synthetic data: {part.title}"


def _tables(sections: Sequence[Section]) -> list[Any]:
    tables = [table for section in sections for table in section.tables]
    return tables + [table.tests for table in tables if table.tests is not None]


def _write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content.encode() if isinstance(content, str) else content)
    return path
