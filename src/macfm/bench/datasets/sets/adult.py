"""Adult: extract of the US census of 1994, some answers missing in the source."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_text
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country", "income"),
)
NUMERIC = (
    *("age", "fnlwgt", "education-num", "capital-gain", "capital-loss"),
    "hours-per-week",
)
CATEGORICAL = tuple(c for c in COLUMNS if c not in (*NUMERIC, "income"))


def parse(archive: Path) -> pd.DataFrame:
    """Read the headerless training file: blanks after commas, ``?`` for missing."""
    content = read_member(
        archive,
        "adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    )
    text = dict.fromkeys((*CATEGORICAL, "income"), str)
    return read_text(content, names=list(COLUMNS), dtype=text)


DATASET = Dataset(
    name="adult",
    title="Adult (Census Income)",
    numeric=NUMERIC,
    categorical=CATEGORICAL,
    target="income",
    n_rows=32_561,
    source="Becker and Kohavi (1996), UCI 2, doi:10.24432/C5XW20",
    licence=LICENCE,
    note="4,262 cells are missing in the source; 24 rows occur more than once",
    download=Download(uci_file(2, "adult"), parse),
    sha256="017dec0221491385974c6be7d98f028b6d0ad05a374444e9e86e35ecb11b98d2",
    fingerprint=known("adult"),
)
