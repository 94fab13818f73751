"""Default: half a year of bills and payments of credit card clients in Taiwan."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_sheet
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

NUMERIC = (
    *("LIMIT_BAL", "AGE"),
    *(f"BILL_AMT{j}" for j in range(1, 7)),
    *(f"PAY_AMT{j}" for j in range(1, 7)),
)
CATEGORICAL = (
    *("SEX", "EDUCATION", "MARRIAGE"),
    *(f"PAY_{j}" for j in (0, 2, 3, 4, 5, 6)),
)


def parse(archive: Path) -> pd.DataFrame:
    """Read the workbook of the archive, whose second row has the names."""
    content = read_member(archive, "default of credit card clients.xls")
    return read_sheet(content, reader="xlrd", header=1)


DATASET = Dataset(
    name="default",
    title="Default of Credit Card Clients",
    numeric=NUMERIC,
    categorical=CATEGORICAL,
    target="default payment next month",
    n_rows=30_000,
    source="Yeh (2009), UCI 350, doi:10.24432/C55S3H",
    licence=LICENCE,
    note="the column ID is left out; repayment states are codes -2 to 8",
    download=Download(uci_file(350, "default+of+credit+card+clients"), parse),
    sha256="3203dfd9a2d856faf62c3110c5eab69580dd9226edc7300c7bc80018280b5d7f",
    fingerprint=known("default"),
)
