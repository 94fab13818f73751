"""Rows of tables whose columns are datasets and whose rows are methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from macfm.bench.report._frame import method_of, row_titles
from macfm.bench.report._names import family
from macfm.bench.report._published import printed_name
from macfm.bench.report._statistics import Summary, best_of, summary_of
from macfm.bench.report._table import WORTHLESS, Entry, Row

TRANSDUCTIVE = (
    "† fits again on the rows it imputes, so that its out-of-sample numbers are not "
    "those of a model that has never seen these rows."
)
SHORT = "A raised number counts the masks, where they are fewer than in other rows."


@dataclass(frozen=True)
class Score:
    """What one column of a table shows."""

    dataset: str
    #: Column of the tidy frame, such as ``out_mae``.
    name: str
    scale: float = 1.0
    decimals: int = 2
    #: Whether more is better; None if neither is, and nothing is bold.
    higher: bool | None = False

    @property
    def split(self) -> str:
        """The rows it was computed on, ``in`` or ``out``."""
        return self.name.partition("_")[0]


def row_kind(method: str) -> str:
    """Return what a row of a method is, ``"ours"`` or nothing special."""
    return "ours" if family(method) == "ours" else ""


def score_rows(frame: pd.DataFrame, scores: Sequence[Score]) -> list[Row]:
    """Return a row for each method: mean ± std over masks, the best ones marked."""
    columns = [_score_cells(frame, score) for score in scores]
    methods = method_of(frame)
    return [
        Row(
            key=label,
            title=title,
            cells=tuple(column[label] for column in columns),
            kind=row_kind(methods[label]),
        )
        for label, title in row_titles(frame).items()
    ]


def _score_cells(frame: pd.DataFrame, score: Score) -> dict[str, Entry]:
    here = frame[frame["dataset"] == score.dataset]
    groups = {label: rows for label, rows in here.groupby("label", sort=False)}
    summaries: dict[str, Summary | None] = {
        label: summary_of(score.scale * rows[score.name])
        for label, rows in groups.items()
    }
    best = set() if score.higher is None else best_of(summaries, higher=score.higher)
    full = max((s.n for s in summaries.values() if s is not None), default=0)
    cells = {}
    for label in row_titles(frame):
        rows, summary = groups.get(label), summaries.get(label)
        note = _why(rows)
        if rows is None or summary is None:
            cells[label] = Entry(note=note, decimals=score.decimals)
            continue
        transductive = score.split == "out" and not rows["inductive"].all()
        cells[label] = Entry(
            value=summary.mean,
            std=summary.std,
            n=summary.n,
            decimals=score.decimals,
            best=label in best,
            marks="†" if transductive else "",
            short=summary.n < full,
            note=note,
        )
    return cells


def _why(rows: pd.DataFrame | None) -> str:
    """Why results are missing, "" if none is."""
    if rows is None:
        return "not run"
    reasons = rows.loc[rows["status"] != "ok", "reason"]
    parts = []
    for reason, n in reasons.value_counts(sort=False).items():
        many = f" ({n} of {len(rows)} masks)" if n < len(rows) else ""
        parts.append(f"{_clip(reason)}{many}")
    return "; ".join(parts[:3])


def _clip(text: str, width: int = 140) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def with_published(
    rows: Sequence[Row],
    names: Sequence[str],
    values: Mapping[str, Mapping[str, float]],
    methods: Mapping[str, str],
    *,
    fault: Callable[[str, str], str] = lambda method, dataset: "",
) -> list[Row]:
    """Put printed figures beside the first cells of each row, then add other rows.

    These cells are those of datasets, whose `names` in print are from `printed_names`;
    `values` are printed figures by method and dataset, `methods` the method behind the
    key of each row, and `fault` tells why a figure is worthless.
    """
    done = []
    for row in rows:
        method = methods.get(row.key, "")
        printed = values.get(method, {})
        first = [
            replace(cell, published=printed.get(name), fault=fault(method, name))
            for cell, name in zip(row.cells, names, strict=False)
        ]
        done.append(replace(row, cells=(*first, *row.cells[len(names) :])))
    present = set(methods.values())
    width = len(rows[0].cells) if rows else 0
    for method, printed in values.items():
        first = [
            Entry(published=printed.get(name), fault=fault(method, name))
            for name in names
        ]
        if method in present or all(cell.published is None for cell in first):
            continue
        cells = (*first, *[Entry()] * (width - len(first)))
        done.append(Row(method, printed_name(method), cells, kind="published"))
    return done


def fault_note(rows: Sequence[Row]) -> str:
    """Return why published values of some rows are worthless, "" if none is."""
    reasons = {
        cell.fault: row.title
        for row in rows
        for cell in row.cells
        if cell.published_mark
    }
    if not reasons:
        return ""
    parts = "; ".join(f"{title}: {reason}" for reason, title in reasons.items())
    return (
        f"Published values with {WORTHLESS} say nothing of their method: they bear the "
        "traces of scripts released with DiffPuter, which are at fault (the paper does "
        f"not say what it ran). {parts}."
    )


def notes_for(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the notes that explain the signs used in some rows."""
    cells = [cell for row in rows for cell in row.cells]
    notes = []
    if any("†" in cell.marks for cell in cells):
        notes.append(TRANSDUCTIVE)
    if any(cell.short for cell in cells):
        notes.append(SHORT)
    return tuple(notes)
