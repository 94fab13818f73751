"""What each design choice does: one thing varied, all else as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from macfm.bench.report._figure_ablation import draw_changes, draw_curves
from macfm.bench.report._frame import CELL, main_cells
from macfm.bench.report._names import METRICS, method_titles, ordered
from macfm.bench.report._statistics import summary_of
from macfm.bench.report._table import (
    Entry,
    Picture,
    Row,
    ScoreColumn,
    ScoreTable,
    Section,
)

TITLES = {
    "trials": "Number of trials",
    "ode-steps": "ODE steps",
    "mask-aware": "Mask-aware objective",
    "schedule": "Schedule",
    "solver": "Solver",
    "backbone": "Backbone",
    "mask-input": "Mask input",
    "stopping": "Stopping rule",
    "hide-rate": "Hide-rate range",
    "preset": "Preset",
}
ERRORS = {
    f"{split}_{metric}": f"{METRICS[metric]} {split}"
    for split in ("out", "in")
    for metric in METRICS
}


@dataclass(frozen=True)
class Study:
    """One ablation of one method."""

    name: str
    method: str
    #: Tidy rows with a column ``arm``, the value as text.
    rows: pd.DataFrame
    #: The values in order, as text.
    arms: tuple[str, ...]
    #: The value the others are compared with.
    base: str
    #: The values as numbers, if they all are.
    numbers: tuple[float, ...] | None

    @property
    def title(self) -> str:
        """The printed name."""
        return TITLES.get(self.name, self.name)

    def changes(self) -> pd.DataFrame:
        """Return errors over those of the base in the same cell, minus one, in %."""
        wide = self.rows.pivot(index=CELL, columns="arm", values=list(ERRORS))
        wide = wide.astype(float)
        parts = []
        for error in ERRORS:
            part = wide[error].reindex(columns=list(self.arms))
            part = 100 * (part.div(part[self.base], axis=0) - 1)
            parts.append(
                part.stack().rename("change").reset_index().assign(error=error)
            )
        return pd.concat(parts, ignore_index=True).dropna(subset="change")


def studies(frame: pd.DataFrame) -> Iterator[Study]:
    """Yield each ablation, those we know by name first."""
    rows = frame[frame["latest"] & (frame["ablation"] != "")]
    for name in ordered(rows["ablation"], TITLES):
        here = rows[rows["ablation"] == name]
        for method, part in here.groupby("method", sort=False):
            yield _study(name, method, part, main_cells(frame))


def _study(name: str, method: str, rows: pd.DataFrame, main: pd.DataFrame) -> Study:
    rows = rows.assign(arm=rows["value_text"]).sort_values("place", kind="stable")
    distinct = rows.drop_duplicates("arm").set_index("arm")["value"]
    values = {arm: json.loads(value) for arm, value in distinct.items()}
    plain = all(type(value) in (int, float) for value in values.values())
    numeric = plain and len(values) > 1
    arms = sorted(values, key=values.__getitem__) if numeric else list(values)
    default = main[main["method"] == method]
    base = _default_arm(rows, default) or arms[0]
    named = "default" in arms  # a value of that name, as of presets, is taken for it
    if not numeric and not named and _default_arm(rows, default) is None:
        cells = pd.MultiIndex.from_frame(rows[CELL])
        default = default[pd.MultiIndex.from_frame(default[CELL]).isin(cells)]
        if default["out_mae"].notna().any():
            rows = pd.concat([rows, default.assign(arm="default")])
            arms, base = ["default", *arms], "default"
    numbers = tuple(float(values[arm]) for arm in arms) if numeric else None
    return Study(name, method, rows, tuple(arms), base, numbers)


def _default_arm(rows: pd.DataFrame, default: pd.DataFrame) -> str | None:
    """The value whose settings are those of the method as it comes."""
    usual = [
        r.get("settings") for r in default.loc[default["status"] == "ok", "record"]
    ]
    if usual:
        for arm, record in zip(rows["arm"], rows["record"], strict=True):
            if record.get("settings") == usual[0]:
                return arm
    return None


def ablation_section(frame: pd.DataFrame) -> Section | None:
    """Return a table for each ablation, curves of numbers, dots of choices."""
    found = list(studies(frame))
    if not found:
        return None
    items: list[ScoreTable | Picture] = []
    for study in found:
        if study.numbers is not None:
            if study.rows["out_mae"].notna().any():
                items.append(_curves(study))
            items.append(_table(study))
    choices = [study for study in found if study.numbers is None]
    for method in dict.fromkeys(study.method for study in choices):
        mine = [study for study in choices if study.method == method]
        changes = [(s.title, s.base, s.arms, s.changes()) for s in mine]
        if any(len(part[-1]) for part in changes):
            items.append(
                Picture(
                    slug=f"choices-{method}",
                    title=f"Design choices of {method_titles().get(method, method)}",
                    caption="Change of the out-of-sample error against the base value, "
                    "which is named beside the heading; a dot for each dataset, a "
                    "diamond for the mean. Left of the line is better.",
                    draw=partial(draw_changes, changes),
                )
            )
        items += [_table(study) for study in mine]
    text = (
        "One thing is varied and all else stays as it was. Changes are relative to the "
        "base value in the same cell (dataset, mechanism, rate, mask), then averaged.",
    )
    return Section("ablations", "Ablations", text, tuple(items))


def _heading(study: Study) -> str:
    return f"{study.title}, {method_titles().get(study.method, study.method)}"


def _curves(study: Study) -> Picture:
    assert study.numbers is not None
    counts = study.rows.groupby("machine_id").size()
    return Picture(
        slug=f"curves-{study.name}-{study.method}",
        title=_heading(study),
        caption="Change of the error, out-of-sample (solid) and in-sample (dashed), "
        "and seconds to impute both parts, by dataset; means over mechanisms, rates "
        "and masks. The errors themselves are in the table.",
        draw=partial(
            draw_curves,
            study.rows,
            arms=study.arms,
            numbers=study.numbers,
            base=study.base,
            machine=str(counts.idxmax()),
            xlabel=study.title.lower().replace("ode", "ODE"),
        ),
    )


def _table(study: Study) -> ScoreTable:
    """Errors, changes and seconds of each value."""
    rows, changes = study.rows, study.changes()
    wide = rows.pivot(index=CELL, columns="arm", values="out_mae")
    some = wide.columns[wide.notna().any()]
    common = wide.index[wide[some].notna().all(axis=1)]
    shared = rows[pd.MultiIndex.from_frame(rows[CELL]).isin(common)]
    one_machine = shared["machine_id"].nunique() == 1
    lines = []
    for arm in study.arms:
        part = shared[shared["arm"] == arm]
        mine = changes[changes["arm"] == arm]
        cells = [_cell(100 * part[error]) for error in ERRORS]
        for error in ERRORS:
            change = mine.loc[mine["error"] == error, "change"]
            cells.append(_cell(change, unit=" %", signed=arm != study.base))
        imputing = part["seconds_impute_in"] + part["seconds_impute_out"]
        for seconds in (part["seconds_fit"], imputing):
            cells.append(_cell(seconds) if one_machine else Entry())
        cells.append(Entry(len(part), decimals=0))
        title = f"{arm} (base)" if arm == study.base else arm
        lines.append(Row(arm, title, tuple(cells)))
    heads = [*ERRORS.values(), *(f"{name}, change" for name in ERRORS.values())]
    heads += ["fit, s", "impute, s", "cells"]
    notes = ["Errors × 100, means over the cells that every value has."]
    if not one_machine:
        notes.append("Seconds are left out: the cells were run on several machines.")
    elif _hours_apart(shared) > 1:
        notes.append(
            "Values of a cell were run more than an hour apart: what else the machine "
            "did, and so their seconds, may differ."
        )
    failed = rows[rows["status"] != "ok"]
    if len(failed):
        reasons = "; ".join(dict.fromkeys(failed["reason"]))
        notes.append(f"{len(failed)} cells have no result ({reasons}).")
    return ScoreTable(
        slug=f"ablation-{study.name}-{study.method}",
        title=_heading(study),
        columns=tuple(map(ScoreColumn, heads)),
        rows=tuple(lines),
        corner="value",
        notes=tuple(notes),
    )


def _hours_apart(rows: pd.DataFrame) -> float:
    """The longest time between the values of one cell, in hours."""
    began = [record.get("began") for record in rows["record"]]
    moments = pd.to_datetime(pd.Series(began, index=rows.index), utc=True)
    moments = rows.assign(began=moments)
    by_cell = moments.groupby(CELL)["began"]
    apart = (by_cell.max() - by_cell.min()).max()
    return 0.0 if pd.isna(apart) else apart.total_seconds() / 3600


def _cell(values: pd.Series, *, unit: str = "", signed: bool = False) -> Entry:
    summary = summary_of(np.asarray(values, dtype=float))
    if summary is None:
        return Entry()
    return Entry(summary.mean, n=summary.n, unit=unit, signed=signed)
