"""`macfm demo`: the commands at work on a table that everybody has."""

from __future__ import annotations

import csv
import gzip
import importlib.resources
import io
import shlex
import time
from pathlib import Path

import click

from macfm.cli._command import Polite
from macfm.cli._failures import Failure
from macfm.cli._layout import seconds_text
from macfm.cli._options import force_option

# The list of the Titanic's passengers, which scikit-learn brings for its own tests.
PLACE = "tests/data/openml/id_40945/data-v1-dl-16826755.arff.gz"
COLUMNS = (
    *("class", "survived", "name", "sex", "age", "siblings_spouses"),
    *("parents_children", "ticket", "fare", "cabin", "port", "boat", "body", "home"),
)
BUDGET = "10s"
LEFT_OUT = ("cabin", "boat", "body", "home")


@click.command(cls=Polite)
@click.option(
    "-o",
    "--output",
    default="macfm-demo",
    show_default=True,
    type=click.Path(),
    help="Folder to write into.",
)
@force_option
@click.pass_context
def demo(ctx: click.Context, output: str, force: bool) -> None:
    """Inspect and fill the Titanic's passenger list, and report on it.

    The list comes with scikit-learn. Takes less than a minute.

    \b
    Examples:
      macfm demo
      macfm demo -o passengers
    """
    from macfm.files import check_target

    folder = Path(output)
    check_target(f"{output.rstrip('/')}/", draws=True, force=force)
    content = passengers()
    folder.mkdir(exist_ok=True)
    table = folder / "passengers.csv"
    table.write_text(content, encoding="utf-8")
    began = time.perf_counter()
    click.echo(f"{table}: the Titanic's passenger list, as it comes with scikit-learn")
    columns = ["--id", "name", "--ignore", "ticket"]
    steps = [
        ["inspect", str(table), *columns],
        [
            *("impute", str(table), "-o", str(folder / "completed.csv"), *columns),
            *("--ordinal", "class=1<2<3", "--bounds", "age=0:,fare=0:"),
            *(
                "--preset",
                "fast",
                "--budget",
                BUDGET,
                "--model",
                str(folder / "model.macfm"),
            ),
        ],
        [
            *("report", str(table), "--model", str(folder / "model.macfm")),
            *("--id", "name", "-o", str(folder / "report.html")),
        ],
    ]
    if not _has_report():
        steps.pop()
    for words in steps:
        click.echo(f"\n$ {shlex.join(['macfm', *words])}")
        run = [*words, "--force"] if force and words[0] != "inspect" else words
        root = ctx.find_root().command
        root.main(run, prog_name="macfm", standalone_mode=False)
    click.echo(f"\nDone in {seconds_text(time.perf_counter() - began)}. {output} holds")
    for path in sorted(folder.iterdir()):
        click.echo(f"  {path.name}")
    if not _has_report():
        click.echo('A report needs pip install "macfm[report]".')


def passengers() -> str:
    """Return the passenger list as CSV."""
    file = importlib.resources.files("sklearn.datasets").joinpath(PLACE)
    try:
        text = gzip.decompress(file.read_bytes()).decode("utf-8")
    except OSError:
        raise Failure(
            "the passenger list comes with the tests of scikit-learn, which this "
            "installation lacks; install scikit-learn from its wheel"
        ) from None
    rows = csv.reader(io.StringIO(text.partition("@data\n")[2]), escapechar="\\")
    kept = [place for place, name in enumerate(COLUMNS) if name not in LEFT_OUT]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([COLUMNS[place] for place in kept])
    for row in rows:
        if row:
            cells = [row[place].strip() for place in kept]
            writer.writerow(["" if cell == "?" else cell for cell in cells])
    return out.getvalue()


def _has_report() -> bool:
    import importlib.util

    needed = ("matplotlib", "jinja2")
    return all(importlib.util.find_spec(name) is not None for name in needed)
