"""The path that starts without noise leads to the mean, and counts where it pays."""

import pytest
import torch
from torch import nn

from macfm.flow import (
    Calm,
    Gaussian,
    GuidedEnsemble,
    Path,
    RowBatch,
    conditional_mean,
    find_calm,
    make_schedule,
    make_validation,
    mean_rows,
)
from macfm.flow._calm import calm_end

D = 4
GROUP = torch.arange(D)
NUMBERS = torch.ones(D, dtype=torch.bool)


def path_of(schedule="linear", space="t"):
    return Path(make_schedule(schedule, gamma=2.0), space)


PATH = path_of()


def guide():
    generator = torch.Generator().manual_seed(1)
    mix = torch.randn(D, D, dtype=torch.float64, generator=generator)
    return Gaussian(mix[0], torch.linalg.inv(mix @ mix.T + torch.eye(D)))


def rows(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, D, generator=generator)
    return x, torch.rand(n, D, generator=generator) < 0.5


class Later(nn.Module):
    """Knows rows from half of the way on, and before that nothing."""

    def __init__(self, x, since=0.5):
        super().__init__()
        self.x = x
        self.since = since

    def forward(self, x_t, t, m_cond, guess=None):
        known = self.x if float(t.max()) >= self.since else torch.zeros_like(self.x)
        return (known - x_t) / (1 - t)


def held_out(x):
    return make_validation(
        x,
        torch.ones_like(x, dtype=torch.bool),
        group=GROUP,
        rules=None,
        move_missing=True,
        t=0.0,
        generator=torch.Generator().manual_seed(0),
    )


def knowing(x, since=0.5):
    standard = Gaussian(*(f(D, dtype=torch.float64) for f in (torch.zeros, torch.eye)))
    return GuidedEnsemble.alone(standard, Later(x, since), path=PATH)


def found(network, validation, is_num=NUMBERS, group=GROUP):
    return find_calm(
        network, validation, n_steps=4, group=group, is_num=is_num, path=PATH
    )


@pytest.mark.parametrize("n_steps", [2, 5])
@pytest.mark.parametrize(("schedule", "space"), [("linear", "t"), ("cosine", "s")])
def test_under_a_normal_law_the_calm_path_ends_at_the_mean(n_steps, schedule, space):
    path = path_of(schedule, space)
    network = GuidedEnsemble.alone(guide(), path=path)
    x, observed = rows(50)
    mean = mean_rows(network, x, observed, path=path)
    end = calm_end(network, x, observed, mean, path=path, n_steps=n_steps)
    torch.testing.assert_close(end, mean, atol=1e-4, rtol=1e-4)
    assert torch.equal(end[observed], x[observed])


def test_it_counts_where_networks_know_more_on_the_way():
    validation = held_out(rows(200)[0])
    network = knowing(validation.x)
    network.calm = found(network, validation)
    assert (network.calm.share > 0.95).all()
    hidden = validation.masks.tgt
    left = (validation.mean(network, path=PATH) - validation.x)[hidden]
    network.calm = None
    at_start = (validation.mean(network, path=PATH) - validation.x)[hidden]
    assert left.square().mean() < 0.05 * at_start.square().mean()


def test_it_does_not_count_where_they_know_nothing_more():
    validation = held_out(rows(200)[0])
    about = validation.x + 0.5 * validation.eps
    assert found(knowing(about, since=0.0), validation) is None
    assert found(GuidedEnsemble.alone(guide(), path=PATH), validation) is None


@pytest.mark.parametrize(("far", "share"), [(4 / 3, 0.75), (2.0, 0.5)])
def test_an_end_that_goes_too_far_is_believed_by_its_share(far, share):
    validation = held_out(rows(200)[0])
    calm = found(knowing(far * validation.x), validation)
    torch.testing.assert_close(calm.share, torch.full((D,), share), atol=0.05, rtol=0)


@pytest.mark.parametrize(("near", "pays"), [(0.004, False), (0.1, True)])
def test_a_gain_of_less_than_a_hundredth_does_not_pay(near, pays):
    validation = held_out(rows(200)[0])
    assert (found(knowing(near * validation.x), validation) is not None) == pays


def test_one_row_alone_does_not_speak_for_the_path():
    x = rows(200)[0]
    x[0] *= 20
    validation = held_out(x)
    of_one = torch.zeros_like(validation.x)
    of_one[:: len(x)] = validation.x[:: len(x)]
    assert found(knowing(of_one), validation) is None


def test_tables_without_numbers_have_none():
    validation = held_out(rows(200)[0])
    assert found(knowing(validation.x), validation, ~NUMBERS) is None


def test_scores_have_no_say_in_whether_it_pays():
    validation = held_out(rows(200)[0])
    group = torch.tensor([0, 0, 1, 2])
    of_score = validation.x * (torch.arange(D) == 1)
    assert found(knowing(of_score), validation, NUMBERS, group) is None
    of_numbers = validation.x * (torch.arange(D) != 1)
    share = found(knowing(of_numbers), validation, NUMBERS, group).share
    assert (share[[0, 2, 3]] > 0.95).all()


def test_categories_stay_as_they_are():
    validation = held_out(rows(200)[0])
    is_num, group = torch.tensor([True, True, False, False]), torch.tensor([0, 1, 2, 2])
    share = found(knowing(validation.x), validation, is_num, group).share
    assert (share[:2] > 0.9).all()
    assert (share[2:] == 0).all()


def test_the_mean_goes_its_share_of_the_way():
    x, observed = rows(64)
    network = GuidedEnsemble.alone(guide(), Later(x), path=PATH)
    batch = RowBatch(n_rows=64, x=x, observed=observed, keys=None)

    def mean(calm):
        network.calm = calm
        return conditional_mean(network, batch, path=PATH, seed=0)

    alone, whole = mean(None), mean(Calm(torch.ones(D), n_steps=4))
    share = torch.tensor([0.0, 0.25, 0.5, 1.0])
    told = mean(Calm(share, n_steps=4))
    torch.testing.assert_close(told, alone + share * (whole - alone))
    assert torch.equal(told[observed], x[observed])
    assert not torch.allclose(whole, alone)
