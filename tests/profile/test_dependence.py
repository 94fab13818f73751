import numpy as np
import pandas as pd
import pytest
from scipy import stats

from macfm.profile import CAVEAT, missing_dependence


def table(seed: int, n: int = 300) -> tuple[pd.DataFrame, np.random.Generator]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["ward"] = rng.choice(["east", "west", "north"], n)
    return frame, rng


def only(frame: pd.DataFrame, **how):
    (column,) = missing_dependence(frame, **how).columns
    return column


def test_under_mcar_few_tables_show_dependence():
    found = 0
    for seed in range(60):
        frame, rng = table(seed, n=150)
        frame = frame.mask(rng.uniform(size=frame.shape) < 0.2)
        found += any(c.p_value < 0.05 for c in missing_dependence(frame).columns)
    assert found <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.parametrize("driver", ["a", "ward"])
def test_under_mar_the_driver_is_found(driver):
    for seed in range(5):
        frame, rng = table(seed)
        side = frame["a"] > 0 if driver == "a" else frame["ward"] == "west"
        frame.loc[side & (rng.uniform(size=len(frame)) < 0.6), "b"] = np.nan
        column = only(frame)
        assert column.column == "b"
        assert column.strength == "strong"
        assert column.low < column.auc < column.high
        assert (column.drivers[0].column, column.drivers[0].through) == (
            driver,
            "values",
        )
        assert column.p_values_only < 0.001
        words = "'a' is large" if driver == "a" else "'ward' is 'west'"
        assert f"missing more often where {words}" in column.sentence()


def test_a_driver_at_both_ends_is_seen_by_the_model():
    frame, _ = table(0)
    frame.loc[frame["a"].abs() > 1, "b"] = np.nan
    assert only(frame).auc > 0.9


def test_columns_missing_together_are_told_from_dependence_on_values():
    frame, rng = table(0)
    frame.loc[rng.uniform(size=len(frame)) < 0.3, ["b", "c"]] = np.nan
    for column in missing_dependence(frame).columns:
        assert column.auc == 1.0
        assert abs(column.auc_values - 0.5) < 0.12
        assert column.drivers[0].through == "missingness"
        assert "only through which other columns are missing" in column.sentence()


def test_identifiers_drive_nothing():
    frame, _ = table(0)
    frame["key"] = [f"k{i:03d}" for i in range(len(frame))]
    frame["number"] = np.arange(len(frame))
    frame.loc[:120, "b"] = np.nan
    assert "number" not in {driver.column for driver in only(frame).drivers}


def test_few_holes_are_left_out():
    frame, _ = table(0)
    frame.loc[:8, "a"] = np.nan
    frame.loc[5:, "b"] = np.nan
    found = missing_dependence(frame)
    assert found.columns == ()
    assert found.left_out == ("a", "b")


def test_the_seed_decides_and_large_tables_are_sampled():
    frame, rng = table(0, n=600)
    frame.loc[rng.uniform(size=600) < 0.3, "b"] = np.nan
    found = missing_dependence(frame, max_rows=200)
    assert found.n_rows == 200
    assert found == missing_dependence(frame, max_rows=200)
    assert found != missing_dependence(frame, max_rows=200, seed=1)


def test_ordered_categories_booleans_and_dates_inform():
    rng = np.random.default_rng(0)
    stage = pd.Categorical(
        rng.choice(["I", "II", "III"], 400), categories=["I", "II", "III"], ordered=True
    )
    frame = pd.DataFrame(
        {
            "stage": stage,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(400), "D"),
            "flag": rng.choice([True, False], 400),
        }
    )
    for name, side in {
        "stage": frame["stage"] > "I",
        "day": np.arange(400) > 250,
        "flag": frame["flag"],
    }.items():
        frame["y"] = rng.normal(size=400)
        frame.loc[np.asarray(side) & (rng.uniform(size=400) < 0.8), "y"] = np.nan
        assert only(frame).drivers[0].column == name


def test_json_carries_the_caveat():
    frame, rng = table(0)
    frame.loc[rng.uniform(size=len(frame)) < 0.3, "b"] = np.nan
    given = missing_dependence(frame).to_json()
    assert given["caveat"] == CAVEAT
    assert "cannot be told from the data" in CAVEAT
    assert given["columns"][0]["strength"] == "none"
