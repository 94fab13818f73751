import numpy as np
import pandas as pd
import pytest
from scipy import stats

from macfm.profile import little_test


def normal_table(seed: int, n: int = 200, d: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


def test_two_columns_against_the_closed_form():
    # With one complete column the likelihood factors: means and covariance follow
    # from a regression on the complete rows.
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = 0.8 * x + rng.normal(size=120)
    gone = np.arange(120) < 40
    n, kept = 120, ~gone
    slope = np.cov(x[kept], y[kept], ddof=0)[0, 1] / x[kept].var()
    noise = (y[kept] - y[kept].mean() - slope * (x[kept] - x[kept].mean())).var()
    mean = np.array([x.mean(), y[kept].mean() + slope * (x.mean() - x[kept].mean())])
    covariance = np.array(
        [
            [x.var(), slope * x.var()],
            [slope * x.var(), noise + slope**2 * x.var()],
        ]
    ) * (n / (n - 1))
    gap = np.array([x[kept].mean(), y[kept].mean()]) - mean
    expected = kept.sum() * gap @ np.linalg.solve(covariance, gap)
    expected += gone.sum() * (x[gone].mean() - mean[0]) ** 2 / covariance[0, 0]

    frame = pd.DataFrame({"x": x, "y": np.where(gone, np.nan, y), "word": "a"})
    found = little_test(frame, normal_scores=False)
    assert found.columns == ("x", "y")
    assert found.df == 1
    assert found.statistic == pytest.approx(expected, rel=1e-3)
    assert found.p_value == pytest.approx(stats.chi2.sf(expected, 1), rel=1e-2)


def test_units_do_not_matter():
    x = normal_table(3)
    x[:60, 1] = np.nan
    for how in (True, False):
        one = little_test(x, normal_scores=how)
        other = little_test(x * [1e-4, 1e3, 1, 7] + 5, normal_scores=how)
        assert one.statistic == pytest.approx(other.statistic, rel=1e-6)


@pytest.mark.parametrize("skewed", [False, True])
def test_under_mcar_about_one_in_twenty_is_rejected(skewed):
    rejected = 0
    for seed in range(60):
        x = normal_table(seed)
        x = np.exp(x / 2) if skewed else x
        rng = np.random.default_rng(1000 + seed)
        x[rng.uniform(size=x.shape) < 0.15] = np.nan
        rejected += little_test(x).p_value < 0.05
    assert rejected <= stats.binom.ppf(0.999, 60, 0.05)
    if not skewed:
        assert rejected >= 1  # not simply blind


def test_under_mar_it_rejects():
    for seed in range(10):
        x = normal_table(seed)
        high = x[:, 0] > np.median(x[:, 0])
        x[high & (np.random.default_rng(seed).uniform(size=200) < 0.6), 1] = np.nan
        assert little_test(x).p_value < 0.001


def test_large_tables_are_sampled_and_the_seed_decides():
    x = normal_table(0, n=900)
    x[np.random.default_rng(0).uniform(size=x.shape) < 0.1] = np.nan
    found = little_test(x, max_rows=300)
    assert found.n_rows == 300
    assert found == little_test(x, max_rows=300)
    assert found != little_test(x, max_rows=300, seed=1)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pd.DataFrame({"a": [1.5, None] * 50}), "at least two numeric columns"),
        (pd.DataFrame(normal_table(0)), "no number is missing"),
        (np.where(np.eye(10, 4) > 0, np.nan, normal_table(0, n=10)), "too few"),
        (np.full((40, 70), np.arange(40.0)[:, None] % 7), "at most 60"),
    ],
)
def test_where_it_does_not_apply_it_says_why(table, reason):
    found = little_test(table)
    assert found.p_value is None
    assert reason in found.reason
    assert found.sentence().startswith("Little's test does not apply")


def test_columns_that_determine_each_other():
    x = normal_table(0)
    x[:, 3] = 2 * x[:, 0]
    x[:50, 1] = np.nan
    assert "determine each other" in little_test(x).reason


def test_sentences_do_not_claim_too_much():
    x = normal_table(0)
    x[np.random.default_rng(0).uniform(size=x.shape) < 0.1] = np.nan
    assert "does not prove" in little_test(x).sentence(level=1e-9)
    assert "speaks against" in little_test(x).sentence(level=1)
