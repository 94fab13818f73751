"""`macfm info`: what is inside a model file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from macfm._words import count
from macfm.cli._command import Polite
from macfm.cli._layout import console, item, plain_table, seconds_text
from macfm.cli._options import json_option

if TYPE_CHECKING:
    from rich.console import Console

_NUMBERS = ("preset", "backbone", "d_model", "n_blocks", "method")


@click.command(cls=Polite)
@click.argument("model", metavar="MODEL", type=click.Path())
@json_option
def info(model: str, as_json: bool) -> None:
    """Show what is inside a model file, and what it reveals of the training data.

    \b
    Examples:
      macfm info patients.macfm
      macfm info patients.macfm --json
    """
    from macfm import describe_model

    told = describe_model(model)
    if as_json:
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    screen = console()
    size = told["file_bytes"]
    shown = f"{size / 1e6:.1f} MB" if size > 1e5 else f"{size / 1e3:.1f} kB"
    title = f"{model}: a macfm model, format {told['format_version']}, {shown}"
    screen.print(title, style="bold")
    versions = ", ".join(
        f"{name} {number}" for name, number in told["versions"].items()
    )
    screen.print(f"Saved with {versions}.")
    screen.print(_training(told))
    settings = told["settings"] | told["parameters"]
    named = [f"{name}={settings[name]}" for name in _NUMBERS if name in settings]
    screen.print(f"Settings: {', '.join(named)}; --json lists all.")
    for name, formula in (told["parameters"].get("derive") or {}).items():
        screen.print(f"Computed: {name} = {formula}.")
    for name, rule in (told["parameters"].get("leave") or {}).items():
        screen.print(f"Stays empty: {name} where {rule}.")
    _show_columns(screen, told["columns"])
    screen.print()
    title = "What somebody who has this file learns of the training data"
    screen.print(title, style="bold")
    for sentence in told["reveals"]:
        item(screen, sentence)


def _training(told: dict[str, Any]) -> str:
    training = told["training"]
    parts = [
        count(training["n_networks"], "network"),
        count(training["n_weights"], "weight"),
        count(training["n_steps"], "step"),
    ]
    if training.get("seconds") is not None:
        parts.append(seconds_text(training["seconds"]))
    parts.append(f"seed {told['parameters'].get('random_state', training['seed'])}")
    if training.get("val_error") is not None:
        parts.append(f"validation error {training['val_error']:.3f}")
    return f"Trained: {', '.join(parts)}."


def _show_columns(screen: Console, columns: list[dict[str, Any]]) -> None:
    rows = [
        (c["name"], c["kind"], "yes" if c["imputed"] else "no", _kept(c))
        for c in columns
    ]
    headings = ("column", "kind", "filled", "kept in the file")
    screen.print()
    screen.print(plain_table(headings, rows, width=screen.width, wrap=True))


def _kept(column: dict[str, Any]) -> str:
    """What the file holds of a column's values."""
    parts = []
    if column.get("categories"):
        parts.append(_categories(column))
    if column.get("quantiles"):
        low, *_, high = column["quantiles"]
        n = count(column["n_quantiles"], "value")
        parts.append(f"{n} from {_short(low)} to {_short(high)}")
    if column.get("mean") is not None:
        parts.append(f"mean {_short(column['mean'])}, sd {_short(column['std'])}")
    if column.get("atoms"):
        pairs = zip(column["atoms"], column["shares"], strict=True)
        often = [f"{_short(value)} {100 * share:.0f} %" for value, share in pairs]
        parts.append(f"often {', '.join(often)}")
    if column.get("bounds"):
        low, high = column["bounds"]
        ends = [] if low is None else [f"from {_short(low)}"]
        ends += [] if high is None else [f"to {_short(high)}"]
        parts.append(f"bounds {' '.join(ends)}")
    return "; ".join(parts) or "its name"


def _categories(column: dict[str, Any]) -> str:
    names, rates = column["categories"], column.get("frequencies")
    if len(names) == 1:
        return f"its only value, {names[0]}"
    order = list(range(len(names)))
    if rates:
        order = sorted(order, key=lambda k: -rates[k])
    shown = [
        f"{names[k]} {100 * rates[k]:.0f} %" if rates else names[k] for k in order[:4]
    ]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    what = count(len(names), "category", "categories")
    return f"{what}: {', '.join(shown)}{more}"


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{int(value):,}" if value == int(value) else f"{value:,.4g}"
