"""`macfm bench`: run the benchmark, report on its records, manage its data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from macfm.cli._late import Late, LateGroup

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


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what a user can put right into a message of one sentence."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        raise click.ClickException(str(error)) from error


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Comma-separated names as a tuple."""
    return (
        None if value is None else tuple(filter(None, map(str.strip, value.split(","))))
    )


def _rates(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    """Comma-separated rates as numbers."""
    try:
        return None if value is None else tuple(map(float, value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers") from None


@click.group(
    cls=LateGroup,
    late={
        "data": Late("macfm.cli._bench_data:data", "List, fetch and verify the tables.")
    },
)
def bench() -> None:
    """Compare imputers on tables whose hidden cells are known."""


@bench.command()
@click.argument("spec", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--table",
    type=click.Path(exists=True, dir_okay=False),
    help="Benchmark on this CSV or parquet file of yours instead of a spec.",
)
@click.option("--target", help="With --table: a column to leave out.")
@click.option(
    "--categorical", callback=_names, help="With --table: numbers that are categories."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Record file.")
@click.option("--datasets", callback=_names, help="Only these, comma-separated.")
@click.option("--methods", callback=_names, help="Only these, comma-separated.")
@click.option("--mechanisms", callback=_names, help="Only these, comma-separated.")
@click.option("--rates", callback=_rates, help="Only these, such as 0.3,0.5.")
@click.option("--masks", type=click.IntRange(1), help="Number of masks.")
@click.option("--rows", type=click.IntRange(10), help="Most training rows.")
@click.option("--jobs", type=click.IntRange(1), default=1, help="Cells at a time.")
@click.option("--threads", type=click.IntRange(1), help="Threads of each cell.")
@click.option("--time-limit", type=float, help="Seconds for one method in one cell.")
@click.option("--device", default="auto", help="Where networks run: auto, cpu, cuda.")
@click.option("--seed", type=int, default=0, help="Seed of the methods.")
@click.option("--data-dir", type=click.Path(file_okay=False), help="Datasets folder.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Python file that registers a method or a dataset; may be repeated.",
)
@click.option("--peers", type=click.Path(), help="Folder of the peers' environments.")
@click.option("--retry", is_flag=True, help="Run failed cells again.")
@click.option(
    "--ablations", callback=_names, help="Only these of the spec, and no other cells."
)
@click.option("--no-ablations", is_flag=True, help="Leave out the spec's ablations.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def run(
    spec: str | None,
    table: str | None,
    target: str | None,
    categorical: tuple[str, ...] | None,
    output: str | None,
    time_limit: float | None,
    jobs: int,
    threads: int | None,
    device: str,
    seed: int,
    data_dir: str | None,
    plugins: tuple[str, ...],
    peers: str | None,
    retry: bool,
    ablations: tuple[str, ...] | None,
    no_ablations: bool,
    quiet: bool,
    **choices: Any,
) -> None:
    """Run a benchmark and write a record for every cell.

    SPEC is a TOML file that names datasets, mechanisms, rates, masks and methods; the
    options narrow or replace what it says. Interrupt it and run it again: what is done
    is not repeated.

    \b
    Examples:
      macfm bench run benchmarks/quick.toml
      macfm bench run benchmarks/paper.toml --datasets letter,magic --masks 3 --jobs 2
      macfm bench run --datasets wine,iris --methods mean,knn,macfm --masks 3
      macfm bench run --table my.csv
    """
    from macfm.bench.runner import make_plan

    if spec is not None and table is not None:
        raise click.UsageError("give either a SPEC or --table FILE, not both")
    if spec is table is None and not (choices["datasets"] and choices["methods"]):
        raise click.UsageError("give a SPEC, --table FILE, or --datasets and --methods")
    if table is None and (target or categorical):
        raise click.UsageError("--target and --categorical go with --table")
    if ablations is not None and no_ablations:
        raise click.UsageError("give either --ablations or --no-ablations")
    if ablations == ():
        raise click.UsageError("--ablations names none; --no-ablations leaves them out")
    with one_sentence():
        name = None
        if table is not None:
            name = _announce(table, target, categorical or ())
        chosen = _spec(spec, name, choices)
        if time_limit is not None:
            chosen = replace(chosen, time_limit=time_limit)
        if no_ablations:
            chosen = replace(chosen, ablations=())
        elif ablations is not None:
            chosen = chosen.only_ablations(ablations)
        plan = make_plan(
            chosen,
            output or _default_output(spec, name),
            n_jobs=jobs,
            n_threads=threads,
            device=device,
            seed=seed,
            data_dir=data_dir,
            table=table,
            target=target,
            categorical=categorical or (),
            plugins=plugins,
            peers=peers,
            retry=retry,
        )
        _carry_out(plan, quiet=quiet)


@bench.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("-o", "--output", default="report", type=click.Path(file_okay=False))
@click.option("--title", default="Benchmark of imputers", help="Title of the page.")
@click.option("--command", help="What made the records, if the page cannot tell.")
@click.option("--masks", type=click.IntRange(1), help="Only the first so many masks.")
@click.option("--no-published", is_flag=True, help="Leave out the published values.")
@click.option("--no-figures", is_flag=True, help="Tables only; needs no matplotlib.")
def report(
    records: tuple[str, ...],
    output: str,
    title: str,
    command: str | None,
    masks: int | None,
    no_published: bool,
    no_figures: bool,
) -> None:
    """Write tables and figures of RECORDS: HTML, Markdown, LaTeX, CSV, PNG, SVG.

    RECORDS are files that `macfm bench run` wrote, or folders of them.

    \b
    Example:
      macfm bench report benchmarks/quick.jsonl -o report/
    """
    from macfm.bench.records import read_records
    from macfm.bench.report import write_pages

    with one_sentence():
        found = read_records(*records)
        if masks is not None:
            found = [record for record in found if record["mask"] < masks]
        paths = write_pages(
            found,
            Path(output),
            published=not no_published,
            figures=not no_figures,
            title=title,
            command=command,
            sources=[Path(path).name for path in records],
        )
    click.echo(f"{len(paths)} files in {output}; open {Path(output) / 'index.html'}")


@bench.command()
def methods() -> None:
    """List the methods and whether they can run here."""
    from rich.console import Console
    from rich.table import Table

    from macfm.bench.runner import find_peers, interpreter_for
    from macfm.judge.methods import METHODS

    listing = Table("name", "method", "", "can run", box=None, pad_edge=False)
    for name, method in METHODS.items():
        mark = "" if method.inductive else "transductive"
        ready = interpreter_for(method, find_peers(None)) is not None
        state = "yes" if ready else "after `make peers`"
        listing.add_row(name, method.about, mark, state)
    Console().print(listing)


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


def _carry_out(plan: Plan, *, quiet: bool) -> None:
    """Run a plan with a progress bar, then print the ranking."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from macfm.bench.records import latest, read_records
    from macfm.bench.summary import Outcomes, ranking_table

    screen, errors = Console(stderr=True, quiet=quiet), Console(stderr=True)
    if plan.n_done:
        screen.print(f"{plan.n_done} cells have a record in {plan.output} already")
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=screen,
        disable=quiet or not screen.is_terminal,
    )
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
    if Outcomes.of(known).all_failed:
        raise click.exceptions.Exit(1)
