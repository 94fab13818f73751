"""Loading a dataset of the registry by its name."""

from __future__ import annotations

import os
from collections.abc import Collection

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, DatasetError, LoadedTable
from macfm.bench.datasets._own import infer_roles
from macfm.bench.datasets._registry import get_dataset
from macfm.bench.datasets._roles import apply_roles
from macfm.bench.datasets._source import find_places, source_table


def load_dataset(
    name: str,
    *,
    data_dir: str | os.PathLike | None = None,
    cache_dir: str | os.PathLike | None = None,
    quirks: Collection[str] = (),
    download: bool = True,
) -> LoadedTable:
    """Load a dataset, from the nearest place that has it.

    Looked for in the data folder, then in the cache, then at its publisher; a bundled
    dataset needs none of them. A table that is not the one meant is an error.

    Parameters
    ----------
    name
        A key of `DATASETS`.
    data_dir
        Folder of tables; the environment variable MACFM_DATA if not given.
    cache_dir
        Folder of downloads; the user's cache folder if not given.
    quirks
        Faults of earlier benchmarks to put back, by name; see `Dataset.quirks`.
    download
        Whether a dataset that is not here may be fetched.

    Examples
    --------
    >>> wine = load_dataset("wine")
    >>> wine.frame.shape, wine.target, wine.n_columns_counted
    ((178, 13), 'class', 14)
    """
    dataset = get_dataset(name)
    asked = dataset.check_quirks(quirks)
    places = find_places(data_dir, cache_dir)
    source = source_table(dataset, places, download=download)
    return as_loaded(dataset, source, asked)


def as_loaded(
    dataset: Dataset, source: pd.DataFrame, quirks: tuple[str, ...] = ()
) -> LoadedTable:
    """Repair the source table, or put the quirks asked for, and apply the roles."""
    if dataset.n_features == 0:
        frame, notes = infer_roles(source, ignore=(dataset.target,))
        return LoadedTable(dataset.name, frame, dataset.target, quirks, notes)
    frame = dataset.repair(source, quirks) if dataset.repair else source
    if dataset.n_rows not in (None, len(frame)) and not quirks:
        raise DatasetError(
            f"{dataset.name} must have {dataset.n_rows:,} rows, got {len(frame):,}"
        )
    try:
        features = apply_roles(
            frame, numeric=dataset.numeric, categorical=dataset.categorical
        )
    except DatasetError as error:
        raise DatasetError(f"{dataset.name}: {error}") from error
    return LoadedTable(dataset.name, features, dataset.target, quirks)
