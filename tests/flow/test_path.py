"""The path starts at noise, ends at data, and moves targets only."""

import pytest
import torch

from macfm.flow import Masks, Path, add_input_noise, end_point, make_schedule

SCHEDULES = [
    make_schedule("linear", gamma=1.0),
    make_schedule("power", gamma=2.5),
    make_schedule("cosine", gamma=1.0),
]
over_schedules = pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
N, D = 64, 5


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    x, eps = torch.randn(2, N, D, generator=generator, dtype=torch.float64)
    draw = torch.rand(N, D, generator=generator)
    m_tgt = (draw > 0.4) & (draw < 0.8)
    masks = Masks(cond=draw < 0.4, tgt=m_tgt, moved=m_tgt)
    return x, eps, masks


def path_at(t, batch, schedule, space="t"):
    x, eps, masks = batch
    t = torch.as_tensor(t, dtype=x.dtype).expand(N, 1)
    return Path(schedule, space).sample(x, eps=eps, t=t, masks=masks)


@over_schedules
def test_path_begins_at_noise_and_ends_at_data(batch, schedule):
    x, eps, masks = batch
    start, end = path_at(0.0, batch, schedule), path_at(1.0, batch, schedule)
    torch.testing.assert_close(start.x_t[masks.tgt], eps[masks.tgt])
    torch.testing.assert_close(end.x_t[masks.tgt], x[masks.tgt])


@over_schedules
def test_conditioning_is_held_and_the_unobserved_is_zero(batch, schedule):
    x, _, masks = batch
    path = path_at(0.3, batch, schedule)
    assert torch.equal(path.x_t[masks.cond], x[masks.cond])
    assert (path.x_t[~(masks.cond | masks.tgt)] == 0).all()
    assert (path.v_star[~masks.tgt] == 0).all()


@over_schedules
def test_velocity_is_the_time_derivative_of_the_path(batch, schedule):
    path = path_at(0.37, batch, schedule)
    h = 1e-6
    ahead, behind = (
        path_at(0.37 + h, batch, schedule),
        path_at(0.37 - h, batch, schedule),
    )
    slope = (ahead.x_t - behind.x_t) / (2 * h)
    torch.testing.assert_close(path.v_star, slope, atol=1e-6, rtol=1e-6)


@over_schedules
def test_velocities_of_both_spaces_agree_through_the_derivative(batch, schedule):
    in_t = path_at(0.6, batch, schedule, space="t")
    in_s = path_at(0.6, batch, schedule, space="s")
    torch.testing.assert_close(in_t.v_star, in_t.ds_t * in_s.v_star)
    for path, space in ((in_t, "t"), (in_s, "s")):
        v_s = Path(schedule, space).from_space(path.v_star, path.ds_t)
        torch.testing.assert_close(v_s, in_s.v_star)
    assert torch.equal(in_t.x_t, in_s.x_t)


@over_schedules
def test_end_point_follows_the_true_velocity_to_the_data(batch, schedule):
    x, _, masks = batch
    path = path_at(0.2, batch, schedule, space="s")
    reached = end_point(path.x_t, path.v_star, path.s_t)
    torch.testing.assert_close(reached[masks.tgt], x[masks.tgt])
    assert torch.equal(reached[masks.cond], x[masks.cond])


def test_nan_under_cells_that_are_in_neither_mask_stays_out(batch):
    x, eps, masks = batch
    x = torch.where(masks.cond | masks.tgt, x, torch.nan)
    path = path_at(0.5, (x, eps, masks), SCHEDULES[0])
    assert path.x_t.isfinite().all()
    assert path.v_star.isfinite().all()


def test_input_noise_touches_observed_numeric_cells_and_fades(batch):
    x, xi, masks = batch
    is_num = torch.tensor([True, True, False, True, False])
    observed = masks.cond | masks.tgt

    def noisy(s):
        return add_input_noise(
            x,
            xi=xi,
            s_t=torch.full((N, 1), s, dtype=x.dtype),
            observed=observed,
            is_num=is_num,
            sigma_in=0.3,
        )

    change = noisy(0.0) - x
    assert torch.equal(change != 0, observed & is_num)
    torch.testing.assert_close(change, torch.where(observed & is_num, 0.3 * xi, 0.0))
    torch.testing.assert_close(noisy(0.75) - x, 0.25 * change)
    assert torch.equal(noisy(1.0), x)
