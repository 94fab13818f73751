"""The optimiser does what torch's does, without its compiler."""

import subprocess
import sys

import torch

from macfm.flow._adamw import AdamW


def weights():
    torch.manual_seed(0)
    shapes = [(8, 4), (8,), (4, 8)]
    return [torch.randn(shape).requires_grad_() for shape in shapes]


def test_it_moves_weights_as_that_of_torch_does():
    mine, theirs = weights(), weights()
    adamw = AdamW({0.1: [mine[0], mine[2]], 0.0: [mine[1]]})
    groups = [
        {"params": [theirs[0], theirs[2]], "weight_decay": 0.1},
        {"params": [theirs[1]], "weight_decay": 0.0},
    ]
    reference = torch.optim.AdamW(groups, fused=True)
    for rate in (0.1, 0.03, 0.01):
        for a, b in zip(mine, theirs, strict=True):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        for group in reference.param_groups:
            group["lr"] = rate
        adamw.step(rate)
        reference.step()
    for a, b in zip(mine, theirs, strict=True):
        assert torch.equal(a, b)


def test_a_weight_without_gradient_stays():
    mine = weights()
    before = mine[1].detach().clone()
    mine[0].grad = torch.ones_like(mine[0])
    AdamW({0.1: mine}).step(0.1)
    assert torch.equal(mine[1], before)


def test_reset_forgets_the_past():
    moved, fresh = weights(), weights()
    adamw = AdamW({0.0: moved})
    for weight in moved:
        weight.grad = torch.ones_like(weight)
    adamw.step(0.1)
    adamw.reset()
    with torch.no_grad():
        for a, b in zip(moved, fresh, strict=True):
            a.copy_(b)
            b.grad = -torch.ones_like(b)
            a.grad = b.grad.clone()
    adamw.step(0.1)
    AdamW({0.0: fresh}).step(0.1)
    for a, b in zip(moved, fresh, strict=True):
        assert torch.equal(a, b)


def test_a_fit_does_not_import_the_compiler():
    script = """
import sys
import numpy as np
from macfm import MACFMImputer
x = np.random.default_rng(0).normal(size=(40, 3))
x[::5, 0] = np.nan
MACFMImputer(random_state=0, verbose=False, max_steps=5, n_trees=0).fit(x)
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)
