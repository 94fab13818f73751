"""TabCSDI."""

from functools import cache

import pytest
import torch

from macfm.judge.learned._base import Columns, Rows
from macfm.judge.learned._tokens import Lots, attend
from macfm.judge.learned.tabcsdi import Noise, NoisePredictor, TabCSDI
from macfm.judge.methods import METHODS

SMALL = {
    "n_steps": 300,
    "batch_size": 64,
    "learning_rate": 3e-3,
    "n_levels": 15,
    "beta_last": 0.8,  # fewer levels need larger ones to end in noise
    "n_samples": 6,
    "d_model": 32,
    "n_layers": 2,
    "columns_first": True,  # 300 steps are too few without it
}
CPU = torch.device("cpu")
# Three numbers, then categories of three and of four values, then a number.
BLOCKS = [slice(j, j + 1) for j in range(3)] + [slice(3, 6), slice(6, 10)]
COLUMNS = Columns(
    blocks=(*BLOCKS, slice(10, 11)),
    is_number=torch.tensor([True] * 3 + [False] * 7 + [True]),
)


def generator():
    return torch.Generator().manual_seed(0)


def untrained(**settings):
    """A model that has not learned anything."""
    torch.manual_seed(0)
    settings = METHODS["tabcsdi"].authors | SMALL | settings
    model = TabCSDI(COLUMNS, settings, seed=0, device=CPU)
    model.noise = Noise.make(settings, CPU)
    model.network = NoisePredictor(11, settings).eval()
    return model


def rows(n):
    """Standard normal values, and observed columns; the first row shows none."""
    shown = torch.rand(n, 6, generator=generator()) < 0.7
    shown[0] = False
    return torch.randn(n, 11, generator=generator()), shown[:, COLUMNS.group]


@cache
def trained(toy):
    return toy.fit("tabcsdi", **SMALL)


def test_the_network_has_the_authors_weights_that_are_used():
    network = NoisePredictor(16, METHODS["tabcsdi"].authors)
    # Theirs has a second transformer layer of 83,136 weights in each of its four.
    n_weights = sum(weight.numel() for weight in network.parameters())
    assert n_weights == 1_186_697 - 4 * 83_136


def test_noise_is_that_of_the_authors():
    noise = Noise.make(METHODS["tabcsdi"].authors, CPU)
    assert float(noise.signal[-1]) ** -0.5 == pytest.approx(27_700, rel=0.01)


def test_a_walk_that_knows_the_noise_comes_to_the_value():
    noise, value = Noise.make(METHODS["tabcsdi"].authors, CPU), 1.7
    x = torch.randn(1_000, generator=generator())
    variance = float(1 - noise.signal[-1])
    for t in reversed(range(len(noise.beta))):
        signal = noise.signal[t]
        told = (x - signal.sqrt() * value) / (1 - signal).sqrt()
        x = noise.remove(x, told, t)
        # What is left of the noise, and what a step back adds, make up the noise of
        # the level below.
        shrink = float(noise.remove(torch.ones(1), 1 / (1 - signal).sqrt(), t))
        variance = shrink**2 * variance + float(noise.spread[t]) ** 2
        below = float(noise.signal[t - 1]) if t else 1.0
        assert variance == pytest.approx(1 - below, rel=1e-3, abs=1e-6)
    torch.testing.assert_close(x, torch.full_like(x, value))


@pytest.mark.parametrize("share", [0.8, None])
def test_targets_are_observed_columns_as_a_whole(share):
    _, observed = rows(2_000)
    lots = Lots(COLUMNS, generator())
    targets = untrained(target_share=share).targets(observed, lots, generator())
    assert not (targets & ~observed).any()
    for block in COLUMNS.blocks:
        assert (targets[:, block] == targets[:, [block.start]]).all()
    firsts = [block.start for block in COLUMNS.blocks]
    n_targets, n_observed = targets[:, firsts].sum(1), observed[:, firsts].sum(1)
    if share is None:
        counts = n_targets[n_observed == 4].bincount() / (n_observed == 4).sum()
        expected = torch.tensor([0.125, 0.25, 0.25, 0.25, 0.125])
        assert (counts - expected).abs().max() < 0.06
    else:
        assert torch.equal(n_targets, (share * n_observed).round().long())


