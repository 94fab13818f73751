"""On a CUDA device learned baselines do what they do on a CPU, recorded or not."""

import time

import numpy as np
import pandas as pd
import pytest
import torch

from macfm.flow import tf32
from macfm.judge.learned._base import Clock, Rows
from macfm.judge.learned._edm import Denoiser
from macfm.judge.learned._repaint import RePaint
from macfm.judge.learned._step import Step, descent, make_optimizer, set_rate
from macfm.judge.methods import METHODS, make_method
from macfm.judge.methods._learned import LearnedMethod

pytestmark = pytest.mark.gpu

# A few steps of each, more than are taken before one is recorded; batches of 64 leave a
# smaller one, which is recorded in the fourth epoch.
STEPS = {
    "miracle": {"n_epochs": 12, "batch_size": 64, "held_out": 0.0},
    "remasker": {"max_steps": 30},
    "grape": {"n_steps": 12},
    "igrm": {"n_steps": 12, "redraw_every": 2},
    "miwae": {"n_epochs": 5, "n_samples": 20},
    "gain": {"n_steps": 30},
    "mcflow": {"n_epochs": 6},
    "tabcsdi": {"n_steps": 20, "batch_size": 64, "n_levels": 10, "n_samples": 3},
    "missdiff": {"max_steps": 30, "batch_size": 64, "width": 32},
    "diffputer": {"max_steps": 30, "batch_size": 64, "width": 32, "n_rounds": 2},
}
REPAINT = {"n_levels": 6, "n_inner": 2, "n_trials": 3}
CASES = {name: (name, settings) for name, settings in STEPS.items()} | {
    "missdiff": ("missdiff", STEPS["missdiff"] | REPAINT),
    "diffputer": ("diffputer", STEPS["diffputer"] | REPAINT),
    "grape in batches": ("grape", {"n_steps": 12, "batch_size": 64}),
    "igrm in batches": ("igrm", {"n_steps": 12, "redraw_every": 3, "batch_size": 64}),
}
EACH = pytest.mark.parametrize("case", CASES)


@pytest.fixture(scope="module")
def table():
    """Five numbers and a category, a quarter of them missing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(330, 2)) @ rng.normal(size=(2, 5))
    frame = pd.DataFrame(x, columns=list("abcde"))
    frame["k"] = np.where(x[:, 0] > 0, "u", np.where(x[:, 1] > 0, "v", "w"))
    return frame.mask(rng.random(frame.shape) < 0.25)


def fitted(case, table, **settings):
    name, small = CASES[case]
    return make_method(name, seed=1, device="cuda", **small, **settings).fit(table)


def network(device="cuda", d=5):
    torch.manual_seed(0)
    return Denoiser(d, 32).to(device)


def test_every_learned_method_is_tried():
    learned = {n for n, m in METHODS.items() if issubclass(m, LearnedMethod)}
    assert set(STEPS) == learned


@EACH
def test_holes_are_filled_and_known_cells_kept(case, table):
    method = fitted(case, table)
    filled = method.impute(table)
    assert filled.notna().all(axis=None)
    pd.testing.assert_frame_equal(filled.where(table.notna()), table)
    # Other rows beside it, fewer or in another order, are nothing to a row.
    some = table.iloc[::-3]
    numbers = list("abcde")
    again = method.impute(some)
    np.testing.assert_allclose(
        again[numbers], filled.loc[some.index, numbers], atol=1e-4, rtol=1e-4
    )
    assert (again["k"] == filled.loc[some.index, "k"]).mean() > 0.99
    if method.draws:
        for drawn in method.draw(table, 3):
            assert drawn.notna().all(axis=None)


@EACH
def test_recorded_steps_do_what_they_do_launched_by_launch(case, table, monkeypatch):
    recorded = []
    record = Step._record

    def noted(step, batch):
        recorded.append(step)
        return record(step, batch)

    monkeypatch.setattr(Step, "_record", noted)
    weights = weights_of(fitted(case, table).model_)
    assert recorded
    monkeypatch.setattr(Step, "__call__", lambda step, *batch: step._aside(batch))
    launched = weights_of(fitted(case, table).model_)
    assert [w.shape for w in weights] == [w.shape for w in launched] != []
    mine, theirs = (torch.cat([w.flatten() for w in ws]) for ws in (weights, launched))
    # Adam turns the last bits of a gradient near 0 into a whole step.
    assert torch.isclose(mine, theirs, atol=2e-3, rtol=2e-2).float().mean() > 0.99


def weights_of(model):
    """All weights that a model has learned, lists of networks included."""
    values = list(vars(model).values())
    parts = [v for value in values for v in (value if type(value) is list else [value])]
    found = []
    for part in parts:
        for module in (part, *vars(part).values()) if hasattr(part, "__dict__") else ():
            if isinstance(module, torch.nn.Module):
                found += list(module.parameters())
            elif isinstance(module, torch.Tensor) and module.is_floating_point():
                found.append(module)
    return [weight.detach() for weight in found]


def test_a_recorded_step_is_the_step_of_a_cpu_at_any_size_and_rate():
    nets = [network(device) for device in ("cuda", "cpu")]
    optimizers = [make_optimizer(net.parameters(), rate=1e-3) for net in nets]
    steps = [
        descent(lambda x, s, net=net: (net(x, s) - 1).square().mean(), [optimizer])
        for net, optimizer in zip(nets, optimizers, strict=True)
    ]
    generator = torch.Generator().manual_seed(0)
    for number in range(24):
        size = 17 if number % 4 == 3 else 64
        x = torch.randn(size, 5, generator=generator)
        sigma = torch.rand(size, 1, generator=generator) + 0.1
        losses = []
        for step, optimizer, device in zip(
            steps, optimizers, ("cuda", "cpu"), strict=True
        ):
            set_rate(optimizer, 1e-3 / (1 + number))
            losses.append(step(x.to(device), sigma.to(device)).cpu().clone())
        torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-5)
    assert len(steps[0]._recordings) == 2
    for mine, theirs in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        torch.testing.assert_close(mine.cpu(), theirs, atol=1e-4, rtol=1e-3)


def test_trials_of_a_gpu_are_those_of_the_cpu():
    observed = torch.rand(300, 5, generator=torch.Generator().manual_seed(0)) > 0.3
    rows = Rows(torch.where(observed, 0.5, 0.0), observed, torch.arange(300))
    repaint = RePaint(
        n_steps=6, n_inner=2, churn=1.0, sigma_max=80.0, sigma_min=0.002, rho=7.0
    )
    drawn = []
    for device in ("cuda", "cpu"):
        there = Rows(*(part.to(device) for part in (rows.x, rows.observed, rows.keys)))
        with torch.no_grad():
            x = repaint(network(device), there, seed=3, trials=range(2, 6))
        drawn.append(x.cpu())
    torch.testing.assert_close(*drawn, atol=1e-3, rtol=1e-3)


def test_a_clock_waits_for_the_device():
    device = torch.device("cuda")
    clock = Clock(0.5, device)
    a = torch.randn(8192, 8192, device=device)
    began = time.perf_counter()
    with tf32(device):
        while not clock.is_up():
            a = a @ a / 8192
    torch.cuda.synchronize()
    # Without waiting, thousands of products would be left to do.
    assert time.perf_counter() - began < 1.5
