"""Filling costs as much as there is to fill, and leaves the caller's state alone."""

import random

import numpy as np
import pytest
import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from macfm import MACFMImputer

SMALL = {"max_steps": 6, "evaluate_every": 3, "d_model": 16, "n_blocks": 1}
SMALL |= {"batch_size": 64, "verbose": False, "device": "cpu", "random_state": 0}


def rows_with_holes(n, d=5, seed=0):
    """Rows of which each lacks a value, and none all of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    x[np.arange(n), rng.integers(0, d, n)] = np.nan
    return x


@pytest.fixture(scope="module")
def model():
    return MACFMImputer(**SMALL, guide=False).fit(rows_with_holes(100))


def rows_evaluated(fill):
    """Count the rows that velocity networks are asked about."""
    n_rows = 0

    def count(module, inputs):
        nonlocal n_rows
        n_rows += len(inputs[0]) if type(module).__name__ == "MLPVelocity" else 0

    handle = register_module_forward_pre_hook(count)
    try:
        fill()
    finally:
        handle.remove()
    return n_rows


@pytest.mark.parametrize(
    ("read_out", "evaluations"),
    [
        ({"n_trials": 0}, 1),
        ({"n_trials": 3, "solver": "euler", "n_steps": 2}, 6),
        ({"n_trials": 3, "solver": "heun", "n_steps": 2}, 12),
    ],
    ids=["mean", "euler", "heun"],
)
@pytest.mark.parametrize("n", [640, 1280])
def test_work_grows_with_the_rows_and_no_faster(model, read_out, evaluations, n):
    model.set_params(**read_out)
    x = rows_with_holes(n)
    assert rows_evaluated(lambda: model.transform(x)) == evaluations * n
    assert rows_evaluated(lambda: model.transform(x[:1])) <= evaluations * 64


@pytest.mark.parametrize("n_draws", [1, 5])
def test_work_of_a_sample_grows_with_the_draws(model, n_draws):
    model.set_params(solver="euler", n_steps=2)
    x = rows_with_holes(640)
    n_rows = rows_evaluated(lambda: model.sample(x, n_draws=n_draws))
    assert n_rows == 2 * n_draws * len(x)


def test_rows_without_holes_cost_nothing(model):
    model.set_params(n_trials=0)
    x = rows_with_holes(640)
    complete = np.random.default_rng(1).normal(size=(5000, x.shape[1]))
    assert rows_evaluated(lambda: model.transform(complete)) == 0
    assert rows_evaluated(lambda: model.sample(complete, n_draws=3)) == 0
    mixed = np.concatenate([complete, x, complete])
    assert rows_evaluated(lambda: model.transform(mixed)) == len(x)


def test_few_rows_are_not_shared_out(model, monkeypatch):
    """Looking which cores are free takes longer than one row."""

    def look(n_threads):
        raise AssertionError("nobody should look")

    monkeypatch.setattr("macfm.imputer._device.worthwhile_threads", look)
    model.set_params(n_trials=0)
    model.transform(rows_with_holes(100))
    with pytest.raises(AssertionError, match="nobody should look"):
        model.transform(rows_with_holes(500))


def every_use(x):
    model = MACFMImputer(**SMALL, n_networks=2, dropout=0.5).fit(x)
    return [model.transform(x), *model.sample(x, n_draws=2)]


def global_state():
    """All that a library may not move behind the caller's back."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 - it is what is tested
    return {
        "numpy": (name, keys.tolist(), *rest),
        "random": random.getstate(),
        "torch": torch.random.get_rng_state().tolist(),
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "gradients": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def test_global_state_is_neither_read_nor_moved():
    x = rows_with_holes(100)
    seed_everything(7)
    before = global_state()
    first = every_use(x)
    assert global_state() == before
    seed_everything(8)
    for one, other in zip(every_use(x), first, strict=True):
        np.testing.assert_array_equal(one, other)
