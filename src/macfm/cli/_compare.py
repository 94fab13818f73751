"""`macfm compare`: whether it is any good on a user's table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from macfm._progress import make_progress
from macfm.cli import _model, _parse
from macfm.cli._command import Polite, comparison_option
from macfm.cli._failures import Failure
from macfm.cli._layout import console
from macfm.cli._options import (
    data_argument,
    json_option,
    model_options,
    reading_options,
    talking_options,
)
from macfm.cli._signals import heed
from macfm.cli._tables import read_source, tell_notes
from macfm.cli._voice import Voice

if TYPE_CHECKING:
    from macfm.judge import Comparison


@click.command(cls=Polite, old={"--folds": "--repeats"})
@data_argument
@comparison_option(
    "--methods",
    multiple=True,
    metavar="METHODS",
    help="What macfm is compared with, such as mean,mice; macfm bench methods lists "
    "all. Default: mean, knn, mice, and extra-trees where the table is small.",
)
@comparison_option(
    "--repeats",
    metavar="N",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="How often cells are hidden, others each time.",
)
@comparison_option(
    "--threads",
    metavar="N",
    type=click.IntRange(1),
    help="Threads of every method; by default those of torch.",
)
@comparison_option(
    "--share",
    metavar="SHARE",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Share of the observed cells that is hidden each time.",
)
@json_option
@model_options
@reading_options
@talking_options
def compare(
    data: str,
    methods: tuple[str, ...],
    repeats: int,
    threads: int | None,
    share: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare macfm with other methods on observed cells of a table.

    Some observed cells are hidden, each method fills them, and the errors are compared;
    cells that are missing anyway play no part. It ends with which method to use for
    this table. `--budget` is the time for all of it.

    \b
    Examples:
      macfm compare patients.csv --id patient
      macfm compare patients.csv --preset fast --methods mean,missforest --json
    """
    voice = Voice(quiet=options["quiet"], verbose=options["verbose"])
    if repeats * share > 1 + 1e-9:
        raise click.UsageError(
            f"--repeats times --share must not exceed 1, since no cell is hidden "
            f"twice; got {repeats} times {share:g}"
        )
    chosen = list(_parse.listed(methods)) or None
    source = read_source(data, options)
    _check_methods(chosen or [])
    voice.say(source.headline())
    tell_notes(source, voice)
    budget, options["budget"] = options["budget"], None
    imputer = _model.make_imputer(source, options)

    from macfm.judge import compare as run

    with _progress(voice) as progress, voice.log():
        found = run(
            source.frame,
            imputer=imputer,
            methods=chosen,
            repeats=repeats,
            share=share,
            seed=options["seed"],
            n_threads=threads,
            budget=budget,
            progress=progress,
        )
    heed()
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        _show(found)
    if found.advice.method is None:
        raise Failure("nothing could be compared: " + _why(found))


def _show(found: Comparison) -> None:
    """Print the tables, and in bold what follows from them."""
    screen = console()
    said = [*found.verdict, *found.advice.sentences]
    for line in found.summary().splitlines():
        screen.print(line, style="bold" if line in said else None)


def _why(found: Comparison) -> str:
    """Why a comparison came to nothing."""
    if not found.n_cells:
        return "no column has enough observed cells to hide some"
    return "; ".join(note.rstrip(".") for note in found.notes if " failed: " in note)


def _check_methods(chosen: list[str]) -> None:
    from macfm.judge.methods import METHODS

    for name in chosen:
        if name not in METHODS and name != "macfm":
            raise click.UsageError(
                f"--methods: there is no method {name!r}; methods are "
                f"{', '.join(METHODS)}"
            )


@contextmanager
def _progress(voice: Voice) -> Iterator[Any]:
    """Show a bar of the fits on a terminal."""
    parts = ("{task.description}", "bar", "count")
    bar = make_progress(*parts, shown=not voice.quiet, console=console(err=True))
    with bar:
        task = bar.add_task("fits", total=None)

        def show(done: int, total: int, name: str) -> None:
            heed()
            bar.update(task, completed=done, total=total, description=name)

        yield show
