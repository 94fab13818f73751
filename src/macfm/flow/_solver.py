"""Fixed-step solvers that hold the observed coordinates exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from macfm.flow._path import Path
from macfm.flow._schedule import Schedule

Velocity = Callable[[Tensor, float], Tensor]
Project = Callable[[Tensor], Tensor]
Step = Callable[[Velocity, float, float, Tensor, Project], Tensor]


@dataclass(frozen=True)
class SolverConfig:
    """How the learned ODE is integrated."""

    solver: Literal["euler", "heun"]
    """One or two evaluations of the network a step."""
    n_steps: int
    """Number of steps, K in the paper."""
    grid: Literal["uniform", "schedule", "beta"]
    """Where the steps lie, see `time_grid`."""
    grid_beta: float
    """Concentration of the ``beta`` grid near the data."""


def euler_step(
    velocity: Velocity, u_0: float, u_1: float, x: Tensor, project: Project
) -> Tensor:
    """x + Δ v, of order 1."""
    return project(x + (u_1 - u_0) * velocity(x, u_0))


def heun_step(
    velocity: Velocity, u_0: float, u_1: float, x: Tensor, project: Project
) -> Tensor:
    """Predict, project, correct, project (alg:inference), of order 2."""
    delta = u_1 - u_0
    v_1 = velocity(x, u_0)
    predicted = project(x + delta * v_1)  # eq:predictor
    v_2 = velocity(predicted, u_1)
    return project(x + delta / 2 * (v_1 + v_2))  # eq:corrector


STEPS: dict[str, Step] = {"euler": euler_step, "heun": heun_step}


def time_grid(config: SolverConfig, *, schedule: Schedule) -> Tensor:
    """Return the times t_0 = 0 < … < t_K = 1 in float64, shape ``(n_steps + 1,)``.

    ``uniform``: t_k = k/K. ``schedule``: equal steps of s, t_k = s⁻¹(k/K).
    ``beta``: s_k = 1 − (1 − k/K)^β, t_k = s⁻¹(s_k), denser near the data for β > 1.
    """
    k = torch.linspace(0, 1, config.n_steps + 1, dtype=torch.float64)
    if config.grid == "uniform":
        return k
    if config.grid == "schedule":
        # NOTE[DIFF]: the paper's s_k = s(k/K) is the uniform grid in t under another
        # name; equal steps of s are the grid that differs from it.
        return schedule.inverse(k)
    # NOTE[DIFF]: the paper prints s_k = (k/K)^β and says β > 1 is denser near the
    # data; that power is denser near the noise. The mirrored power does what it says.
    return schedule.inverse(1 - (1 - k) ** config.grid_beta)


def integrate(
    velocity: Velocity,
    x: Tensor,
    *,
    config: SolverConfig,
    path: Path,
    project: Project,
) -> Tensor:
    """Carry ``x`` from noise to data, projecting after every step.

    Parameters
    ----------
    velocity : callable
        ``velocity(x, t)``: dx/dt or dx/ds, as the path says.
    x : Tensor, shape (n, d)
        The starting point, already projected.
    config : SolverConfig
        Solver, number of steps and grid.
    path : Path
        Its space is the variable of integration.
    project : callable
        Puts the held coordinates back.

    Returns
    -------
    Tensor, shape (n, d)
    """
    step = STEPS[config.solver]
    times = time_grid(config, schedule=path.schedule)
    knots = times if path.space == "t" else path.schedule(times)[0]
    time_of = dict(zip(knots.tolist(), times.tolist(), strict=True))

    def velocity_at(point: Tensor, u: float) -> Tensor:
        return velocity(point, time_of[u])

    for u_0, u_1 in zip(knots[:-1].tolist(), knots[1:].tolist(), strict=True):
        x = step(velocity_at, u_0, u_1, x, project)
    return x
