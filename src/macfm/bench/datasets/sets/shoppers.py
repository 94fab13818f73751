"""Shoppers: visits to an online shop."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_text
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

NUMERIC = (
    *("Administrative", "Administrative_Duration", "Informational"),
    *("Informational_Duration", "ProductRelated", "ProductRelated_Duration"),
    *("BounceRates", "ExitRates", "PageValues", "SpecialDay"),
)
CATEGORICAL = (
    *("Month", "OperatingSystems", "Browser", "Region", "TrafficType"),
    *("VisitorType", "Weekend"),
)


def parse(archive: Path) -> pd.DataFrame:
    """Read the CSV of the archive; TRUE and FALSE stay text."""
    text = dict.fromkeys(("Month", "VisitorType", "Weekend", "Revenue"), str)
    return read_text(read_member(archive, "online_shoppers_intention.csv"), dtype=text)


DATASET = Dataset(
    name="shoppers",
    title="Online Shoppers Purchasing Intention",
    numeric=NUMERIC,
    categorical=CATEGORICAL,
    target="Revenue",
    n_rows=12_330,
    source="Sakar and Kastro (2018), UCI 468, doi:10.24432/C5F88Q",
    licence=LICENCE,
    note="125 rows occur more than once",
    download=Download(
        uci_file(468, "online+shoppers+purchasing+intention+dataset"), parse
    ),
    sha256="d5dc87f9edd6a85e12955c97f2b3739752dfc04a1e7f7d6886513f8f93c940b7",
    fingerprint=known("shoppers"),
)
