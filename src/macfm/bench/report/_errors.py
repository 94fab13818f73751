"""The tables of errors, for each mechanism, rate, split and metric, and the ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import gmean

from macfm.bench.report._figure_bars import draw_bars
from macfm.bench.report._frame import (
    CELL,
    datasets_of,
    main_cells,
    method_of,
    printed_names,
    row_titles,
)
from macfm.bench.report._names import MECHANISMS, METRICS, SPLITS, rate_words
from macfm.bench.report._published import (
    IN_SAMPLE_NOTE,
    NEWS_NOTE,
    SOURCE,
    fault_of,
    published,
)
from macfm.bench.report._rows import (
    Score,
    fault_note,
    notes_for,
    score_rows,
    with_published,
)
from macfm.bench.report._statistics import (
    best_ranked,
    everywhere,
    paired_tests,
    rank_cells,
    summary_of,
    too_few_pairs,
)
from macfm.bench.report._table import (
    Entry,
    Picture,
    Row,
    ScoreColumn,
    ScoreTable,
    Section,
)

BASE = "mean"
HONEST = (0.95, 1.05)


def settings_of(frame: pd.DataFrame) -> Iterator[tuple[str, float, pd.DataFrame]]:
    """Yield each mechanism and rate with its rows, in order."""
    for (mechanism, rate), rows in frame.groupby(["mechanism", "rate"], sort=False):
        yield mechanism, rate, rows


def where(mechanism: str, rate: float) -> str:
    """Return a mechanism and a rate as a heading."""
    return f"{MECHANISMS.get(mechanism, mechanism)}, {rate_words(rate)} hidden"


def slug_of(mechanism: str, rate: float) -> str:
    """Return a mechanism and a rate as a file name."""
    return f"{mechanism}-{100 * rate:.4g}".replace(".", "_")


def error_sections(frame: pd.DataFrame, *, beside: bool) -> list[Section]:
    """Return a section of four tables and two figures for each mechanism and rate."""
    sections = []
    for mechanism, rate, rows in settings_of(main_cells(frame)):
        tables = [
            error_table(rows, split=split, metric=metric, beside=beside)
            for split in ("out", "in")
            for metric in METRICS
        ]
        slug, heading = slug_of(mechanism, rate), where(mechanism, rate)
        pictures = [
            Picture(
                slug=f"bars-{slug}-{metric}",
                title=f"{METRICS[metric]} under {heading}",
                caption="Bars: out-of-sample error in training standard deviations, "
                "best first, cut at 2.0 with the value written beside. Open circles: "
                "in-sample.",
                draw=partial(draw_bars, rows, metric=metric),
            )
            for metric in METRICS
            if rows[f"out_{metric}"].notna().any()
        ]
        sections.append(Section(slug, heading, items=(*tables, *pictures)))
    return sections


def error_table(
    rows: pd.DataFrame, *, split: str, metric: str, beside: bool
) -> ScoreTable:
    """Return one of the twelve tables: methods × datasets, rank and ratio.

    `rows` are the tidy rows of one mechanism and rate; errors are printed × 100, with
    the published figures `beside` them if wanted.
    """
    mechanism, rate = rows["mechanism"].iloc[0], rows["rate"].iloc[0]
    name, datasets = f"{split}_{metric}", datasets_of(rows)
    lines = score_rows(rows, [Score(dataset, name, 100.0) for dataset in datasets])
    scores, failed = _cells_by_method(rows, name)
    ranks = rank_cells(scores, failed)
    ratios = _ratios_to_mean(scores)
    lines = [
        replace(
            line,
            cells=(
                *line.cells,
                _summary_cell(ranks, line.key, decimals=2, mean=np.mean),
                _summary_cell(ratios, line.key, decimals=3, mean=gmean),
            ),
        )
        for line in lines
    ]
    lines = _mark_best(_mark_best(lines, -2), -1)
    notes = [
        "Training standard deviations × 100, mean ± standard deviation over masks. "
        "Bold: the best and those within its standard error."
    ]
    notes += notes_for(lines)
    if beside:
        printed = published(metric, mechanism, split, rate=rate)
        fault = partial(fault_of, split)
        names = printed_names(rows)
        lines = with_published(lines, names, printed, method_of(rows), fault=fault)
        shown = any(c.published is not None for line in lines for c in line.cells)
        if shown and split == "in":
            notes.append(IN_SAMPLE_NOTE)
        if shown and mechanism == "mnar" and "news" in datasets:
            notes.append(NEWS_NOTE)
        if shown:
            notes.append(f"Published values: {SOURCE}.")
        notes += [note for note in [fault_note(lines)] if note]
    best = best_ranked(ranks)
    tests = None
    if best is not None:
        sentence, tests = _tests(scores, ranks, best, slug=name, rows=rows)
        notes.insert(1, sentence)
    columns = [ScoreColumn(dataset) for dataset in datasets]
    columns += [
        ScoreColumn(
            "rank", True, "average rank over datasets and masks, failures last"
        ),
        ScoreColumn(
            "ratio to Mean",
            True,
            "geometric mean over datasets and masks, of methods with a result on "
            "every dataset",
        ),
    ]
    return ScoreTable(
        slug=f"{slug_of(mechanism, rate)}-{split}-{metric}",
        title=f"{METRICS[metric]} {SPLITS[split]}, {where(mechanism, rate)}",
        columns=tuple(columns),
        rows=tuple(lines),
        notes=tuple(notes),
        tests=tests,
    )


def _cells_by_method(
    rows: pd.DataFrame, name: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Errors and failures, both of shape (n_cells, n_methods)."""
    labels = list(row_titles(rows))
    scores = rows.pivot(index=CELL, columns="label", values=name)[labels]
    tried = rows.assign(failed=rows["status"].isin(["failed", "timeout"]))
    failed = tried.pivot(index=CELL, columns="label", values="failed")[labels]
    return scores, failed.eq(True)


