"""Categorical and distributional scores, realised rates, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from macfm.bench.report._errors import settings_of, slug_of, where
from macfm.bench.report._frame import datasets_of, main_cells, row_titles
from macfm.bench.report._names import MECHANISMS, rate_words
from macfm.bench.report._rows import Score, notes_for, score_rows
from macfm.bench.report._table import Entry, Row, ScoreColumn, ScoreTable, Section
from macfm.judge import expected_coverage

Scores = dict[tuple[str, str], dict[str, Any]]


def _score_table(
    rows: pd.DataFrame,
    name: str,
    title: str,
    *,
    scale: float = 1.0,
    decimals: int = 2,
    higher: bool | None = False,
) -> ScoreTable | None:
    """A table of one score: a column for each dataset and split that has it."""
    pairs = [
        (dataset, split)
        for dataset in datasets_of(rows)
        for split in ("in", "out")
        if rows.loc[rows["dataset"] == dataset, f"{split}_{name}"].notna().any()
    ]
    if not pairs:
        return None
    scores = [Score(d, f"{s}_{name}", scale, decimals, higher) for d, s in pairs]
    lines = [
        line
        for line in score_rows(rows, scores)
        if any(cell.value is not None for cell in line.cells)
    ]
    mechanism, rate = rows["mechanism"].iloc[0], rows["rate"].iloc[0]
    return ScoreTable(
        slug=f"{slug_of(mechanism, rate)}-{name.replace('_', '-')}",
        title=f"{title}, {where(mechanism, rate)}",
        columns=tuple(ScoreColumn(f"{d}, {s}") for d, s in pairs),
        rows=tuple(lines),
        notes=notes_for(lines),
    )


def _section(
    frame: pd.DataFrame,
    slug: str,
    title: str,
    text: str,
    scores: Scores,
) -> Section | None:
    """A table of each score, by name and title, for each mechanism and rate."""
    tables = [
        _score_table(rows, name, heading, **how)
        for _, _, rows in settings_of(main_cells(frame))
        for (name, heading), how in scores.items()
    ]
    items = tuple(table for table in tables if table is not None)
    return Section(slug, title, (text,), items) if items else None


def categorical_section(frame: pd.DataFrame) -> Section | None:
    """Return accuracy and log-loss over hidden categorical cells."""
    text = (
        "Over hidden categorical cells, pooled: accuracy (more is better) and, for "
        "methods that give probabilities, the mean of −log of the probability given to "
        "the truth (less is better)."
    )
    accuracy = {"scale": 100.0, "decimals": 1, "higher": True}
    scores: Scores = {
        ("accuracy", "Accuracy in %"): accuracy,
        ("log_loss", "Log-loss"): {"decimals": 3},
    }
    return _section(frame, "categorical", "Categorical columns", text, scores)


def distribution_section(frame: pd.DataFrame) -> Section | None:
    """Return CRPS, energy distance and coverage of the methods that draw."""
    n_draws = int(max(r.get("n_draws") or 20 for r in frame["record"]))
    expected = expected_coverage(0.9, n_draws)
    text = (
        "For methods that give several plausible tables. CRPS and energy distance: "
        "less is better. Coverage: how often the range from the 5 % to the 95 % "
        "quantile of a cell's draws holds the truth. For a perfect sampler, whose "
        "draws the truth could be one of, that is 0.90 (n − 1) / (n + 1): "
        f"{expected:.2f} with {n_draws} draws. Spread over "
        "error: the standard deviation of a cell's draws over that of the error of "
        "their mean; 1 is calibrated, less is overconfident."
    )
    coverage = {"scale": 100.0, "decimals": 1, "higher": None}
    scores: Scores = {
        ("crps", "CRPS × 100"): {"scale": 100.0},
        ("energy", "Energy distance"): {"decimals": 3},
        ("coverage_90", "Coverage in %"): coverage,
        ("spread_ratio", "Spread over error"): {"higher": None},
    }
    return _section(frame, "distribution", "Draws", text, scores)


def legal_section(frame: pd.DataFrame) -> Section | None:
    """Return the shares of filled numbers that no observed value allows."""
    text = (
        "Of all numbers filled, how many break what every observed training value of "
        "their column keeps: negative where none is, above 1 where all lie between 0 "
        "and 1, a third value where there are two. Illegal are, beside these, "
        "fractions in columns of whole numbers, as means of counts are. Zero is best."
    )
    share = {"scale": 100.0, "decimals": 1}
    scores = {
        ("illegal_range", "Out of range, in %"): share,
        ("illegal", "Illegal, in %"): share,
    }
    return _section(frame, "legal", "Illegal values", text, scores)


def rates_section(frame: pd.DataFrame) -> Section | None:
    """Return the shares of cells that were really hidden."""
    known = [bool(record.get("realised_rate")) for record in frame["record"]]
    rows = frame[known].drop_duplicates(["dataset", "mechanism", "rate", "mask"])
    datasets, lines = datasets_of(rows), []
    for mechanism, rate, part in settings_of(rows):
        name = MECHANISMS.get(mechanism, mechanism)
        for split in ("train", "test"):
            cells = [_rate_cell(part[part["dataset"] == d], split) for d in datasets]
            if any(cell.value is not None for cell in cells):
                title = f"{name}, {rate_words(rate)}, {split}"
                lines.append(Row(f"{mechanism}-{rate}-{split}", title, tuple(cells)))
    if not lines:
        return None
    table = ScoreTable(
        slug="realised-rates",
        title="Hidden cells in %",
        columns=tuple(map(ScoreColumn, datasets)),
        rows=tuple(lines),
        corner="mechanism, rate, rows",
        notes=(
            "Mean over masks; in brackets the least and the most hidden column. MAR "
            "and MNAR treat some columns apart by design.",
        ),
    )
    return Section("rates", "Realised rates", items=(table,))


def _rate_cell(rows: pd.DataFrame, split: str) -> Entry:
    found = [
        (record.get("realised_rate") or {}).get(split) for record in rows["record"]
    ]
    parts = [part for part in found if part and part.get("overall") is not None]
    if not parts:
        return Entry()
    overall = 100 * float(np.mean([part["overall"] for part in parts]))
    columns = pd.DataFrame([part.get("columns") or {} for part in parts]).mean()
    text = f"{overall:.1f}"
    if len(columns):
        text += f" ({100 * columns.min():.1f} to {100 * columns.max():.1f})"
    return Entry(text, n=len(parts))


def failure_section(frame: pd.DataFrame) -> Section | None:
    """Return every cell without a result and its reason."""
    rows = frame[frame["latest"] & (frame["status"] != "ok")]
    if rows.empty:
        return None
    titles = row_titles(frame)
    keys = ["label", "dataset", "mechanism", "rate", "reason"]
    lines = []
    for (label, dataset, mechanism, rate, reason), part in rows.groupby(
        keys, sort=False
    ):
        masks = ", ".join(str(mask) for mask in sorted(part["mask"]))
        cells = (dataset, where(mechanism, rate), masks, reason)
        key = f"{label}-{dataset}-{mechanism}-{rate}"
        lines.append(Row(key, titles[label], tuple(map(Entry, cells))))
    table = ScoreTable(
        slug="failures",
        title="Cells without a result",
        columns=tuple(map(ScoreColumn, ("dataset", "mechanism", "masks", "reason"))),
        rows=tuple(lines),
    )
    return Section("failures", "Failures", items=(table,))
