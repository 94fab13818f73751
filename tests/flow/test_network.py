"""Networks read what they are told to read and start where they should."""

import pytest
import torch
from torch import nn

from macfm.flow import (
    Gaussian,
    GuidedEnsemble,
    NetworkConfig,
    Path,
    Preconditioned,
    coarse,
    make_network,
    make_schedule,
)

GROUP = torch.tensor([0, 1, 1, 1, 2, 3])
N, D = 40, len(GROUP)
LINEAR = make_schedule("linear", gamma=1.0)


def network(schedule=LINEAR, space="t", hints=False, waves=None, **changes):
    settings = {
        "backbone": "mlp",
        "d_model": 32,
        "n_blocks": 2,
        "n_heads": 4,
        "dropout": 0.0,
        "n_masks": 1,
        "residual": True,
        "n_frequencies": 3,
        "precondition": False,
        "guide": False,
    } | changes
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make_network(
            NetworkConfig(**settings),
            group=GROUP,
            path=Path(schedule, space),
            hints=hints,
            variance=None,
            waves=waves,
        )


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    x_t = torch.randn(N, D, generator=generator)
    t = torch.rand(N, 1, generator=generator)
    m_cond = (torch.rand(N, 4, generator=generator) < 0.5)[:, GROUP]
    return x_t, t, m_cond


def wake(net):
    """Replace the zero initialisation, under which a transformer answers 0."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return net


over_backbones = pytest.mark.parametrize("backbone", ["mlp", "transformer"])


@over_backbones
@pytest.mark.parametrize("precondition", [False, True])
def test_velocity_has_the_shape_of_the_input(batch, backbone, precondition):
    v_t = network(backbone=backbone, precondition=precondition)(*batch)
    assert v_t.shape == (N, D)
    assert v_t.isfinite().all()


@over_backbones
@pytest.mark.parametrize("mask_input", [False, True])
def test_masks_matter_exactly_when_they_are_shown(batch, backbone, mask_input):
    x_t, t, m_cond = batch
    net = wake(network(backbone=backbone, n_masks=int(mask_input)))
    same = torch.equal(net(x_t, t, m_cond), net(x_t, t, ~m_cond))
    assert same is not mask_input


@over_backbones
def test_time_and_every_coordinate_matter(batch, backbone):
    x_t, t, m_cond = batch
    net = wake(network(backbone=backbone))
    v_t = net(x_t, t, m_cond)
    assert not torch.allclose(v_t, net(x_t, 1 - t, m_cond))
    for j in range(D):
        moved = x_t.clone()
        moved[:, j] += 1.0
        assert not torch.allclose(v_t, net(moved, t, m_cond))


@over_backbones
def test_rows_do_not_see_each_other(batch, backbone):
    net = wake(network(backbone=backbone))
    order = torch.randperm(N, generator=torch.Generator().manual_seed(2))
    shuffled = net(*(part[order] for part in batch))
    torch.testing.assert_close(shuffled, net(*batch)[order])


def test_transformer_starts_at_zero_velocity(batch):
    assert (network(backbone="transformer")(*batch) == 0).all()


def test_transformer_needs_heads_that_divide_its_width():
    with pytest.raises(ValueError, match="d_model=30 and n_heads=4"):
        network(backbone="transformer", d_model=30)


def test_paper_mlp_is_a_plain_stack():
    net = network(n_masks=0, residual=False)
    names = {type(module).__name__ for module in net.modules()}
    assert names.isdisjoint({"LayerNorm", "ResidualBlock"})
    assert "ResidualBlock" in {type(m).__name__ for m in network().modules()}


def test_dropout_acts_in_training_only(batch):
    net = network(dropout=0.5)
    assert not torch.equal(net.train()(*batch), net(*batch))
    assert torch.equal(net.eval()(*batch), net(*batch))


@over_backbones
@pytest.mark.parametrize("space", ["t", "s"])
def test_preconditioned_end_point_at_t0_does_not_see_the_noise(batch, backbone, space):
    x_t, t, m_cond = batch
    net = wake(network(backbone=backbone, precondition=True, space=space))
    other = torch.where(m_cond, x_t, x_t.flip(0))
    t = torch.zeros_like(t)
    end, same_end = (x + net(x, t, m_cond) for x in (x_t, other))
    torch.testing.assert_close(end[~m_cond], same_end[~m_cond], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["linear", "power", "cosine"])
def test_preconditioned_spaces_differ_by_the_derivative_on_targets(batch, name):
    t = batch[1]
    schedule = make_schedule(name, gamma=2.0)
    in_t = network(schedule, precondition=True, space="t")(*batch)
    in_s = network(schedule, precondition=True, space="s")(*batch)
    torch.testing.assert_close(in_t, schedule(t)[1] * in_s)


class Constant(nn.Module):
    """Predicts one value everywhere."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, x_t, t, m_cond, hints):
        return torch.full_like(x_t, self.value)


