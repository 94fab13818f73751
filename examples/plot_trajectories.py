"""The method in a picture: noise carried to data along the learned velocity.

The table has two columns, x and y, whose points form two moons. Every y is missing and
every x is known. A missing y starts as noise and moves with the velocity that the
network learned, while x is held fixed: points move up and down only. Where both moons
lie above one x, the trajectories part, and the draws show both answers.
"""

from __future__ import annotations

import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from macfm import MACFMImputer
from macfm.flow import Linear, Path, SolverConfig, integrate
from macfm.plot import THEMES

THEME = THEMES["light"]
N_STEPS = 40
AT = 0.5  # where both moons have points


def learn(points: pd.DataFrame) -> MACFMImputer:
    """Train a small network on complete points."""
    return MACFMImputer(
        preset="fast",
        d_model=128,
        dropout=0.0,  # the points are plenty, nothing needs to be held back
        max_steps=1500,
        random_state=0,
        verbose=False,
    ).fit(points)


def carry(imputer: MACFMImputer, x: np.ndarray, eps: np.ndarray) -> np.ndarray:
    """Carry y from the noise `eps` to data with x held, (n_steps + 1, n)."""
    start = torch.tensor(np.column_stack([x, eps]), dtype=torch.float32)
    m_keep = torch.tensor([True, False]).expand(start.shape)
    path = [start]

    def velocity(x_t: torch.Tensor, t: float) -> torch.Tensor:
        return imputer.network_(x_t, torch.full((len(x_t), 1), t), m_keep)

    def project(x_t: torch.Tensor) -> torch.Tensor:
        path.append(torch.where(m_keep, start, x_t))
        return path[-1]

    euler = SolverConfig(solver="euler", n_steps=N_STEPS, grid="uniform", grid_beta=1)
    with torch.no_grad():
        integrate(
            velocity, start, config=euler, path=Path(Linear(), "t"), project=project
        )
    return torch.stack(path)[..., 1].numpy()


def plot() -> Figure:
    """Draw three moments of the journey, and trajectories over time."""
    x, y = make_moons(1500, noise=0.07, random_state=0)[0].T
    points = pd.DataFrame({"x": x, "y": y})
    imputer = learn(points)
    center, spread = points.mean(), points.std(ddof=0)
    rng = np.random.default_rng(0)
    new = rng.choice(x, 500)
    paths = carry(imputer, (new - center["x"]) / spread["x"], rng.normal(size=500))
    paths = center["y"] + spread["y"] * paths

    figure, axes = plt.subplots(
        1, 4, figsize=(11, 3.1), width_ratios=(1, 1, 1, 1.15), layout="constrained"
    )
    for ax, t in zip(axes, (0.0, 0.6, 1.0), strict=False):
        k = round(t * N_STEPS)
        ax.scatter(x, y, s=6, color=THEME.rule, lw=0)
        ax.vlines(new[:60], paths[0, :60], paths[k, :60], color=THEME.filled, lw=0.4)
        ax.scatter(new, paths[k], s=7, color=THEME.filled, lw=0)
        ax.set(title=f"t = {t:g}", xlabel="x, known", ylim=(-1.7, 2.2), yticks=[])
    axes[0].set_ylabel("y, missing")

    many = 150
    scaled = np.full(many, (AT - center["x"]) / spread["x"])
    fan = center["y"] + spread["y"] * carry(imputer, scaled, rng.normal(size=many))
    time = np.linspace(0, 1, N_STEPS + 1)
    axes[3].plot(time, fan, color=THEME.filled, lw=0.6, alpha=0.6)
    near = y[np.abs(x - AT) < 0.08]
    axes[3].plot(np.full(len(near), 1.04), near, "o", ms=3, color=THEME.observed, mew=0)
    axes[3].set(
        title=f"x = {AT:g}: y over time",
        xlabel="t, from noise to data",
        ylim=(-1.7, 2.2),
        yticks=[],
    )
    for ax in axes:
        ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


if __name__ == "__main__":
    target = pathlib.Path(
        sys.argv[1] if len(sys.argv) > 1 else "output/trajectories.png"
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(target, dpi=150)
