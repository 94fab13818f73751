"""A fingerprint knows its table in any file, and no other table."""

import numpy as np
import pandas as pd
import pytest

from macfm.bench.datasets import Fingerprint, fingerprint


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.normal(size=1000),
            "count": rng.integers(0, 5, size=1000),
            "kind": rng.choice(["a", "b"], size=1000),
            "hole": np.where(rng.random(1000) < 0.1, np.nan, rng.normal(size=1000)),
        }
    )


def test_survives_a_csv_and_other_number_types(table, tmp_path):
    mark = fingerprint(table)
    table.to_csv(tmp_path / "t.csv", index=False, float_format="%.10g")
    assert mark.differences(pd.read_csv(tmp_path / "t.csv")) == []
    assert mark.differences(table.astype({"count": float})) == []
    assert mark.differences(table[["hole", "kind", "x", "count"]]) == []


def test_survives_its_json(table):
    mark = Fingerprint(**fingerprint(table).to_json())
    assert mark.differences(table) == []


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda t: t.iloc[1:], "it has 999 rows instead of 1,000"),
        (lambda t: t.iloc[::-1], "the values of 'x' differ"),
        (lambda t: t.drop(columns="x"), "it lacks the column 'x'"),
        (lambda t: t.assign(y=1), "the column 'y' is too many"),
        (lambda t: t.assign(x=t["x"].mask(t.index == 7, 0.0)), "the values of 'x'"),
        (lambda t: t.assign(count=t["count"].astype(str)), "'count' holds text"),
        (lambda t: t.assign(kind=1.0), "'kind' holds numbers instead of text"),
        (lambda t: t.assign(kind=t["kind"].mask(t.index == 7)), "the text of 'kind'"),
        (
            lambda t: t.assign(count=t["count"].mask(t["count"] == 0)),
            "other cells of 'count' are missing",
        ),
        (lambda t: t.assign(hole=t["hole"].fillna(0)), "other cells of 'hole'"),
    ],
)
def test_says_how_another_table_differs(table, change, difference):
    found = fingerprint(table).differences(change(table))
    assert any(line.startswith(difference) for line in found), found


def test_two_rows_exchanged_are_seen(table):
    order = np.arange(1000)
    order[[10, 500]] = [500, 10]
    assert fingerprint(table).differences(table.iloc[order])
