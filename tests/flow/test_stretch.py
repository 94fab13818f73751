"""Draws' distances from the mean become those of the errors, in mean and in square."""

import pytest
import torch

from macfm.flow import Stretch
from macfm.flow._stretch import find_stretch

N, D = 4_000, 5


def normal(seed, n=N, d=D):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


def heavy(seed, n=N, d=D):
    """Return numbers with more small and more large ones than normal ones have."""
    z = normal(seed, n, d)
    return z * z.abs() ** 0.5


def rms(x):
    return x.square().mean(dim=0).sqrt()


def find(apart, miss, *, drawn=None, missed=None, row=None, centred=None):
    all_of_them = torch.ones(apart.shape, dtype=torch.bool)
    return find_stretch(
        apart,
        miss,
        drawn=all_of_them if drawn is None else drawn,
        missed=all_of_them if missed is None else missed,
        row=torch.arange(len(apart)) if row is None else row,
        centred=torch.ones(D, dtype=torch.bool) if centred is None else centred,
    )


def test_none_leaves_distances_as_they_are():
    apart = normal(0).float()
    stretch = Stretch.none(apart[0])
    assert torch.equal(stretch(apart), apart)
    assert not stretch.acts.any()


@pytest.mark.parametrize(
    ("draws", "errors"),
    [(normal, heavy), (heavy, normal), (normal, normal)],
    ids=["too smooth", "too rough", "right"],
)
@pytest.mark.parametrize("width", [0.5, 1.0, 1.6])
def test_means_and_squares_of_distances_become_those_of_errors(draws, errors, width):
    stretch = find(draws(0), width * errors(1))
    fresh, truth = stretch(draws(2).float()).double(), width * errors(3)
    for measure in (torch.abs, torch.square):
        found = measure(fresh).mean(dim=0) / measure(truth).mean(dim=0)
        torch.testing.assert_close(found, torch.ones_like(found), atol=0.15, rtol=0)
    assert ((stretch.bend > 1.2) == (errors is heavy and draws is normal)).all()


def test_a_distance_becomes_the_same_wherever_it_stands():
    stretch = find(normal(0), heavy(1))
    many = normal(2, n=50_001).float()
    whole = stretch(many)
    for some in (slice(0, 1), slice(7, 24), slice(40_000, 50_001)):
        assert torch.equal(stretch(many[some].clone()), whole[some])


def test_a_larger_distance_stays_the_larger_one():
    stretch = find(normal(0), 0.4 * heavy(1))
    sizes = torch.linspace(-6, 6, 201)[:, None].expand(-1, D)
    assert (stretch(sizes).diff(dim=0) > 0).all()


def test_far_beyond_what_was_seen_all_distances_are_stretched_alike():
    stretch = find(normal(0), heavy(1))
    assert (stretch.bend > 1.2).all()
    far = torch.tensor([[4.0], [40.0], [400.0]]).expand(-1, D)
    by = stretch(far) / far
    torch.testing.assert_close(by, by[:1].expand_as(by))
    near = torch.tensor([[1e-3], [0.5], [2.0]]).expand(-1, D)
    by = stretch(near) / near
    assert (by.diff(dim=0) > 0).all()
    assert torch.equal(stretch(torch.zeros(1, D)), torch.zeros(1, D))


def test_width_and_bend_have_bounds():
    wide = find(1e-3 * normal(0), normal(1))
    torch.testing.assert_close(
        wide(1e-3 * normal(2).float()).square().mean(dim=0).sqrt(),
        torch.full((D,), 2e-3),
        atol=1e-4,
        rtol=0,
    )
    spiky = find(normal(0), heavy(1) ** 5)
    assert (spiky.bend <= 2).all()


