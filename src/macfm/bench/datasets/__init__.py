"""The benchmark's tables: a registry, and loading with roles, repairs and quirks."""

from __future__ import annotations

from macfm.bench.datasets._dataset import Dataset, DatasetError, Download, LoadedTable
from macfm.bench.datasets._fetch import DownloadError
from macfm.bench.datasets._fingerprint import Fingerprint, fingerprint
from macfm.bench.datasets._load import load_dataset
from macfm.bench.datasets._manage import (
    Status,
    dataset_status,
    fetch_dataset,
    verify_dataset,
)
from macfm.bench.datasets._own import load_table
from macfm.bench.datasets._registry import DATASETS, get_dataset, register_dataset

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetError",
    "Download",
    "DownloadError",
    "Fingerprint",
    "LoadedTable",
    "Status",
    "dataset_status",
    "fetch_dataset",
    "fingerprint",
    "get_dataset",
    "load_dataset",
    "load_table",
    "register_dataset",
    "verify_dataset",
]
