"""Times, memory and speed-ups, machine by machine and never across machines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import gmean

from macfm._words import count
from macfm.bench.report._frame import (
    CELL,
    datasets_of,
    main_cells,
    method_of,
    row_titles,
)
from macfm.bench.report._names import OURS
from macfm.bench.report._networks import BUSY, busy_notes, mark_busy, network_tables
from macfm.bench.report._pareto import pareto_pictures
from macfm.bench.report._rows import Score, notes_for, row_kind, score_rows
from macfm.bench.report._statistics import summary_of
from macfm.bench.report._table import (
    Entry,
    Picture,
    Row,
    ScoreColumn,
    ScoreTable,
    Section,
)

SHARED = "§ reads a model that another method fitted: its fit seconds are that fit's."


def timing_section(frame: pd.DataFrame, *, beside: bool) -> Section | None:
    """Return the times of each machine, the speed-ups, and error against time."""
    items: list[ScoreTable | Picture] = []
    titles = row_titles(frame[frame["ablation"] == ""])
    for place, (name, tried) in enumerate(machines(frame), start=1):
        slug = f"machine-{place}"
        rows = tried[tried["status"] == "ok"]
        items.append(_cost_table(rows, slug, name))
        items += _dataset_tables(tried, slug, name)
        items += network_tables(tried, slug, name, beside=beside)
        items += [t for t in [_speed_table(rows, slug, name)] if t is not None]
        here = set(rows["label"])
        elsewhere = [title for label, title in titles.items() if label not in here]
        items += pareto_pictures(rows, slug, name, elsewhere=elsewhere)
    if not items:
        return None
    text = (
        "Only fitting and imputing are timed. Times are compared on one machine only; "
        "jobs that run at the same time share its memory and caches, so read them as "
        f"times under that load ({BUSY} marks them).",
    )
    return Section("timing", "Time and memory", text, tuple(items))


def machines(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each machine that timed any, under its description."""
    parts = ["seconds_fit", "seconds_impute_in", "seconds_impute_out"]
    rows = frame[frame["ablation"] == ""]
    rows = rows.assign(total=rows[parts].sum(axis=1, min_count=len(parts)))
    for identity, part in rows.groupby("machine_id", sort=False):
        if part["total"].notna().any():
            yield _describe(identity, part), part


def _describe(identity: str, rows: pd.DataFrame) -> str:
    cpu = rows["machine_cpu"].dropna().unique()
    cores = rows["machine_n_cores"].dropna().unique()
    text = str(cpu[0]) if len(cpu) else "machine"
    if len(cores):
        text += f", {int(cores[0])} cores"
    return f"{text} ({str(identity)[:8]})"


def _setup(rows: pd.DataFrame) -> str:
    """How some rows were run: device, threads, jobs at a time."""
    found = []
    names = ["machine_device", "machine_n_threads", "machine_jobs"]
    for device, threads, jobs in rows[names].drop_duplicates().itertuples(index=False):
        parts = [str(device)] if isinstance(device, str) else []
        if pd.notna(threads):
            parts.append(count(int(threads), "thread"))
        if pd.notna(jobs):
            parts.append(count(int(jobs), "job"))
        found.append(", ".join(parts))
    return "; ".join(found)


def _cost_table(rows: pd.DataFrame, slug: str, name: str) -> ScoreTable:
    methods, lines = method_of(rows), []
    full = rows.groupby("label").size().max()
    for label, title in row_titles(rows).items():
        part = rows[rows["label"] == label]
        shared = part["fit_shared_with"].notna().any()
        cells = [_mean_cell(part["seconds_fit"], marks="§" if shared else "")]
        cells += [_mean_cell(part[f"seconds_{n}"]) for n in _IMPUTING]
        cells += [_mean_cell(part[f"peak_{n}_mb"], decimals=0) for n in _MEMORY]
        cells += [
            _mean_cell(part["network_evaluations_per_row"], decimals=0),
            Entry(len(part), n=len(part), decimals=0, flag=len(part) < full),
            Entry(_setup(part)),
        ]
        lines.append(Row(label, title, tuple(cells), row_kind(methods[label])))
    heads = (
        *("fit, s", "impute in, s", "impute out, s", "draw, s", "memory, MB"),
        *("GPU memory, MB", "evaluations a row", "cells", "ran on"),
    )
    notes = ["Means over cells. A flagged number of cells is less than the others'."]
    if rows["fit_shared_with"].notna().any():
        notes.append(SHARED)
    table = ScoreTable(
        slug=f"{slug}-cost",
        title=f"Cost of a cell, {name}",
        columns=tuple(map(ScoreColumn, heads)),
        rows=tuple(lines),
        notes=tuple(notes),
    )
    return _without_empty_columns(table)


