"""`macfm bench`: run the benchmark, report on its records, manage its data."""

from __future__ import annotations

import os
from pathlib import Path

import click

from macfm.cli._command import Polite, output_option
from macfm.cli._failures import Failure
from macfm.cli._late import Late, LateGroup
from macfm.cli._layout import console, plain_table
from macfm.cli._options import force_option, voice_options

COMMANDS = {
    "run": Late(
        "macfm.cli._bench_run:run", "Run a benchmark and write a record for every cell."
    ),
    "data": Late("macfm.cli._bench_data:data", "List, fetch and verify the tables."),
}


@click.group(cls=LateGroup, late=COMMANDS)
def bench() -> None:
    """Compare imputers on tables whose hidden cells are known."""


@bench.command(cls=Polite)
@click.argument("records", nargs=-1, required=True, type=click.Path())
@output_option(
    "-o",
    "--output",
    metavar="FOLDER",
    default="report",
    show_default=True,
    type=click.Path(),
    help="Folder of the pages.",
)
@output_option(
    "--title",
    default="Benchmark of imputers",
    help="Title of the page.",
)
@output_option("--command", help="What made the records, if the page cannot tell.")
@output_option(
    "--masks",
    type=click.IntRange(1),
    help="Only the first so many masks.",
)
@output_option(
    "--no-published",
    is_flag=True,
    help="Leave out the published values.",
)
@output_option(
    "--no-figures",
    is_flag=True,
    help="Tables only; needs no matplotlib.",
)
@force_option
@voice_options
def report(
    records: tuple[str, ...],
    output: str,
    title: str,
    command: str | None,
    masks: int | None,
    no_published: bool,
    no_figures: bool,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Write tables and figures of RECORDS: HTML, Markdown, LaTeX, CSV, PNG, SVG.

    RECORDS are files that `macfm bench run` wrote, or folders of them.

    \b
    Example:
      macfm bench report benchmarks/quick.jsonl -o report/
    """
    from macfm.bench.records import read_records
    from macfm.bench.report import write_pages

    if not force and os.path.isdir(output) and os.listdir(output):
        raise Failure(
            f"{output}: is a folder that holds files; use --force to replace them"
        )
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
    if not quiet:
        page = Path(output) / "index.html"
        click.echo(f"{len(paths)} files in {output}; open {page}")


@bench.command(cls=Polite)
def methods() -> None:
    """List the methods and whether they can run here."""
    from macfm.bench.runner import find_peers, interpreter_for
    from macfm.judge.methods import METHODS

    rows = []
    for name, method in METHODS.items():
        mark = "" if method.inductive else " Transductive."
        ready = interpreter_for(method, find_peers(None)) is not None
        state = "yes" if ready else "after `make peers`"
        rows.append((name, state, method.about + mark))
    screen = console()
    headings = ("name", "can run", "method")
    screen.print(plain_table(headings, rows, width=screen.width, wrap=True))
