"""Letters: shape statistics of distorted printed capitals."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_text
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

NUMERIC = (
    *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar", "y2bar"),
    *("xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
)


def parse(archive: Path) -> pd.DataFrame:
    """Read the headerless data file of the archive."""
    content = read_member(
        archive,
        "letter-recognition.data",
        sha256="2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
    )
    return read_text(content, names=["lettr", *NUMERIC], dtype={"lettr": str})


DATASET = Dataset(
    name="letter",
    title="Letter Recognition",
    numeric=NUMERIC,
    categorical=(),
    target="lettr",
    n_rows=20_000,
    source="Slate (1991), UCI 59, doi:10.24432/C5ZP40",
    licence=LICENCE,
    note="whole numbers 0 to 15; 1,332 rows occur more than once",
    download=Download(uci_file(59, "letter+recognition"), parse),
    sha256="f8a9d86243ff190af1f0c546b2fd88d2bdd65b5620903a72cff4adea1f0dc5ad",
    fingerprint=known("letter"),
)
