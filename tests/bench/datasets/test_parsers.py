"""Each publisher's own file format becomes the table of the data folder."""

import zipfile

import pandas as pd
import pytest

from macfm.bench.datasets import DATASETS, DatasetError
from macfm.bench.datasets import _read as reading
from macfm.bench.datasets.sets import adult, clinical, default, letter, magic, news

ADULT = b"""\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White,\
 Male, 2174, 0, 40, United-States, <=50K
54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander,\
 Male, 0, 0, 60, South, >50K

"""
LETTER = b"T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8\nI,5,12,3,7,2,10,5,5,4,13,3,9,2,8,4,10\n"
MAGIC = (
    b"28.7967,16.0021,2.6449,0.3918,0.1982,27.7004,22.011,-8.2027,40.092,81.8828,g\n"
)
BEAN = b"""\
@RELATION Dry_Bean_Dataset
@ATTRIBUTE Area INTEGER
@ATTRIBUTE Perimeter REAL
@ATTRIBUTE  roundness  REAL
@ATTRIBUTE Class {SEKER, SIRA}

@DATA
28395,610.291,0.958027126,SEKER
28734,638.018,0.887033637,SIRA
"""
SHOPPERS = b"""\
Administrative,BounceRates,Month,OperatingSystems,VisitorType,Weekend,Revenue
0,0.2,Feb,1,Returning_Visitor,FALSE,FALSE
3,0,May,2,New_Visitor,TRUE,TRUE
"""
NEWS = b"""\
url, timedelta, n_unique_tokens, data_channel_is_bus, shares
http://mashable.com/2013/01/07/a/, 731.0, 0.66, 0.0, 593
http://mashable.com/2013/01/07/b/, 731.0, 701.0, 1.0, 711
"""
HEPATITIS = (
    b"2,30,2,1,2,2,2,2,1,2,2,2,2,2,1.00,85,18,4.0,?,1\n"
    b"1,51,1,?,2,1,2,1,2,2,1,1,2,2,?,?,?,?,?,1\n"
)
COLIC = (
    b"2 1 530101 38.50 66 28 3 3 ? 2 5 4 4 ? ? ? 3 5 45.00 8.40 ? ? 2 2 11300 00000 "
    b"00000 2 \n"
    b"1 1 534817 39.2 88 20 ? ? 4 1 3 4 2 ? ? ? 4 2 50 85 2 2 3 2 02208 00000 00000 2\n"
)


@pytest.fixture
def parsed(tmp_path, monkeypatch):
    """Parse made-up members as the archive of a dataset, their digests unchecked."""

    def unchecked(archive, name, *, sha256=None):
        return reading.read_member(archive, name)

    for module in (adult, letter, magic):
        monkeypatch.setattr(module, "read_member", unchecked)

    def parse(dataset, **members):
        path = tmp_path / "archive.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members["members"].items():
                archive.writestr(name, content)
        return DATASETS[dataset].download.parse(path)

    return parse


def test_adult_strips_blanks_and_marks_missing(parsed):
    table = parsed("adult", members={"adult.names": b"", "adult.data": ADULT})
    assert list(table.columns) == list(adult.COLUMNS)
    assert table["workclass"].tolist()[0] == "State-gov"
    assert table["workclass"].isna().tolist() == [False, True]
    assert table["occupation"].isna().tolist() == [False, True]
    assert table["income"].tolist() == ["<=50K", ">50K"]
    assert table["hours-per-week"].tolist() == [40, 60]


def test_letter_and_magic_have_no_header(parsed):
    table = parsed("letter", members={"letter-recognition.data": LETTER})
    assert table["lettr"].tolist() == ["T", "I"]
    assert table["yegvx"].tolist() == [8, 10]
    table = parsed("magic", members={"magic04.data": MAGIC})
    assert table.iloc[0].tolist()[-2:] == [81.8828, "g"]


@pytest.mark.parametrize("name", ["adult.data", "letter-recognition.data"])
def test_a_member_with_another_digest_is_refused(tmp_path, name):
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, LETTER)
    dataset = "adult" if "adult" in name else "letter"
    with pytest.raises(DatasetError, match=rf"{name} in .* has another sha256"):
        DATASETS[dataset].download.parse(path)


