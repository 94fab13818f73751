"""ReMasker."""

import pytest
import torch

from macfm.judge.learned._base import Columns
from macfm.judge.learned._tokens import Lots
from macfm.judge.learned.remasker import MaskedAutoEncoder, ReMasker
from macfm.judge.methods import METHODS

SMALL = {"n_encoder_blocks": 1, "n_decoder_blocks": 1, "learning_rate": 4e-3}
# Three numbers, then categories of three and of four values, then a number.
BLOCKS = [slice(j, j + 1) for j in range(3)] + [slice(3, 6), slice(6, 10)]
COLUMNS = Columns(
    blocks=(*BLOCKS, slice(10, 11)),
    is_number=torch.tensor([True] * 3 + [False] * 7 + [True]),
)


def model(**settings):
    """A model that has not learned anything."""
    settings = METHODS["remasker"].authors | settings
    return ReMasker(COLUMNS, settings, seed=0, device=torch.device("cpu"))


def network(**settings):
    torch.manual_seed(0)
    return MaskedAutoEncoder(11, METHODS["remasker"].authors | SMALL | settings)


def rows(n=50, share=0.5):
    """Values in [0, 1] and observed columns; a row shows none and one all."""
    generator = torch.Generator().manual_seed(1)
    shown = torch.rand(n, 6, generator=generator) < share
    shown[0], shown[1] = False, True
    return torch.rand(n, 11, generator=generator), shown[:, COLUMNS.group]


def lots():
    return Lots(COLUMNS, torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("settings", "n"),
    [
        ({}, 128_385),
        ({"d_token": 64, "n_encoder_blocks": 8, "n_decoder_blocks": 6}, 704_513),
    ],
)
def test_the_network_has_as_many_weights_as_the_authors(settings, n):
    whole = MaskedAutoEncoder(16, METHODS["remasker"].authors | settings)
    assert sum(weight.numel() for weight in whole.parameters()) == n


def test_values_that_are_not_kept_are_not_looked_at():
    net, (x, kept) = network(), rows()
    with torch.no_grad():
        first, other = net(x, kept), net(torch.where(kept, x, 1e6), kept)
    assert torch.equal(first, other)
    assert ((first > 0) & (first < 1)).all()


def test_a_row_alone_and_padding_give_the_same():
    net, (x, kept) = network(), rows()
    few = int(kept[2:].sum(dim=1).max())
    with torch.no_grad():
        among = net(x, kept)
        alone = torch.cat([net(x[[i]], kept[[i]]) for i in range(len(x))])
        short = net(x[2:], kept[2:], n_tokens=few)
    assert few < 11
    torch.testing.assert_close(alone, among, rtol=0, atol=1e-6)
    torch.testing.assert_close(short, among[2:], rtol=0, atol=1e-6)


def test_training_keeps_observed_columns_whole_and_hides_one_at_least():
    _, observed = rows(2_000)
    kept = model().keep(observed, lots())
    assert not (kept & ~observed).any()
    for block in COLUMNS.blocks:
        assert (kept[:, block] == kept[:, [block.start]]).all()
    firsts = [block.start for block in COLUMNS.blocks]
    n_kept, n_observed = kept[:, firsts].sum(dim=1), observed[:, firsts].sum(dim=1)
    assert torch.equal(n_kept, (n_observed - 1).clamp(min=0, max=3))
    # Each column is as likely as another.
    shares = kept[n_observed == 6][:, firsts].float().mean(dim=0)
    assert abs(shares - 0.5).max() < 0.25


def test_holes_are_not_learned():
    remasker, (x, observed) = model(**SMALL), rows()
    remasker.network = network()
    x.requires_grad_()
    remasker.loss(x, observed, lots()).backward()
    assert (x.grad[~observed] == 0).all()
    assert (x.grad[1] != 0).all()


def test_the_learning_rate_rises_and_falls():
    rates = [model(batch_size=128).learning_rate_at(i / 600) for i in range(601)]
    assert rates[20] == pytest.approx(1e-3)
    assert max(rates) == rates[40] == pytest.approx(2e-3)
    assert rates[320] == pytest.approx((2e-3 + 1e-5) / 2)
    assert rates[600] == pytest.approx(1e-5)


def test_it_comes_near_to_the_best_on_two_factors(toy):
    # The mean's error is 1.9 times the best. The authors' network comes to 1.13 in
    # 1,500 steps.
    assert toy.error(toy.fit("remasker", max_steps=500, **SMALL)) < 1.4 * toy.best
