"""The section on what was done."""

from __future__ import annotations

from typing import Any

import numpy as np

from macfm import plot
from macfm._words import count
from macfm.page import THEME
from macfm.report._facts import Facts
from macfm.report._figures import figure
from macfm.report._polish import drawn_by_rank, trees_words
from macfm.report._words import number
from macfm.table import ColumnSchema, is_mask

SCALES = {"standard": "standardised", "quantile": "normal scores"}


def done_section(facts: Facts) -> dict[str, Any]:
    """Return what the template shows of the model."""
    columns = facts.schema.columns
    by_rank = drawn_by_rank(facts)
    rows = [
        {
            "name": c.name,
            "kind": c.words,
            "dtype": c.dtype,
            "scale": _scale(c) + (", drawn by rank" if c.name in by_rank else ""),
            "bounds": bounds_words(c),
            "filled": int(facts.n_filled[c.name]),
            "left": int(facts.completed[c.name].isna().sum()),
            "role": _role(c, facts.imputer),
        }
        for c in columns
    ]
    return {
        "rows": rows,
        "open": len(columns) <= 25,
        "settings": _settings(facts),
        "curve": _curve(facts),
    }


def _scale(column: ColumnSchema) -> str:
    """On which scale the numbers of a column are learned."""
    if column.kind == "ordinal":
        return "–"
    return SCALES.get(column.transform or "", "–")


def _role(column: ColumnSchema, imputer: Any) -> str:
    """What became of the holes of a column."""
    formula = (imputer.derive or {}).get(column.name)
    rule = None if is_mask(imputer.leave) else (imputer.leave or {}).get(column.name)
    said = _part(column) if formula is None else f"informs, computed: {formula}"
    return said if rule is None else f"{said}, stays empty where {rule}"


def _part(column: ColumnSchema) -> str:
    if column.kind == "ignored":
        return "not looked at"
    if column.kind == "empty":
        return "left empty"
    if column.kind == "constant":
        return "holes take its one value"
    return "informs and is filled" if column.impute else "informs only"


def bounds_words(column: ColumnSchema) -> str:
    """Write the limits of filled values."""
    if column.bounds is None:
        return "–"
    low, high = (_bound(end, column) for end in column.bounds)
    if low is None:
        return "–" if high is None else f"≤ {high}"
    return f"≥ {low}" if high is None else f"{low} to {high}"


def _bound(end: Any, column: ColumnSchema) -> str | None:
    if end is None:
        return None
    if column.kind == "datetime":
        return str(np.datetime64(int(end) // 10**9, "s"))[:-9]
    if column.kind == "timedelta":
        return f"{number(int(end) / 86_400e9)} days"
    return number(float(end))


def center_words(settings: dict[str, Any]) -> str:
    """Say what a filled number is."""
    if settings["method"] == "draw":
        return "plausible draw"
    if not settings["n_trials"]:
        return "estimated conditional mean"
    return f"{settings['method']} of {settings['n_trials']} sampled trajectories"


def beside_words(facts: Facts, what: str) -> str:
    """Say what stands beside the networks: guide and trees; `what` is a column."""
    has_guide = hasattr(facts.imputer.network_, "guide")
    guide = " around a normal distribution fitted by EM" if has_guide else ""
    trees = trees_words(facts, what)
    return f"{guide}, and {trees}" if trees else guide


def _settings(facts: Facts) -> list[tuple[str, str]]:
    """The main settings, in words."""
    used = facts.imputer.settings_
    if facts.imputer.network_ is None:
        return [("Model", "none: no column varies, or nothing was observed")]
    networks = count(used["n_networks"], "network")
    body = "attention between columns" if used["backbone"] == "transformer" else "MLP"
    stopping = {
        "validation": "on the error of hidden cells in held-out rows",
        "objective": "on the training objective",
        "none": "after all steps",
    }[used["stopping"]]
    return [
        ("Preset", str(facts.imputer.preset)),
        ("A hole takes", f"the {center_words(used)}, or the most probable category"),
        (
            "Model",
            f"{networks} ({body}, {used['n_blocks']} blocks of width "
            f"{used['d_model']}, {used['schedule']} schedule)"
            f"{beside_words(facts, 'column')}",
        ),
        (
            "Training",
            f"{facts.imputer.n_steps_:,} steps of {used['batch_size']:,} rows, "
            f"stopped {stopping}",
        ),
        (
            "Draws",
            f"{used['solver'].capitalize()}'s method, {used['n_steps']} steps on a "
            f"{used['grid']} grid{_ranks(facts)}",
        ),
        ("Seed", str(facts.imputer.random_state)),
    ]


def _ranks(facts: Facts) -> str:
    """Say of how many columns draws are made by rank, if of any."""
    n_columns = len(drawn_by_rank(facts))
    if not n_columns:
        return ""
    return f"; numbers of {count(n_columns, 'column')} by rank"


def _curve(facts: Facts) -> Any:
    history = getattr(facts.imputer, "history_", None)
    if history is None or len(history) < 2:
        return None
    return figure(
        "curve",
        "Training curve",
        lambda ax: plot.convergence(facts.imputer, ax=ax, style=THEME),
        size=(4.8, 3.0),
    )
