"""Scores against hand-made cases and known laws."""

import numpy as np
import pandas as pd
import pytest

from macfm.judge.metrics import (
    Law,
    Scale,
    coverage,
    crps,
    draw_scores,
    energy_distance,
    illegal_scores,
    log_loss,
    point_scores,
    spread_ratio,
)


@pytest.fixture
def case() -> tuple[pd.DataFrame, ...]:
    """Truth, hidden cells, the table with holes, and its scale."""
    truth = pd.DataFrame(
        {
            "a": [0.0, 2.0, 4.0, 6.0],
            "b": [10.0, 30.0, 20.0, 20.0],
            "c": ["x", "y", "x", "y"],
        }
    )
    hidden = pd.DataFrame(
        {
            "a": [False, False, True, True],
            "b": [False, False, True, False],
            "c": [True, True, False, False],
        }
    )
    train = truth.mask(hidden)
    return truth, hidden, train, Scale.of(train)


def test_the_scale_comes_from_observed_cells_only(case):
    truth, hidden, _train, scale = case
    assert scale.center["a"] == 1.0
    assert scale.spread["a"] == 1.0
    wild = truth.copy()
    wild.loc[2:, "a"] = 1e9
    again = Scale.of(wild.mask(hidden))
    pd.testing.assert_series_equal(again.spread, scale.spread)


def test_point_scores_of_a_case_worked_by_hand(case):
    truth, hidden, train, scale = case
    filled = train.copy()
    filled["a"] = [0.0, 2.0, 5.0, 3.0]  # misses of 1 and -3, in units of 1
    filled["b"] = [10.0, 30.0, 20.0, 20.0]
    filled["c"] = ["x", "x", "x", "y"]
    scores = point_scores(filled, truth, hidden, scale)
    assert scores["mae"] == pytest.approx((1 + 3 + 0) / 3)
    assert scores["rmse"] == pytest.approx(np.sqrt(10 / 3))
    assert scores["mae_by_column"] == pytest.approx({"a": 2.0, "b": 0.0})
    assert scores["mae_column_mean"] == pytest.approx(1.0)
    assert scores["rmse_column_mean"] == pytest.approx(np.sqrt(5) / 2)
    assert scores["accuracy"] == 0.5
    assert scores["accuracy_by_column"] == {"c": 0.5}


def test_what_is_not_hidden_is_not_scored(case):
    truth, hidden, _train, scale = case
    filled = truth.copy()
    exact = point_scores(filled, truth, hidden, scale)
    assert exact["mae"] == exact["rmse"] == 0
    assert exact["accuracy"] == 1
    nothing = point_scores(filled, truth, hidden & False, scale)
    assert nothing["mae"] is None
    assert nothing["accuracy"] is None


def test_a_constant_column_has_no_unit_and_no_score():
    # 0.1 + 0.1 + 0.1 is not 0.3: the deviation of this column is 1e-17.
    train = pd.DataFrame({"flat": [0.1, 0.1, 0.1], "empty": [np.nan] * 3})
    assert Scale.of(train).columns == []


def test_crps_prefers_the_right_distribution_to_a_shifted_or_a_certain_one():
    rng = np.random.default_rng(0)
    truth, draws = rng.normal(size=4000), rng.normal(size=(20, 4000))
    right = crps(draws, truth).mean()
    assert right == pytest.approx(1 / np.sqrt(np.pi), rel=0.03)  # CRPS of N(0, 1)
    assert right < crps(draws + 1, truth).mean()
    assert right < crps(0 * draws, truth).mean()
    assert right < crps(3 * draws, truth).mean()


def test_crps_does_not_depend_on_the_number_of_draws_in_expectation():
    rng = np.random.default_rng(0)
    truth, draws = rng.normal(size=40_000), rng.normal(size=(20, 40_000))
    few, many = crps(draws[:2], truth).mean(), crps(draws, truth).mean()
    assert few == pytest.approx(many, rel=0.03)


def test_coverage_of_a_calibrated_sampler_is_what_its_docstring_says():
    rng = np.random.default_rng(0)
    truth, draws = rng.normal(size=40_000), rng.normal(size=(20, 40_000))
    assert coverage(draws, truth) == pytest.approx(0.82, abs=0.01)
    assert coverage(rng.normal(size=(2000, 400)), truth[:400]) > 0.85


def test_energy_distance_is_zero_for_the_same_rows_and_grows_with_a_shift():
    x = np.random.default_rng(0).normal(size=(300, 3))
    assert energy_distance(x, x) == pytest.approx(0)
    near, far = energy_distance(x, x + 0.1), energy_distance(x, x + 1)
    assert 0 < near < far
    big = np.random.default_rng(1).normal(size=(2500, 2))
    assert energy_distance(big, big) == pytest.approx(0)


