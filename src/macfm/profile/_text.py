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
            _clipped(c.words),
        )
        for c in shown
    ]
    n_more = len(columns) - len(shown)
    more = (f"and {count(n_more, 'column')} more",) if n_more else ()
    head = ("column", "kind", "missing", "", "values (median)")
    return Part("Columns", (head, *rows), (0, 1, 4), more)


def _clipped(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= WIDEST else f"{words[: WIDEST - 1]}…"


def _patterns(patterns: Any) -> Part:
    heading, rows = patterns.told(MOST_LISTED)
    nested = "The patterns are nested in each other (monotone)."
    said = (nested,) if patterns.monotone else ()
    return Part(heading, (("rows", "", "missing"), *rows), (2,), said)


def _dependence(found: Any) -> Part:
    """What the holes depend on; nothing if that was not asked."""
    heading = "What the holes depend on"
    if found.little is None or found.dependence is None:
        return Part(heading)
    said = (found.little.sentence(), *found.dependence.sentences(MOST_LISTED))
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
