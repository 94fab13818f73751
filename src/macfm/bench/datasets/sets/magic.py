"""MAGIC: simulated images of gamma and hadron showers in a telescope."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_text
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

NUMERIC = (
    *("fLength", "fWidth", "fSize", "fConc", "fConc1", "fAsym", "fM3Long", "fM3Trans"),
    *("fAlpha", "fDist"),
)


def parse(archive: Path) -> pd.DataFrame:
    """Read the headerless data file of the archive."""
    content = read_member(
        archive,
        "magic04.data",
        sha256="e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
    )
    return read_text(content, names=[*NUMERIC, "class"], dtype={"class": str})


DATASET = Dataset(
    name="magic",
    title="MAGIC Gamma Telescope",
    numeric=NUMERIC,
    categorical=(),
    target="class",
    n_rows=19_020,
    source="Bock (2004), UCI 159, doi:10.24432/C52C8B",
    licence=LICENCE,
    note="115 rows occur more than once",
    download=Download(uci_file(159, "magic+gamma+telescope"), parse),
    sha256="4a7aca82703da29fd880ac57ac8f3a607d83c209ef2b0ef84eb916be0d770bff",
    fingerprint=known("magic"),
)