def test_log_loss_punishes_certainty_about_the_wrong_category(case):
    truth, hidden, _, _ = case
    even = pd.DataFrame({"x": [0.5] * 4, "y": [0.5] * 4})
    sure = pd.DataFrame({"x": [1.0] * 4, "y": [0.0] * 4})
    assert log_loss({"c": even}, truth, hidden) == pytest.approx(np.log(2))
    assert log_loss({"c": sure}, truth, hidden) == pytest.approx(-np.log(1e-6) / 2)
    only_x = even[["x"]]  # y was never seen
    expected = (np.log(2) - np.log(1e-6)) / 2
    assert log_loss({"c": only_x}, truth, hidden) == pytest.approx(expected)
    assert log_loss({"c": even}, truth, hidden & False) is None


def test_draws_are_scored_where_hidden(case):
    truth, hidden, _train, scale = case
    numeric = truth[["a", "b"]]
    scores = draw_scores([numeric, numeric], truth, hidden, scale)
    assert scores["crps"] == 0
    assert scores["coverage_90"] == 1
    assert scores["energy"] == pytest.approx(0)
    with pytest.raises(ValueError, match="at least two draws, got 1"):
        draw_scores([numeric], truth, hidden, scale)


@pytest.mark.parametrize(
    ("observed", "legal", "illegal"),
    [
        ([0.5, 2.0, 7.3], [0.0, 1.5, 100.0], [-0.1]),  # not negative
        ([0.0, 0.25, 1.0], [0.0, 0.99, 1.0], [-0.01, 1.01, 2.0]),  # shares
        ([-3.0, 0.0, 5.0], [-10.0, 2.0], [0.5, -1.2]),  # whole numbers
        ([0.0, 2.0, 5.0], [0.0, 9.0], [0.5, -1.0]),  # counts
        ([1.0, 2.0, 2.0], [1.0, 2.0], [0.0, 1.5, 3.0]),  # two values
        ([4.5, 4.5], [4.5], [4.0]),  # one value
        ([-1.5, 0.2, 3.1], [-99.0, 0.123, 99.0], []),  # anything
    ],
)
def test_a_law_is_what_every_observed_value_keeps(observed, legal, illegal):
    law = Law.of(np.array(observed))
    assert not law.broken(np.array([*observed, *legal])).any()
    assert law.broken(np.array(illegal)).all()


def test_rounding_breaks_no_law():
    law = Law.of(np.array([0.0, 2.0, 5.0]))
    assert not law.broken(np.array([3 - 1e-9, -1e-12])).any()


def test_illegal_values_are_counted_among_all_that_was_filled():
    train = pd.DataFrame(
        {
            "count": [0.0, 3.0, 5.0, np.nan],
            "share": [0.1, 0.9, np.nan, 0.5],
            "kind": ["a", "b", None, "a"],
        }
    )
    filled = train.copy()
    filled.loc[3, "count"], filled.loc[2, "share"] = 2.5, 1.2
    filled.loc[2, "kind"] = "b"
    scores = illegal_scores(filled, train, train)
    assert scores == {"n_illegal": 2, "illegal": 1.0, "illegal_range": 0.5}
    filled.loc[3, "count"], filled.loc[2, "share"] = 2.0, 1.0
    assert illegal_scores(filled, train, train)["n_illegal"] == 0
    nothing = illegal_scores(filled, filled, train)
    assert nothing == {"n_illegal": 0, "illegal": None, "illegal_range": None}


@pytest.mark.parametrize("n", [2, 5, 50])
def test_the_spread_of_calibrated_draws_is_that_of_their_errors(n):
    rng = np.random.default_rng(0)
    sd = rng.uniform(0.5, 2, size=40000)
    truth, draws = sd * rng.normal(size=40000), sd * rng.normal(size=(n, 40000))
    assert spread_ratio(draws, truth) == pytest.approx(1, abs=0.02)
    assert spread_ratio(0.5 * draws, truth) < 0.75
    assert spread_ratio(2 * draws, truth) > 1.15
    assert spread_ratio(draws + 3, truth) < 0.5


def test_scores_of_draws_are_given_by_column_too():
    rng = np.random.default_rng(0)
    truth = pd.DataFrame(rng.normal(size=(4000, 2)), columns=["good", "sure"])
    hidden = pd.DataFrame(True, truth.index, truth.columns)
    scale = Scale(truth.mean(), truth.std(ddof=0))
    draws = [
        pd.DataFrame(rng.normal(size=(4000, 2)) * [1, 0.1], columns=truth.columns)
        for _ in range(20)
    ]
    scores = draw_scores(draws, truth, hidden, scale)
    covered, ratio = scores["coverage_90_by_column"], scores["spread_ratio_by_column"]
    assert covered["good"] == pytest.approx(0.82, abs=0.03)
    assert ratio["good"] == pytest.approx(1, abs=0.05)
    assert covered["sure"] < 0.15
    assert ratio["sure"] == pytest.approx(0.1, abs=0.02)
    assert covered["sure"] < scores["coverage_90"] < covered["good"]
