"""MIWAE."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from torch.distributions import StudentT

from macfm.flow import keyed_normal
from macfm.judge.learned._base import Columns, Rows
from macfm.judge.learned.miwae import MIWAE, _Layout
from macfm.judge.methods import make_method


@pytest.fixture(scope="module")
def learned():
    """A place for the one fit that the tests below share."""
    return {}


@pytest.fixture
def fitted(toy, learned):
    if not learned:
        settings = {"n_epochs": 10, "n_importance": 10, "n_samples": 100}
        learned["miwae"] = toy.fit("miwae", **settings)
    return learned["miwae"]


def rows_of(toy, method):
    x = method.code_.one_hot(toy.test.mask(toy.test_hidden))
    observed = ~np.isnan(x)
    values = torch.from_numpy(np.where(observed, x, 0.0).astype(np.float32))
    return Rows(values, torch.from_numpy(observed), torch.arange(len(x)))


def bound(method, rows, n):
    noise = keyed_normal(rows.keys, seed=0, draws=range(n), d=10).float()
    with torch.no_grad():
        return float(method.model_.bound(rows, noise).mean())


def test_it_comes_near_to_the_best_on_two_factors(toy, fitted):
    assert toy.error(fitted) < 1.1 * toy.best


def test_one_latent_point_is_worse_than_many(toy, fitted, monkeypatch):
    many = toy.error(fitted)
    monkeypatch.setitem(fitted.settings, "n_samples", 1)
    assert toy.error(fitted) > 1.1 * many


def log_likelihood(toy, method, rows):
    """Mean log likelihood of the rows' observed cells under the toy's normal."""
    loadings = np.random.default_rng(0).normal(size=(2, 8))
    center = np.array([column.mean for column in method.code_.columns])
    scale = np.array([column.sd for column in method.code_.columns])
    covariance = (loadings.T @ loadings + 0.09 * np.eye(8)) / np.outer(scale, scale)
    found = []
    for x, seen in zip(rows.x.numpy(), rows.observed.numpy(), strict=True):
        if seen.any():
            normal = (-center / scale)[seen], covariance[np.ix_(seen, seen)]
            found.append(stats.multivariate_normal.logpdf(x[seen], *normal))
    return sum(found) / len(rows)


def test_the_bound_rises_to_the_likelihood(toy, fitted):
    rows = rows_of(toy, fitted)
    bounds = [bound(fitted, rows, n) for n in (1, 5, 100)]
    truth = log_likelihood(toy, fitted, rows)
    assert bounds[0] + 0.1 < bounds[1] < bounds[2] - 0.02
    assert truth - 1 < bounds[2] < truth


def test_intervals_of_draws_hold_what_they_promise(toy, fitted):
    draws = fitted.draw(toy.test.mask(toy.test_hidden), 40)
    values = np.stack([draw.to_numpy() for draw in draws])
    low, high = np.quantile(values, [0.05, 0.95], axis=0)
    truth, hidden = toy.test.to_numpy(), toy.test_hidden.to_numpy()
    assert 0.86 < ((low <= truth) & (truth <= high))[hidden].mean() < 0.96
    filled = fitted.impute(toy.test.mask(toy.test_hidden)).to_numpy()
    gap = (values.mean(axis=0) - filled)[hidden] / values.std(axis=0)[hidden]
    assert np.abs(gap).mean() < 2 / np.sqrt(40)


def test_cells_are_drawn_as_the_decoder_says():
    columns = Columns(
        blocks=(slice(0, 3), slice(3, 4)),
        is_number=torch.tensor([False, False, False, True]),
    )
    layout = _Layout.of(columns)
    output = torch.tensor([1.0, 0.5, -1.0, 0.0, 1.0, -0.5])
    n = 20_000
    noise = keyed_normal(torch.arange(n), seed=1, draws=[0], d=8)[0]
    u, v = torch.special.ndtr(noise).split(4, dim=1)
    cells = layout.read(output.expand(n, -1))
    drawn = cells.draw(u, v).numpy()
    softplus = torch.nn.functional.softplus(output)
    student = stats.t(float(softplus[2]) + 3, 1.0, float(softplus[1]) + 1e-3)
    assert stats.kstest(drawn[:, 3], student.cdf).pvalue > 0.01
    shares = output[3:].double().softmax(dim=0).numpy()
    counts = np.bincount(drawn[:, :3].argmax(axis=1), minlength=3)
    assert stats.chisquare(counts, n * shares).pvalue > 0.01
    np.testing.assert_allclose(cells.mean()[0].numpy(), [*shares, 1.0], rtol=1e-6)
    # A category's likelihood is its share, with a known number beside it or not.
    rows = Rows(
        x=torch.eye(3, 4),
        observed=torch.tensor([True, True, True, False]).expand(3, -1),
        keys=torch.arange(3),
    )
    likelihood = layout.read(output.expand(3, -1)).log_likelihood(rows).exp()
    np.testing.assert_allclose(likelihood.numpy(), shares, rtol=1e-6)


def test_numbers_have_the_density_of_a_student_t():
    layout = _Layout(torch.tensor([0, 1]), torch.tensor([], dtype=torch.int64), ())
    output = torch.tensor([1.0, -2.0, 0.5, 3.0, -0.5, 6.0]).repeat(3, 1)
    x = torch.tensor([[1.0, -2.0], [0.0, 5.0], [-30.0, 0.3]])
    rows = Rows(x, torch.ones(3, 2, dtype=torch.bool), torch.arange(3))
    cells = layout.read(output)
    student = StudentT(cells.freedom, cells.center, cells.scale)
    torch.testing.assert_close(
        cells.log_likelihood(rows), student.log_prob(x).sum(dim=1)
    )


def test_the_networks_have_the_authors_size():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 16)))
    method = make_method("miwae", n_epochs=1, n_samples=1).fit(table)
    assert isinstance(method.model_, MIWAE)
    networks = [method.model_._encode, method.model_._decode]
    assert sum(p.numel() for net in networks for p in net.parameters()) == 45_380
