"""`macfm compare`: whether it is any good on a user's table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from macfm.cli import _model
from macfm.cli._manners import Polite, Voice, console
from macfm.cli._options import (
    data_argument,
    json_option,
    model_options,
    reading_options,
    talking_options,
)
from macfm.cli._tables import read_source, tell_notes

if TYPE_CHECKING:
    from macfm.bench.compare import Comparison


@click.command(cls=Polite)
@data_argument
@click.option(
    "--methods",
    default="mean,knn,mice",
    show_default=True,
    help="What macfm is compared with, comma-separated; macfm bench methods lists all.",
)
@click.option(
    "--folds", type=click.IntRange(1), default=3, show_default=True, help="Repetitions."
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Share of the observed cells that each fold hides.",
)
@json_option
@model_options
@reading_options
@talking_options
def compare(
    data: str, methods: str, folds: int, share: float, as_json: bool, **options: Any
) -> None:
    """Compare macfm with other methods on observed cells of a table.

    Some observed cells are hidden, each method fills them, and the errors are compared;
    cells that are missing anyway play no part. `--budget` is the time for all of it.

    \b
    Examples:
      macfm compare patients.csv --id patient
      macfm compare patients.csv --preset fast --methods mean,missforest --json
    """
    voice = Voice(quiet=options["quiet"], verbose=options["verbose"])
    if folds * share > 1 + 1e-9:
        raise click.UsageError(
            f"--folds times --share must not exceed 1, since no cell is hidden twice; "
            f"got {folds} times {share:g}"
        )
    source = read_source(data, options)
    voice.say(source.headline())
    tell_notes(source, voice)
    budget, options["budget"] = options["budget"], None
    imputer = _model.make_imputer(source, options)
    chosen = [name.strip() for name in methods.split(",") if name.strip()]
    _check_methods(chosen)

    from macfm.bench.compare import compare as run

    with _progress(voice) as progress, voice.log():
        found = run(
            source.frame,
            imputer=imputer,
            methods=[name for name in chosen if name != "macfm"],
            n_folds=folds,
            share=share,
            seed=options["seed"],
            time_limit=budget,
            progress=progress,
        )
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
        return
    screen = console()
    for line in found.summary().splitlines():
        screen.print(line)
    for line in verdict(found):
        screen.print(line, style="bold")


def _check_methods(chosen: list[str]) -> None:
    from macfm.bench.methods import METHODS

    for name in chosen:
        if name not in METHODS and name != "macfm":
            raise click.UsageError(
                f"--methods: there is no method {name!r}; methods are "
                f"{', '.join(METHODS)}"
            )


@contextmanager
def _progress(voice: Voice) -> Iterator[Any]:
    """Show a bar of the fits on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    screen = console(err=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=screen,
        transient=True,
        disable=voice.quiet or not screen.is_terminal,
    )
    with bar:
        task = bar.add_task("fits", total=None)

        def show(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name)

        yield show


def verdict(found: Comparison) -> list[str]:
    """Say which method is best, on numbers and on categories."""
    lines = []
    for score, what, lower in (
        ("rmse_ratio", "numbers", True),
        ("accuracy", "categories", False),
    ):
        scores = found.overall.set_index("title")[score].dropna()
        scores = scores.sort_values(ascending=lower)
        if len(scores) < 2:
            continue
        ours = found.overall.set_index("method").loc["macfm"]
        first = scores.index[0]
        shown = [f"{v:.2f}" if lower else f"{100 * v:.1f} %" for v in scores]
        if first == ours["title"]:
            second = f"{scores.index[1]} {shown[1]}"
            lines.append(f"On {what} {first} does best ({shown[0]}), then {second}.")
        else:
            place = list(scores.index).index(ours["title"])
            lines.append(
                f"On {what} {first} does best ({shown[0]}); {ours['title']} reaches "
                f"{shown[place]}."
            )
    return ["", *lines] if lines else []
