"""Draws step over what no value lies in, and nothing else is taken for a gap."""

import numpy as np
import pytest

from macfm.flow._gaps import find_gaps, over_gaps

RNG = np.random.default_rng


def two_peaks(seed, n=300, share=0.4):
    rng = RNG(seed)
    return np.where(rng.random(n) < share, -10.0, 10.0) + rng.normal(0, 1, n)


@pytest.mark.parametrize("seed", range(20))
def test_a_gap_lies_between_the_values_beside_it(seed):
    values = two_peaks(seed)
    [(low, high, share)] = find_gaps(values)
    assert low == values[values < 0].max()
    assert high == values[values > 0].min()
    assert share == (values < 0).mean()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: rng.lognormal(0, 1.2, size=n),
        lambda rng, n: rng.uniform(size=n),
        lambda rng, n: rng.standard_t(2, size=n),
        lambda rng, n: rng.integers(0, 6, n).astype(float),
        lambda rng, n: rng.choice([5.0, 10.0, 20.0, 40.0, 80.0], n),
        lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.normal(50, 2, n)),
        lambda rng, n: np.zeros(n),
    ],
    ids=["normal", "skewed", "even", "tails", "whole", "doses", "zeros", "one"],
)
@pytest.mark.parametrize("n", [0, 1, 60, 300, 3_000])
def test_one_group_of_values_has_none(draw, n):
    for seed in range(20):
        assert find_gaps(draw(RNG(seed), n)) == []


def test_a_line_steps_over_a_gap_and_stays_what_it_is_beyond():
    values = two_peaks(0)
    ranks = np.linspace(0, 1, 41)
    at = np.linspace(-12, 12, 41)  # draws that fill the gap
    line = np.array([at, np.quantile(values, ranks)])
    came = over_gaps(line, values, at=at, drawn=ranks)
    assert (np.diff(came) >= 0).all()
    numbers = np.interp(RNG(1).uniform(-12, 12, 5_000), *came)
    [(low, high, share)] = find_gaps(values)
    assert not ((numbers > low) & (numbers < high)).any()
    assert (numbers < 0).mean() == pytest.approx(share, abs=0.02)
    far = np.abs(line[1]) > 10.5
    np.testing.assert_allclose(np.interp(at[far], *came), line[1][far])


@pytest.mark.parametrize("edge", ["low", "high"])
def test_a_pile_at_the_edge_of_a_gap_stays(edge):
    """Where a line stays at a value that comes back, it goes on doing so."""
    values = two_peaks(0)
    [(low, high, _)] = find_gaps(values)
    end = low if edge == "low" else high
    values = np.concatenate([values, np.full(60, end)])
    ranks = np.linspace(0, 1, 401)
    line = np.array([ranks, np.quantile(values, ranks, method="inverted_cdf")])
    came = over_gaps(line, values, at=ranks, drawn=ranks)
    numbers = np.interp(RNG(1).uniform(size=5_000), *came)
    pile = (values == end).mean()
    assert (np.abs(numbers - end) < 1e-9).mean() == pytest.approx(pile, abs=0.02)


def test_a_line_without_a_gap_is_left_alone():
    values = RNG(0).normal(size=200)
    line = np.array([[-1.0, 1.0], [-2.0, 2.0]])
    ends, ranks = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    assert over_gaps(line, values, at=ends, drawn=ranks) is line
