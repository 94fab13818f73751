"""On a CUDA device the imputer does what it does on the CPU."""

import pickle

import numpy as np
import pytest

from macfm import MACFMImputer
from macfm.flow._step import Mover

pytestmark = pytest.mark.gpu

QUICK = {"max_steps": 100, "d_model": 32, "n_networks": 1, "verbose": False}


def holes(n=300):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 5))
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


def test_observed_cells_are_kept_and_every_hole_is_filled():
    x = holes()
    filled = MACFMImputer(device="cuda", random_state=0, **QUICK).fit_transform(x)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~np.isnan(x)], x[~np.isnan(x)])


def test_model_fitted_on_a_gpu_fills_on_the_cpu():
    x = holes()
    model = MACFMImputer(device="cuda", random_state=0, **QUICK).fit(x)
    on_gpu = model.transform(x)
    copy = pickle.loads(pickle.dumps(model)).set_params(device="cpu")
    np.testing.assert_allclose(copy.transform(x), on_gpu, atol=1e-3)


def test_a_recorded_step_does_what_the_same_step_does_launched_by_launch(monkeypatch):
    x = holes()
    recorded = MACFMImputer(device="cuda", random_state=0, **QUICK).fit(x)
    monkeypatch.setattr(Mover, "_record", Mover._aside)
    launched = MACFMImputer(device="cuda", random_state=0, **QUICK).fit(x)
    np.testing.assert_allclose(
        recorded.transform(x), launched.transform(x), atol=0.02 * np.nanstd(x)
    )


def test_draws_on_a_gpu_are_those_of_the_cpu_but_for_rounding():
    x = holes()
    model = MACFMImputer(device="cuda", random_state=0, **QUICK).fit(x)
    on_gpu = np.stack(model.sample(x, n_draws=5))
    copy = pickle.loads(pickle.dumps(model)).set_params(device="cpu")
    on_cpu = np.stack(copy.sample(x, n_draws=5))
    gap = (on_gpu - on_cpu)[:, np.isnan(x)] / np.nanstd(x)
    assert np.sqrt((gap**2).mean()) < 0.02


def test_networks_trained_side_by_side_learn_as_one_does_and_stop_apart():
    x = holes()
    two = MACFMImputer(
        device="cuda", random_state=0, **(QUICK | {"n_networks": 2})
    ).fit(x)
    assert len(two.network_.members) == 2
    steps = two.history_.groupby("network")["step"].max()
    assert (steps > 0).all()
    one = MACFMImputer(device="cuda", random_state=0, **QUICK).fit(x)
    hole = np.isnan(x)
    gap = (two.transform(x) - one.transform(x))[hole] / np.nanstd(x)
    assert np.sqrt((gap**2).mean()) < 0.3
