"""The diffusion that DiffPuter and MissDiff share."""

import numpy as np
import pytest
import torch

from macfm.judge.learned._base import Clock, Rows
from macfm.judge.learned._edm import Denoiser, HalfScale, edm_loss, train
from macfm.judge.learned._repaint import RePaint
from macfm.judge.methods import METHODS, make_method

SETTINGS = METHODS["missdiff"].authors | {"width": 8, "batch_size": 64}
REPAINT = RePaint(
    n_steps=25, n_inner=20, churn=1.0, sigma_max=80.0, sigma_min=0.002, rho=7.0
)
COVARIANCE = 0.25 * torch.tensor([[1.0, 0.8], [0.8, 1.0]])


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def exact(x, sigma):
    """The best denoiser of two correlated normal columns."""
    return x @ torch.linalg.solve(COVARIANCE + sigma**2 * torch.eye(2), COVARIANCE)


def halves(n=1_000):
    """Rows of which the first column is known to be ½, one SD."""
    observed = torch.tensor([[True, False]]).repeat(n, 1)
    return Rows(torch.where(observed, 0.5, 0.0), observed, torch.arange(n))


def drawn(rows, denoise=exact, trial=0, repaint=REPAINT):
    """One trial of RePaint."""
    return repaint(denoise, rows, seed=0, trials=range(trial, trial + 1))[0]


def test_scaled_columns_have_mean_0_and_sd_a_half():
    observed = normal(500, 2, seed=1) > -0.5
    x = torch.where(observed, torch.stack([3 + 7 * normal(500), normal(500) > 1], 1), 0)
    rows = Rows(x, observed, torch.arange(500))
    scale = HalfScale.fit(rows)
    half = scale.half(rows)
    for j in range(2):
        known = half.x[observed[:, j], j]
        assert known.mean().item() == pytest.approx(0, abs=1e-6)
        assert known.std(correction=0).item() == pytest.approx(0.5, rel=1e-5)
    assert (half.x[~observed] == 0).all()
    torch.testing.assert_close(scale.back(half.x)[observed], x[observed])


def test_without_noise_the_denoiser_changes_nothing():
    x = normal(20, 5) / 2
    torch.testing.assert_close(
        Denoiser(5, 8)(x, torch.tensor([[1e-4]])), x, atol=1e-3, rtol=0
    )


def test_a_denoiser_that_knows_the_spread_alone_has_a_loss_of_1():
    network = Denoiser(4, 8)
    torch.nn.init.zeros_(network.hidden[-1].weight)
    torch.nn.init.zeros_(network.hidden[-1].bias)
    x, sigma = normal(20_000, 4) / 2, normal(20_000, 1, seed=1).exp()
    noisy = x + sigma * normal(20_000, 4, seed=2)
    loss = edm_loss(network, noisy, sigma, x, torch.ones_like(x, dtype=torch.bool))
    assert loss.item() == pytest.approx(1, abs=0.02)


def test_the_weight_of_a_level_of_noise_belongs_to_its_row():
    network, x, sigma = Denoiser(3, 8), normal(30, 3) / 2, normal(30, 1).exp()
    noisy, counted = x + sigma * normal(30, 3, seed=2), normal(30, 3, seed=3) > 0
    whole = edm_loss(network, noisy, sigma, x, counted)
    single = [
        edm_loss(network, *(a[[i]] for a in (noisy, sigma, x, counted)))
        * counted[i].sum()
        for i in range(30)
    ]
    torch.testing.assert_close(whole, sum(single) / counted.sum())


def test_what_is_not_counted_is_no_target():
    network, x, sigma = Denoiser(3, 8), normal(30, 3) / 2, normal(30, 1).exp()
    noisy, counted = x + sigma, normal(30, 3, seed=3) > 0
    x.requires_grad_()
    edm_loss(network, noisy, sigma, x, counted).backward()
    assert (x.grad[~counted] == 0).all()
    assert (x.grad[counted] != 0).all()
    assert edm_loss(network, noisy, sigma, x, counted & False) == 0


def trained(**settings):
    torch.manual_seed(0)
    network, x = Denoiser(3, 8), normal(64, 3) / 2
    count = 0

    def counts(*_):
        nonlocal count
        count += 1

    network.register_forward_hook(counts)
    ended = train(
        network,
        x,
        torch.ones_like(x, dtype=torch.bool),
        SETTINGS | settings,
        generator=torch.Generator().manual_seed(0),
        clock=settings.get("clock", Clock(None)),
    )
    return network.state_dict(), count, ended


def test_training_stops_without_progress_and_keeps_the_best_epoch():
    first, _, _ = trained(learning_rate=1e3, n_epochs=1)
    kept, n_steps, ended = trained(learning_rate=1e3, stop_after=5)
    assert n_steps == 1 + 5
    assert ended
    assert all(torch.equal(kept[name], first[name]) for name in first)


def test_training_takes_as_many_steps_as_it_may():
    assert trained(batch_size=20, n_epochs=3)[1:] == (3 * 4, True)
    assert trained(batch_size=20, max_steps=6)[1:] == (6, True)
    assert trained(clock=Clock(1e-9))[1:] == (1, False)


def test_levels_of_noise_fall_from_the_first_to_the_last_and_0():
    levels = REPAINT.levels()
    assert len(levels) == 26
    np.testing.assert_allclose([levels[0], levels[-2], levels[-1]], [80, 0.002, 0])
    assert (np.diff(levels) < 0).all()


def test_repaint_draws_from_the_conditional_of_a_normal():
    x = drawn(halves())
    # What is known stays, up to the last level of noise.
    torch.testing.assert_close(x[:, 0], torch.full((1_000,), 0.5), atol=0.01, rtol=0)
    assert x[:, 1].mean().item() == pytest.approx(0.8 * 0.5, abs=0.04)
    assert x[:, 1].std().item() == pytest.approx(0.6 * 0.5, rel=0.1)


def test_one_inner_loop_does_not_heed_what_is_known():
    once = RePaint(**(vars(REPAINT) | {"n_inner": 1}))
    x = drawn(halves(), repaint=once)
    assert x[:, 1].mean().item() < 0.75 * 0.8 * 0.5
    assert x[:, 1].std().item() > 1.15 * 0.6 * 0.5


def test_a_row_of_holes_is_drawn_from_the_whole():
    rows = halves(2_000)
    empty = Rows(torch.zeros_like(rows.x), rows.observed & False, rows.keys)
    torch.testing.assert_close(drawn(empty).T.cov(), COVARIANCE, atol=0.03, rtol=0)


def test_trials_differ_and_noise_belongs_to_the_row():
    rows = halves(50)
    first = drawn(rows)
    assert (first[:, 1] != drawn(rows, trial=1)[:, 1]).all()
    turned = drawn(rows.take(torch.arange(49, -1, -1)))
    torch.testing.assert_close(turned.flip(0), first)


def test_trials_together_are_what_they_are_one_by_one():
    rows = halves(50)
    together = REPAINT(exact, rows, seed=0, trials=range(2, 5))
    single = [drawn(rows, trial=trial) for trial in range(2, 5)]
    torch.testing.assert_close(together, torch.stack(single))


@pytest.mark.parametrize("name", ["missdiff", "diffputer"])
def test_as_many_evaluations_as_are_declared(name):
    count = 0

    def counting(x, sigma):
        nonlocal count
        count += 1
        return exact(x, sigma)

    drawn(halves(2), counting)
    method = make_method(name, n_levels=25, n_inner=20, n_trials=3)
    assert method.network_evaluations_per_row() == 3 * count
