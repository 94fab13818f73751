"""`macfm bench data`: what tables there are, fetch them, verify them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
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

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of tables. Default: the environment variable MACFM_DATA.",
)
cache_dir_option = click.option(
    "--cache-dir",
    type=click.Path(file_okay=False, path_type=Path),
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


@click.group()
def data() -> None:
    """List, fetch and verify the benchmark's tables."""


@data.command("list")
@data_dir_option
@cache_dir_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def list_(data_dir: Path | None, cache_dir: Path | None, as_json: bool) -> None:
    """List every table and where it is now."""
    rows = [
        _describe(dataset, data_dir=data_dir, cache_dir=cache_dir)
        for dataset in DATASETS.values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for title in ("rows", "numeric", "categorical"):
        table.add_column(title, justify="right")
    table.add_column("target")
    table.add_column("where")
    for row in rows:
        counts = (row["rows"], row["numeric"], row["categorical"])
        table.add_row(
            row["name"],
            *("?" if n is None else f"{n:,}" for n in counts),
            row["target"] or "",
            row["where"],
        )
    Console().print(table)


def _describe(
    dataset: Dataset, *, data_dir: Path | None, cache_dir: Path | None
) -> dict[str, Any]:
    known = dataset.n_features > 0
    try:
        where = dataset_status(dataset.name, data_dir=data_dir, cache_dir=cache_dir)
    except DatasetError as error:
        raise click.ClickException(str(error)) from error
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


@data.command()
@names_argument
@click.option("--all", "everything", is_flag=True, help="Every table with a download.")
@click.option("--force", is_flag=True, help="Fetch again what is there and right.")
@data_dir_option
@cache_dir_option
def get(
    names: tuple[str, ...],
    everything: bool,
    force: bool,
    data_dir: Path | None,
    cache_dir: Path | None,
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


@data.command()
@names_argument
@data_dir_option
@cache_dir_option
def verify(
    names: tuple[str, ...],
    data_dir: Path | None,
    cache_dir: Path | None,
) -> None:
    """Compare the copies on this machine with the tables that are meant.

    Without names, all of them. The exit status is 1 if a copy differs or cannot be
    read, or if a table asked for by name is missing.
    """
    failed = False
    for name in names or DATASETS:
        try:
            copies = verify_dataset(name, data_dir=data_dir, cache_dir=cache_dir)
        except DatasetError as error:
            raise click.ClickException(str(error)) from error
        for copy in copies:
            bad = {"different", "unreadable"} | ({"missing"} if names else set())
            failed |= copy.state in bad
            parts = (f"{copy.state:<10} {copy.name:<14}", copy.place, copy.detail)
            click.echo("  ".join(part for part in parts if part))
    if failed:
        sys.exit(1)
