"""The loss counts targets, each term by its own definition, and nothing unobserved."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from macfm.flow import (
    LossConfig,
    Masks,
    Path,
    Points,
    cell_variances,
    flow_matching_loss,
    make_schedule,
    weigh_cells,
)
from macfm.flow.network import Dropout

LINEAR = make_schedule("linear", gamma=1.0)
CONFIG = LossConfig(
    lambda_stab=0.5, lambda_cons=0.25, eta_cons=0.1, sigma_in=0.0, weigh_cells=False
)
N, D = 50, 6


class Affine(nn.Module):
    """v = 2 x_t + 1, easy to do by hand."""

    def forward(self, x_t, t, m_cond):
        return 2 * x_t + 1


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    x, eps, xi = torch.randn(3, N, D, generator=generator, dtype=torch.float64)
    draw = torch.rand(N, D, generator=generator)
    m_tgt = (draw > 0.4) & (draw < 0.8)
    masks = Masks(cond=draw < 0.4, tgt=m_tgt, moved=m_tgt)
    t = torch.rand(N, 1, generator=generator, dtype=torch.float64)
    return x, eps, xi, t, masks


def terms_of(batch, network=None, config=CONFIG, weights=None):
    x, eps, xi, t, masks = batch
    sample = Path(LINEAR, "t").sample(x, eps=eps, t=t, masks=masks)
    points = Points(sample=sample, masks=masks, guess=None, xi=xi)
    return flow_matching_loss(
        network or Affine(), points, config=config, weights=weights
    )


def test_each_term_is_its_formula(batch):
    x, eps, xi, t, masks = batch
    x_t = torch.where(masks.tgt, t * x + (1 - t) * eps, x * masks.cond)
    miss = (2 * x_t + 1) - (x - eps)
    terms = terms_of(batch)
    torch.testing.assert_close(terms.fm, miss[masks.tgt].square().mean())
    torch.testing.assert_close(terms.stab, (2 * x_t + 1)[masks.cond].square().mean())
    torch.testing.assert_close(
        terms.cons, (2 * 0.1 * (1 - t) * xi)[masks.tgt].square().mean()
    )
    torch.testing.assert_close(
        terms.total, terms.fm + 0.5 * terms.stab + 0.25 * terms.cons
    )


def test_with_weights_cells_are_counted_not_coordinates(batch):
    x, eps, _, t, masks = batch
    cell = torch.tensor([0, 1, 1, 1, 2, 2])
    variance = cell_variances(x, masks.cond | masks.tgt, cell=cell)
    weights = weigh_cells(variance, cell=cell)
    x_t = torch.where(masks.tgt, t * x + (1 - t) * eps, x * masks.cond)
    miss = torch.where(masks.tgt, (2 * x_t + 1) - (x - eps), 0.0)
    n_cells = (masks.tgt * torch.tensor([1, 1 / 3, 1 / 3, 1 / 3, 0.5, 0.5])).sum()
    terms = terms_of(batch, weights=weights)
    expected = (weights.at(t) * miss.square()).sum() / n_cells
    torch.testing.assert_close(terms.fm, expected)
    before = terms_of(batch)
    assert torch.equal(terms.stab, before.stab)
    assert torch.equal(terms.cons, before.cons)


def test_values_in_neither_mask_do_not_matter(batch):
    x, eps, xi, t, masks = batch
    neither = ~(masks.cond | masks.tgt)
    scrambled = torch.where(neither, 1e6 * torch.ones_like(x), x)
    before, after = terms_of(batch), terms_of((scrambled, eps, xi, t, masks))
    for name in ("fm", "stab", "cons", "total"):
        assert torch.equal(getattr(before, name), getattr(after, name))


def test_noise_off_the_targets_does_not_matter(batch):
    x, eps, xi, t, masks = batch
    other = torch.where(masks.tgt, eps, -5.0)
    other_xi = torch.where(masks.tgt, xi, 7.0)
    before, after = terms_of(batch), terms_of((x, other, other_xi, t, masks))
    assert torch.equal(before.total, after.total)


def test_perfect_field_has_no_flow_matching_loss(batch):
    x, eps, _, _, masks = batch

    class Perfect(nn.Module):
        def forward(self, x_t, t, m_cond):
            return torch.where(masks.tgt, x - eps, 0.0)

    terms = terms_of(batch, Perfect())
    assert terms.total == 0


def test_consistency_is_not_evaluated_without_weight(batch):
    calls = []

    class Counting(Affine):
        def forward(self, x_t, t, m_cond):
            calls.append(1)
            return super().forward(x_t, t, m_cond)

    terms_of(batch, Counting(), replace(CONFIG, lambda_cons=0.0))
    assert len(calls) == 1


def test_batch_without_targets_has_a_finite_loss(batch):
    x, eps, xi, t, masks = batch
    nothing = torch.zeros_like(masks.tgt)
    none = Masks(cond=masks.cond, tgt=nothing, moved=nothing)
    assert terms_of((x, eps, xi, t, none)).fm == 0


class Dropping(nn.Module):
    """v = 2 x_t with units dropped: equal points differ by nothing else."""

    def __init__(self):
        super().__init__()
        self.dropout = Dropout(0.5)

    def forward(self, x_t, t, m_cond):
        return self.dropout(2 * x_t)


def test_points_near_each_other_are_judged_with_the_same_units_dropped(batch):
    network = Dropping().train()
    still = replace(CONFIG, eta_cons=0.0)
    assert terms_of(batch, network, still).cons == 0
    # A dropped unit says nothing of the distance, the others twice as much.
    whole = terms_of(batch, Dropping().eval(), CONFIG).cons.item()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        moved = [terms_of(batch, network, CONFIG).cons.item() for _ in range(20)]
    assert sum(moved) / 20 == pytest.approx(2 * whole, rel=0.1)


def test_units_are_dropped_anew_outside_of_the_loss(batch):
    network = Dropping().train()
    terms_of(batch, network)
    x = torch.ones(400, D)
    first, second = network(x, None, None).chunk(2)
    assert not torch.equal(first, second)
