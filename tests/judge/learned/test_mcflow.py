"""MCFlow."""

import numpy as np
import pytest
import torch

from macfm.judge.learned._base import Clock, Columns, Rows
from macfm.judge.learned.mcflow import Flow, MCFlow, is_stage_end, log_likelihood
from macfm.judge.methods import make_method

SETTINGS = {
    "n_epochs": 1,
    "batch_size": 64,
    "learning_rate": 1e-3,
    "reconstruction": 64.0,
}


@pytest.fixture(scope="module")
def learned():
    """A place for the one fit that the tests below share."""
    return {}


@pytest.fixture
def fitted(toy, learned):
    if not learned:
        learned["mcflow"] = toy.fit("mcflow", n_epochs=32, learning_rate=5e-3)
    return learned["mcflow"]


def flow_of(d):
    torch.manual_seed(d)
    return Flow(d, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("d", [1, 2, 7])
def test_a_flow_can_be_undone(d):
    flow, x = flow_of(d), torch.randn(50, d)
    with torch.no_grad():
        z, log_det = flow(x)
        back, same_log_det = flow.inverse(z)
    assert (z - x).abs().min(dim=0).values.gt(0).all()  # every coordinate is changed
    torch.testing.assert_close(back, x, rtol=0, atol=1e-4)
    torch.testing.assert_close(same_log_det, log_det, rtol=0, atol=1e-4)


def test_the_likelihood_is_that_of_a_change_of_variables():
    flow, x = flow_of(3).double(), torch.randn(5, 3, dtype=torch.float64)
    z, log_det = flow(x)
    density = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(dim=1)
    for row in range(5):
        jacobian = torch.func.jacrev(lambda x: flow(x[None])[0][0])(x[row])
        density[row] += torch.linalg.slogdet(jacobian).logabsdet
    torch.testing.assert_close(log_likelihood(z, log_det), density)


def test_the_way_back_teaches_the_flow_nothing():
    flow, z = flow_of(4), torch.randn(6, 4, requires_grad=True)
    flow.inverse(z)[0].sum().backward()
    assert flow.weight.grad is None
    assert z.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("n_epochs", "ends"),
    [
        (1, []),
        (4, [2]),
        (300, [2, 4, 8, 16, 32, 64, 128]),  # 44 epochs are too few for a new flow
        (512, [2, 4, 8, 16, 32, 64, 128, 256]),
    ],
)
def test_stages_double(n_epochs, ends):
    done = range(1, n_epochs + 1)
    assert [n for n in done if is_stage_end(n, n / n_epochs)] == ends


def small(n=200, **settings):
    """A model of a column of numbers and one of three categories, and its rows."""
    generator = torch.Generator().manual_seed(0)
    category = torch.arange(n) % 3
    x = torch.cat(
        [
            torch.randn(n, 1, generator=generator) + category[:, None],
            torch.nn.functional.one_hot(category, 3).float(),
        ],
        dim=1,
    )
    seen = (torch.rand(n, 2, generator=generator) < 0.7)[:, [0, 1, 1, 1]]
    columns = Columns(
        blocks=(slice(0, 1), slice(1, 4)),
        is_number=torch.tensor([True, False, False, False]),
    )
    device = torch.device("cpu")
    model = MCFlow(columns, SETTINGS | settings, seed=0, device=device)
    return model, Rows(torch.where(seen, x, 0.0), seen, torch.arange(n))


def test_holes_start_with_observed_values():
    model, rows = small()
    model.fit(rows, Clock(None))
    start = model.start(rows)
    unit = model._scale.unit(rows.x)
    assert torch.equal(start[rows.observed], unit[rows.observed])
    holes = ~rows.observed[:, 0]
    pool = unit[~holes, 0]
    assert torch.isin(start[holes, 0], pool).all()
    assert len(start[holes, 0].unique()) > 0.5 * holes.sum()
    assert torch.equal(start[:, 1:].sum(dim=1), torch.ones(len(rows)))
    assert torch.isin(start[:, 1:], torch.tensor([0.0, 1.0])).all()


def test_the_number_of_stages_is_known_beforehand():
    model, rows = small(n_epochs=7)
    model.fit(rows, Clock(None))
    evaluations = make_method("mcflow", n_epochs=7).network_evaluations_per_row()
    assert evaluations == 3 * len(model.stages) == 9


def test_time_that_is_up_leaves_one_stage_and_a_whole_model():
    model, rows = small(n_epochs=64)
    model.fit(rows, Clock(1e-9))
    assert len(model.stages) == 1
    assert model.fill(rows).isfinite().all()


def test_it_comes_near_to_the_best_on_two_factors(toy, fitted):
    # The mean's error is 1.9 of the best.
    assert toy.error(fitted) < 1.55 * toy.best


def test_rows_grow_likelier_from_stage_to_stage(toy, fitted):
    model = fitted.model_
    assert len(model.stages) == 5
    x = fitted.code_.one_hot(toy.test.mask(toy.test_hidden))
    observed = torch.from_numpy(~np.isnan(x))
    values = torch.from_numpy(np.nan_to_num(x).astype(np.float32))
    rows = Rows(values, observed, torch.arange(len(x)))
    unit, found = model.start(rows), []
    with torch.no_grad():
        for stage in model.stages:
            found.append(float(log_likelihood(*stage.flow(unit)).mean()))
            unit = stage.refill(Rows(unit, observed, rows.keys))
    assert found == sorted(found)
