"""Looking after the copies on this machine: what is where, fetch it, verify it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from macfm.bench.datasets._dataset import Dataset, DatasetError
from macfm.bench.datasets._registry import get_dataset
from macfm.bench.datasets._source import (
    cache_file,
    check,
    data_file,
    fetch_source,
    file_digest,
    find_places,
    read_cache_file,
    read_data_file,
    whereabouts,
)

Folder = str | os.PathLike | None


@dataclass(frozen=True)
class Status:
    """One copy of a dataset and how it stands."""

    name: str
    """The dataset."""
    place: str
    """Where it is, as `dataset_status` says it; ``""`` if there is no copy."""
    state: str
    """``"ok"``, ``"different"``, ``"unreadable"``, ``"unchecked"`` or ``"missing"``."""
    detail: str = ""
    """What was compared, or what is wrong."""
    path: Path | None = None
    """The file, if it is one."""


def dataset_status(
    name: str, *, data_dir: Folder = None, cache_dir: Folder = None
) -> str:
    """Say where `load_dataset` would take a dataset from.

    One of ``"bundled"``, ``"synthetic"``, ``"data folder"``, ``"cache"``,
    ``"to download"``, ``"to obtain"`` and ``"private"``.

    Examples
    --------
    >>> dataset_status("iris")
    'bundled'
    """
    return whereabouts(get_dataset(name), find_places(data_dir, cache_dir))


def fetch_dataset(name: str, *, cache_dir: Folder = None, force: bool = False) -> Path:
    """Download a dataset into the cache, unless a right copy is there, and return it.

    Parameters
    ----------
    name
        A key of `DATASETS` that can be downloaded.
    cache_dir
        Folder of downloads; the user's cache folder if not given.
    force
        Whether to download again what is there and right.
    """
    dataset = get_dataset(name)
    places = find_places(cache_dir=cache_dir)
    path = cache_file(dataset, places)
    if path is not None and path.is_file() and not force:
        try:
            read_cache_file(dataset, path)
            return path
        except DatasetError as error:
            if isinstance(error.__cause__, ImportError):
                raise
    fetch_source(dataset, places)
    assert path is not None
    return path


def verify_dataset(
    name: str, *, data_dir: Folder = None, cache_dir: Folder = None
) -> list[Status]:
    """Check every copy of a dataset on this machine; nothing is downloaded.

    Examples
    --------
    >>> [copy.state for copy in verify_dataset("iris")]
    ['ok']
    """
    dataset = get_dataset(name)
    places = find_places(data_dir, cache_dir)
    if dataset.read is not None:
        return [_verify_read(dataset, whereabouts(dataset, places))]
    copies = []
    path = data_file(dataset, places)
    if path is not None:
        copies.append(_verify_file(dataset, "data folder", path))
    path = cache_file(dataset, places)
    if path is not None and path.is_file():
        copies.append(_verify_file(dataset, "cache", path))
    return copies or [
        Status(name, "", "missing", detail=whereabouts(dataset, places)),
    ]


def _verify_read(dataset: Dataset, place: str) -> Status:
    assert dataset.read is not None
    try:
        check(dataset, dataset.read(), f"{dataset.name}, as it comes with its package,")
    except DatasetError as error:
        return Status(dataset.name, place, "different", str(error))
    if dataset.fingerprint is None:
        return Status(dataset.name, place, "unchecked", "nothing to compare with")
    return Status(dataset.name, place, "ok", "same table")


def _verify_file(dataset: Dataset, place: str, path: Path) -> Status:
    if dataset.sha256 and file_digest(path) == dataset.sha256:
        return Status(dataset.name, place, "ok", "same file (sha256)", path)
    read = read_data_file if place == "data folder" else read_cache_file
    try:
        read(dataset, path)
    except DatasetError as error:
        missing_package = isinstance(error.__cause__, ImportError)
        state = "unreadable" if missing_package else "different"
        return Status(dataset.name, place, state, str(error), path)
    if dataset.fingerprint is None:
        return Status(dataset.name, place, "unchecked", "nothing to compare with", path)
    return Status(dataset.name, place, "ok", "same table", path)
