"""`macfm bench run`: every cell of a spec in a process of its own."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from macfm._progress import make_progress
from macfm.cli import _parse
from macfm.cli._command import (
    Polite,
    column_option,
    columns_option,
    comparison_option,
    file_option,
    output_option,
    training_option,
)
from macfm.cli._failures import Failure
from macfm.cli._options import (
    budget_option,
    data_dir_option,
    device_option,
    seed_option,
    voice_options,
)

if TYPE_CHECKING:
    from macfm.bench.runner import Plan
    from macfm.bench.spec import Spec

# Methods that need nothing beside macfm itself, for a table of the user's own.
OWN_TABLE_METHODS = (
    "mean",
    "median",
    "most-frequent",
    "knn",
    "mice",
    "missforest",
    "extra-trees",
    "em",
    "softimpute",
    "macfm",
    "macfm-median",
)
_CHOICES = ("datasets", "methods", "mechanisms")


def _rates(texts: tuple[str, ...]) -> tuple[float, ...]:
    """Read rates, separated by commas."""
    try:
        return tuple(map(float, _parse.listed(texts)))
    except ValueError:
        raise click.UsageError(
            f"--rates: {','.join(texts)!r} is not a list of numbers"
        ) from None


@click.command(cls=Polite, old={"--time-limit": "--budget"})
@click.argument("spec", required=False, metavar="[SPEC]", type=click.Path())
@file_option(
    "--table",
    metavar="FILE",
    type=click.Path(),
    help="Benchmark on this CSV or Parquet file of yours instead of a spec.",
)
@column_option("--target", metavar="COLUMN", help="With --table: leave it out.")
@columns_option(
    "--categorical",
    help="With --table: numbers that are codes, such as ward,plan.",
)
@comparison_option(
    "--datasets", multiple=True, metavar="NAMES", help="Only these, such as a,b."
)
@comparison_option("--methods", multiple=True, metavar="METHODS", help="Only these.")
@comparison_option("--mechanisms", multiple=True, metavar="NAMES", help="Only these.")
@comparison_option(
    "--rates", multiple=True, metavar="RATES", help="Only these, such as 0.3,0.5."
)
@comparison_option(
    "--masks", metavar="N", type=click.IntRange(1), help="Number of masks."
)
@comparison_option(
    "--rows", metavar="N", type=click.IntRange(10), help="Most training rows."
)
@comparison_option(
    "--ablations",
    multiple=True,
    metavar="NAMES",
    help="Only these of the spec, and no other cells.",
)
@comparison_option(
    "--no-ablations", is_flag=True, help="Leave out the spec's ablations."
)
@budget_option("Most time for one method in one cell, such as 90s, 5m or 1h.")
@training_option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Cells at a time.",
)
@training_option(
    "--threads",
    metavar="N",
    type=click.IntRange(1),
    help="Threads of each cell; by default the cores are shared.",
)
@seed_option
@device_option
@data_dir_option
@file_option(
    "--plugin",
    "plugins",
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    help="Python file that registers a method or a dataset; may be repeated.",
)
@file_option(
    "--peers",
    metavar="FOLDER",
    type=click.Path(),
    help="Folder of the peers' environments.",
)
@output_option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Records, added to those that are there. Default: beside the spec.",
)
@output_option("--retry", is_flag=True, help="Run failed cells again.")
@voice_options
def run(
    spec: str | None,
    table: str | None,
    target: str | None,
    output: str | None,
    budget: float | None,
    ablations: tuple[str, ...],
    no_ablations: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Run a benchmark and write a record for every cell.

    SPEC is a TOML file that names datasets, mechanisms, rates, masks and methods; the
    options narrow or replace what it says. Interrupt it and run it again: what is done
    is not repeated. If no cell has a result, the exit code is 1.

    \b
    Examples:
      macfm bench run benchmarks/quick.toml
      macfm bench run benchmarks/paper.toml --datasets letter,magic --masks 3 --jobs 2
      macfm bench run --datasets wine,iris --methods mean,knn,macfm --masks 3
      macfm bench run --table my.csv
    """
    categorical = _parse.listed(options["categorical"])
    choices = {
        **{name: _parse.listed(options[name]) or None for name in _CHOICES},
        **{name: options[name] for name in ("masks", "rows")},
        "rates": _rates(options["rates"]) or None,
    }
    if spec is not None and table is not None:
        raise click.UsageError("give either a SPEC or --table FILE, not both")
    if spec is table is None and not (choices["datasets"] and choices["methods"]):
        raise click.UsageError("give a SPEC, --table FILE, or --datasets and --methods")
    if table is None and (target or categorical):
        raise click.UsageError("--target and --categorical go with --table")
    if ablations and no_ablations:
        raise click.UsageError("give either --ablations or --no-ablations")
    if ablations and not _parse.listed(ablations):
        raise click.UsageError("--ablations names none; --no-ablations leaves them out")

    from macfm.bench.runner import make_plan

    name = None
    if table is not None:
        name = _announce(table, target, categorical)
    chosen = _spec(spec, name, choices)
    if budget is not None:
        chosen = replace(chosen, time_limit=budget)
    if no_ablations:
        chosen = replace(chosen, ablations=())
    elif ablations:
        chosen = chosen.only_ablations(_parse.listed(ablations))
    plan = make_plan(
        chosen,
        output or _default_output(spec, name),
        n_jobs=options["jobs"],
        n_threads=options["threads"],
        device=options["device"] or "auto",
        seed=options["seed"],
        data_dir=options["data_dir"],
        table=table,
        target=target,
        categorical=categorical,
        plugins=options["plugins"],
        peers=options["peers"],
        retry=options["retry"],
    )
    _carry_out(plan, {cell.key for cell in chosen.cells()}, quiet=quiet)


