"""The tables of the data folder are those that are meant, in every form they take."""

import os
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from macfm.bench.datasets import DATASETS, load_dataset, verify_dataset
from macfm.bench.datasets import _read as reading
from macfm.bench.datasets.sets import magic

pytestmark = pytest.mark.data

HERE = [d for d in DATASETS.values() if d.read is None and not d.private]
MISSING = {
    **{"adult": 4_262, "hepatitis": 167, "horse_colic": 1_605, "pbcseq": 1_133},
    **{"heart_valve": 359, "nhanes": 37_340, "support2": 47_110},
}


def raw(dataset):
    path = Path(os.environ["MACFM_DATA"]) / f"{dataset.file or dataset.name}.parquet"
    return pd.read_parquet(path)


@pytest.mark.parametrize("dataset", HERE, ids=lambda d: d.name)
def test_loads_with_its_roles_and_its_own_holes(dataset):
    [copy] = verify_dataset(dataset.name, cache_dir="/nonexistent")
    assert (copy.state, copy.detail) == ("ok", "same file (sha256)")
    assert dataset.fingerprint.differences(raw(dataset)) == []
    table = load_dataset(dataset.name, download=False)
    frame = table.frame
    assert frame.shape == (dataset.n_rows, dataset.n_features)
    assert int(frame.isna().sum().sum()) == MISSING.get(dataset.name, 0)
    for column in frame:
        numeric = pd.api.types.is_float_dtype(frame[column])
        assert numeric == (column in dataset.numeric)
        if not numeric:
            assert not frame[column].dropna().str.endswith(".0").any()


@pytest.mark.parametrize(
    ("name", "quirk", "n_rows"),
    [
        ("gesture", "twin-video", 9_522),
        ("bean", "lost-first-row", 13_610),
        ("news", "keep-corrupt-article", 39_644),
        ("news", "no-channel-is-lifestyle", 39_643),
    ],
)
def test_quirks_give_the_counts_of_earlier_benchmarks(name, quirk, n_rows):
    table = load_dataset(name, quirks=[quirk], download=False)
    assert len(table.frame) == n_rows
    assert table.quirks == (quirk,)


def test_twins_are_twins():
    frame = load_dataset("gesture", quirks=["twin-video"], download=False).frame
    honest = load_dataset("gesture", download=False).frame
    assert frame.duplicated().sum() >= 1_069
    assert honest.duplicated().sum() == 0


def test_articles_without_a_channel_are_their_own_category():
    counts = load_dataset("news", download=False).frame["data_channel"].value_counts()
    assert len(counts) == 7
    assert counts["none"] == 6_134


def members(name, table):
    """Write a table back into the files of its publisher."""
    bare = {"index": False, "header": False}
    if name == "letter":
        return {"letter-recognition.data": table.to_csv(**bare)}
    if name == "adult":
        text = table.to_csv(**bare, na_rep="?").replace(",", ", ")
        return {"adult.data": text + "\n"}
    if name == "magic":
        return {"magic04.data": table.to_csv(**bare)}
    if name == "bean":
        kinds = "".join(f"@ATTRIBUTE {c} REAL\n" for c in table.columns)
        rows = table.to_csv(**bare, float_format="%.10g")
        return {"Dry_Bean_Dataset.arff": f"@RELATION bean\n{kinds}@DATA\n{rows}"}
    if name == "gesture":
        return {
            f"{video}_va3.csv": part.drop(columns="video").to_csv(index=False)
            for video, part in table.groupby("video")
        }
    if name == "shoppers":
        return {"online_shoppers_intention.csv": table.to_csv(index=False)}
    if name == "news":
        text = table.to_csv(index=False, float_format="%.12g").replace(",", ", ")
        return {"OnlineNewsPopularity.csv": text}
    if name == "hepatitis":
        return {"hepatitis.data": table.to_csv(**bare, na_rep="?")}
    assert name == "horse_colic"
    return {"horse-colic.data": table.to_csv(**bare, na_rep="?", sep=" ")}


@pytest.mark.parametrize(
    "name",
    [
        *("letter", "gesture", "magic", "bean", "adult", "shoppers", "news"),
        *("hepatitis", "horse_colic"),
    ],
)
def test_the_publishers_format_parses_to_the_same_table(name, tmp_path, monkeypatch):
    # The bytes of letter and adult come out as published, digest included; numbers of
    # magic are printed otherwise there.
    monkeypatch.setattr(
        magic, "read_member", lambda path, name, sha256: reading.read_member(path, name)
    )
    dataset = DATASETS[name]
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members(name, raw(dataset)).items():
            archive.writestr(member, text)
    assert dataset.fingerprint.differences(dataset.download.parse(path)) == []


@pytest.mark.parametrize("dataset", HERE, ids=lambda d: d.name)
def test_a_csv_of_the_table_does_as_well(dataset, tmp_path):
    raw(dataset).to_csv(tmp_path / f"{dataset.name}.csv", index=False)
    table = load_dataset(dataset.name, data_dir=tmp_path, download=False)
    assert len(table.frame) == dataset.n_rows


def test_the_adults_of_nhanes_are_adults_and_keep_their_skip_patterns():
    frame = load_dataset("nhanes", download=False).frame
    assert frame["Age"].min() == 20
    assert not frame.duplicated().any()
    told = frame["DiabetesAge"].notna()
    assert (frame.loc[told, "Diabetes"] == "Yes").mean() > 0.99
    assert frame["Race3"].isna().equals(frame["SurveyYr"] == "2009_10")
