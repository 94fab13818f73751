"""The mask generators: rates, and what a hole may and may not depend on."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from macfm.bench import mechanisms
from macfm.bench.mechanisms import MECHANISMS, hide, realised_rate

RATES = [0.05, 0.3, 0.5, 0.7]


def normal_table(n: int = 6000, d: int = 10, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def mixed_table(n: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "income": rng.lognormal(10, 1, n),
            "city": rng.choice(["Bern", "Oslo", "Rome"], n),
            "grade": rng.choice(["a", "b"], n),
        }
    )
    frame.loc[:199, "age"] = np.nan
    frame.loc[100:399, "city"] = None
    return frame


def slope_p_value(driver: np.ndarray, hidden: np.ndarray) -> float:
    """P-value of a difference in a driver's mean between hidden and shown cells."""
    return stats.ttest_ind(driver[hidden], driver[~hidden]).pvalue


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_realised_rate_is_the_rate_asked_for(name, rate):
    x = normal_table()
    overall, by_column = realised_rate(x, hide(x, name, rate, seed=3))
    # 60,000 cells: the mean of independent cells strays by 0.002 at most in sd. MAR
    # hides p / (1 - q) of the columns that are not drivers.
    expected = rate
    if name == "mar":
        q = 0.3 if rate <= 0.3 else 0.1
        n_drivers = max(int(q * 10 + 1e-9), 1)
        expected = rate / (1 - q) * (1 - n_drivers / 10)
        assert (by_column == 0).sum() == n_drivers
    assert overall == pytest.approx(expected, abs=0.01)
    driven = by_column[by_column > 0]
    assert np.all(np.abs(driven - driven.mean()) < 0.04)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mask_belongs_to_its_seed(name):
    table = mixed_table()
    first, again = (
        hide(table, name, 0.3, seed=[5, 1]),
        hide(table, name, 0.3, seed=[5, 1]),
    )
    other = hide(table, name, 0.3, seed=[5, 2])
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize("name", MECHANISMS)
def test_missing_cells_are_never_hidden_nor_counted(name):
    table = mixed_table()
    hidden = hide(table, name, 0.5, seed=0)
    assert not (hidden & table.isna()).to_numpy().any()
    assert list(hidden.columns) == list(table.columns)
    assert hidden.index.equals(table.index)
    overall, by_column = realised_rate(table, hidden)
    counted = hidden.to_numpy().sum() / table.notna().to_numpy().sum()
    assert overall == pytest.approx(counted)
    assert by_column[0] == hidden["age"].sum() / table["age"].notna().sum()


def test_mcar_depends_on_nothing():
    x = normal_table()
    other_values = normal_table(seed=99)
    hidden = mechanisms.mcar(x, 0.3, seed=0)
    assert np.array_equal(hidden, mechanisms.mcar(other_values, 0.3, seed=0))
    p_values = [
        slope_p_value(x[:, k], hidden[:, j]) for j in range(10) for k in range(10)
    ]
    # A hundred tests of a true hypothesis: uniform p-values.
    assert stats.kstest(p_values, "uniform").pvalue > 0.001
    together = np.corrcoef(hidden.T) - np.eye(10)
    assert np.abs(together).max() < 4.5 / np.sqrt(len(x))


@pytest.mark.parametrize("rate", [0.3, 0.5])
def test_mar_depends_on_columns_that_stay_observed_and_on_them_only(rate):
    x = normal_table()
    hidden = mechanisms.mar(x, rate, seed=0)
    driving = ~hidden.any(axis=0)
    changed = x.copy()
    changed[:, ~driving] = normal_table(seed=99)[:, ~driving]
    assert np.array_equal(hidden, mechanisms.mar(changed, rate, seed=0))
    for j in np.flatnonzero(~driving):
        p_values = [
            slope_p_value(x[:, k], hidden[:, j]) for k in np.flatnonzero(driving)
        ]
        assert min(p_values) < 1e-6