def test_bean_is_read_from_its_arff(parsed):
    members = {
        "DryBeanDataset/Dry_Bean_Dataset.xlsx": b"",
        "DryBeanDataset/Dry_Bean_Dataset.arff": BEAN.replace(b"\n", b"\r\n"),
    }
    table = parsed("bean", members=members)
    assert list(table.columns) == ["Area", "Perimeter", "roundness", "Class"]
    assert table["roundness"].tolist() == [0.958027126, 0.887033637]
    assert table["Class"].tolist() == ["SEKER", "SIRA"]


def test_shoppers_keeps_true_and_false_as_text(parsed):
    table = parsed("shoppers", members={"online_shoppers_intention.csv": SHOPPERS})
    assert table["Weekend"].tolist() == ["FALSE", "TRUE"]
    assert table["OperatingSystems"].tolist() == [1, 2]


def test_news_strips_the_blanks_of_its_names(parsed):
    name = "OnlineNewsPopularity/OnlineNewsPopularity.csv"
    table = parsed("news", members={name: NEWS})
    assert table.columns[2] == "n_unique_tokens"
    assert table["n_unique_tokens"].tolist() == [0.66, 701.0]


def test_gesture_joins_the_videos_and_looks_into_inner_archives(parsed, tmp_path):
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        for i, video in enumerate(("a1", "a2", "a3", "b1", "b3", "c1", "c3")):
            archive.writestr(f"{video}_va3.csv", f"1,2,Phase\n{i},0.5,D\n")
            archive.writestr(f"{video}_raw.csv", "lhx,phase\n1,Rest\n")
    table = parsed("gesture", members={"gesture_phase_dataset.zip": inner.read_bytes()})
    assert table["1"].tolist() == list(range(7))
    assert table["video"].tolist() == ["a1", "a2", "a3", "b1", "b3", "c1", "c3"]


def test_default_takes_the_second_row_for_names(parsed, monkeypatch):
    def read_excel(file, *, engine, header):
        assert (file.read(), engine, header) == (b"workbook", "xlrd", 1)
        return pd.DataFrame({"ID": [1]})

    members = {"default of credit card clients.xls": b"workbook"}
    monkeypatch.setattr(pd, "read_excel", read_excel)
    assert parsed("default", members=members)["ID"].tolist() == [1]


def test_default_without_its_reader_names_the_extra(parsed, monkeypatch):
    def read_excel(*args, **options):
        raise ImportError("Missing optional dependency 'xlrd'")

    monkeypatch.setattr(pd, "read_excel", read_excel)
    members = {"default of credit card clients.xls": b"workbook"}
    with pytest.raises(DatasetError, match=r'xlrd; .* pip install "macfm\[excel\]"'):
        parsed("default", members=members)


def test_hepatitis_and_colic_mark_missing(parsed):
    table = parsed("hepatitis", members={"hepatitis.data": HEPATITIS})
    assert list(table.columns) == list(clinical.HEPATITIS)
    assert table.isna().sum(axis=1).tolist() == [1, 6]
    table = parsed("horse_colic", members={"horse-colic.data": COLIC})
    assert list(table.columns) == list(clinical.COLIC)
    assert table["lesion_1"].tolist() == ["11300", "02208"]
    assert table["cp_data"].tolist() == [2, 2]
    assert table["nasogastric_reflux_ph"].isna().all()


def test_an_archive_without_the_file_is_an_error(parsed):
    with pytest.raises(DatasetError, match=r"has no file 'adult\.data' inside"):
        parsed("adult", members={"readme.txt": b""})


def test_flags_fold_into_one_column_and_none_is_its_own():
    source = pd.DataFrame(
        {
            **{f"data_channel_is_{c}": [0.0, 0.0] for c in news.CHANNELS},
            **{f"weekday_is_{d}": [0.0, 0.0] for d in news.WEEKDAYS},
            "n_unique_tokens": [0.5, 701.0],
        }
    )
    source.loc[1, "data_channel_is_tech"] = 1.0
    source["weekday_is_sunday"] = 1.0
    kept = news.repair(source, ("keep-corrupt-article",))
    assert kept["data_channel"].tolist() == ["none", "tech"]
    assert kept["weekday"].tolist() == ["sunday", "sunday"]
    assert len(news.repair(source, ())) == 1
    quirk = news.repair(source, ("no-channel-is-lifestyle",))
    assert quirk["data_channel"].tolist() == ["lifestyle"]


def test_roles_of_default_are_disjoint_and_leave_out_the_id():
    assert "ID" not in (*default.NUMERIC, *default.CATEGORICAL)
