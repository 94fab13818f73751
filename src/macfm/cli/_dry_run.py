"""What `macfm impute --dry-run` says."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from macfm._words import count
from macfm.cli import _model
from macfm.cli._layout import console, plain_table, seconds_text
from macfm.cli._tables import Source, tell_notes
from macfm.cli._voice import Voice

if TYPE_CHECKING:
    from macfm import MACFMImputer

TRIAL_SECONDS = 2.0


def dry_run(source: Source, options: Mapping[str, Any], voice: Voice) -> None:
    """Say what would be done, after a trial of two seconds that is thrown away."""
    imputer = _model.make_imputer(source, options)
    budget = imputer.budget
    assert not isinstance(budget, str)  # the option is read as seconds
    most = TRIAL_SECONDS if budget is None else min(TRIAL_SECONDS, budget)
    trial = _like(imputer).set_params(verbose=False)
    with warnings.catch_warnings():
        # The first step loads and sets up what later ones need.
        warnings.simplefilter("ignore", UserWarning)
        _model.fit(_like(trial).set_params(max_steps=1), source, voice)
    with warnings.catch_warnings():
        # What the trial alone is to blame for.
        for message in (".* left time for ", ".*no better than by the mean"):
            warnings.filterwarnings("ignore", message=message)
        fitted = _model.fit(trial.set_params(budget=most), source, voice)
    click.echo(source.headline())
    tell_notes(source, voice)

    n_missing = source.frame.isna().sum()
    rows = []
    for column in fitted.imputer.schema_.columns:
        n = int(n_missing[column.name])
        fate = _fate(column, n, fitted.imputer)
        rows.append((str(column.name), column.kind, f"{n:,}" if n else "", fate))
    screen = console()
    headings = ("column", "kind", ">missing", "what happens")
    screen.print(plain_table(headings, rows, width=screen.width, wrap=True))
    click.echo()
    for line in _estimate(fitted, budget):
        screen.print(line)
    outputs = [options[name] for name in ("output", "model", "report")]
    named = [name if name != "-" else "standard output" for name in outputs if name]
    would = f"would write {', '.join(named)}; " if named else ""
    click.echo(f"{would}nothing was written")


def _like(imputer: MACFMImputer) -> MACFMImputer:
    """Return a new imputer with the same parameters."""
    return type(imputer)(**imputer.get_params(deep=False))


def _fate(column: Any, n_missing: int, imputer: MACFMImputer) -> str:
    """What happens to a column."""
    formula = (imputer.derive or {}).get(column.name) if n_missing else None
    if column.kind == "ignored":
        return "ignored"
    if column.kind == "empty" and formula is None:
        return "stays empty: no value to learn from"
    if column.kind == "constant":
        return f"filled with {column.categories[0]}" if n_missing else "does not vary"
    if not column.impute and n_missing:
        return "informs, keeps its holes"
    if formula is not None:
        fate = f"computed: {formula}"
    else:
        fate = "filled" if n_missing else "informs"
    rule = (imputer.leave or {}).get(column.name) if n_missing else None
    return fate if rule is None else f"{fate}; stays empty where {rule}"


def _estimate(fitted: _model.Fitted, budget: float | None) -> list[str]:
    """How long it would take, at most, going by the trial."""
    imputer = fitted.imputer
    if imputer.network_ is None:
        return ["nothing to train: no column varies"]
    settings, history = imputer.settings_, imputer.history_
    spent = float(history["seconds"].max())
    n_steps = settings["max_steps"] * settings["n_networks"]
    needed = spent / max(imputer.n_steps_, 1) * n_steps
    ends = "; it stops sooner if nothing improves"
    if budget is not None and budget < needed:
        needed, ends = budget, ", the budget"
    return [
        f"preset {imputer.preset}, seed {imputer.random_state}: "
        f"{count(settings['n_networks'], 'network')} of up to "
        f"{count(settings['max_steps'], 'step')}",
        f"training would take up to {seconds_text(needed)} here{ends}",
    ]
