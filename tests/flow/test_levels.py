"""Rows are numbered in their order, and draws of categories have a law."""

import numpy as np
import pytest
import torch

from macfm.flow._levels import Levels, number_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_numbered_in_their_order(dtype):
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(7, 4)).astype(dtype)
    x = codes[rng.integers(7, size=500)]
    distinct, number = np.unique(x, axis=0, return_inverse=True)
    found, told = number_rows(x)
    np.testing.assert_array_equal(found, distinct)
    np.testing.assert_array_equal(told, number.ravel())


def test_one_row_and_rows_of_one_entry():
    found, told = number_rows(np.array([[3.0], [1.0], [3.0]]))
    np.testing.assert_array_equal(found, [[1.0], [3.0]])
    np.testing.assert_array_equal(told, [1, 0, 1])


def drawn_by(levels, p, *, power, offset, n_draws, seed):
    """Return draws ``(n_draws, n, d)`` that follow a law of probabilities p."""
    weight = (p + 0.01) ** power * np.exp(offset)
    law = torch.from_numpy(weight / weight.sum(axis=1, keepdims=True))
    generator = torch.Generator().manual_seed(seed)
    code = torch.multinomial(law, n_draws, replacement=True, generator=generator).T
    return levels.codes[code]


def some_rows(n):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([4.0, 1.0, 0.3], size=n)
    levels = Levels(torch.arange(3), torch.eye(3) * 1.7 - 0.4)
    mean = torch.from_numpy(p).float() @ levels.codes
    return levels, p, mean


def test_the_law_of_draws_is_learned():
    levels, p, mean = some_rows(20_000)
    made = {"power": 1.6, "offset": np.array([0.3, 0.0, -0.6])}
    drawn = drawn_by(levels, p, **made, n_draws=2, seed=0)
    learned = levels.learn(mean, drawn, torch.ones(20_000, dtype=torch.bool))
    wanted = (p + 0.01) ** made["power"] * np.exp(made["offset"])
    wanted /= wanted.sum(axis=1, keepdims=True)
    found = learned.of_draws(levels.probabilities(mean)).numpy()
    assert np.abs(found - wanted).max() < 0.03
    # so that drawing again gives the probabilities themselves
    told = levels.probabilities(mean)
    u = torch.rand(2, 20_000, 2, generator=torch.Generator().manual_seed(1)).double()
    fresh = drawn_by(levels, p, **made, n_draws=2, seed=2)
    again = levels.nearest(learned.redrawn(fresh, learned.of_draws(told), told, u))
    shares = np.bincount(again.flatten(), minlength=3) / again.numel()
    np.testing.assert_allclose(shares, p.mean(axis=0), atol=0.01)
    rare = p[:, 2] < 0.05
    share = (again[:, rare] == 2).double().mean()
    assert abs(share - p[rare, 2].mean()) < 0.005


def test_no_draws_say_nothing_of_their_law():
    levels, _, mean = some_rows(5)
    learned = levels.learn(
        mean, levels.codes[:1].expand(2, 5, 3), torch.zeros(5, dtype=torch.bool)
    )
    p = levels.probabilities(mean)
    torch.testing.assert_close(learned.of_draws(p), p, atol=0.03, rtol=0)
    assert torch.equal(levels.of_draws(p), p)


def test_shown_cells_say_nothing_of_the_law():
    levels, p, mean = some_rows(400)
    hidden = torch.arange(400) % 2 == 0
    drawn = drawn_by(levels, p, power=1.0, offset=np.zeros(3), n_draws=2, seed=0)
    other = drawn.clone()
    other[:, ~hidden] = levels.codes[2]
    one, two = (levels.learn(mean, some, hidden) for some in (drawn, other))
    assert torch.equal(one.power, two.power)
    assert torch.equal(one.offset, two.offset)
