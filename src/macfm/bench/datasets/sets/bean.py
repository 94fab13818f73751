"""Dry beans: shapes of seven varieties, measured in photographs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_arff, read_member
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

# AspectRation and roundness are spelt as in the source.
NUMERIC = (
    *("Area", "Perimeter", "MajorAxisLength", "MinorAxisLength", "AspectRation"),
    *("Eccentricity", "ConvexArea", "EquivDiameter", "Extent", "Solidity", "roundness"),
    *("Compactness", "ShapeFactor1", "ShapeFactor2", "ShapeFactor3", "ShapeFactor4"),
)


def parse(archive: Path) -> pd.DataFrame:
    """Read the ARFF file of the archive, which needs no spreadsheet reader.

    It holds the values of the workbook beside it, printed with about ten digits.
    """
    return read_arff(read_member(archive, "Dry_Bean_Dataset.arff"), text=("Class",))


def repair(source: pd.DataFrame, quirks: Collection[str]) -> pd.DataFrame:
    """Keep every row, or lose the first as earlier benchmarks did."""
    return source.iloc[1:] if "lost-first-row" in quirks else source


DATASET = Dataset(
    name="bean",
    title="Dry Bean",
    numeric=NUMERIC,
    categorical=(),
    target="Class",
    n_rows=13_611,
    source="Koklu and Ozkan (2020), UCI 602, doi:10.24432/C50S4B",
    licence=LICENCE,
    note="68 rows occur more than once; rows are ordered by class",
    quirks={"lost-first-row": "first data row taken for a header: 13,610 rows"},
    repair=repair,
    download=Download(uci_file(602, "dry+bean+dataset"), parse),
    sha256="c7ea39894a61a92c22d5ccbc5e5251cd2443a384a94e27331abf6690bfc4036c",
    fingerprint=known("bean"),
)
