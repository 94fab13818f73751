"""`macfm bench data`: what tables there are, fetch them, verify them."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from macfm.bench.datasets import (
    DATASETS,
    Dataset,
    DatasetError,
    dataset_status,
    fetch_dataset,
    get_dataset,
    verify_dataset,
)
from macfm.cli._command import Polite, file_option, option
from macfm.cli._late import LateGroup
from macfm.cli._layout import console, plain_table
from macfm.cli._options import data_dir_option, json_option

cache_dir_option = file_option(
    "--cache-dir",
    metavar="FOLDER",
    type=click.Path(),
    help="Folder of downloads. Default: MACFM_CACHE, else the user's cache folder.",
)


def _check_names(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    for name in names:
        try:
            get_dataset(name)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    return names


names_argument = click.argument(
    "names", nargs=-1, metavar="[NAME]...", callback=_check_names
)


@click.group(cls=LateGroup, late={})
def data() -> None:
    """List, fetch and verify the benchmark's tables."""


@data.command("list", cls=Polite)
@data_dir_option
@cache_dir_option
@json_option
def list_(data_dir: str | None, cache_dir: str | None, as_json: bool) -> None:
    """List every table and where it is now."""
    rows = [
        _describe(dataset, data_dir=data_dir, cache_dir=cache_dir)
        for dataset in DATASETS.values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    cells = []
    for row in rows:
        counts = (row["rows"], row["numeric"], row["categorical"])
        shown = ("?" if n is None else f"{n:,}" for n in counts)
        cells.append((row["name"], *shown, row["where"], row["target"] or ""))
    headings = ("name", ">rows", ">numeric", ">categorical", "where", "target")
    screen = console()
    screen.print(plain_table(headings, cells, width=screen.width, wrap=True))


def _describe(
    dataset: Dataset, *, data_dir: str | None, cache_dir: str | None
) -> dict[str, Any]:
    known = dataset.n_features > 0
    where = dataset_status(dataset.name, data_dir=data_dir, cache_dir=cache_dir)
    return {
        "name": dataset.name,
        "title": dataset.title,
        "rows": dataset.n_rows,
        "numeric": len(dataset.numeric) if known else None,
        "categorical": len(dataset.categorical) if known else None,
        "target": dataset.target,
        "where": where,
        "quirks": dict(dataset.quirks),
        "note": dataset.note,
        "source": dataset.source,
        "licence": dataset.licence,
    }


@data.command(cls=Polite)
@names_argument
@option("--all", "everything", is_flag=True, help="Every table with a download.")
@option("--force", is_flag=True, help="Fetch again what is there and right.")
@data_dir_option
@cache_dir_option
def get(
    names: tuple[str, ...],
    everything: bool,
    force: bool,
    data_dir: str | None,
    cache_dir: str | None,
) -> None:
    """Download tables into the cache; what is there already is kept."""
    if bool(names) == everything:
        raise click.UsageError("name at least one table, or give --all, not both")
    if everything:
        names = tuple(n for n, dataset in DATASETS.items() if dataset.download)
    failed = False
    for name in names:
        try:
            where = dataset_status(name, data_dir=data_dir, cache_dir=cache_dir)
            if where == "bundled":
                click.echo(f"{name}: bundled with scikit-learn, nothing to fetch")
            elif where == "synthetic":
                click.echo(f"{name}: synthetic, made when it is loaded")
            elif where == "data folder" and not force:
                click.echo(f"{name}: in the data folder already")
            else:
                path = fetch_dataset(name, cache_dir=cache_dir, force=force)
                click.echo(f"{name}: {path}")
        except DatasetError as error:
            failed = True
            click.echo(f"{name}: {error}", err=True)
    if failed:
        sys.exit(1)


@data.command(cls=Polite)
@names_argument
@data_dir_option
@cache_dir_option
def verify(
    names: tuple[str, ...],
    data_dir: str | None,
    cache_dir: str | None,
) -> None:
    """Compare the copies on this machine with the tables that are meant.

    Without names, all of them. The exit status is 1 if a copy differs or cannot be
    read, or if a table asked for by name is missing.
    """
    failed = False
    for name in names or DATASETS:
        for copy in verify_dataset(name, data_dir=data_dir, cache_dir=cache_dir):
            bad = {"different", "unreadable"} | ({"missing"} if names else set())
            failed |= copy.state in bad
            parts = (f"{copy.state:<10} {copy.name:<14}", copy.place, copy.detail)
            click.echo("  ".join(part for part in parts if part))
    if failed:
        sys.exit(1)
