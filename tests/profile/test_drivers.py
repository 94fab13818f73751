import numpy as np
import pandas as pd
import pytest
from scipy import stats

from macfm.profile import missing_dependence
from macfm.profile._drivers import _categories, _holes, _numbers, holm


@pytest.fixture
def flags():
    rng = np.random.default_rng(0)
    return rng.uniform(size=300) < 0.3, rng


@pytest.mark.parametrize("digits", [8, 0])  # without and with ties
def test_numbers_agree_with_mann_and_whitney(flags, digits):
    gone, rng = flags
    values = np.round(rng.normal(size=300) + 0.3 * gone, digits)
    effect, p, _ = _numbers(gone, values, "a", "numeric")
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