@pytest.mark.parametrize("rate", [0.3, 0.5])
def test_mnar_depends_on_columns_that_are_hidden_in_part(rate):
    x = normal_table()
    hidden = mechanisms.mnar(x, rate, seed=0)
    assert hidden.any(axis=0).all()
    # A driver moves the holes of other columns, its own holes follow nothing.
    p_values = np.array(
        [[slope_p_value(x[:, k], hidden[:, j]) for k in range(10)] for j in range(10)]
    )
    np.fill_diagonal(p_values, 1.0)
    driven = (p_values < 1e-6).any(axis=1)
    n_drivers = max(int((0.3 if rate <= 0.3 else 0.1) * 10), 1)
    assert driven.sum() == 10 - n_drivers
    driving = ~driven
    assert not (p_values[:, ~driving] < 1e-6).any()
    assert (p_values[:, driving] < 1e-6).any(axis=0).all()


def test_self_masking_depends_on_the_cell_itself():
    x = normal_table()
    hidden = mechanisms.mnar_self(x, 0.3, seed=0)
    for j in range(10):
        assert slope_p_value(x[:, j], hidden[:, j]) < 1e-6
    other = x.copy()
    other[:, 1:] = normal_table(seed=99)[:, 1:]
    again = mechanisms.mnar_self(other, 0.3, seed=0)
    assert np.array_equal(hidden[:, 0], again[:, 0])


def test_quantile_censoring_hides_one_tail_and_nothing_beyond():
    x = normal_table()
    hidden = mechanisms.mnar_quantile(x, 0.3, seed=0)
    for j in range(10):
        rank = stats.rankdata(x[:, j]) / len(x)
        lost = rank[hidden[:, j]]
        assert lost.max() <= 0.4001 or lost.min() >= 0.5999
        tail = rank <= 0.4 if lost.max() <= 0.4001 else rank > 0.6
        assert hidden[tail, j].mean() == pytest.approx(0.75, abs=0.03)


def test_quantile_censoring_keeps_the_rate_on_a_column_of_few_values():
    x = np.random.default_rng(0).integers(0, 2, size=(4000, 6)).astype(float)
    _, by_column = realised_rate(x, mechanisms.mnar_quantile(x, 0.3, seed=0))
    assert by_column == pytest.approx(np.full(6, 0.3), abs=0.03)


@pytest.mark.parametrize("name", ["mar", "mnar"])
def test_standardised_drivers_do_not_depend_on_units_and_raw_ones_do(name):
    x = normal_table(n=800)
    scaled = x * 10.0 ** np.arange(10) + 7
    assert np.array_equal(hide(x, name, 0.3, seed=0), hide(scaled, name, 0.3, seed=0))
    raw = hide(scaled, name, 0.3, seed=0, raw_drivers=True)
    assert not np.array_equal(raw, hide(scaled, name, 0.3, seed=0))


def test_the_target_counts_among_the_columns_of_which_a_share_drives():
    x = normal_table(n=500, d=16)
    without = mechanisms.mar(x, 0.3, seed=0)
    counted = mechanisms.mar(x, 0.3, seed=0, n_counted=17)
    assert (~without.any(axis=0)).sum() == 4  # ⌊0.3 · 16⌋
    assert (~counted.any(axis=0)).sum() == 5  # ⌊0.3 · 17⌋


def test_constant_drivers_leave_plain_chance():
    x = np.zeros((4000, 2))
    overall, _ = realised_rate(x, mechanisms.mnar(x, 0.3, seed=0))
    assert overall == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 1.5])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_rate_outside_0_and_1_is_refused(name, rate):
    with pytest.raises(ValueError, match="rate must lie between 0 and 1"):
        hide(normal_table(50), name, rate, seed=0)


def test_mar_refuses_a_rate_that_its_observed_columns_rule_out():
    with pytest.raises(ValueError, match=r"hides less than 90%.*got rate=0.95"):
        mechanisms.mar(normal_table(50), 0.95, seed=0)


def test_one_column_cannot_drive_itself():
    with pytest.raises(ValueError, match="a column to drive and one to be hidden"):
        mechanisms.mar(normal_table(50, d=1), 0.3, seed=0)


def test_unknown_names_and_wrong_tables_are_refused():
    with pytest.raises(ValueError, match="no mechanism 'mcra'; there are: mcar, mar"):
        hide(normal_table(50), "mcra", 0.3, seed=0)
    with pytest.raises(ValueError, match="two dimensions, got an array of 1"):
        mechanisms.mcar(np.zeros(5), 0.3, seed=0)
    with pytest.raises(ValueError, match="use a DataFrame for text"):
        mechanisms.mcar(np.array([["a"]]), 0.3, seed=0)
