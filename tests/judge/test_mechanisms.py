"""The mask generators: rates, and what a hole may and may not depend on."""

from itertools import chain

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from macfm.judge import mechanisms
from macfm.judge.mechanisms import MECHANISMS, STRUCTURAL, hide, realised_rate

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


def survey(n: int = 8000, d: int = 20) -> pd.DataFrame:
    """Return a table of numbers and, in every other column, three categories."""
    rng = np.random.default_rng(2)
    names = [f"c{j}" for j in range(d)]
    frame = pd.DataFrame(rng.normal(size=(n, d)), columns=names)
    for name in names[::2]:
        frame[name] = rng.choice(["no", "rarely", "often"], n, p=[0.2, 0.3, 0.5])
    return frame


@pytest.mark.parametrize("name", STRUCTURAL)
@pytest.mark.parametrize("rate", RATES)
def test_rules_keep_the_rate_in_columns_with_holes_and_of_few_values(name, rate):
    table = survey()
    table["c0"] = "same"  # a gate that never says no
    table["c2"] = None
    rng = np.random.default_rng(0)
    table["c3"] = np.where(rng.random(len(table)) < 0.9, 0.0, table["c3"])
    table.loc[table["c5"] > 0, ["c4", "c7"]] = np.nan  # natural skip patterns
    overall, by_column = realised_rate(table, hide(table, name, rate, seed=1))
    assert overall == pytest.approx(rate, abs=0.01)
    assert np.isnan(by_column[2])
    assert np.delete(by_column, 2) == pytest.approx(np.full(19, rate), abs=0.04)


@pytest.mark.parametrize("name", STRUCTURAL)
def test_rules_need_two_columns(name):
    with pytest.raises(ValueError, match="a column to drive and one to be hidden"):
        hide(normal_table(50, d=1), name, 0.3, seed=0)
    for d in (2, 3, 4):
        overall, _ = realised_rate(x := normal_table(d=d), hide(x, name, 0.3, seed=0))
        assert overall == pytest.approx(0.3, abs=0.02)


