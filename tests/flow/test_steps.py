"""Lines that stay at values that come back."""

import numpy as np
import pytest

from macfm.flow._steps import stepped

RANKS = np.concatenate([[0], np.clip(np.linspace(0, 1, 33), 0.004, 0.996), [1]])
EVERYWHERE = np.linspace(-9, 9, 200)


def read(found, x):
    return np.interp(x, *found)


def line_of(values, *, drawn=None):
    """A line that leaves all numbers as they are."""
    drawn = np.linspace(0, 1, 200) if drawn is None else drawn
    line = np.stack([EVERYWHERE, EVERYWHERE])
    return stepped(line, values, drawn=drawn, ranks=RANKS)


def values_of(seed):
    """Numbers of which some come back, whole ones, or a few beside one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 900))
    values = rng.normal(size=n) * rng.choice([0.01, 1.0])
    if seed % 3 == 0:
        return values.round(int(rng.integers(0, 2)))
    some = rng.random(n) < rng.choice([0.02, 0.3, 0.99])
    return np.where(some, rng.choice([-1.0, 0.0, 0.3], size=n), values)


@pytest.mark.parametrize("others", [1, 2, 3, 4])
@pytest.mark.parametrize("other", [-3.0, 3.0])
def test_a_value_that_nearly_all_cells_have_is_not_left_for_another(others, other):
    """Whatever the draws' ranks say, since their numbers are near to it."""
    values = np.where(np.arange(900) < others, other, 0.0)
    beside = np.linspace(-1.2, 1.2, 99)
    for drawn in (np.linspace(0, 1, 200), np.linspace(0.3, 0.4, 200)):
        moved = read(line_of(values, drawn=drawn), beside)
        np.testing.assert_array_equal(moved, 0.0)
    assert read(line_of(values), other) == pytest.approx(other)


@pytest.mark.parametrize("seed", range(60))
def test_numbers_stay_between_the_quantiles_around_them(seed):
    values = values_of(seed)
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.random(200))
    x = rng.uniform(values.min(), values.max(), 500)
    found = line_of(values, drawn=drawn)
    assert (np.diff(found, axis=1) >= 0).all()
    moved = read(found, x)
    bound = np.zeros(500)
    for knots in (np.quantile(values, RANKS), np.unique(values)):
        right = np.searchsorted(knots, x).clip(1, len(knots) - 1)
        bound += knots[right] - knots[right - 1]
    assert (np.abs(moved - x) <= bound + 1e-6).all()


@pytest.mark.parametrize("side", [-1, 1])
def test_numbers_beyond_all_that_come_back_go_on_as_they_are(side):
    """To the last of all values, and beyond it."""
    values = np.concatenate([np.zeros(500), np.geomspace(1, 6, 300)])
    found = line_of(np.sort(side * values))
    for x in (5.0, 5.9, 5.99, 6.0, 6.1, 7.0, 8.9):
        assert read(found, side * x) == pytest.approx(side * x, abs=0.03)


def test_a_value_comes_as_often_as_it_is_observed():
    rng = np.random.default_rng(0)
    values = np.repeat([0.0, 1.0, 2.0, 5.0], [300, 100, 550, 50])
    draws = np.sort(rng.normal(size=4_000))
    ranks = np.linspace(0, 1, len(draws))
    became = np.interp(ranks, RANKS, np.quantile(values, RANKS))
    found = stepped(np.stack([draws, became]), values, drawn=ranks, ranks=RANKS)
    moved = read(found, draws)
    for value in (0.0, 1.0, 2.0, 5.0):
        share = np.isclose(moved, value, atol=1e-6).mean()
        assert share == pytest.approx((values == value).mean(), abs=0.002)


def test_values_that_do_not_come_back_leave_the_line_alone():
    line = np.stack([EVERYWHERE, EVERYWHERE])
    values = np.arange(300.0)
    drawn = np.linspace(0, 1, 200)
    assert stepped(line, values, drawn=drawn, ranks=RANKS) is line
