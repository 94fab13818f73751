"""Units are dropped by their share, in training alone, and what is left makes up."""

import pytest
import torch

from macfm.flow.network import Dropout
from macfm.flow.network._dropout import twins

N = 400_000


def drop(p, n=N, *, has_twins=False, seed=0):
    layer = Dropout(p).train()
    torch.manual_seed(seed)
    if not has_twins:
        return layer(torch.ones(n // 8, 8))
    with twins(layer):
        return layer(torch.ones(n // 8, 8))


@pytest.mark.parametrize("p", [0.001, 0.1, 0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("has_twins", [False, True])
def test_the_share_is_dropped_and_the_mean_stays(p, has_twins):
    h = drop(p, has_twins=has_twins)
    error = (p * (1 - p) / (N / 2)) ** 0.5
    assert abs(float((h == 0).double().mean()) - p) < 4 * error + 1 / 512
    assert abs(float(h.double().mean()) - 1) < 5 * error / (1 - p)
    kept = h[h != 0]
    assert torch.equal(kept, torch.full_like(kept, float(kept[0])))
    dropped = round(256 * p) / 256
    share = dropped if 0 < dropped < 1 else p
    assert float(kept[0]) == pytest.approx(1 / (1 - share))


def test_units_are_dropped_apart_from_each_other():
    gone = (drop(0.2) == 0).double()
    gone = gone - gone.mean()
    together = gone.T @ gone / len(gone) / gone.square().mean()
    torch.testing.assert_close(
        together, torch.eye(8).double(), atol=5 / len(gone) ** 0.5, rtol=0
    )


def test_the_seed_decides():
    assert torch.equal(drop(0.2), drop(0.2))
    assert not torch.equal(drop(0.2), drop(0.2, seed=1))


def test_nothing_is_dropped_outside_training_or_without_a_share():
    h = torch.randn(5, 3)
    assert torch.equal(Dropout(0.5).eval()(h), h)
    assert torch.equal(Dropout(0.0).train()(h), h)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 5), (2, 3, 7)])
def test_any_shape_is_taken(shape):
    h = torch.ones(shape, requires_grad=True)
    out = Dropout(0.5).train()(h)
    assert out.shape == shape
    out.sum().backward()
    assert torch.equal(h.grad, out.detach())