def find_followers(table: pd.DataFrame, hidden: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns whose holes depend on the value of each column."""
    found = {}
    for gate in table:
        x = pd.factorize(table[gate], sort=True)[0].astype(float)
        others = [c for c in table if c != gate]
        moved = [c for c in others if slope_p_value(x, hidden[c].to_numpy()) < 1e-9]
        if moved:
            found[gate] = moved
    return found


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_skip_hides_followers_where_their_gate_says_no(rate):
    table = survey()
    hidden = mechanisms.skip(table, rate, seed=0)
    patterns = find_followers(table, hidden)
    # One gate for five columns; every other column follows one gate and no other.
    assert len(patterns) == 4
    followers = list(chain(*patterns.values()))
    assert len(followers) == len(set(followers)) == 16
    assert not set(followers) & set(patterns)
    together = rate / 4
    for gate, followed in patterns.items():
        alone = hidden.loc[~hidden[gate], followed].mean(axis=1)
        values = table.loc[~hidden[gate], gate]
        if table[gate].dtype == float:
            bins = pd.qcut(values, 50)
            chance = alone.groupby(bins, observed=True).mean()
            # A threshold: all but the bin it falls in are one or the other.
            assert ((chance > 0.9) | (chance < 0.12)).sum() >= 49
            assert (chance.diff().abs() > 0.4).sum() <= 2
        else:
            chance = alone.groupby(values).mean()
        no = chance > chance.mean()
        assert 0 < no.sum() < len(no)
        assert (chance[no].min() - chance[~no].max()) > 0.5
        # Gates are hidden whatever they hold, and take their followers along.
        x = pd.factorize(table[gate], sort=True)[0].astype(float)
        assert slope_p_value(x, hidden[gate].to_numpy()) > 1e-4
        # All follow by rule or are skipped together, never less than the latter.
        gone = hidden.loc[hidden[gate], followed].all(axis=1).mean()
        assert gone > together / rate


def test_a_rule_of_a_skip_pattern_has_exceptions_on_both_sides():
    x = normal_table(n=20000, d=2)
    hidden = mechanisms.skip(x, 0.3, seed=0)
    gate = int(slope_p_value(x[:, 1], hidden[:, 0]) < 1e-9)
    shown = ~hidden[:, gate]
    follower = hidden[shown, 1 - gate]
    edges = np.quantile(x[:, gate], np.linspace(0, 1, 21))
    place = np.clip(np.searchsorted(edges, x[shown, gate]) - 1, 0, 19)
    chance = np.array([follower[place == k].mean() for k in range(20)])
    by_rule = (0.3 - 0.075) / (1 - 0.075)
    # r of the rows say no: 95 % of their cells are hidden, 5 % of the others, shifted
    # a little so that the whole is r.
    no = chance > 0.5
    assert no.sum() == round(20 * by_rule)
    assert chance.mean() == pytest.approx(by_rule, abs=0.02)
    inside, outside = np.sort(chance)[:14], np.sort(chance)[-4:]
    assert inside.mean() == pytest.approx(0.03, abs=0.02)
    assert outside.mean() == pytest.approx(0.93, abs=0.03)


def test_a_gate_that_is_missing_in_the_source_decides_nothing():
    x = normal_table(n=20000, d=2)
    gate = int(slope_p_value(x[:, 1], mechanisms.skip(x, 0.3, seed=0)[:, 0]) < 1e-9)
    x[::2, gate] = np.nan
    hidden = mechanisms.skip(x, 0.3, seed=0)
    assert hidden[::2, 1 - gate].mean() == pytest.approx(0.3, abs=0.02)
    assert hidden[1::2, 1 - gate].mean() == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_blocks_are_hidden_whole_and_depend_on_one_column(rate):
    table = survey()
    hidden = mechanisms.block(table, rate, seed=0)
    alike = hidden.T.drop_duplicates().index
    assert len(alike) == 5  # four groups of the 19 columns, and the driver
    (driver,) = find_followers(table, hidden)
    assert driver in alike
    x = pd.factorize(table[driver], sort=True)[0].astype(float)
    assert slope_p_value(x, hidden[driver].to_numpy()) > 1e-4
    groups = hidden[[name for name in alike if name != driver]]
    # Evenly spaced arcs: every row lacks p K of K groups, up to one.
    assert set(groups.sum(axis=1)) == {int(4 * rate), int(4 * rate) + 1}
    assert groups.drop_duplicates().shape[0] <= 8
    # Rows of every value of the driver are in every wave.
    shares = groups.groupby(pd.qcut(x, 5, duplicates="drop"), observed=True).mean()
    assert (shares > 0.01).all(axis=None)
    assert (shares < 0.99).all(axis=None)


def test_half_of_a_mixture_is_chance():
    table = survey()
    hidden = mechanisms.mixture(table, 0.3, seed=0)
    chance = 1 - np.sqrt(0.7)
    followed = set(chain(*find_followers(table, hidden).values()))
    # Of ten columns two are gates, of ten one drives, and 17 follow; of a group whose
    # arc lies in the middle of the order the means tell nothing.
    assert 14 <= len(followed) <= 17
    # Rules hide the columns of a group in the same rows. In the rows in which all but
    # one are shown no rule was at work, and what is left is chance.
    alike = hidden.corr()
    groups = [alike.index[alike[name] > 0.3] for name in alike]
    groups = {tuple(group) for group in groups if len(group) > 1}
    assert groups
    for group in groups:
        for name in group:
            others = hidden[[other for other in group if other != name]]
            rest = hidden.loc[~others.any(axis=1), name].mean()
            assert rest == pytest.approx(chance, abs=0.08)


@pytest.mark.parametrize("name", STRUCTURAL)
def test_rules_hold_for_arrays_as_for_frames(name):
    x = normal_table(n=500)
    frame = pd.DataFrame(x).add_prefix("c")
    hidden = hide(frame, name, 0.4, seed=7)
    assert np.array_equal(hide(x, name, 0.4, seed=7), hidden.to_numpy())


@pytest.mark.parametrize("name", ["skip", "block"])
def test_rules_do_not_look_at_cells_that_only_follow(name):
    table = survey(n=2000)
    hidden = hide(table, name, 0.3, seed=0)
    driving = set(find_followers(table, hidden))
    changed = table.copy()
    for column in set(table) - driving:
        changed[column] = changed[column].sample(frac=1, random_state=1).to_numpy()
    pd.testing.assert_frame_equal(hidden, hide(changed, name, 0.3, seed=0))