def _ratios_to_mean(scores: pd.DataFrame) -> pd.DataFrame:
    """Errors over those of mean imputation in the same cell, where comparable."""
    if BASE not in scores:
        return scores * np.nan
    positive = scores.where(scores > 0)
    ratios = positive.div(positive[BASE], axis=0)
    return ratios.where(everywhere(scores), np.nan, axis=1)


def _summary_cell(
    values: pd.DataFrame,
    label: str,
    *,
    decimals: int,
    mean: Callable[[pd.Series], float],
) -> Entry:
    present = values[label].dropna()
    if present.empty:
        return Entry()
    n = len(present)
    full = int(values.notna().sum().max())
    note = f"over {n} of {full} cells" if n < full else ""
    return Entry(float(mean(present)), n=n, decimals=decimals, note=note)


def _mark_best(rows: list[Row], place: int) -> list[Row]:
    """Mark the least value of a summary column."""
    amounts = [row.cells[place].amount for row in rows]
    values = [amount for amount in amounts if amount is not None]
    done = []
    for row in rows:
        cells = list(row.cells)
        if values and cells[place].amount == min(values):
            cells[place] = replace(cells[place], best=True)
        done.append(replace(row, cells=tuple(cells)))
    return done


def _tests(
    scores: pd.DataFrame,
    ranks: pd.DataFrame,
    best: str,
    *,
    slug: str,
    rows: pd.DataFrame,
) -> tuple[str, ScoreTable | None]:
    """The sentence under a table, and the tests behind it."""
    titles = row_titles(rows)
    sentence = f"Best average rank: {titles[best]} ({ranks[best].mean():.2f})."
    comparisons = paired_tests(scores, best)
    if not comparisons:
        return sentence, None
    most = max(c.n_pairs for c in comparisons)
    if too_few_pairs(most, len(comparisons)):
        sentence += (
            f" With at most {most} paired cells and {len(comparisons)} comparisons no "
            "difference could reach p < 0.05."
        )
    else:
        beaten = [c for c in comparisons if c.p_holm < 0.05]
        sentence += (
            f" It differs from {len(beaten)} of {len(comparisons)} other methods at "
            "p < 0.05 (paired Wilcoxon over dataset × mask cells, Holm-corrected; the "
            "masks of one dataset share its rows, which makes p optimistic)."
        )
    lines = [
        Row(
            key=c.method,
            title=titles[c.method],
            cells=(
                Entry(100 * c.median_difference),
                Entry(c.n_pairs, decimals=0),
                Entry(c.p, decimals=4),
                Entry(
                    c.p_holm,
                    decimals=4,
                    best=c.p_holm < 0.05,
                    note="too few pairs" if too_few_pairs(c.n_pairs) else "",
                ),
            ),
        )
        for c in comparisons
    ]
    mechanism, rate = rows["mechanism"].iloc[0], rows["rate"].iloc[0]
    heads = ("median difference × 100", "pairs", "p", "p, Holm")
    return sentence, ScoreTable(
        slug=f"{slug_of(mechanism, rate)}-{slug.replace('_', '-')}-tests",
        title=f"{titles[best]} against",
        columns=tuple(map(ScoreColumn, heads)),
        rows=tuple(lines),
        notes=("Bold: p < 0.05 after Holm's correction.",),
    )


def ratio_section(frame: pd.DataFrame) -> Section | None:
    """Return in-sample error over out-of-sample error under MCAR."""
    rows = main_cells(frame)
    rows = rows[rows["mechanism"] == "mcar"]
    tables = [
        _ratio_table(part, metric)
        for _, _, part in settings_of(rows)
        for metric in METRICS
        if part[f"out_{metric}"].notna().any()
    ]
    if not tables:
        return None
    low, high = HONEST
    text = (
        "Under MCAR the hidden cells of the training rows are as hard as those of new "
        "rows, for a method that has seen neither: a ratio far from 1 needs an "
        f"explanation. Values outside {low} to {high} are flagged with ⚑.",
    )
    return Section("ratio", "In-sample over out-of-sample", text, tuple(tables))


def _ratio_table(rows: pd.DataFrame, metric: str) -> ScoreTable:
    rate = rows["rate"].iloc[0]
    datasets = datasets_of(rows)
    rows = rows.assign(out_ratio=rows[f"in_{metric}"] / rows[f"out_{metric}"])
    scores = [Score(d, "out_ratio", decimals=3, higher=None) for d in datasets]
    lines = []
    for line in score_rows(rows, scores):
        cells = [_flagged(cell) for cell in line.cells]
        overall = summary_of([c.amount for c in cells if c.amount is not None])
        last = Entry() if overall is None else Entry(overall.mean, decimals=3)
        lines.append(replace(line, cells=(*cells, _flagged(last))))
    return ScoreTable(
        slug=f"ratio-{slug_of('mcar', rate)}-{metric}",
        title=f"{METRICS[metric]} in / out, {where('mcar', rate)}",
        columns=(*map(ScoreColumn, datasets), ScoreColumn("mean", True)),
        rows=tuple(lines),
        notes=notes_for(lines),
    )


def _flagged(cell: Entry) -> Entry:
    low, high = HONEST
    if cell.amount is None or low <= cell.amount <= high:
        return cell
    return replace(cell, flag=True)
