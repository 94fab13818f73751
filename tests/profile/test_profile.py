import json

import numpy as np
import pandas as pd
import pytest

from macfm.profile import missing_patterns, percent, profile
from macfm.table import TableSchema, as_table


def mixed_table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "weight": rng.normal(70, 10, n),
            "visits": rng.integers(0, 40, n),
            "ward": rng.choice(["a", "b", "c"], n),
            "smoker": rng.choice([True, False], n),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D"),
        }
    )
    frame.loc[:19, "weight"] = np.nan
    frame.loc[10:14, "ward"] = None
    return frame


def codes(frame, **how) -> dict:
    return {f.code: f for f in profile(frame, quick=True, **how).findings}


def test_counts_are_those_of_pandas():
    frame = mixed_table()
    found = profile(frame)
    assert (found.n_rows, found.n_columns) == frame.shape
    assert found.n_missing == frame.isna().sum().sum()
    assert found.missing_rate == pytest.approx(frame.isna().to_numpy().mean())
    for column in found.columns:
        series = frame[column.name]
        assert column.n_missing == series.isna().sum()
        assert column.n_distinct == series.nunique()


def test_kinds_are_those_of_the_imputer():
    frame = mixed_table()
    schema = TableSchema.infer(as_table(frame), categorical=["visits"])
    found = profile(frame, quick=True, categorical=["visits"])
    assert [c.kind for c in found.columns] == [c.kind for c in schema.columns]


def test_summaries():
    frame = mixed_table()
    found = profile(frame, quick=True)
    weight = found.column("weight").summary
    assert weight["median"] == pytest.approx(frame["weight"].median())
    assert weight["std"] == pytest.approx(frame["weight"].std())
    top = frame["ward"].value_counts()
    assert found.column("ward").summary["top"][0] == (top.index[0], top.iloc[0])
    assert found.column("seen").summary["min"].startswith("2024-01-01")
    with pytest.raises(KeyError, match="no column 'wight'; the table has"):
        found.column("wight")


def test_json_is_plain_and_free_of_nan():
    frame = mixed_table().rename(columns={"weight": ("a", 1)})
    frame["empty"] = np.nan
    given = profile(frame).to_json()
    assert json.loads(json.dumps(given, allow_nan=False)) == given
    assert given["format"] == 1
    assert given["columns"][0]["name"] == "('a', 1)"
    assert profile(frame, quick=True).to_json()["dependence"] is None


def test_polars_and_arrays_say_the_same_as_pandas():
    polars = pytest.importorskip("polars")
    frame = mixed_table().drop(columns="smoker")
    cells = {
        name: [None if pd.isna(value) else value for value in series]
        for name, series in frame.items()
    }
    by_pandas = profile(frame)
    by_polars = profile(polars.from_dict(cells))
    assert by_polars.patterns == by_pandas.patterns
    for one, other in zip(by_pandas.columns, by_polars.columns, strict=True):
        assert (one.name, one.kind, one.n_missing, one.n_distinct) == (
            *(other.name, other.kind, other.n_missing, other.n_distinct),
        )
    numbers = frame[["weight"]].to_numpy()
    assert profile(numbers).columns[0].n_missing == 20


def test_patterns_partition_the_rows():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 5))
    x[rng.uniform(size=x.shape) < 0.3] = np.nan
    found = missing_patterns(x, n_patterns=100)
    assert sum(p.n_rows for p in found.most_frequent) == 300
    assert sum(p.share for p in found.most_frequent) == pytest.approx(1)
    assert len({p.missing for p in found.most_frequent}) == found.n_patterns
    assert found.n_complete == (~np.isnan(x)).all(axis=1).sum()
    counts = [p.n_rows for p in found.most_frequent]
    assert counts == sorted(counts, reverse=True)
    assert found.monotone is False


def test_monotone():
    x = np.ones((4, 3))
    assert missing_patterns(x).monotone is None
    x[1:, 2] = x[2:, 1] = np.nan
    assert missing_patterns(x).monotone is True
    x[3, 2] = 1.0
    assert missing_patterns(x).monotone is False


def test_a_table_without_rows_or_columns():
    assert profile(pd.DataFrame({"a": [], "b": []})).findings[-1].code == "no_rows"
    assert profile(pd.DataFrame(index=[0, 1])).n_missing == 0


@pytest.mark.parametrize(
    ("code", "column", "part"),
    [
        ("all_missing", [np.nan] * 100, "missing in every row"),
        ("constant", [1.0] * 99 + [np.nan], "one value only"),
        ("mostly_missing", [1.0, 2.0, 3.0] + [np.nan] * 97, "at most 97 %"),
        ("identifier", [f"p{i}" for i in range(100)], "like identifiers"),
        ("identifier", list(range(100)), "like identifiers"),
        ("few_values", [1, 2, 3, 4] * 25, "name them as categorical"),
        ("dates_as_text", ["2024-03-01", "2024-03-02"] * 50, "such as '2024-03-01'"),
        ("numbers_as_text", ["1.5", "2"] * 49 + ["3", "<1"], "holds numbers"),
        ("percentages_as_text", [f"{k / 7:.2f} %" for k in range(100)], "the sign out"),
        ("spellings", ["north", "south", "North "] * 33 + ["x"], "write them alike"),
        ("missing_mark", ["a", "b", "?", "b"] * 25, "holds '?' in 25 rows"),
        ("missing_mark", [1.5, 2.5, -999.0, 4.5] * 25, "holds -999 in 25 rows"),
        ("unsupported", [1, "a"] * 50, "mixes types"),
        ("unsupported", [1.0, np.inf] * 50, "holds inf in 50 cells"),
        (
            "many_categories",
            [f"w{i % 50}" for i in range(100)] + [f"v{i}" for i in range(200)] * 2,
            "merge the rare ones",
        ),
    ],
)
def test_a_planted_fault_is_found(code, column, part):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"fine": rng.normal(size=len(column)), "planted": column})
    found = codes(frame)
    assert found[code].columns == ("planted",)
    assert part in found[code].message
    ignored = codes(frame, ignore=["planted"])
    assert code == "unsupported" or code not in ignored


def test_rows_that_repeat_and_columns_that_agree():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    frame["again"] = frame["b"]
    frame["other"] = -frame["b"]
    frame = pd.concat([frame, frame.iloc[:6]], ignore_index=True)
    frame.loc[len(frame)] = np.nan
    found = codes(frame)
    assert found["identical_columns"].columns == ("b", "again")
    assert found["duplicated_rows"].message.startswith("6 rows (9.0 %) repeat")
    assert "1 row" in found["empty_rows"].message


def test_a_clean_table_has_no_findings():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)))
    assert profile(frame).findings == ()


def test_ordinary_extremes_are_no_marks():
    amounts = pd.DataFrame({"a": [0.0, 20, 55, 80, 99, 99, 98, 70] * 10, "b": 1.0})
    assert "missing_mark" not in codes(amounts)


def test_percent_never_rounds_something_to_nothing():
    assert percent(1e-6) == "< 0.1 %"
    assert percent(0) == "0 %"
    assert percent(1) == "100 %"
