"""`macfm bench data`: list, get, verify."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from macfm.bench.datasets import DATASETS, Dataset, fingerprint
from macfm.cli._bench_data import data

TABLE = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})


@pytest.fixture(autouse=True)
def only(monkeypatch, tmp_path):
    monkeypatch.delenv("MACFM_DATA", raising=False)
    monkeypatch.setenv("MACFM_CACHE", str(tmp_path / "cache"))
    toy = Dataset(
        name="toy",
        title="Toy",
        numeric=("x", "y"),
        categorical=(),
        obtain="Ask a friend.",
        fingerprint=fingerprint(TABLE),
    )
    monkeypatch.setitem(DATASETS, "toy", toy)


def run(*arguments):
    result = CliRunner().invoke(data, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_list_names_every_table_and_its_place():
    result = run("list")
    assert result.exit_code == 0
    for name in DATASETS:
        assert name in result.output
    assert "bundled" in result.output
    assert "to download" in result.output
    assert "private" in result.output
    (stand_in,) = [r for r in result.output.splitlines() if "ahei-synthetic" in r]
    assert stand_in.split() == ["ahei-synthetic", "227", "20", "0", "synthetic"]


def test_list_as_json(tmp_path):
    TABLE.to_csv(tmp_path / "toy.csv", index=False)
    rows = json.loads(run("list", "--json", "--data-dir", tmp_path).output)
    by_name = {row["name"]: row for row in rows}
    assert list(by_name) == list(DATASETS)
    assert by_name["toy"]["where"] == "data folder"
    assert by_name["news"]["numeric"] == 45
    assert "keep-corrupt-article" in by_name["news"]["quirks"]
    assert by_name["ahei-s1"]["rows"] is None


def test_a_data_folder_must_exist(tmp_path):
    result = run("list", "--data-dir", tmp_path / "gone")
    assert result.exit_code == 1
    assert "gone does not exist" in result.output.replace("\n", " ")


def test_get_needs_names_or_all():
    assert run("get").exit_code == 2
    assert run("get", "--all", "wine").exit_code == 2
    result = run("get", "whine")
    assert result.exit_code == 2
    assert "did you mean 'wine'" in result.output


def test_get_says_what_cannot_be_fetched_and_goes_on():
    result = run("get", "toy", "wine")
    assert result.exit_code == 1
    assert "toy: toy has no download. Ask a friend. Put it as toy.csv" in result.output
    assert "wine: bundled" in result.output


def test_a_synthetic_table_is_neither_fetched_nor_bundled():
    result = run("get", "ahei-synthetic")
    assert result.exit_code == 0
    assert result.output == "ahei-synthetic: synthetic, made when it is loaded\n"
    verified = run("verify", "ahei-synthetic").output
    assert verified.split() == ["ok", "ahei-synthetic", "synthetic", "same", "table"]


def test_get_all_fetches_what_has_a_download(monkeypatch, tmp_path):
    asked = []

    def fetch(name, *, cache_dir, force):
        asked.append(name)
        return tmp_path / f"{name}.zip"

    monkeypatch.setattr("macfm.cli._bench_data.fetch_dataset", fetch)
    assert run("get", "--all").exit_code == 0
    assert asked == [name for name, dataset in DATASETS.items() if dataset.download]


def test_verify_fails_only_for_what_differs(tmp_path):
    assert run("verify", "--data-dir", tmp_path).exit_code == 0
    missing = run("verify", "toy", "--data-dir", tmp_path)
    assert missing.exit_code == 1
    assert missing.output.startswith("missing")
    TABLE.to_csv(tmp_path / "toy.csv", index=False)
    right = run("verify", "toy", "wine", "--data-dir", tmp_path)
    assert right.exit_code == 0
    assert [" ".join(line.split()) for line in right.output.splitlines()] == [
        "ok toy data folder same table",
        "ok wine bundled same table",
    ]
    (TABLE + 1).to_csv(tmp_path / "toy.csv", index=False)
    wrong = run("verify", "--data-dir", tmp_path)
    assert wrong.exit_code == 1
    assert "different" in wrong.output
    assert "the values of 'x' differ" in wrong.output
