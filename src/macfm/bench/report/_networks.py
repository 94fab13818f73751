"""Seconds to impute in-sample, as in the paper's table: networks on one device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd
from scipy.stats import gmean

from macfm.bench.report._frame import crowded, datasets_of, method_of, printed_names
from macfm.bench.report._names import OURS, family
from macfm.bench.report._published import SOURCE, claims_note, published
from macfm.bench.report._rows import Score, notes_for, score_rows, with_published
from macfm.bench.report._table import Entry, Row, ScoreColumn, ScoreTable

#: Stands behind seconds of cells that were not alone on the machine.
BUSY = "¶"
BUSY_NOTE = (
    f"{BUSY} ran beside other jobs of its run and may have been slowed by them. Of "
    "other programs on the machine a record does not know."
)


def network_tables(
    tried: pd.DataFrame, slug: str, name: str, *, beside: bool
) -> list[ScoreTable]:
    """Return the seconds of networks and the speed-ups, for each device of a machine.

    `tried` are the tidy rows of one machine. Where a method has cells on a dataset that
    ran alone, they are the ones that count.
    """
    tables = []
    for place, (device, rows) in enumerate(_devices(tried), start=1):
        where = (f"{slug}-device-{place}", f"{device}, {name}")
        table = _seconds_table(rows, *where, beside=beside)
        tables.append(table)
        timed = [row.key for row in table.rows if row.kind == "ours"]
        for target in [label for label in OURS if label in timed]:
            speed = _speed_table(table, target, *where)
            tables += [speed] if speed.rows else []
    return tables


def _devices(tried: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each device with the rows of the networks that were timed on it."""
    kinds = tried["method"].map(family)
    networks = tried[kinds.isin(["ours", "learned"])]
    done = networks[networks["status"] == "ok"]
    for device, rows in done.groupby("machine_device", sort=False):
        # The record of a cell that failed does not know the device.
        mine = networks["label"].isin(rows["label"])
        failed = networks[mine & (networks["status"] != "ok")]
        yield str(device), pd.concat([_quietest(rows), failed])


def _quietest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that ran alone; those of a method and dataset without any, all."""
    busy = crowded(rows)
    always = busy.groupby([rows["label"], rows["dataset"]]).transform("all")
    return rows[always | ~busy]


def mark_busy(
    lines: Sequence[Row], rows: pd.DataFrame, datasets: Sequence[str]
) -> list[Row]:
    """Mark the values that rest on cells which were not alone on the machine."""
    busy = rows[crowded(rows) & (rows["status"] == "ok")]
    pairs = set(zip(busy["label"], busy["dataset"], strict=True))
    done = []
    for line in lines:
        cells = [
            replace(cell, marks=cell.marks + BUSY)
            if (line.key, dataset) in pairs and cell.value is not None
            else cell
            for cell, dataset in zip(line.cells, datasets, strict=True)
        ]
        done.append(replace(line, cells=tuple(cells)))
    return done


def busy_notes(lines: Sequence[Row]) -> list[str]:
    """Return what explains the mark, if some value has it."""
    marked = any(BUSY in cell.marks for line in lines for cell in line.cells)
    return [BUSY_NOTE] if marked else []


def _seconds_table(
    rows: pd.DataFrame, slug: str, name: str, *, beside: bool
) -> ScoreTable:
    datasets = datasets_of(rows)
    timed = rows.assign(in_seconds=rows["seconds_impute_in"])
    lines = score_rows(timed, [Score(d, "in_seconds", higher=None) for d in datasets])
    lines = mark_busy(lines, timed, datasets)
    notes = [
        "Mean ± standard deviation over mechanisms, rates and masks. Fitting is not "
        "in them."
    ]
    notes += [note.replace("masks", "cells") for note in notes_for(lines)]
    notes += busy_notes(lines)
    if beside:
        printed = published("seconds", "", "in")
        lines = with_published(lines, printed_names(rows), printed, method_of(rows))
        if any(cell.published is not None for line in lines for cell in line.cells):
            notes.append(f"Published values: {SOURCE}, on an NVIDIA A100.")
            notes.append(claims_note())
    return ScoreTable(
        slug=f"{slug}-seconds",
        title=f"Seconds of networks to impute in-sample, {name}",
        columns=tuple(map(ScoreColumn, datasets)),
        rows=tuple(lines),
        notes=tuple(notes),
    )


def _speed_table(seconds: ScoreTable, target: str, slug: str, name: str) -> ScoreTable:
    """Seconds of each method over those of `target`, cell by cell of a table."""
    (ours,) = [row for row in seconds.rows if row.key == target]
    lines = []
    for row in seconds.rows:
        cells = [_ratio(a, b) for a, b in zip(row.cells, ours.cells, strict=True)]
        shown = any(c.value is not None or c.published is not None for c in cells)
        if row is not ours and shown:
            lines.append(replace(row, cells=(*cells, _overall(cells))))
    full = max((line.cells[-1].n for line in lines), default=0)
    lines = [
        replace(line, cells=(*line.cells[:-1], _counted(line.cells[-1], full)))
        for line in lines
    ]
    notes = [
        f"Seconds in the table above over those of {ours.title}: above 1 it is faster. "
        "The mean is geometric, over the datasets of the row; a raised number counts "
        "them where they are fewer than in other rows.",
        *busy_notes(lines),
    ]
    if any(cell.published is not None for line in lines for cell in line.cells):
        notes.append("Published values: ratios of the published seconds.")
    return ScoreTable(
        slug=f"{slug}-speed-up-{target}",
        title=f"Speed-up of {ours.title} in imputing in-sample, {name}",
        columns=(*seconds.columns, ScoreColumn("mean", True)),
        rows=tuple(lines),
        notes=tuple(notes),
    )


def _ratio(theirs: Entry, ours: Entry) -> Entry:
    """How many times longer theirs takes, measured and as published."""
    value = _quotient(theirs.amount, ours.amount)
    busy = value is not None and BUSY in theirs.marks + ours.marks
    return _times(
        value,
        _quotient(theirs.published, ours.published),
        n=int(value is not None),
        marks=BUSY if busy else "",
        note=theirs.note if value is None else "",
    )


def _quotient(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below


def _overall(cells: Sequence[Entry]) -> Entry:
    values = [cell.amount for cell in cells if cell.amount is not None]
    printed = [cell.published for cell in cells if cell.published is not None]
    return _times(
        float(gmean(values)) if values else None,
        float(gmean(printed)) if printed else None,
        n=len(values),
        marks=BUSY if any(BUSY in cell.marks for cell in cells) else "",
    )


def _counted(cell: Entry, full: int) -> Entry:
    return replace(cell, short=cell.value is not None and cell.n < full)


def _times(
    value: float | None,
    printed: float | None,
    *,
    n: int,
    marks: str = "",
    note: str = "",
) -> Entry:
    """A ratio, written with the decimals its size calls for."""
    size = printed if value is None else value
    decimals = 1 if size is not None and size >= 10 else 2
    return Entry(
        value,
        n=n,
        decimals=decimals,
        unit="×",
        published=printed,
        marks=marks,
        note=note,
    )
