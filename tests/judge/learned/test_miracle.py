"""MIRACLE."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch

from macfm.judge.learned.miracle import Known, acyclicity, moment_gap
from macfm.judge.methods import make_method

QUICK = {"n_epochs": 20, "batch_size": 128, "learning_rate": 5e-3}


@cache
def fitted(toy):
    return toy.fit("miracle", **QUICK)


def test_it_comes_near_to_the_best_on_two_factors_in_sample_and_out(toy):
    method, best = fitted(toy), toy.fit("em")
    out = toy.error(method) / toy.error(best)

    def error_in_sample(method):
        filled = method.impute(toy.train.mask(toy.train_hidden))
        gap = ((filled - toy.train) / toy.train.std(ddof=0)).to_numpy()
        return np.sqrt(np.mean(gap[toy.train_hidden.to_numpy()] ** 2))

    assert out < 1.1
    assert error_in_sample(method) / error_in_sample(best) == pytest.approx(out, 0.04)


def test_refilling_is_what_makes_it_good(toy):
    # Before the window is full holes stand at their means.
    once = toy.fit("miracle", **QUICK | {"window": QUICK["n_epochs"]})
    assert toy.error(once) > 1.1 * toy.error(fitted(toy))


def test_a_node_is_blind_to_its_own_column():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table.insert(1, "kind", rng.choice(["x", "y", "z"], size=60))
    method = make_method("miracle", n_epochs=2).fit(table)
    network = method.model_.networks[-1]
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
    for block in method.model_.columns.blocks:
        other = x.clone()
        other[:, block] += 1
        same = (network(other) == network(x)).all(dim=0)
        own = torch.zeros(6, dtype=torch.bool)
        own[block] = True
        assert torch.equal(same, own)


def test_numbers_stay_within_the_observed_range(toy):
    train = toy.train.mask(toy.train_hidden)
    far = toy.test.mask(toy.test_hidden) * 30
    filled = fitted(toy).impute(far)
    for column in train:
        values = filled.loc[toy.test_hidden[column], column]
        low, high = train[column].min(), train[column].max()
        slack = 1e-5 * (high - low)
        assert values.between(low - slack, high + slack).all()
        assert values.max() > high - slack  # the bound was needed


def test_acyclicity_is_the_exponential_and_its_derivative():
    generator = torch.Generator().manual_seed(0)
    squares = torch.rand(5, 5, generator=generator, dtype=torch.float64)
    squares.requires_grad_()
    ours, exact = acyclicity(squares), torch.matrix_exp(squares).trace() - 5
    torch.testing.assert_close(ours, exact)
    [slope], [exact_slope] = (torch.autograd.grad(h, squares) for h in (ours, exact))
    torch.testing.assert_close(slope, exact_slope)
    assert acyclicity(squares.detach().triu(1)) == 0


def test_moments_are_those_of_all_cells_if_chances_are_right():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200_000, 1, generator=generator)
    chances = torch.sigmoid(x)
    observed = torch.rand(x.shape, generator=generator) < chances
    known = Known(*(torch.tensor([0]) for _ in range(3)))

    def gap(guess, x, logits):
        return moment_gap(torch.full_like(x, guess), x, observed, logits, known)

    logits = torch.logit(chances * 1.02 - 0.01, eps=1e-6)
    assert gap(0.0, x, logits) < 0.01**2 * 4
    assert gap(0.0, x, torch.zeros_like(x)) > 0.3**2  # known cells are the larger ones
    # What stands in a hole is no target.
    assert gap(0.0, torch.where(observed, x, 1e3), logits) == gap(0.0, x, logits)


def test_held_out_cells_end_it_before_it_learns_noise_by_heart():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(500, 6))).rename(columns="x{}".format)
    hidden = rng.random(table.shape) < 0.3
    settings = {"n_epochs": 60, "batch_size": 25, "learning_rate": 5e-3}
    errors = []
    for share in (0.0, 0.2):
        method = make_method("miracle", held_out=share, **settings)
        method.fit(table.mask(hidden).head(100))
        filled = method.impute(table.mask(hidden)).to_numpy()
        errors.append(np.sqrt(np.mean((filled - table.to_numpy())[hidden] ** 2)))
        assert (method.network_evaluations_per_row() == 60) == (share == 0)
    assert errors[1] < 0.9 * errors[0]


def test_a_spent_budget_ends_it_after_one_step(toy):
    method = toy.fit("miracle", budget=1e-9)
    assert method.network_evaluations_per_row() == 1
    assert np.isfinite(toy.error(method))
