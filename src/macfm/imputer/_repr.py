"""A fitted imputer in a notebook, in a few lines."""

from __future__ import annotations

from collections import Counter
from html import escape

from macfm.imputer._model import FittedModel


def fitted_html(model: FittedModel) -> str:
    """Return a small table: what was learned from, for how long, how well."""
    kinds = Counter(column.kind for column in model.schema.columns)
    facts = {
        "rows": "unknown" if model.n_rows is None else f"{model.n_rows:,}",
        "columns": ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
        "preset": model.settings["preset"],
        "steps": f"{model.n_steps:,}",
        "seed": str(model.seed),
    }
    history = model.history
    if "val_error" in history and history["val_error"].notna().any():
        facts["error on held-out rows"] = f"{history['val_error'].min():.3g} sd"
    if "seconds" in history:
        facts["seconds"] = f"{history['seconds'].max():.1f}"
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(fact)}</td></tr>"
        for name, fact in facts.items()
    )
    return f"<table>{rows}</table>"