_IMPUTING = ("impute_in", "impute_out", "draw")
_MEMORY = ("memory", "gpu")


def _mean_cell(values: pd.Series, *, decimals: int = 2, marks: str = "") -> Entry:
    summary = summary_of(values)
    if summary is None:
        return Entry()
    return Entry(summary.mean, n=summary.n, decimals=decimals, marks=marks)


def _without_empty_columns(table: ScoreTable) -> ScoreTable:
    keep = [
        place
        for place in range(len(table.columns))
        if any(row.cells[place].value is not None for row in table.rows)
    ]
    rows = tuple(
        Row(row.key, row.title, tuple(row.cells[i] for i in keep), row.kind)
        for row in table.rows
    )
    columns = tuple(table.columns[i] for i in keep)
    return ScoreTable(table.slug, table.title, columns, rows, notes=table.notes)


def _dataset_tables(rows: pd.DataFrame, slug: str, name: str) -> list[ScoreTable]:
    """Seconds to fit and to impute in-sample, by dataset, over all mechanisms."""
    datasets, tables = datasets_of(rows), []
    for part, title in (("fit", "fit"), ("impute_in", "impute in-sample")):
        column = f"in_seconds_{part}"
        timed = rows.assign(**{column: rows[f"seconds_{part}"]})
        scores = [Score(dataset, column, higher=None) for dataset in datasets]
        lines = mark_busy(score_rows(timed, scores), timed, datasets)
        notes = ["Mean ± standard deviation over mechanisms, rates and masks."]
        notes += [note.replace("masks", "cells") for note in notes_for(lines)]
        notes += busy_notes(lines)
        tables.append(
            ScoreTable(
                slug=f"{slug}-seconds-{part.replace('_', '-')}",
                title=f"Seconds to {title}, {name}",
                columns=tuple(map(ScoreColumn, datasets)),
                rows=tuple(lines),
                notes=tuple(notes),
            )
        )
    return tables


def _speed_table(rows: pd.DataFrame, slug: str, name: str) -> ScoreTable | None:
    """How many times longer each method takes than ours, on the same cells."""
    ours = [label for label in OURS if label in set(rows["label"])]
    others = {k: v for k, v in row_titles(rows).items() if k not in ours[:1]}
    if not ours or not others:
        return None
    rows = rows.assign(
        imputing=rows["seconds_impute_in"] + rows["seconds_impute_out"],
    )
    titles, methods = row_titles(rows), method_of(rows)
    columns: list[ScoreColumn] = []
    cells: dict[str, list[Entry]] = {label: [] for label in others}
    for target in ours:
        for column, what in (("total", "fit + impute"), ("imputing", "impute")):
            times = rows.pivot(index=CELL, columns="label", values=column)
            times = times.where(times > 0)
            columns.append(ScoreColumn(f"{titles[target]}, {what}"))
            for label in others:
                ratio = (times[label] / times[target]).dropna()
                cells[label].append(_ratio_cell(ratio, same=label == target))
    return ScoreTable(
        slug=f"{slug}-speed-up",
        title=f"Speed-up of ours over each method, {name}",
        columns=tuple(columns),
        rows=tuple(
            Row(label, title, tuple(cells[label]), row_kind(methods[label]))
            for label, title in others.items()
        ),
        notes=(
            "Seconds of the method in the row over seconds of ours in the column, "
            "geometric mean over the cells both have: above 1 ours is faster.",
        ),
    )


def _ratio_cell(ratio: pd.Series, *, same: bool) -> Entry:
    if same or ratio.empty:
        return Entry()
    mean = gmean(ratio)
    decimals = 0 if mean >= 100 else 1 if mean >= 10 else 2 if mean >= 0.1 else 3
    note = f"{ratio.min():.3g} to {ratio.max():.3g} over {len(ratio)} cells"
    return Entry(mean, n=len(ratio), decimals=decimals, unit="×", note=note)


def total_seconds(frame: pd.DataFrame) -> float:
    """Return the seconds spent fitting and imputing in all the main cells."""
    parts = ["seconds_fit", "seconds_impute_in", "seconds_impute_out"]
    return float(np.nansum(main_cells(frame)[parts].to_numpy(dtype=float)))