@pytest.mark.parametrize("variance", [1.0, 0.02])
def test_preconditioned_target_has_unit_variance_at_every_time(variance):
    """What the inner network must predict for normal coordinates of some variance."""
    x, eps = torch.randn(2, 50_000, 1, generator=torch.Generator().manual_seed(0))
    x = variance**0.5 * x
    m_cond = torch.zeros(x.shape, dtype=torch.bool)
    zero, one = (
        Preconditioned(
            Constant(value),
            path=Path(LINEAR, "t"),
            hints=False,
            variance=torch.tensor([variance]),
        )
        for value in (0.0, 1.0)
    )
    for s in (0.0, 0.1, 0.5, 0.8, 1.0):
        x_t, t = s * x + (1 - s) * eps, torch.full((len(x), 1), s)
        guess = zero(x_t, t, m_cond)
        f = (x - eps - guess) / (one(x_t, t, m_cond) - guess)
        assert f.var().item() == pytest.approx(1, abs=0.02)
        assert torch.corrcoef(torch.cat([f, x_t], dim=1).T)[0, 1].abs() < 0.02


def test_a_coarse_copy_says_nearly_the_same_and_leaves_the_network_alone(batch):
    net = wake(network(precondition=True, space="s")).eval()
    with torch.no_grad():
        fine = net(*batch)
        rough = coarse(net)(*batch)
        again = net(*batch)
    assert rough.dtype == fine.dtype
    assert not torch.equal(rough, fine)
    assert (rough - fine).square().mean().sqrt() < 0.02 * fine.std()
    assert torch.equal(fine, again)


def test_a_coarse_ensemble_keeps_guide_trust_and_polish():
    path = Path(LINEAR, "s")
    guide = Gaussian(torch.zeros(D).double(), torch.eye(D).double())
    member = wake(network(precondition=True, space="s", hints=True)).eval()
    ensemble = GuidedEnsemble.alone(guide, member, path=path)
    ensemble.polish = object()
    copied = coarse(ensemble)
    assert copied.guide is guide
    assert copied.polish is ensemble.polish
    assert torch.equal(copied.trust, ensemble.trust)
    assert copied.guide.precision.dtype == torch.float64
    assert copied.members[0] is not member


def test_sinusoids_are_taken_of_the_coordinates_that_are_named(batch):
    numbers = torch.tensor([True, False, False, False, True, True])
    some = network(waves=numbers)
    assert len(some.periodic.frequencies) == 3
    every = network()
    assert len(every.periodic.frequencies) == D
    assert network(waves=torch.zeros(D, dtype=torch.bool)).periodic is None
    # with all named it is the network that names none
    assert torch.equal(
        network(waves=torch.ones(D, dtype=torch.bool))(*batch), every(*batch)
    )
    assert "wave_place" not in some.state_dict()


def test_sinusoids_do_not_see_other_coordinates(batch):
    numbers = torch.tensor([True, False, False, False, True, True])
    net = network(waves=numbers)
    seen = []
    net.periodic.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    x_t, t, m_cond = batch
    net(x_t, t, m_cond)
    assert torch.equal(seen[0], x_t[:, numbers])
