"""Values are brought within limits, in order or by reflection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from macfm.table._limits import Limit, fold, squeeze

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
observed = st.lists(numbers, min_size=1, max_size=30).map(np.array)
filled = st.lists(numbers, min_size=1, max_size=30).map(np.array)


def limits_around(seen, spare):
    """A lower and an upper limit that all observed values respect."""
    return [
        Limit.fit(float(seen.min() - spare), seen, 1),
        Limit.fit(float(seen.max() + spare), seen, -1),
    ]


@given(observed, filled, st.floats(0, 1e6))
@pytest.mark.parametrize("within", [fold, squeeze])
def test_everything_ends_inside(within, seen, values, spare):
    low, high = limits_around(seen, spare)
    for limits in ([low], [high], [low, high]):
        came = within(values, limits)
        for limit in limits:
            assert (limit.sign * came >= limit.sign * limit.end - 1e-9).all()


@given(observed, filled, st.floats(0, 1e6))
def test_squeezing_keeps_the_order(seen, values, spare):
    came = squeeze(np.sort(values), limits_around(seen, spare))
    assert (np.diff(came) >= -1e-9).all()


@given(observed, filled, st.floats(0, 1e6))
@pytest.mark.parametrize("within", [fold, squeeze])
def test_upper_limits_are_lower_ones_in_a_mirror(within, seen, values, spare):
    low, _ = limits_around(seen, spare)
    mirrored = Limit.fit(-low.end, -seen, -1)
    np.testing.assert_allclose(
        within(values, [low]), -within(-values, [mirrored]), rtol=1e-9, atol=1e-6
    )


@given(observed, filled)
def test_folding_twice_changes_nothing_more(seen, values):
    limits = limits_around(seen, 1.0)
    once = fold(values, limits)
    np.testing.assert_allclose(fold(once, limits), once, rtol=1e-9, atol=1e-6)


def test_squeezing_is_smooth_at_the_knee():
    seen = np.random.default_rng(0).lognormal(size=500)
    low = Limit.fit(0.0, seen, 1)
    h = 1e-6 * low.knee
    below, at, above = squeeze(low.knee + np.array([-h, 0, h]), [low])
    assert at == low.knee
    np.testing.assert_allclose((at - below) / h, (above - at) / h, rtol=1e-3)


def test_a_limit_far_from_all_values_does_not_touch_them():
    seen = np.random.default_rng(0).normal(37, 0.5, 300)
    low = Limit.fit(0.0, seen, 1)
    np.testing.assert_array_equal(squeeze(seen, [low]), seen)
    assert (low.target, low.knee) == (0.0, seen.min())
    near = Limit.fit(float(seen.min()) - 0.1, seen, 1)
    assert near.target == pytest.approx(seen.min())


@pytest.mark.parametrize("scale", [1e-3, 1e-15, 1e-19, 1e-200])
@pytest.mark.parametrize("within", [fold, squeeze])
def test_tiny_values_are_not_lost_beside_a_limit(within, scale):
    """A share of at most 1 may be of any size."""
    seen = scale * np.random.default_rng(0).uniform(1.0, 2.0, 100)
    low, up = Limit.fit(0.0, seen, 1), Limit.fit(1.0, seen, -1)
    assert up.knee == seen.max()
    values = scale * np.array([0.5, 1.1, 1.9, 2.5])
    np.testing.assert_allclose(within(values, [up]), values, rtol=1e-2)
    assert (np.diff(within(values, [up])) > 0).all()
    both = within(scale * np.linspace(-0.9, 2.5, 50), [low, up])
    assert (both > 0).all()
    assert len(np.unique(both)) == 50


def test_endless_values_end_at_the_limit():
    low = Limit.fit(0.0, np.arange(1.0, 30.0), 1)
    came = squeeze(np.array([-np.inf, -1e300, 1.0, 20.0]), [low])
    assert came[0] == came[1] == low.target
    assert came[3] == 20.0


def test_values_beyond_the_limit_only_leave_clipping():
    low = Limit.fit(5.0, np.array([1.0, 2.0]), 1)
    for within in (fold, squeeze):
        np.testing.assert_array_equal(within(np.array([3.0, 7.0]), [low]), [5.0, 7.0])


def test_a_limit_comes_back_from_its_array():
    low = Limit.fit(0.0, np.array([0.0, 1.0, 2.0]), 1)
    assert Limit.from_array(low.end, low.to_array(), 1) == low
