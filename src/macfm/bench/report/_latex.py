"""The tables as LaTeX: floats with booktabs, to be included in a paper."""

from __future__ import annotations

from collections.abc import Sequence

from macfm.bench.report._table import Entry, ScoreTable, Section

_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": r"$-$",
    "–": "--",
    "…": r"\ldots{}",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "§": r"$^\S$",
    "¶": r"$^\P$",
    "⚑": r"$\triangleright$",
}


def latex(sections: Sequence[Section]) -> str:
    """Return every table as a float, under one comment on what it needs."""
    parts = [r"% Needs \usepackage{booktabs,graphicx}. Made by `macfm bench report`."]
    for section in sections:
        if section.tables:
            parts.append(f"% {section.title}")
        parts += [_table(table) for table in section.tables]
    return "\n\n".join(parts) + "\n"


def _table(table: ScoreTable) -> str:
    footnotes = table.footnotes()
    notes = [f"({letter}) {note}." for note, letter in footnotes.items()]
    notes += table.notes
    lines = [
        r"\begin{table}[htbp]",
        r"\centering\small",
        rf"\caption{{{escape(table.title)}}}",
        rf"\label{{tab:{table.slug}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{_alignment(table)}}}",
        r"\toprule",
        _line([escape(table.corner), *(escape(c.title) for c in table.columns)]),
        r"\midrule",
    ]
    before = ""
    for row in table.rows:
        if row.kind == "published" != before:
            lines.append(r"\midrule")
        before = row.kind
        title = escape(row.title)
        title = rf"\emph{{{title}, published}}" if row.kind == "published" else title
        lines.append(_line([title, *(_cell(cell, footnotes) for cell in row.cells)]))
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if notes:
        body = " ".join(escape(note) for note in notes)
        lines.append(
            rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {body}"
        )
        lines.append(r"\end{minipage}")
    lines.append(r"\end{table}")
    return "\n".join(lines)


def _alignment(table: ScoreTable) -> str:
    """Numbers to the right, columns of text to the left."""
    marks = []
    for place in range(len(table.columns)):
        values = [row.cells[place].value for row in table.rows]
        marks.append("l" if any(isinstance(value, str) for value in values) else "r")
    return "".join(marks)


def _line(entries: Sequence[str]) -> str:
    return " & ".join(entries) + r" \\"


def _cell(cell: Entry, footnotes: dict[str, str]) -> str:
    text = escape(cell.number)
    if cell.best:
        text = rf"\textbf{{{text}}}"
    if cell.spread:
        text += rf" {{\scriptsize$\pm$\,{cell.spread}}}"
    if cell.value is None and cell.note:
        text += rf"$^\mathrm{{{footnotes[cell.note]}}}$"
    text += escape(cell.marks)
    if cell.flag:
        text += escape("⚑")
    if cell.short:
        text += rf"$^{{{cell.n}}}$"
    if cell.published_text:
        printed = cell.published_text + escape(cell.published_mark)
        beside = rf"{{\scriptsize[{printed}]}}"
        text = beside if cell.value is None and not cell.note else f"{text} {beside}"
    return text


def escape(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    Examples
    --------
    >>> escape("5 % of n_rows")
    '5 \\% of n\\_rows'
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text)
