"""Real tables through the command line: observed cells come back byte for byte."""

import gzip
import os
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from macfm.cli._main import macfm

pytestmark = pytest.mark.data

QUICK = ["--preset", "fast", "--set", "max_steps=5", "--device", "cpu", "-q"]


def real(name: str) -> pd.DataFrame:
    """A table of the data folder, whole numbers as such."""
    path = Path(os.environ["MACFM_DATA"]) / f"{name}.parquet"
    frame = pd.read_parquet(path).convert_dtypes()
    return frame.sample(min(len(frame), 500), random_state=0)


def impute(*words: str, stdin: bytes | None = None) -> bytes:
    result = CliRunner().invoke(macfm, ["impute", *words, *QUICK], input=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def assert_only_holes_changed(
    before: bytes, after: bytes, delimiter: bytes, ending: bytes
) -> None:
    """Compare field by field; these tables hold neither quotes nor delimiters."""
    assert b'"' not in before
    rows, completed = before.split(ending), after.split(ending)
    assert len(completed) == len(rows)
    n_filled = 0
    for row, new in zip(rows[:-1], completed[:-1], strict=True):
        fields, filled = row.split(delimiter), new.split(delimiter)
        assert len(filled) == len(fields)
        for old, value in zip(fields, filled, strict=True):
            assert value == old if old else value
            n_filled += not old
    assert n_filled > 100
    assert completed[-1] == rows[-1] == b""


def test_csv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    real("natural/hepatitis").to_csv("in.csv", index=False)
    impute("in.csv", "-o", "out.csv")
    before, after = Path("in.csv").read_bytes(), Path("out.csv").read_bytes()
    assert_only_holes_changed(before, after, b",", b"\n")


def test_compressed_tsv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    real("natural/horse_colic").to_csv("in.tsv.gz", sep="\t", index=False)
    impute("in.tsv.gz", "-o", "out.tsv.gz")
    files = (Path("in.tsv.gz"), Path("out.tsv.gz"))
    before, after = (gzip.decompress(file.read_bytes()) for file in files)
    assert_only_holes_changed(before, after, b"\t", b"\n")


def test_pipe_with_the_line_ends_of_windows():
    frame = real("natural/support2").drop(columns=["dzgroup", "income"])
    before = frame.to_csv(index=False).encode().replace(b"\n", b"\r\n")
    after = impute("-", "-o", "-", "--from", "csv", "--to", "csv", stdin=before)
    assert_only_holes_changed(before, after, b",", b"\r\n")


def test_parquet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    real("adult").to_parquet("in.parquet")
    impute("in.parquet", "-o", "out.parquet")
    before, after = pd.read_parquet("in.parquet"), pd.read_parquet("out.parquet")
    assert after.notna().all(axis=None)
    assert (after.dtypes == before.dtypes).all()
    pd.testing.assert_frame_equal(after.where(before.notna()), before)
