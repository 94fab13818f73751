"""Gesture phases: hand and wrist motion in seven videos, frame by frame."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, Download
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_member, read_text
from macfm.bench.datasets.sets._uci import LICENCE, uci_file

VIDEOS = ("a1", "a2", "a3", "b1", "b3", "c1", "c3")
TWIN = ("a1", "a2", "a3", "b1", "b1", "c1", "c3")
NUMERIC = tuple(str(j) for j in range(1, 33))


def parse(archive: Path) -> pd.DataFrame:
    """Join the processed files of the seven videos, naming the video of each row."""
    parts = []
    for video in VIDEOS:
        content = read_member(archive, f"{video}_va3.csv")
        part = read_text(content)
        part.columns = [str(c).strip() for c in part.columns]
        part.insert(0, "video", video)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def repair(source: pd.DataFrame, quirks: Collection[str]) -> pd.DataFrame:
    """Take each video once, or b1 for b3 as earlier benchmarks did."""
    videos = TWIN if "twin-video" in quirks else VIDEOS
    parts = [source[source["video"] == video] for video in videos]
    return pd.concat(parts, ignore_index=True)


DATASET = Dataset(
    name="gesture",
    title="Gesture Phase Segmentation",
    numeric=NUMERIC,
    categorical=(),
    target="Phase",
    n_rows=9_873,
    source="Madeo, Wagner and Peres (2014), UCI 302, doi:10.24432/C5Z32C",
    licence=LICENCE,
    note="rows are consecutive frames, so neighbours are alike",
    quirks={
        "twin-video": "video b1 twice and b3 never: 9,522 rows, twins across the split"
    },
    repair=repair,
    download=Download(uci_file(302, "gesture+phase+segmentation"), parse),
    sha256="c7628ddb3b784e8590929922049a054a90d7cc176c7ed1585357e5c246d6dfd6",
    fingerprint=known("gesture"),
)
