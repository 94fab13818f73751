"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from macfm.bench.report._table import Entry, Picture, ScoreTable, Section


def markdown(
    title: str, sections: Sequence[Section], *, pictures: Collection[str] = ()
) -> str:
    """Return the whole report; `pictures` names those that were drawn."""
    lines = [f"# {_escape(title)}", ""]
    for section in sections:
        lines += [f"## {_escape(section.title)}", ""]
        for paragraph in section.text:
            lines += [_escape(paragraph), ""]
        for item in section.items:
            if isinstance(item, ScoreTable):
                lines += [*_table(item), ""]
            elif item.slug in pictures:
                lines += [*_picture(item), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(table: ScoreTable) -> list[str]:
    footnotes = table.footnotes()
    lines = [f"### {_escape(table.title)}", ""]
    lines += grid(table)
    lines.append("")
    reasons = [f"({letter}) {note}" for note, letter in footnotes.items()]
    if reasons:
        lines += [_escape("; ".join(reasons) + "."), ""]
    for note in table.notes:
        lines += [_escape(note), ""]
    if table.tests is not None:
        heading = f"Wilcoxon tests: {table.tests.title} each other method"
        lines += [
            f"<details><summary>{_escape(heading)}</summary>",
            "",
            *grid(table.tests),
            "",
            "</details>",
            "",
        ]
    return lines[:-1]


def grid(table: ScoreTable) -> list[str]:
    """Return the lines of a table, columns aligned in the source too."""
    footnotes = table.footnotes()
    rows = [[table.corner, *(column.title for column in table.columns)]]
    for row in table.rows:
        title = f"*{row.title}, published*" if row.kind == "published" else row.title
        rows.append([title, *(_cell(cell, footnotes) for cell in row.cells)])
    rows = [[_escape(entry) for entry in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return [lines[0], _line(rule, widths), *lines[1:]]


def _line(entries: Iterable[str], widths: Iterable[int]) -> str:
    cells = enumerate(zip(entries, widths, strict=True))
    padded = [e.rjust(w) if place else e.ljust(w) for place, (e, w) in cells]
    return f"| {' | '.join(padded)} |"


def _cell(cell: Entry, footnotes: dict[str, str]) -> str:
    text = cell.number
    if cell.value is None and cell.note:
        text += f" ({footnotes[cell.note]})"
    if cell.spread:
        text += f" ± {cell.spread}"
    if cell.best:
        text = f"**{text}**"
    text += cell.marks
    if cell.flag:
        text += " ⚑"
    if cell.short:
        text += f" (n={cell.n})"
    if cell.published_text:
        # An empty cell of ours keeps its dash, lest the printed value pass for ours.
        own = "" if cell.value is None and not cell.note else f"{text} "
        text = f"{own}[{cell.published_text}{cell.published_mark}]"
    return text


def _picture(picture: Picture) -> list[str]:
    return [
        f"![{_escape(picture.title)}](figures/{picture.slug}.png)",
        "",
        f"*{_escape(picture.title)}. {_escape(picture.caption)}*",
    ]


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
