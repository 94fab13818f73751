"""Data folder, then cache, then the publisher; never a table that is another."""

import io
import os
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from macfm.bench.datasets import (
    DATASETS,
    Dataset,
    DatasetError,
    Download,
    DownloadError,
    dataset_status,
    fetch_dataset,
    fingerprint,
    load_dataset,
    verify_dataset,
)
from macfm.bench.datasets import _source as source
from macfm.bench.datasets._read import read_member, read_text

TABLE = pd.DataFrame(
    {
        "x": np.linspace(0, 1, 40),
        "code": np.arange(40) % 3,
        "flag": ["TRUE", "FALSE"] * 20,
    }
)
URL = "https://publisher.example/toy.zip"


def parse(path):
    return read_text(read_member(path, "toy.data"), dtype={"flag": str})


def archive(table=TABLE):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        opened.writestr("inner/toy.data", table.to_csv(index=False))
    return buffer.getvalue()


class Publisher:
    """Stands for the network: counts what is asked of it."""

    def __init__(self, content):
        self.content, self.n_asked = content, 0

    def __call__(self, url, path):
        self.n_asked += 1
        if self.content is None:
            raise DownloadError(f"{url} cannot be reached")
        path.write_bytes(self.content)


@pytest.fixture
def publisher(monkeypatch, tmp_path):
    toy = Dataset(
        name="toy",
        title="Toy",
        numeric=("x",),
        categorical=("code", "flag"),
        n_rows=40,
        file="small/toy",
        download=Download(URL, parse),
        fingerprint=fingerprint(TABLE),
    )
    monkeypatch.setitem(DATASETS, "toy", toy)
    monkeypatch.delenv("MACFM_DATA", raising=False)
    monkeypatch.setenv("MACFM_CACHE", str(tmp_path / "cache"))
    publisher = Publisher(archive())
    monkeypatch.setattr(source, "fetch", publisher)
    return publisher


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    return path


def check(table):
    assert table.frame["x"].tolist() == TABLE["x"].tolist()
    assert table.frame["code"].tolist()[:3] == ["0", "1", "2"]
    assert table.frame["flag"].tolist()[:2] == ["TRUE", "FALSE"]


def test_downloads_once_then_reads_the_cache(publisher):
    assert dataset_status("toy") == "to download"
    check(load_dataset("toy"))
    assert dataset_status("toy") == "cache"
    check(load_dataset("toy", download=False))
    assert publisher.n_asked == 1


@pytest.mark.parametrize("place", ["small/toy.csv", "toy.csv", "toy.csv.gz", "toy.tsv"])
def test_the_data_folder_comes_before_the_cache(publisher, folder, place):
    path = folder / place
    path.parent.mkdir(exist_ok=True)
    TABLE.to_csv(path, index=False, sep="\t" if place.endswith("tsv") else ",")
    assert dataset_status("toy", data_dir=folder) == "data folder"
    check(load_dataset("toy", data_dir=folder))
    assert publisher.n_asked == 0


def test_the_argument_comes_before_the_environment(publisher, folder, monkeypatch):
    other = folder / "other"
    other.mkdir()
    TABLE.to_csv(folder / "toy.csv", index=False)
    TABLE.iloc[1:].to_csv(other / "toy.csv", index=False)
    monkeypatch.setenv("MACFM_DATA", str(other))
    check(load_dataset("toy", data_dir=folder))
    with pytest.raises(DatasetError, match="39 rows instead of 40"):
        load_dataset("toy")


def test_a_folder_of_the_environment_may_be_absent_but_not_an_argument(
    publisher, tmp_path, monkeypatch
):
    monkeypatch.setenv("MACFM_DATA", str(tmp_path / "nowhere"))
    check(load_dataset("toy"))
    with pytest.raises(DatasetError, match="nowhere does not exist"):
        load_dataset("toy", data_dir=tmp_path / "nowhere")


def test_parquet_is_read_and_its_digest_checked(publisher, folder, monkeypatch):
    pytest.importorskip("pyarrow")
    TABLE.to_parquet(folder / "toy.parquet")
    check(load_dataset("toy", data_dir=folder))
    [copy] = verify_dataset("toy", data_dir=folder)
    assert (copy.state, copy.detail) == ("ok", "same table")
    digest = source.file_digest(folder / "toy.parquet")
    monkeypatch.setitem(DATASETS, "toy", replace(DATASETS["toy"], sha256=digest))
    [copy] = verify_dataset("toy", data_dir=folder)
    assert (copy.state, copy.detail) == ("ok", "same file (sha256)")