def test_the_network_sees_a_cell_either_clean_or_noisy():
    model, (x, shown) = untrained(), rows(40)
    torch.nn.init.ones_(model.network.told.weight)
    level = torch.arange(40) % 15
    with torch.no_grad():
        told = model.network(x, -x, shown, level)
        again = model.network(
            torch.where(shown, x, 1e6), torch.where(shown, 1e6, -x), shown, level
        )
        flipped = model.network(x, -x, ~shown, level)
    assert torch.equal(told, again)
    assert not torch.isclose(told, flipped).any(dim=1).all()


def test_an_untrained_network_errs_by_the_noise():
    model, (x, observed) = untrained(), rows(2_000)
    nothing = torch.zeros_like(observed)
    with torch.no_grad():
        loss = model.loss(x, observed, observed, generator())
        without = model.loss(x, observed, nothing, generator())
    assert float(loss) == pytest.approx(1, abs=0.03)
    assert float(without) == 0


def test_it_learns_to_use_what_it_is_shown(toy):
    model = trained(toy).model_
    table = toy.test.mask(toy.test_hidden)
    table = (table - table.mean()) / table.std(ddof=0)
    observed = torch.tensor(table.notna().to_numpy()).repeat(8, 1)
    x = torch.tensor(table.fillna(0).to_numpy(), dtype=torch.float32).repeat(8, 1)
    lots = Lots(model.columns, generator())
    targets = model.targets(observed, lots, generator())
    # A network that knows no more than each column's spread has this loss.
    spread = model.noise.signal.mean()
    with torch.no_grad():
        loss = model.loss(x, observed, targets, generator())
        # The shown cells of other rows lead astray.
        other = torch.where(targets, x, x.roll(1, dims=0))
        astray = model.loss(other, observed, targets, generator())
    assert loss < 0.93 * spread < astray


def test_rows_without_values_are_drawn_from_the_columns(toy):
    model = trained(toy).model_
    zeros = torch.zeros(200, 8)
    [drawn] = model.draw(Rows(zeros, zeros.bool(), torch.arange(200)), 1)
    spread = drawn.std(dim=0)
    assert ((spread > 0.7) & (spread < 1.3)).all()
    # The first two columns, whose correlation is 0.85, are drawn together.
    assert torch.corrcoef(drawn.T)[0, 1] > 0.4


def test_noise_alone_is_told_as_it_is(toy):
    model = trained(toy).model_
    eps = torch.randn(300, 8, generator=generator())
    level = torch.full((300,), len(model.noise.beta) - 1)
    with torch.no_grad():
        told = model.network(eps, eps, torch.zeros(300, 8).bool(), level)
    assert (told - eps).square().mean() < 0.1


def test_samples_together_are_what_they_are_one_by_one():
    model, (x, shown) = untrained(), rows(40)
    torch.nn.init.ones_(model.network.told.weight)
    part = Rows(torch.where(shown, x, 0.0), shown, torch.arange(40))
    with torch.no_grad():
        together = model.walk(part, range(1, 4))
        single = [model.walk(part, range(k, k + 1)) for k in range(1, 4)]
    torch.testing.assert_close(together, torch.cat(single))
    assert (together[0] != together[1])[~shown].all()
    assert torch.equal(together[:, shown], together[:1, shown].expand(3, -1))


@pytest.mark.parametrize("grad", [True, False])
def test_attention_that_can_be_compiled_is_the_encoders_own(grad):
    model, (x, _) = untrained(), rows(40)
    layer = model.network.layers[0].attend
    tokens = x[..., None] * torch.linspace(-1, 1, 32)
    with torch.set_grad_enabled(grad):
        torch.testing.assert_close(attend(layer, tokens), layer(tokens))


def test_a_coarse_network_tells_nearly_the_same(toy):
    network = trained(toy).model_.network
    x = torch.randn(300, 8, generator=generator())
    shown = torch.rand(300, 8, generator=generator()) < 0.6
    level = torch.arange(300) % 15
    with torch.no_grad():
        told = network(x, -x, shown, level)
        coarsely = network.coarse()(x, -x, shown, level)
    assert coarsely.dtype == told.dtype == torch.float32
    gap = (coarsely - told).square().mean().sqrt() / told.std()
    assert 1e-4 < gap < 0.02
    assert {part.dtype for part in network.parameters()} == {torch.float32}


def test_it_comes_nearer_to_the_best_than_the_mean_does(toy):
    # The mean's error is 1.9 times the best, draws from the columns alone give 2.1;
    # five times the steps and 20 draws come to 1.1.
    assert toy.error(trained(toy)) < 1.65 * toy.best
