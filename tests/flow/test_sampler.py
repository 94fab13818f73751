"""Filled coordinates come from the field; observed ones from the table."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from macfm.flow import (
    Known,
    Path,
    RowBatch,
    Scores,
    SolverConfig,
    aggregate,
    conditional_mean,
    make_schedule,
    row_batches,
    trajectories,
)
from macfm.flow._sampler import TreesMedian

LINEAR = make_schedule("linear", gamma=1.0)
CONFIG = SolverConfig(solver="heun", n_steps=10, grid="uniform", grid_beta=2.0)
N, D = 70, 5


class TowardsTheMean(nn.Module):
    """The exact field of data that is N(mean, 0): v = (mean − x) / (1 − t)."""

    mean = 3.0

    def forward(self, x_t, t, m_cond):
        return (self.mean - x_t) / (1 - t).clamp(min=0.05)


class GaussianField(nn.Module):
    """The exact field of data that is N(2, 0.5²), in t-space."""

    def forward(self, x_t, t, m_cond):
        variance = (t * 0.5) ** 2 + (1 - t) ** 2
        gain = (t * 0.25 - (1 - t)) / variance
        return 2.0 + gain * (x_t - t * 2.0)


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(N, D, generator=generator)
    observed = torch.rand(N, D, generator=generator) < 0.6
    return RowBatch(
        n_rows=N,
        x=torch.where(observed, x, 0.0),
        observed=observed,
        keys=torch.arange(N),
    )


def draw(network, batch, draws, seed=0, config=CONFIG):
    return trajectories(
        network,
        batch,
        path=Path(LINEAR, "t"),
        config=config,
        seed=seed,
        draws=draws,
        stretched=True,
    )


def test_mean_reads_the_end_point_and_keeps_the_observed(batch):
    filled = conditional_mean(TowardsTheMean(), batch, path=Path(LINEAR, "t"), seed=0)
    assert torch.equal(filled[batch.observed], batch.x[batch.observed])
    torch.testing.assert_close(
        filled[~batch.observed],
        torch.full_like(filled[~batch.observed], 3.0),
        atol=1e-5,
        rtol=1e-5,
    )


def test_trajectories_keep_the_observed_exactly(batch):
    x = draw(GaussianField(), batch, range(3))
    for trajectory in x:
        assert torch.equal(trajectory[batch.observed], batch.x[batch.observed])
        assert (trajectory[~batch.observed] != 0).all()


def test_trajectories_have_the_law_of_the_field(batch):
    x = draw(GaussianField(), batch, range(200))[:, ~batch.observed]
    assert x.mean().item() == pytest.approx(2.0, abs=0.02)
    assert x.std().item() == pytest.approx(0.5, abs=0.02)


def test_draws_do_not_depend_on_their_company(batch):
    together = draw(GaussianField(), batch, range(4))
    assert torch.equal(draw(GaussianField(), batch, [2])[0], together[2])
    assert not torch.equal(together[0], together[1])
    assert not torch.equal(draw(GaussianField(), batch, [0], seed=1)[0], together[0])


def test_batches_cover_every_row_once_and_pad_with_real_rows():
    x = torch.arange(150.0)[:, None]
    batches = list(row_batches(x, x > -1, torch.arange(150), batch_size=130))
    kept = torch.cat([b.x[: b.n_rows] for b in batches])
    assert torch.equal(kept, x)
    assert [len(b.x) for b in batches] == [128, 64]
    assert all(torch.isin(b.keys, torch.arange(150)).all() for b in batches)


def known_of(mean, moves, scores=None):
    """What is known of rows of which nothing was observed."""
    return Known(
        mean=mean,
        moves=moves,
        calm=None,
        trees=None,
        scores=scores or Scores.none(),
        observed=torch.zeros_like(mean, dtype=torch.bool),
    )


def test_aggregate_centers_numbers_and_averages_codes():
    draws = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [10.0, 1.0]])[:, None]
    is_num = torch.tensor([True, False])
    mean = aggregate(draws, is_num=is_num, center="mean")
    median = aggregate(draws, is_num=is_num, center="median")
    torch.testing.assert_close(mean, torch.tensor([[3.0, 0.5]]))
    torch.testing.assert_close(median, torch.tensor([[1.0, 0.5]]))


def test_a_median_goes_half_of_the_way_to_the_known_mean_where_numbers_move():
    draws = torch.randn(9, 4, 3, generator=torch.Generator().manual_seed(0))
    is_num = torch.tensor([True, True, False])
    known = known_of(torch.full((4, 3), 2.0), torch.tensor([True, False, False]))
    mean = aggregate(draws, is_num=is_num, center="mean")
    plain = aggregate(draws, is_num=is_num, center="median")
    moved = aggregate(draws, is_num=is_num, center="median", known=known)
    torch.testing.assert_close(moved[:, 0], plain[:, 0] + (2.0 - mean[:, 0]) / 2)
    assert torch.equal(moved[:, 1:], plain[:, 1:])
    told = aggregate(draws, is_num=is_num, center="mean", known=known)
    assert torch.equal(told, mean)


@pytest.mark.parametrize("n", [4, 5])
def test_a_median_of_numbers_with_atoms_is_one_of_the_draws(n):
    """Half-way from 0 to the least amount lies an amount that nobody has."""
    draws = torch.randn(n, 40, 2, generator=torch.Generator().manual_seed(0)).abs() + 5
    draws[: n // 2, :, 0] = 0.0
    known = known_of(torch.full((40, 2), 3.0), torch.tensor([False, True]))
    is_num = torch.tensor([True, True])
    median = aggregate(draws, is_num=is_num, center="median", known=known)[:, 0]
    assert (draws[:, :, 0] == median).any(dim=0).all()
    below, above = draws[:, :, 0] <= median, draws[:, :, 0] >= median
    assert (torch.stack([below, above]).sum(dim=1) >= n / 2).all()


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_median_goes_on_to_the_mean_by_half_of_the_share_of_the_calm_path(share):
    draws = torch.randn(9, 4, 2, generator=torch.Generator().manual_seed(0))
    is_num = torch.tensor([True, True])
    known = known_of(torch.full((4, 2), 2.0), torch.tensor([True, False]))
    without = aggregate(draws, is_num=is_num, center="median", known=known)
    known = replace(known, calm=torch.full((2,), share))
    median = aggregate(draws, is_num=is_num, center="median", known=known)
    torch.testing.assert_close(
        median[:, 0], without[:, 0] + share / 2 * (2.0 - without[:, 0])
    )
    assert torch.equal(median[:, 1], without[:, 1])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_median_lies_between_the_networks_and_the_trees(share):
    draws = torch.randn(9, 4, 3, generator=torch.Generator().manual_seed(0))
    is_num = torch.tensor([True, True, False])
    trees = TreesMedian(
        median=torch.full((4, 3), 5.0),
        share=torch.full((3,), share),
        networks=torch.full((4, 3), 1.5),
    )
    known = known_of(torch.full((4, 3), 2.0), torch.tensor([True, False, False]))
    without = aggregate(draws, is_num=is_num, center="median", known=known)
    known = replace(known, trees=trees)
    median = aggregate(draws, is_num=is_num, center="median", known=known)
    # draws are moved to the mean with the trees: networks alone lie 0.5 below
    expected = (1 - share) * (without[:, 0] - 0.5) + share * 5
    torch.testing.assert_close(median[:, 0], expected)
    # numbers that repeat a value, and categories, are what they were
    assert torch.equal(median[:, 1:], without[:, 1:])


def test_the_median_of_a_number_with_a_long_tail_is_that_of_its_score():
    n, at = 500, torch.linspace(-3, 3, 400)
    z = torch.randn(9, n, generator=torch.Generator().manual_seed(0))
    parts = {"number": torch.tensor([0]), "score": torch.tensor([1])}
    scores = Scores(parts | {"at": at[None], "value": at.exp()[None]})
    draws = scores.settle(torch.stack([torch.zeros_like(z), z], dim=-1))
    is_num = torch.tensor([True, True])
    known = known_of(torch.tensor([[1.6, 0.0]]).expand(n, 2), is_num, scores)
    median = aggregate(draws, is_num=is_num, center="median", known=known)
    assert torch.equal(scores.settle(median), median)
    by_number = aggregate(
        draws,
        is_num=is_num,
        center="median",
        known=replace(known, scores=Scores.none()),
    )
    # the middle is 1, and a mean of nine draws with a tail says little of it
    nearer, further = ((one[:, 0] - 1).square().mean() for one in (median, by_number))
    assert nearer < 0.8 * further
    assert (median[:, 0] >= scores.value.min()).all()
    seen = replace(known, observed=torch.tensor([[True, True]]).expand(n, 2))
    kept = aggregate(draws, is_num=is_num, center="median", known=seen)
    assert torch.equal(kept, by_number)


def test_a_known_mean_takes_noise_from_the_median_of_few_draws():
    n = 20_000
    draws = torch.randn(20, n, 1, generator=torch.Generator().manual_seed(0))
    is_num = torch.tensor([True])
    known = known_of(torch.zeros(n, 1), is_num)
    plain = aggregate(draws, is_num=is_num, center="median")
    moved = aggregate(draws, is_num=is_num, center="median", known=known)
    assert moved.square().mean() < 0.65 * plain.square().mean()


def test_more_steps_of_a_better_solver_come_closer(batch):
    exact = draw(
        GaussianField(), batch, [0], config=SolverConfig("heun", 500, "uniform", 2)
    )
    errors = [
        (
            draw(GaussianField(), batch, [0], config=SolverConfig(s, n, "uniform", 2))
            - exact
        )
        .abs()
        .max()
        .item()
        for s, n in [("euler", 5), ("euler", 40), ("heun", 40)]
    ]
    assert errors[0] > errors[1] > errors[2]
