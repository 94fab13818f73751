"""Schedules keep their ends, their derivative and their inverse."""

import pytest
import torch

from macfm.flow import TimeLaw, make_schedule

SCHEDULES = [
    make_schedule("linear", gamma=1.0),
    make_schedule("power", gamma=1.0),
    make_schedule("power", gamma=1.7),
    make_schedule("power", gamma=3.0),
    make_schedule("cosine", gamma=1.0),
]
over_schedules = pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)


@over_schedules
def test_schedule_runs_from_zero_to_one_and_never_back(schedule):
    s_t, _ = schedule(torch.linspace(0, 1, 101, dtype=torch.float64))
    assert s_t[0] == 0
    assert s_t[-1] == pytest.approx(1)
    assert (s_t.diff() > 0).all()


@over_schedules
def test_derivative_agrees_with_autograd(schedule):
    t = torch.linspace(0.01, 0.99, 50, dtype=torch.float64, requires_grad=True)
    s_t, ds_t = schedule(t)
    if s_t is t:
        slope = torch.ones_like(t)
    else:
        (slope,) = torch.autograd.grad(s_t.sum(), t)
    torch.testing.assert_close(ds_t, slope)


@over_schedules
def test_inverse_round_trips_both_ways(schedule):
    t = torch.linspace(0, 1, 101, dtype=torch.float64)
    torch.testing.assert_close(schedule.inverse(schedule(t)[0]), t)
    torch.testing.assert_close(schedule(schedule.inverse(t))[0], t)


@pytest.mark.parametrize("gamma", [0.9, 3.1, float("nan")])
def test_power_refuses_an_exponent_outside_one_to_three(gamma):
    with pytest.raises(ValueError, match=r"gamma must be in \[1, 3\]"):
        make_schedule("power", gamma=gamma)


def test_unknown_schedule_is_named():
    with pytest.raises(ValueError, match="'quadratic'"):
        make_schedule("quadratic", gamma=2.0)


def draw_times(beta, share_t0, held_at=0.0, n=40_000):
    law = TimeLaw(beta=beta, share_t0=share_t0, held_at=held_at)
    generator = torch.Generator().manual_seed(0)
    return law.sample(n, generator=generator, device=torch.device("cpu"))


@pytest.mark.parametrize("beta", [None, (1.0, 1.0), (2.0, 5.0), (0.5, 0.5)])
def test_times_have_the_moments_of_their_law(beta):
    t = draw_times(beta, share_t0=0.0).double()
    a, b = beta or (1.0, 1.0)
    assert t.min() >= 0
    assert t.max() <= 1
    assert t.mean().item() == pytest.approx(a / (a + b), abs=0.01)
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert t.var().item() == pytest.approx(variance, abs=0.005)


@pytest.mark.parametrize("held_at", [0.0, 0.25])
def test_share_t0_holds_that_share_at_exactly_one_time(held_at):
    t = draw_times(None, share_t0=0.3, held_at=held_at)
    assert (t == held_at).double().mean().item() == pytest.approx(0.3, abs=0.01)
    assert (draw_times(None, share_t0=1.0, held_at=held_at) == held_at).all()
