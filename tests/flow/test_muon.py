"""Muon moves along orthogonal matrices, whatever the gradient's own lengths."""

import pytest
import torch

from macfm.flow._muon import Muon, orthogonalised


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 8, 32), (2, 32, 8), (1, 5, 1)])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_singular_values_come_near_one(shape, size):
    generator = torch.Generator().manual_seed(0)
    made = orthogonalised(size * torch.randn(shape, generator=generator))
    assert made.shape == shape
    values = torch.linalg.svdvals(made)
    assert values.min() > 0.5
    assert values.max() < 1.3


def test_directions_are_kept():
    generator = torch.Generator().manual_seed(1)
    u, _, v = torch.linalg.svd(torch.randn(2, 12, 12, generator=generator))
    stretched = u @ torch.diag_embed(torch.linspace(0.2, 1, 12).expand(2, 12)) @ v
    kept = u.transpose(1, 2) @ orthogonalised(stretched) @ v.transpose(1, 2)
    off = kept - torch.diag_embed(kept.diagonal(dim1=1, dim2=2))
    assert off.abs().max() < 0.02
    assert kept.diagonal(dim1=1, dim2=2).min() > 0.5


def test_steps_lead_to_the_minimum_and_decay_shortens():
    target = torch.randn(6, 6, generator=torch.Generator().manual_seed(2))
    weight = torch.nn.Parameter(torch.zeros(6, 6))
    muon = Muon([weight], weight_decay=0.0)
    for k in range(300):
        weight.grad = weight.detach() - target
        muon.step(0.1 * (1 - k / 300))
    torch.testing.assert_close(weight.detach(), target, atol=0.05, rtol=0)
    decayed = torch.nn.Parameter(torch.ones(4, 4))
    decayed.grad = torch.zeros(4, 4)
    Muon([decayed], weight_decay=0.5).step(0.1)
    torch.testing.assert_close(decayed.detach(), torch.full((4, 4), 0.95))


def test_a_forgotten_momentum_counts_no_more():
    weight = torch.nn.Parameter(torch.zeros(4, 4))
    muon = Muon([weight], weight_decay=0.0)
    weight.grad = torch.eye(4)
    muon.step(1.0)
    muon.reset()
    before = weight.detach().clone()
    weight.grad = torch.zeros(4, 4)
    muon.step(1.0)
    assert torch.equal(weight.detach(), before)
