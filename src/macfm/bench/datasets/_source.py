"""Finding a dataset's source table: data folder, then cache, then its publisher."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from macfm._replace import move_file
from macfm.bench.datasets._dataset import Dataset, DatasetError, Download
from macfm.bench.datasets._fetch import DownloadError, alone, fetch
from macfm.bench.datasets._read import SUFFIXES, read_table_file


@dataclass(frozen=True)
class Places:
    """The folders a dataset is looked for in."""

    data: Path | None
    """Folder of tables, None if there is none."""
    cache: Path
    """Folder of files fetched earlier."""


def find_places(
    data_dir: str | os.PathLike | None = None,
    cache_dir: str | os.PathLike | None = None,
) -> Places:
    """Return the folders: the arguments, else MACFM_DATA and MACFM_CACHE.

    Without either, the cache is the user's cache folder of the platform. A `data_dir`
    must exist; a folder named by MACFM_DATA may be absent.
    """
    if data_dir is None:
        named = os.environ.get("MACFM_DATA")
        data = Path(named).expanduser() if named else None
        if data is not None and not data.is_dir():
            data = None
    else:
        data = Path(data_dir).expanduser()
        if not data.is_dir():
            raise DatasetError(f"the data folder {data} does not exist")
    cache = Path(cache_dir).expanduser() if cache_dir else _default_cache()
    return Places(data, cache)


def _default_cache() -> Path:
    if named := os.environ.get("MACFM_CACHE"):
        return Path(named).expanduser() / "datasets"
    named = os.environ.get("XDG_CACHE_HOME")
    if not named and sys.platform == "win32":
        named = os.environ.get("LOCALAPPDATA")
    if named:
        base = Path(named)
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "macfm" / "datasets"


def data_file(dataset: Dataset, places: Places) -> Path | None:
    """Return the dataset's file in the data folder, if it is there."""
    if places.data is None:
        return None
    stem = dataset.file or dataset.name
    # Someone with one table need not build the folders of the whole collection.
    for candidate in dict.fromkeys([stem, Path(stem).name, dataset.name]):
        for suffix in SUFFIXES:
            path = places.data / f"{candidate}{suffix}"
            if path.is_file():
                return path
    return None


def cache_file(dataset: Dataset, places: Places) -> Path | None:
    """Return where the cache keeps the dataset, there or not; None if never fetched."""
    if dataset.download is None:
        return None
    suffix = Path(dataset.download.url).suffix
    return places.cache / f"{dataset.name}{suffix}"


def whereabouts(dataset: Dataset, places: Places) -> str:
    """Say in two words from where `source_table` would take it."""
    if dataset.read is not None:
        return "synthetic" if dataset.synthetic else "bundled"
    if data_file(dataset, places):
        return "data folder"
    cached = cache_file(dataset, places)
    if cached is not None:
        return "cache" if cached.is_file() else "to download"
    return "private" if dataset.private else "to obtain"


def source_table(dataset: Dataset, places: Places, *, download: bool) -> pd.DataFrame:
    """Return every column as published, having checked that it is that table."""
    if dataset.read is not None:
        frame = dataset.read()
        check(dataset, frame, f"{dataset.name}, as it comes with its package,")
        return frame
    path = data_file(dataset, places)
    if path is not None:
        return read_data_file(dataset, path)
    cached = cache_file(dataset, places)
    if cached is None:
        raise DatasetError(f"{dataset.name} is not here. {_how_to_obtain(dataset)}")
    if not cached.is_file():
        if not download:
            raise DatasetError(
                f"{dataset.name} is not here and downloading is switched off. "
                f"{_how_to_do_without(dataset, cached)}"
            )
        return fetch_source(dataset, places)
    return read_cache_file(dataset, cached)


def read_data_file(dataset: Dataset, path: Path) -> pd.DataFrame:
    """Read the dataset's file of a data folder and check it."""
    texts = dataset.fingerprint.texts if dataset.fingerprint else ()
    strict = {"keep_default_na": False, "na_values": ["", "NA"]} if texts else {}
    frame = read_table_file(path, dtype=dict.fromkeys(texts, str), **strict)
    if not (dataset.sha256 and file_digest(path) == dataset.sha256):
        check(dataset, frame, str(path))
    return frame


def read_cache_file(dataset: Dataset, path: Path) -> pd.DataFrame:
    """Read a file fetched earlier and check it."""
    assert dataset.download is not None
    try:
        frame = dataset.download.parse(path)
    except (DatasetError, MemoryError):
        raise
    except Exception as error:  # each reader has its own kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"{path} cannot be read: {reason}") from error
    check(dataset, frame, str(path))
    return frame


def fetch_source(dataset: Dataset, places: Places) -> pd.DataFrame:
    """Download the dataset into the cache and return its source table.

    The file is kept if it is right, or if a package to read it is missing.
    """
    path = cache_file(dataset, places)
    if dataset.download is None or path is None:
        raise DatasetError(f"{dataset.name} has no download. {_how_to_obtain(dataset)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(
            f"the cache folder {path.parent} cannot be made ({error.strerror}); name "
            "another by --cache-dir or MACFM_CACHE"
        ) from error
    before = _modified(path)
    with alone(path):
        if _modified(path) != before:  # another process was quicker
            return read_cache_file(dataset, path)
        return _fetch_into(dataset, dataset.download, path)


def _fetch_into(dataset: Dataset, download: Download, path: Path) -> pd.DataFrame:
    arrived = path.with_name(f"{path.stem}.new{path.suffix}")
    try:
        fetch(download.url, arrived)
    except DownloadError as error:
        raise DownloadError(f"{error}. {_how_to_do_without(dataset, path)}") from error
    try:
        frame = read_cache_file(dataset, arrived)
    except DatasetError as error:
        if isinstance(error.__cause__, ImportError):
            move_file(arrived, path)
            raise
        arrived.unlink()
        raise DatasetError(
            f"what {download.url} sent was thrown away: {error}. "
            f"{_how_to_do_without(dataset, path)}"
        ) from error
    move_file(arrived, path)
    return frame


def _modified(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.exists() else None


def check(dataset: Dataset, frame: pd.DataFrame, where: str) -> None:
    """Raise if a table is not the one the dataset's fingerprint was taken of."""
    if dataset.fingerprint is None:
        return
    differences = dataset.fingerprint.differences(frame)
    if differences:
        shown = "; ".join(differences[:3])
        more = len(differences) - 3
        raise DatasetError(
            f"{where} is not the table known as {dataset.name}: {shown}"
            + (f"; and {more} more differences" if more > 0 else "")
        )


def file_digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _how_to_obtain(dataset: Dataset) -> str:
    stem = Path(dataset.file or dataset.name).name
    return (
        f"{dataset.obtain} Put it as {stem}.csv or {stem}.parquet into a folder and "
        "name the folder by --data-dir or MACFM_DATA."
    )


def _how_to_do_without(dataset: Dataset, cached: Path) -> str:
    assert dataset.download is not None
    stem = Path(dataset.file or dataset.name).name
    return (
        f"Without a network: put {stem}.parquet (or .csv) into a folder and name the "
        f"folder by --data-dir or MACFM_DATA, or fetch {dataset.download.url} "
        f"elsewhere and save it as {cached}"
    )
