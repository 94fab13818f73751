"""Monotone maps of numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from macfm.table._transform import (
    N_LANDMARKS,
    SCORE_LIMIT,
    NumericTransform,
    heavy_tailed,
)

numbers = st.lists(
    st.floats(-1e12, 1e12, allow_subnormal=False).map(lambda v: round(v, 6)),
    min_size=2,
    max_size=60,
).filter(lambda values: len(set(values)) > 1)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(numbers)
def test_quantiles_are_strictly_monotone_and_invertible(values):
    values = np.array(values)
    transform = NumericTransform.fit(values, "quantile")
    distinct = np.unique(values)
    x = transform.forward(distinct)
    assert (np.diff(x.astype(np.float32)) > 0).all()
    reach = np.abs(values).max()
    np.testing.assert_allclose(transform.inverse(x), distinct, atol=1e-12 * reach)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(numbers)
def test_standardisation_is_monotone_and_invertible(values):
    values = np.array(values)
    transform = NumericTransform.fit(values, "standard")
    distinct = np.unique(values)
    x = transform.forward(distinct)
    assert (np.diff(x) >= 0).all()
    reach = np.abs(values).max()
    np.testing.assert_allclose(transform.inverse(x), distinct, atol=1e-12 * reach)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(numbers, st.lists(st.floats(-1e13, 1e13), min_size=2))
def test_monotone_everywhere(values, later):
    transform = NumericTransform.fit(np.array(values), "quantile")
    x = transform.forward(np.sort(later))
    # Interpolation may round by one unit in the last place.
    assert (np.diff(x) >= -1e-12).all()
    assert (np.diff(transform.inverse(np.linspace(-9, 9, 50))) >= 0).all()


@pytest.mark.parametrize("method", ["standard", "quantile"])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1.0, 1e15, 1e300])
def test_unit_variance_at_every_magnitude(method, size):
    values = np.random.default_rng(0).normal(size=5000) * size
    transform = NumericTransform.fit(values, method)
    x = transform.forward(values)
    assert abs(x.mean()) < 1e-9
    assert abs(x.std() - 1) < 1e-9
    np.testing.assert_allclose(transform.inverse(x), values, rtol=1e-7)


def test_tiny_spread_on_a_large_mean():
    values = 1e9 + np.array([0.0, 1e-6, 2e-6])
    x = NumericTransform.fit(values, "standard").forward(values)
    np.testing.assert_allclose(x, [-(1.5**0.5), 0, 1.5**0.5], rtol=0.2, atol=0.2)


def test_quantiles_give_normal_scores():
    values = np.exp(2 * np.random.default_rng(0).normal(size=20_000))
    transform = NumericTransform.fit(values, "quantile")
    assert len(transform.landmarks) <= N_LANDMARKS + 2
    x = transform.forward(values)
    shares = [(x < c).mean() for c in (-1.959964, 0.0, 1.0)]
    np.testing.assert_allclose(shares, [0.025, 0.5, 0.841345], atol=2e-3)
    assert np.abs(transform.scores).max() <= SCORE_LIMIT


def test_point_mass_takes_the_score_of_its_middle_rank():
    values = np.array([0.0] * 8000 + list(np.linspace(1, 2, 2000)))
    transform = NumericTransform.fit(values, "quantile")
    np.testing.assert_allclose(transform.scores[0], -0.253347, atol=1e-5)  # p = 0.4
    assert transform.inverse(transform.forward(np.zeros(1)))[0] == 0.0


def test_outside_values_take_the_score_of_the_nearest_end():
    transform = NumericTransform.fit(np.arange(10.0), "quantile")
    x = transform.forward(np.array([-1e300, 0.0, 9.0, 1e300]))
    assert x[0] == x[1]
    assert x[2] == x[3]
    assert transform.inverse(np.array([-50.0, 50.0])).tolist() == [0.0, 9.0]


def test_no_overflow_either_way():
    values = np.array([-1.7e308, 0.0, 1.7e308])
    transform = NumericTransform.fit(values, "standard")
    assert np.isfinite(transform.forward(values)).all()
    assert np.isfinite(transform.inverse(np.array([-1e6, 1e6]))).all()
    small = NumericTransform.fit(np.array([0.0, 1e-300]), "standard")
    assert np.isfinite(small.forward(np.array([1e300]))).all()


@pytest.mark.parametrize("power", [-900, 0, 900])
def test_heavy_tails_do_not_depend_on_scale(power):
    rng = np.random.default_rng(0)
    assert heavy_tailed(np.exp(3 * rng.normal(size=300)) * 2.0**power)
    assert not heavy_tailed(rng.normal(size=300) * 2.0**power)
