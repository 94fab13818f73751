"""Solvers have their order, and the held coordinates never move."""

import math

import pytest
import torch

from macfm.flow import Path, SolverConfig, integrate, make_schedule, time_grid

LINEAR = make_schedule("linear", gamma=1.0)
SCHEDULES = [
    LINEAR,
    make_schedule("power", gamma=2.0),
    make_schedule("cosine", gamma=1.0),
]
GRIDS = ["uniform", "schedule", "beta"]


def config(solver="heun", n_steps=10, grid="uniform", grid_beta=2.0):
    return SolverConfig(solver=solver, n_steps=n_steps, grid=grid, grid_beta=grid_beta)


def solve(velocity, x, solver_config, schedule=LINEAR, space="t", project=None):
    return integrate(
        velocity,
        x,
        config=solver_config,
        path=Path(schedule, space),
        project=project or (lambda x: x),
    )


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize(("solver", "order"), [("euler", 1), ("heun", 2)])
def test_measured_order_of_convergence(solver, order, grid):
    """dx/dt = (cos t) x has the solution x(1) = x(0) exp(sin 1)."""
    x = torch.tensor([[1.0]], dtype=torch.float64)
    exact = math.exp(math.sin(1.0))
    steps = [16, 32, 64, 128, 256]
    errors = [
        abs(
            solve(lambda x, t: math.cos(t) * x, x, config(solver, n, grid)).item()
            - exact
        )
        for n in steps
    ]
    slope = (math.log(errors[0]) - math.log(errors[-1])) / math.log(
        steps[-1] / steps[0]
    )
    assert slope == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("solver", ["euler", "heun"])
def test_held_coordinates_are_exact_at_every_evaluation(solver):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 6, generator=generator)
    m_keep = torch.rand(30, 6, generator=generator) < 0.5
    seen = []

    def velocity(point, t):
        seen.append(point)
        return torch.randn(point.shape, generator=generator)  # moves everything

    end = solve(
        velocity,
        x,
        config(solver, n_steps=7),
        project=lambda point: torch.where(m_keep, x, point),
    )
    assert len(seen) == (7 if solver == "euler" else 14)
    for point in [*seen, end]:
        assert torch.equal(point[m_keep], x[m_keep])
    assert not torch.equal(end[~m_keep], x[~m_keep])


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@pytest.mark.parametrize("grid", GRIDS)
def test_grid_rises_from_zero_to_one(schedule, grid):
    times = time_grid(config(n_steps=12, grid=grid), schedule=schedule)
    assert len(times) == 13
    assert times[0] == 0
    assert times[-1].item() == pytest.approx(1)
    assert (times.diff() > 0).all()


def test_schedule_grid_is_even_in_s():
    schedule = make_schedule("cosine", gamma=1.0)
    times = time_grid(config(n_steps=8, grid="schedule"), schedule=schedule)
    steps = schedule(times)[0].diff()
    torch.testing.assert_close(steps, torch.full_like(steps, 1 / 8))


def test_beta_grid_is_denser_near_the_data_and_even_at_one():
    steps = time_grid(config(grid="beta", grid_beta=2.0), schedule=LINEAR).diff()
    assert (steps.diff() < 0).all()
    even = time_grid(config(grid="beta", grid_beta=1.0), schedule=LINEAR)
    torch.testing.assert_close(even, time_grid(config(), schedule=LINEAR))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@pytest.mark.parametrize("solver", ["euler", "heun"])
def test_straight_paths_are_exact_in_s_space_with_one_step(schedule, solver):
    """With dx/ds = X − ε known and constant, one step reaches the data."""
    x, eps = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)).double()
    end = solve(lambda _, t: x - eps, eps, config(solver, 1), schedule, space="s")
    torch.testing.assert_close(end, x)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_both_spaces_reach_the_same_end(schedule):
    """The same field, given as dx/ds or as dx/dt = s' dx/ds, ends in one place."""

    def field(x, t):
        return torch.sin(x) + t

    def in_t(x, t):
        return schedule(torch.tensor(t, dtype=x.dtype))[1] * field(x, t)

    x = torch.linspace(-2, 2, 9, dtype=torch.float64)[:, None]
    fine = config(n_steps=400)
    torch.testing.assert_close(
        solve(field, x, fine, schedule, space="s"),
        solve(in_t, x, fine, schedule, space="t"),
        atol=1e-4,
        rtol=1e-4,
    )
