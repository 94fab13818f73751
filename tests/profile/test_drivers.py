import numpy as np
import pandas as pd
import pytest
from scipy import stats

from macfm.profile import holm, missing_dependence
from macfm.profile._drivers import _categories, _holes, _numbers, rank_test


@pytest.fixture
def flags():
    rng = np.random.default_rng(0)
    return rng.uniform(size=300) < 0.3, rng


@pytest.mark.parametrize("digits", [8, 0])  # without and with ties
def test_numbers_agree_with_mann_and_whitney(flags, digits):
    gone, rng = flags
    values = np.round(rng.normal(size=300) + 0.3 * gone, digits)
    effect, p, _ = _numbers(gone, values, "a", "number")
    test = stats.mannwhitneyu(
        values[gone], values[~gone], use_continuity=False, method="asymptotic"
    )
    auc = test.statistic / (gone.sum() * (~gone).sum())
    assert effect == pytest.approx(abs(2 * auc - 1))
    assert p == pytest.approx(test.pvalue)


def test_categories_agree_with_chi_squared(flags):
    gone, rng = flags
    codes = rng.integers(0, 4, 300)
    effect, p, _ = _categories(gone, codes, codes, "a")
    test = stats.chi2_contingency(pd.crosstab(codes, gone), correction=False)
    assert effect == pytest.approx(np.sqrt(test.statistic / 300))
    assert p == pytest.approx(test.pvalue)


def test_holes_agree_with_chi_squared(flags):
    gone, rng = flags
    other = rng.uniform(size=300) < 0.2
    effect, p, _ = _holes(gone, other, "a")
    test = stats.chi2_contingency(pd.crosstab(other, gone), correction=False)
    assert effect == pytest.approx(np.sqrt(test.statistic / 300))
    assert p == pytest.approx(test.pvalue)


def test_rare_categories_are_merged(flags):
    gone, rng = flags
    codes = np.where(rng.uniform(size=300) < 0.1, np.arange(300), 0)
    gone = gone | (codes > 0)
    _, p, sentence = _categories(gone, codes, codes, "a")
    assert p < 1e-6
    assert "'a' is rare (100 % against" in sentence


def test_four_small_cells_are_tested_exactly():
    gone, gone_too = (np.arange(2000) < n for n in (12, 10))
    counts = pd.crosstab(gone_too, gone)
    assert stats.chi2_contingency(counts).expected_freq.min() < 1
    effect, p, sentence = _holes(gone, gone_too, "a")
    assert p == pytest.approx(stats.fisher_exact(counts).pvalue)
    assert effect == pytest.approx(np.corrcoef(gone, gone_too)[0, 1])
    assert "'a' is missing too" in sentence


def test_no_chi_squared_where_less_than_one_row_is_expected():
    gone = np.arange(600) < 10
    codes = np.repeat(np.arange(60), 10)  # 0.17 missing rows are expected in each
    assert _categories(gone, codes, codes, "a") is None
    frame = pd.DataFrame({"a": np.where(gone, np.nan, 1.0), "b": codes.astype(str)})
    frame["c"] = np.random.default_rng(0).normal(size=600)
    (column,) = missing_dependence(frame).columns
    assert [driver for driver in column.drivers if driver.column == "b"] == []


def test_a_row_of_its_own_kind_hides_no_other(flags):
    gone, rng = flags
    codes = rng.integers(0, 3, 300)
    with_one = np.append(codes, 7)
    alone = _categories(gone, codes, codes, "a")
    assert _categories(np.append(gone, True), with_one, with_one, "a") == alone


def test_equal_values_tell_nothing(flags):
    gone, _ = flags
    assert rank_test(gone, np.ones(300)) == (0.5, 1.0)


def test_holm_is_between_none_and_bonferroni():
    p = np.random.default_rng(0).uniform(size=20)
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(20 * p, 1)).all()
    assert (np.argsort(corrected[corrected < 1]) == np.argsort(p[corrected < 1])).all()
    assert holm(np.array([])).size == 0


def test_under_mcar_drivers_are_rare():
    found, n_columns = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(150, 4))
        x[rng.uniform(size=x.shape) < 0.2] = np.nan
        columns = missing_dependence(x).columns
        n_columns += len(columns)
        found += sum(bool(column.drivers) for column in columns)
    assert found <= stats.binom.ppf(0.999, n_columns, 0.05)
