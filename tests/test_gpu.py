"""On a CUDA device the imputer does what it does on the CPU."""

import pickle

import numpy as np
import pytest
import torch

from macfm import MACFMImputer
from macfm.flow import Gaussian
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


@pytest.mark.parametrize(
    ("least", "tame", "most"),
    [(1e-2, True, 2e-3), (1e-4, True, 2e-3), (1.1e-5, True, 2e-2), (1e-6, False, 2e-3)],
)
def test_a_guide_on_a_gpu_says_what_it_says_on_the_cpu(least, tame, most):
    generator = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(40, 40, generator=generator).double()).Q
    spectrum = torch.logspace(0, np.log10(least), 40).double()
    guide = Gaussian(torch.zeros(40).double(), basis / spectrum @ basis.T)
    assert guide.is_tame == tame
    x = torch.randn(200, 40, generator=generator)
    shown = torch.rand(200, 40, generator=generator) < 0.5
    s = torch.rand(200, 1, generator=generator)
    here = guide(x, s, shown)
    there = guide.cuda()(x.cuda(), s.cuda(), shown.cuda())
    gap = (there.v_s.cpu() - here.v_s) / here.scale
    assert gap.abs().max() < most
    torch.testing.assert_close(there.scale.cpu(), here.scale, rtol=most / 2, atol=0)


def test_a_model_keeps_its_copies_on_a_gpu_and_pickles_without_them():
    x = holes()
    model = MACFMImputer(device="cuda", random_state=0, **QUICK).fit(x)
    model.transform(x)
    copies = model.model_.copies
    [kept] = copies._whole.values()
    model.sample(x, n_draws=2)
    assert list(copies._whole.values()) == [kept]
    assert len(copies._coarse) == 1
    assert next(model.network_.parameters()).device.type == "cpu"
    again = pickle.loads(pickle.dumps(model))
    assert not again.model_.copies._whole
    np.testing.assert_array_equal(again.transform(x), model.transform(x))
