"""A network counts where held-out rows say that it helps, and nowhere else."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from macfm.flow import (
    N_KNOTS,
    Gaussian,
    GuidedEnsemble,
    Path,
    make_schedule,
    make_validation,
    measure_balance,
    measure_trust,
    no_better_than_mean,
)

LINEAR = make_schedule("linear", gamma=1.0)
PATH = Path(LINEAR, "t")
D = 3
GROUP = torch.arange(D)


class Towards(nn.Module):
    """The velocity towards given rows, one batch of them after the other."""

    def __init__(self, x):
        super().__init__()
        self.x = x
        self.n_seen = 0

    def forward(self, x_t, t, m_cond):
        first = self.n_seen % len(self.x)
        self.n_seen += len(x_t)
        return (self.x[first : first + len(x_t)] - x_t) / (1 - t)


@pytest.fixture
def held_out():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, D, generator=generator)
    return make_validation(
        x,
        torch.ones(400, D, dtype=torch.bool),
        group=GROUP,
        rules=None,
        move_missing=True,
        t=0.0,
        generator=generator,
    )


def guide():
    eye = torch.eye(D, dtype=torch.float64)
    return Gaussian(eye[0] * 0, eye)


def trust(network, validation):
    return measure_trust(network, guide(), validation, group=GROUP, path=PATH)


def test_a_network_that_knows_is_trusted(held_out):
    a = trust(Towards(held_out.x), held_out)
    assert a.shape == (N_KNOTS, D)
    assert (a > 0.99).all()


def test_a_network_that_guesses_is_not(held_out):
    guess = torch.randn(held_out.x.shape, generator=torch.Generator().manual_seed(9))
    assert (trust(Towards(guess), held_out) < 0.05).all()


def test_trust_is_by_column(held_out):
    wrong = torch.where(torch.tensor([True, False, False]), held_out.x, -held_out.x)
    a = trust(Towards(wrong), held_out)
    assert (a[:, 0] > 0.99).all()
    assert (a[:, 1:] == 0).all()


def test_half_of_what_is_too_much_is_taken(held_out):
    a = trust(Towards(2 * held_out.x), held_out)
    torch.testing.assert_close(a[0], torch.full((D,), 0.5), atol=0.02, rtol=0)


class Up(nn.Module):
    """What the guide says, and a little more."""

    def forward(self, x_t, t, m_cond, guess):
        return guess.v_s + 1.0


def test_trusted_velocity_lies_between_guide_and_network(held_out):
    x = torch.randn(10, D, generator=torch.Generator().manual_seed(2))
    m_cond = torch.zeros(10, D, dtype=torch.bool)
    t = torch.full((10, 1), 0.3)
    half = torch.full((1, N_KNOTS, D), 0.5)
    field = GuidedEnsemble(guide(), [Up()], half, path=PATH)
    alone = GuidedEnsemble.alone(guide(), path=PATH)
    torch.testing.assert_close(field(x, t, m_cond), alone(x, t, m_cond) + 0.5)
    guess = guide()(x, t, m_cond)
    assert torch.equal(field(x, t, m_cond, guess), field(x, t, m_cond))


def test_a_network_around_the_guide_is_judged_as_one_that_says_the_same(held_out):
    class Same(nn.Module):
        def forward(self, x_t, t, m_cond):
            return around(x_t, t, m_cond)

    around = GuidedEnsemble.alone(guide(), Up(), path=PATH)
    held_out = replace(held_out, x=held_out.x + 1)
    judged = trust(around, held_out)
    assert (judged[0] > 0.5).all()
    torch.testing.assert_close(judged, trust(Same(), held_out))


def test_columns_nobody_can_tell_are_named(held_out):
    known = torch.where(torch.tensor([True, False, True]), held_out.x, 0.0)
    flags = no_better_than_mean(
        held_out.mean(Towards(known), path=PATH),
        held_out,
        group=GROUP,
        is_num=torch.ones(D, dtype=torch.bool),
    )
    assert flags.tolist() == [False, True, False]


def test_a_gain_that_one_far_value_blurs_is_no_cause_to_name_a_column(held_out):
    known = held_out.masks.tgt
    mean = 0.5 * held_out.x
    gain = torch.where(known, 0.75 * held_out.x.square(), 0.0).sum(dim=0)
    for k in range(D):  # one row costs two thirds of what the others gain
        row = torch.nonzero(known[:, k])[0]
        mean[row, k] = held_out.x[row, k] + (gain[k] / 1.5).sqrt()
    flags = no_better_than_mean(
        mean, held_out, group=GROUP, is_num=torch.ones(D, dtype=torch.bool)
    )
    assert not flags.any()


class About(nn.Module):
    """The velocity towards rows that are known so well."""

    def __init__(self, x, eps, far, hints):
        super().__init__()
        self.x = x + far * eps
        self.hints = hints

    def forward(self, x_t, t, m_cond, guess=None):
        return (self.x - x_t) / (1 - t)


def balance(validation, *members):
    some = validation.some(slice(0, 3_000))  # all in one batch
    some = replace(some, n_rows=len(some.x))
    noise = torch.randn(2, *some.x.shape, generator=torch.Generator().manual_seed(1))
    known = [About(some.x, noise[k % 2], *one) for k, one in enumerate(members)]
    network = GuidedEnsemble.alone(guide(), *known, path=PATH)
    network.trust = network.trust[:, :1].expand(-1, N_KNOTS, -1)
    return measure_balance(network, some, path=PATH).squeeze(2)


def test_the_kind_of_networks_that_knows_more_counts_more(held_out):
    told = balance(held_out, (0.2, True), (0.6, False))
    # variances of 0.04 and 0.36 leave the least with a share of 0.9
    assert (told[0] - 2 * 0.9).abs().max() < 0.1
    torch.testing.assert_close(told.mean(dim=0), torch.ones(N_KNOTS))
    other = balance(held_out, (0.6, True), (0.2, False))
    assert (other[1] - 2 * 0.9).abs().max() < 0.1


def test_networks_that_know_as_much_count_alike(held_out):
    told = balance(held_out, (0.4, True), (0.4, False))
    assert (told - 1).abs().max() < 0.1


def test_each_of_several_counts_its_part_of_their_kind(held_out):
    told = balance(held_out, (0.2, True), (0.6, False), (0.2, True))
    assert torch.equal(told[0], told[2])
    torch.testing.assert_close(told.mean(dim=0), torch.ones(N_KNOTS))
    assert (told[0] > 1.2).all()


@pytest.mark.parametrize("hints", [True, False])
def test_networks_of_one_kind_are_not_weighed(held_out, hints):
    assert (balance(held_out, (0.2, hints), (0.6, hints)) == 1).all()
