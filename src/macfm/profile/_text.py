"""A profile as a person reads it: text on a terminal, HTML in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from macfm._words import aligned, count, percent
from macfm.profile._dependence import CAVEAT

MOST_COLUMNS, MOST_LISTED, WIDEST = 60, 5, 60


@dataclass(frozen=True)
class Part:
    """A heading with a table under it, the columns' names first, and sentences."""

    heading: str
    table: tuple[tuple[str, ...], ...] = ()
    #: Columns of the table that are words.
    words: tuple[int, ...] = (0,)
    sentences: tuple[str, ...] = ()


def describe(found: Any) -> list[Part]:
    """Return what is said of a `TableProfile`, less what there is nothing to say of."""
    size = f"{count(found.n_rows, 'row')}, {count(found.n_columns, 'column')}"
    missing = (
        f"{count(found.n_missing, 'missing cell')} ({percent(found.missing_rate)})"
    )
    parts = [Part(f"{size}, {missing if found.n_missing else 'nothing missing'}")]
    parts.append(_columns(found.columns))
    if found.n_missing:
        parts += [_patterns(found.patterns), _dependence(found)]
    skips = [skip.advice(flags=False) for skip in found.skips[:MOST_LISTED]]
    others = [f.message for f in found.findings if f.code != "does_not_apply"]
    parts.append(Part("Worth acting on", sentences=(*skips, *others)))
    return [parts[0], *(part for part in parts if part.table or part.sentences)]


def _columns(columns: Sequence[Any]) -> Part:
    shown = columns
    if len(columns) > MOST_COLUMNS:
        shown = [c for c in columns if c.n_missing][:MOST_COLUMNS]
    rows = [
        (
            str(c.name),
            c.kind,
            f"{c.n_missing:,}" if c.n_missing else "",
            percent(c.missing_rate) if c.n_missing else "",
            _values(c),
        )
        for c in shown
    ]
    n_more = len(columns) - len(shown)
    more = (f"and {count(n_more, 'column')} more",) if n_more else ()
    head = ("column", "kind", "missing", "", "values (median)")
    return Part("Columns", (head, *rows), (0, 1, 4), more)


def _values(column: Any) -> str:
    """Say in a few words what a column holds."""
    told = column.summary
    said = ""
    if "top" in told:
        shown = ", ".join(str(value) for value, _ in told["top"])
        more = ", …" if (column.n_distinct or 0) > len(told["top"]) else ""
        n = count(column.n_distinct or 0, "value")
        said = f"always {shown}" if column.is_constant else f"{n}: {shown}{more}"
        said = f"{n}, an identifier?" if column.identifier_like else said
    elif "min" in told:
        low, middle, high = (_short(told[name]) for name in ("min", "median", "max"))
        said = f"{low} to {high} ({middle})"
        said = f"always {low}" if column.is_constant else said
    said = " ".join(said.split())
    return said if len(said) <= WIDEST else f"{said[: WIDEST - 1]}…"


def _short(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    whole = value == int(value) and abs(value) < 1e7
    return f"{value:.0f}" if whole or abs(value) >= 1000 else f"{value:.4g}"


def _patterns(patterns: Any) -> Part:
    shown = patterns.most_frequent[:MOST_LISTED]
    few = f"the {len(shown)} commonest of " if len(shown) < patterns.n_patterns else ""
    rows = [
        (
            f"{pattern.n_rows:,}",
            percent(pattern.share),
            ", ".join(map(str, pattern.missing)) or "nothing: complete rows",
        )
        for pattern in shown
    ]
    return Part(
        f"Missing together ({few}{count(patterns.n_patterns, 'pattern')})",
        (("rows", "", "missing"), *rows),
        (2,),
        ("The patterns are nested in each other (monotone).",)
        if patterns.monotone
        else (),
    )


def _dependence(found: Any) -> Part:
    """What the holes depend on; nothing if that was not asked."""
    heading = "What the holes depend on"
    if found.little is None or found.dependence is None:
        return Part(heading)
    columns = found.dependence.columns
    said = [found.little.sentence()]
    clear = [c for c in columns if c.strength != "none"]
    said += [c.sentence() for c in clear[:MOST_LISTED]]
    for words, names in (
        ("Likewise", [f"{c.column} ({c.strength})" for c in clear[MOST_LISTED:]]),
        ("No sign of dependence", [c.column for c in columns if c.strength == "none"]),
        ("Too few cells to tell", found.dependence.left_out),
    ):
        if names:
            said.append(f"{words}: {', '.join(map(str, names))}.")
    return Part(heading, sentences=(*said, CAVEAT))


def as_text(parts: Sequence[Part]) -> str:
    """Return the parts as text."""
    blocks = []
    for part in parts:
        lines = aligned(part.table, left=part.words) if part.table else []
        blocks.append("\n".join([part.heading, *lines, *part.sentences]))
    return "\n\n".join(blocks)


def as_html(parts: Sequence[Part]) -> str:
    """Return the parts as markup without a style of its own."""
    told = []
    for part in parts:
        told.append(f"<h4>{escape(part.heading)}</h4>")
        if part.table:
            head, *rows = (
                [_cell(cell, "th" if k == 0 else "td", part, j) for j, cell in row]
                for k, row in enumerate(map(enumerate, part.table))
            )
            body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
            told.append(
                f"<table>\n<thead><tr>{''.join(head)}</tr></thead>\n"
                f"<tbody>\n{body}\n</tbody>\n</table>"
            )
        told += [f"<p>{escape(sentence)}</p>" for sentence in part.sentences]
    return "\n".join(told)


def _cell(text: str, tag: str, part: Part, place: int) -> str:
    side = "left" if place in part.words else "right"
    return f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'