def _announce(table: str, target: str | None, categorical: tuple[str, ...]) -> str:
    """Load a user's table once to show its faults and oddities; return its name."""
    from macfm.bench.datasets import load_table

    loaded = load_table(table, target=target, categorical=categorical)
    for note in loaded.notes:
        click.echo(f"note: {note}", err=True)
    return loaded.name


def _spec(spec: str | None, name: str | None, choices: dict[str, Any]) -> Spec:
    """The spec of a file or of a user's table, narrowed by the options."""
    from macfm.bench.spec import Spec

    if spec is not None:
        chosen = Spec.read(spec)
    elif name is None:
        chosen = Spec(datasets=choices["datasets"], methods=choices["methods"])
    else:
        chosen = Spec(
            datasets=(name,),
            methods=OWN_TABLE_METHODS,
            mechanisms=("mcar",),
            masks=3,
        )
        if choices["datasets"]:
            raise click.UsageError("--table is the dataset; leave out --datasets")
    return chosen.narrowed(**choices)


def _default_output(spec: str | None, name: str | None) -> Path:
    """Beside the spec, or named after the table in the current folder."""
    if spec is not None:
        return Path(spec).with_suffix(".jsonl")
    return Path("benchmark.jsonl" if name is None else f"{name}-benchmark.jsonl")


def _carry_out(plan: Plan, keys: Collection[Any], *, quiet: bool) -> None:
    """Run a plan with a progress bar, then print the ranking.

    It fails if none of its cells, which have these keys, has a result.
    """
    from rich.console import Console

    from macfm.bench.records import latest, read_records, record_key
    from macfm.bench.summary import ranking_table

    screen, errors = Console(stderr=True, quiet=quiet), Console(stderr=True)
    if plan.n_done:
        screen.print(f"{plan.n_done} cells have a record in {plan.output} already")
    parts = ("{task.description}", "bar", "count", "elapsed", "left:", "left")
    bar = make_progress(*parts, shown=not quiet, console=screen)
    n_failed = 0
    with bar, closing(plan.run()) as records:
        task = bar.add_task("cells", total=plan.n_cells)
        for record in records:
            bar.advance(task)
            where = f"{record['dataset']} {record['mechanism']} {record['rate']:g}"
            if record["rows"] is not None:
                where += f", {record['rows']} rows,"
            name = f"{where} mask {record['mask']}: {record['label']}"
            if record["status"] != "ok":
                n_failed += 1
                errors.print(
                    f"{name}: {record['status']}: {record['error']}", markup=False
                )
            elif not screen.is_terminal:
                screen.print(f"{name}: done", markup=False)
    known = latest(read_records(plan.output)) if plan.output.exists() else []
    if not quiet:
        click.echo(ranking_table(known))
        click.echo(f"records: {plan.output}")
        if n_failed:
            click.echo(f"{n_failed} cells have no result; the records say why")
    own = [record for record in known if record_key(record) in keys]
    if own and all(record["status"] != "ok" for record in own):
        raise Failure(f"{plan.output}: no cell has a result; the records say why")