def test_parquet_without_pyarrow_names_the_extra(publisher, folder, monkeypatch):
    (folder / "toy.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DatasetError, match=r'pip install "macfm\[parquet\]"'):
        load_dataset("toy", data_dir=folder)


def test_another_table_in_the_data_folder_is_refused(publisher, folder):
    TABLE.assign(x=TABLE["x"] * 1.01).to_csv(folder / "toy.csv", index=False)
    with pytest.raises(DatasetError, match="not the table known as toy: the values of"):
        load_dataset("toy", data_dir=folder)
    [copy] = verify_dataset("toy", data_dir=folder)
    assert (copy.state, copy.place) == ("different", "data folder")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (archive(TABLE.iloc[::-1]), "not the table known as toy"),
        (b"<html>moved</html>", "no intact zip file"),
        (archive()[:-30], "no intact zip file"),
    ],
)
def test_a_wrong_download_is_thrown_away(publisher, tmp_path, content, reason):
    publisher.content = content
    with pytest.raises(DatasetError, match=rf"was thrown away: .*{reason}"):
        load_dataset("toy")
    kept = {p.name for p in (tmp_path / "cache" / "datasets").iterdir()}
    assert kept == {"toy.zip.lock"}


def test_offline_says_what_to_do(publisher, tmp_path):
    publisher.content = None
    message = (
        r"cannot be reached\. Without a network: put toy\.parquet \(or \.csv\) into a "
        r"folder and name the folder by --data-dir or MACFM_DATA, or fetch https://"
        r"publisher\.example/toy\.zip elsewhere and save it as .*toy\.zip$"
    )
    with pytest.raises(DatasetError, match=message):
        load_dataset("toy")


def test_a_file_saved_by_hand_as_the_message_says_is_used(publisher, tmp_path):
    path = tmp_path / "cache" / "datasets" / "toy.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(archive())
    check(load_dataset("toy", download=False))


def test_without_leave_to_download_nothing_is_asked(publisher):
    with pytest.raises(DatasetError, match="downloading is switched off"):
        load_dataset("toy", download=False)
    assert publisher.n_asked == 0


def test_fetch_keeps_a_right_copy_and_replaces_a_wrong_one(publisher):
    path = fetch_dataset("toy")
    fetch_dataset("toy")
    assert publisher.n_asked == 1
    fetch_dataset("toy", force=True)
    assert publisher.n_asked == 2
    path.write_bytes(b"damaged")
    assert [copy.state for copy in verify_dataset("toy")] == ["different"]
    fetch_dataset("toy")
    assert publisher.n_asked == 3
    assert [copy.state for copy in verify_dataset("toy")] == ["ok"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such locks")
def test_workers_that_start_together_download_once(publisher, monkeypatch):
    started = threading.Barrier(3)

    def slow(url, path):
        time.sleep(0.2)
        publisher(url, path)

    def work(_):
        started.wait()
        return load_dataset("toy")

    monkeypatch.setattr(source, "fetch", slow)
    with ThreadPoolExecutor(3) as pool:
        for table in pool.map(work, range(3)):
            check(table)
    assert publisher.n_asked == 1


def test_a_download_is_kept_when_only_its_reader_is_missing(publisher, monkeypatch):
    def needs_reader(path):
        raise DatasetError("reading it needs xlrd") from ImportError()

    download = Download(URL, needs_reader)
    monkeypatch.setitem(DATASETS, "toy", replace(DATASETS["toy"], download=download))
    with pytest.raises(DatasetError, match=r"^reading it needs xlrd"):
        load_dataset("toy")
    assert dataset_status("toy") == "cache"
    assert [copy.state for copy in verify_dataset("toy")] == ["unreadable"]


def test_a_private_table_says_where_to_put_the_file(publisher, folder):
    with pytest.raises(DatasetError, match=r"private.*Put it as ahei_s1\.csv"):
        load_dataset("ahei-s1")
    rng = np.random.default_rng(0)
    own = pd.DataFrame({"fibre": rng.normal(size=60), "sex": ["f", "m"] * 30})
    own.to_csv(folder / "ahei_s1.csv", index=False)
    table = load_dataset("ahei-s1", data_dir=folder)
    assert table.frame.shape == (60, 2)
    [copy] = verify_dataset("ahei-s1", data_dir=folder)
    assert copy.state == "unchecked"


def test_a_table_of_an_r_package_says_how_to_export_it(publisher):
    with pytest.raises(DatasetError, match=r"In R: write\.csv\(survival::pbcseq"):
        load_dataset("pbcseq")


@pytest.mark.skipif(sys.platform != "linux", reason="where other systems keep caches")
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("MACFM_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    expected = tmp_path / ".cache" / "macfm" / "datasets"
    assert source.find_places().cache == expected
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert source.find_places().cache == tmp_path / "x" / "macfm" / "datasets"
    monkeypatch.setenv("MACFM_CACHE", os.fspath(tmp_path / "m"))
    assert source.find_places().cache == tmp_path / "m" / "datasets"