def test_a_column_of_few_cells_leans_on_the_others():
    missed = torch.ones(N, D, dtype=torch.bool)
    missed[24:, 0] = False
    miss = 0.5 * normal(1)
    miss[:, 0] *= 3
    stretch = find(normal(0), miss, missed=missed)
    own = miss[:24, 0].square().mean().sqrt()
    assert own > 1.1
    assert stretch.acts[0]
    assert 0.5 < stretch.spread[0] < 0.95 * own
    torch.testing.assert_close(
        stretch.spread[1:], torch.full((D - 1,), 0.5), atol=0.06, rtol=0
    )


def test_a_handful_of_rows_is_not_believed_wholly():
    """Ten rows say nothing certain of one column, however often they come back."""
    one, again = torch.tensor([True]), torch.arange(10).repeat(16)
    wider = (1 + 8 / 10) ** 0.5
    apart = normal(0, n=160, d=1)
    widths = []
    for seed in range(1, 9):
        miss = 1.6 * normal(seed, n=10, d=1)
        few = find(apart, miss.repeat(16, 1), row=again, centred=one)
        own = float(rms(miss) / rms(apart))
        width = float(rms(few(apart.float())) / rms(apart.float()))
        widths.append((abs(width / wider - 1), abs(own - 1)))
    believed, own = (sum(column) for column in zip(*widths, strict=True))
    assert believed < 0.95 * own
    many = find(normal(0, d=1), 1.6 * normal(1, d=1), centred=one)
    assert 1.5 < float(rms(many(normal(2, d=1).float()))) < 1.7


def test_a_column_without_cells_stays_as_it_is():
    drawn = torch.ones(N, D, dtype=torch.bool)
    drawn[3:, 1] = False
    stretch = find(normal(0), 0.5 * normal(1), drawn=drawn)
    assert stretch.acts.tolist() == [True, False, True, True, True]
    exact = find(normal(0), torch.zeros(N, D))
    assert not exact.acts.any()


@pytest.mark.parametrize(("n_rows", "wider"), [(24, 1.155), (80, 1.049), (8_000, 1.0)])
def test_of_few_rows_draws_are_wider_than_their_errors(n_rows, wider):
    """The rows that tell of errors have chosen what erred."""
    row = torch.arange(n_rows).repeat(-(-8_000 // n_rows))
    apart, miss = normal(0, n=len(row), d=2), normal(1, n=len(row), d=2)
    found = find(apart, miss, row=row, centred=torch.tensor([False, False]))
    width = rms(found(apart.float())) / rms(miss)
    assert width.tolist() == pytest.approx([wider, wider], abs=0.02)


def test_rows_that_come_back_say_no_more_than_once():
    apart, miss = normal(0, n=40), 0.5 * heavy(1, n=40)
    once = find(apart, miss)
    often = find(apart.repeat(9, 1), miss.repeat(9, 1), row=torch.arange(40).repeat(9))
    for name in Stretch.PARTS:
        torch.testing.assert_close(getattr(once, name), getattr(often, name))


def test_skewed_distances_keep_their_mean_where_it_is_that_of_the_errors():
    skewed = torch.exp(normal(0)) - torch.exp(torch.tensor(0.5))
    kept = find(skewed, heavy(1))
    assert (kept.lean.abs() > 0.01).all()
    assert (kept.lean.abs() < 0.5).all()
    straight = Stretch(kept.spread, kept.bend, kept.unit, torch.zeros(D))
    means = [stretch(skewed.float()).mean(dim=0).abs() for stretch in (kept, straight)]
    assert (means[0] < 0.2 * means[1] + 0.02).all()
    free = find(skewed, heavy(1), centred=torch.zeros(D, dtype=torch.bool))
    assert (free.lean == 0).all()


def test_a_draw_at_its_mean_stays_there():
    """What keeps the mean of skewed draws does not move those that are sure."""
    skewed = torch.exp(normal(0)) - torch.exp(torch.tensor(0.5))
    stretch = find(skewed, heavy(1))
    assert (stretch.lean != 0).all()
    assert torch.equal(stretch(torch.zeros(2, D)), torch.zeros(2, D))
