"""The conditional path from noise to data, its velocity, and its end point.

The path moves target coordinates only. Its velocity can be taken with respect to the
time t or to the schedule value s; the two differ by the factor s'(t). The paper's
Proposition 1 calls the objectives in the two spaces equivalent. They share their
minimiser only after that rescaling, and they weigh times differently: the squared error
in t-space is s'(t)² times the one in s-space. Which space the network speaks is
therefore a setting (`Path.space`), and every use goes through `Path.to_space` and
`Path.from_space`.
NOTE[DIFF]: the paper trains in t-space only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from macfm.flow._masks import Masks
from macfm.flow._schedule import Schedule

Space = Literal["t", "s"]


@dataclass(frozen=True)
class PathSample:
    """A point on the path of every row of a batch."""

    x_t: Tensor
    """The point itself, shape ``(n, d)``."""
    v_star: Tensor
    """Velocity of the path there, zero off the targets, shape ``(n, d)``."""
    t: Tensor
    """Its time, shape ``(n, 1)``."""
    s_t: Tensor
    """The schedule at that time, shape ``(n, 1)``."""
    ds_t: Tensor
    """Derivative of the schedule at that time, shape ``(n, 1)``."""


@dataclass(frozen=True)
class Path:
    """The way from noise to data, and what a velocity on it is taken by."""

    schedule: Schedule
    """How far along the path each time is."""
    space: Space
    """Whether velocities are dx/dt or dx/ds."""

    def to_space(self, v_s: Tensor, ds_t: Tensor) -> Tensor:
        """Express a velocity dx/ds in the path's space: dx/dt = s'(t) dx/ds."""
        return ds_t * v_s if self.space == "t" else v_s

    def from_space(self, v_t: Tensor, ds_t: Tensor) -> Tensor:
        """Undo `to_space`: the dx/ds behind a velocity of the path's space."""
        return v_t / ds_t if self.space == "t" else v_t

    @property
    def readout_time(self) -> float:
        """The earliest time at which the network's end point is defined.

        It is 0 unless the network speaks dx/dt and the schedule starts at rest, where
        the velocity at t = 0 is 0 and says nothing.
        """
        ds_0 = self.schedule(torch.zeros(1, dtype=torch.float64))[1].item()
        return 0.0 if self.space == "s" or ds_0 > 0 else 0.1

    def sample(self, x: Tensor, *, eps: Tensor, t: Tensor, masks: Masks) -> PathSample:
        """Place each row on its path at time ``t``, with the target velocity there.

        Parameters
        ----------
        x, eps : Tensor, shape (n, d)
            Encoded data and standard normal noise.
        t : Tensor, shape (n, 1)
            Times in [0, 1].
        masks : Masks
            Conditioning coordinates stay at ``x``, moved ones move, the others are 0.

        Returns
        -------
        PathSample
        """
        s_t, ds_t = self.schedule(t)
        anchored = torch.where(masks.cond, x, 0.0)
        x_t = torch.where(masks.moved, s_t * x + (1 - s_t) * eps, anchored)  # eq:path
        v_s = torch.where(masks.tgt, x - eps, 0.0)  # eq:schedule_velocity
        v_star = self.to_space(v_s, ds_t)  # eq:target_velocity
        return PathSample(x_t=x_t, v_star=v_star, t=t, s_t=s_t, ds_t=ds_t)


def add_input_noise(
    x: Tensor,
    *,
    xi: Tensor,
    s_t: Tensor,
    observed: Tensor,
    is_num: Tensor,
    sigma_in: float,
) -> Tensor:
    """Blur observed numeric coordinates by noise that fades towards the data.

    X + σ_in (1 − s(t)) ξ on M_obs and M_num, all of shape ``(n, d)`` but ``is_num``,
    which is ``(d,)``.
    """
    # NOTE[DIFF]: the paper's M_obs is disjoint from M_cond and M_tgt; in training that
    # leaves nothing to blur. Here it is their union, what the table holds.
    return torch.where(observed & is_num, x + sigma_in * (1 - s_t) * xi, x)


def end_point(x_t: Tensor, v_s: Tensor, s_t: Tensor) -> Tensor:
    """Follow the straight line from ``x_t`` to s = 1: x_t + (1 − s) dx/ds.

    With the optimal velocity this is E[X | x_t]. At t = 0, where x_t is pure noise on
    the targets, it is the conditional mean given the observed cells alone.
    """
    return x_t + (1 - s_t) * v_s
