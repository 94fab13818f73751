"""Draws of a whole column are atoms as often, and as large, as they should be."""

import pytest
import torch

from macfm.flow import Atoms, Margins
from macfm.flow._margins import Number, bend_numbers, cut_atoms

# Coordinate 0 is a number, 1 says whether it is 0.7, and 2 another number.
ATOMS = Atoms(
    flag=torch.tensor([1]),
    number=torch.tensor([0]),
    value=torch.tensor([0.7]),
    low=torch.tensor([-0.5]),
    high=torch.tensor([2.0]),
)
N = 4_000


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def known(p):
    """Return rows whose atom has these probabilities."""
    mean = torch.zeros(len(p), 3)
    mean[:, 1] = -0.5 + 2.5 * p
    return mean


def flags(p, *, seed=0, n_draws=2):
    """Return draws of the flag that are smeared, and lean to what is likely."""
    drawn = torch.zeros(n_draws, len(p), 3)
    drawn[..., 1] = -0.5 + 2.5 * (
        1.6 * p - 0.2 + 0.3 * noise(n_draws, len(p), seed=seed)
    )
    return drawn


def is_atom(drawn):
    return ATOMS.spoken(drawn)[..., 0].double()


@pytest.mark.parametrize("largest", [0.3, 1.0])
def test_atoms_are_drawn_as_often_as_they_are_likely(largest):
    p = largest * torch.rand(N, generator=torch.Generator().manual_seed(1))
    hidden = torch.ones(N, 3, dtype=torch.bool)
    margins = cut_atoms(flags(p), known(p), hidden, atoms=ATOMS)
    fresh = flags(p, seed=2)
    before, after = (is_atom(one) for one in (fresh, margins(fresh, known(p))))
    # three standard errors of the share when the cut is found, and when it is used
    error = 3 * (2 * 0.25 / before.numel()) ** 0.5
    assert abs(after.mean() - p.mean()) < error
    assert abs(before.mean() - p.mean()) > 2 * error
    # and where they are likely more often than elsewhere
    likely = p > p.median()
    for some in (likely, ~likely):
        assert abs(after[:, some].mean() - p[some].double().mean()) < 0.06


def test_cells_that_are_shown_do_not_count():
    p = torch.full((N,), 0.3)
    hidden = torch.ones(N, 3, dtype=torch.bool)
    hidden[::2] = False
    drawn = flags(p)
    other = drawn.clone()
    other[:, ::2] = 99.0
    cuts = [cut_atoms(one, known(p), hidden, atoms=ATOMS).cut for one in (drawn, other)]
    assert torch.equal(*cuts)


@pytest.mark.parametrize(
    ("p", "n"), [(0.0, N), (1.0, N), (0.5, 20)], ids=["never", "always", "few"]
)
def test_where_nothing_can_be_told_half_is_the_cut(p, n):
    p = torch.full((n,), p)
    hidden = torch.ones(n, 3, dtype=torch.bool)
    margins = cut_atoms(flags(p), known(p), hidden, atoms=ATOMS)
    assert margins.cut.tolist() == [[0.5, 0.0]]
    drawn = flags(p, seed=3)
    torch.testing.assert_close(margins(drawn, known(p)), drawn)


def test_a_number_and_its_score_share_a_cut():
    twice = Atoms(
        *(torch.cat([part, part]) for part in vars(ATOMS).values()),
    )
    p = torch.full((N,), 0.3)
    hidden = torch.ones(N, 3, dtype=torch.bool)
    one, both = (
        cut_atoms(flags(p), known(p), hidden, atoms=atoms) for atoms in (ATOMS, twice)
    )
    for name in Margins.PARTS:
        assert torch.equal(getattr(one, name), getattr(both, name))


NO_ATOMS = torch.zeros(0)


def bent(drawn, x, *, values=None, atoms=NO_ATOMS, n_rows=None, miss=1.0):
    told = torch.ones(len(x), dtype=torch.bool)
    return bend_numbers(
        Margins.none(),
        drawn,
        x,
        numbers={2: Number.of(x[:, 2] if values is None else values, atoms)},
        counted={2: (told, told)},
        miss=torch.full((3,), miss),
        row=torch.arange(len(x)) % (n_rows or len(x)),
    )


def quantiles(x):
    return torch.quantile(x[..., 2].flatten(), torch.linspace(0.05, 0.95, 19))


def test_numbers_have_the_quantiles_of_the_true_ones():
    x, drawn = noise(20_000, 3), noise(20_000, 3, seed=1)
    x[:, 2] += 0.2 * x[:, 2].square()
    margins = bent(drawn, x)
    assert margins.place.tolist() == [2]
    fresh = noise(20_000, 3, seed=2)
    moved = margins(fresh, torch.zeros(20_000, 3))
    torch.testing.assert_close(quantiles(moved), quantiles(x), atol=0.1, rtol=0.05)
    assert torch.equal(moved[:, :2], fresh[:, :2])
    # larger draws stay the larger ones, beyond the ends as well
    order = fresh[:, 2].argsort()
    assert (moved[order, 2].diff() >= 0).all()
    far = torch.tensor([[0.0, 0.0, z] for z in (-900.0, -90.0, 90.0, 900.0)])
    step = margins(far, torch.zeros(4, 3))[:, 2].diff()
    torch.testing.assert_close(
        step[[0, 2]], torch.tensor([810.0, 810.0]), rtol=1e-3, atol=0
    )


def test_draws_that_look_like_the_values_hardly_move():
    x, drawn = noise(20_000, 3), noise(20_000, 3, seed=1)
    moved = bent(drawn, x)(drawn, torch.zeros(20_000, 3))
    middle = (drawn[:, 2].abs() < 2).nonzero()[:, 0]
    assert (moved - drawn)[middle, 2].abs().max() < 0.08


def test_a_wild_row_does_not_decide_the_ends():
    """What hangs on one row counts for little."""
    x, drawn = noise(200, 3).repeat(20, 1), noise(4_000, 3, seed=1)
    x[::200, 2] = 500.0  # one row, which comes back twenty times
    moved = bent(drawn, x, n_rows=200)(drawn, torch.zeros(4_000, 3))
    assert moved[:, 2].max() < 8


def test_draws_of_short_tails_go_hardly_beyond_the_values():
    """As far as the outermost tenth of them, but for the few beyond all quantiles."""
    values = 1.5 * torch.erf(noise(220, seed=1)).double()
    drawn, x = 5 * noise(200, 3), 1.5 * torch.erf(noise(200, 3, seed=2))
    margins = bent(drawn, x, values=values, miss=0.01)
    low, high = (float(torch.quantile(values, q)) for q in (0.1, 0.9))
    came = margins(5 * noise(4_000, 3, seed=3), torch.zeros(4_000, 3))[:, 2].double()
    assert float((came < 2 * values.min() - low - 1e-3).double().mean()) < 0.01
    assert float((came > 2 * values.max() - high + 1e-3).double().mean()) < 0.01


def test_exact_columns_are_bent_by_little():
    x = noise(4_000, 3)
    drawn = x + 0.01 * noise(4_000, 3, seed=1)
    moved = bent(drawn, x, miss=0.01)(drawn, torch.zeros(4_000, 3))
    assert (moved - drawn)[:, 2].abs().max() < 0.02


def test_all_values_tell_more_than_those_of_held_out_rows():
    """Where other columns tell nothing, held-out rows are a few values like others."""
    drawn, values = noise(400, 3), noise(20_000, seed=1)
    few = noise(400, 3, seed=2) + 0.4  # large by chance
    fresh = noise(20_000, 3, seed=3)
    moved = bent(drawn, few, values=values)(fresh, torch.zeros(20_000, 3))
    assert abs(moved[:, 2].mean()) < 0.1
    # and where they are large when draws are small, they tell nothing at all
    lines = [bent(drawn, k * drawn, values=values) for k in (-1.0, -2.0)]
    assert torch.equal(lines[0].value, lines[1].value)


def test_held_out_rows_that_are_large_and_drawn_large_are_no_fault():
    values = noise(20_000, seed=1)
    x = noise(400, 3, seed=2) + 0.4
    drawn = x + 0.1 * noise(400, 3, seed=3)
    moved = bent(drawn, x, values=values, miss=0.1)(drawn, torch.zeros(400, 3))
    assert abs((moved - drawn)[:, 2].mean()) < 0.01
    # if other columns told nothing, they would be brought back to the values
    lot = torch.randperm(400, generator=torch.Generator().manual_seed(4))
    back = bent(drawn, x[lot], values=values)(drawn, torch.zeros(400, 3))
    assert (drawn - back)[:, 2].mean() > 0.3


def test_no_number_is_drawn_beyond_an_atom_at_the_end():
    """What is no atom must not be taken for it, or be cut off to it."""
    x = 0.3 + noise(2_000, 3).abs()
    drawn = x + 0.8 * noise(2_000, 3, seed=1)
    # far enough that rounding to float32 is what is left
    fresh = torch.tensor([[0.0, 0.0, z] for z in (-900.0, -3.0, -0.5, 0.0, 3.0, 90.0)])
    least, most = x[:, 2].min().item(), x[:, 2].max().item()
    below = bent(drawn, x, atoms=torch.tensor([0.0]))(fresh, torch.zeros(6, 3))[:, 2]
    assert below.min() > least - 0.2
    assert below.max() > most + 50
    above = bent(drawn, x, atoms=torch.tensor([9.0]))(fresh, torch.zeros(6, 3))[:, 2]
    assert above.max() < most + 0.2
    assert above.min() < least - 500
    # an atom amid the numbers is no end
    amid = bent(drawn, x, atoms=torch.tensor([1.0]))(fresh, torch.zeros(6, 3))[:, 2]
    assert amid.min() < least - 500
    assert amid.max() > most + 50


def test_values_that_come_back_are_drawn_as_often_as_they_are_observed():
    """And exactly so, wherever they lie; what lies between is not drawn at them."""
    values = noise(8_000, seed=1)
    values[:3_000], values[3_000:4_000] = -1.0, 0.5
    values = values.clip(-1.0, 1.5)
    x = noise(4_000, 3)
    x[:, 2] = values[torch.randperm(8_000, generator=torch.Generator().manual_seed(3))][
        :4_000
    ]
    drawn, fresh = noise(4_000, 3, seed=4), noise(4_000, 3, seed=2)
    moved = bent(drawn, x, values=values)(fresh, torch.zeros(4_000, 3))[:, 2]
    for value in (-1.0, 0.5, 1.5):
        seen = (values == value).float().mean()
        assert seen > 0.03
        torch.testing.assert_close(
            (moved == value).float().mean(), seen, atol=0.02, rtol=0
        )
    others = ~torch.isin(moved, torch.tensor([-1.0, 0.5, 1.5]))
    assert moved.min() == -1
    assert moved.max() == 1.5
    assert 1_000 < others.sum() == moved[others].unique().numel()
    assert (moved[fresh[:, 2].argsort()].diff() >= 0).all()


def test_values_that_hardly_come_back_are_numbers_like_others():
    x = noise(4_000, 3)
    x[:39, 2] = 0.25
    moved = bent(noise(4_000, 3, seed=1), x)(noise(4_000, 3), torch.zeros(4_000, 3))
    assert (moved[:, 2] == 0.25).sum() <= 1
    x[39:41, 2] = 0.25
    moved = bent(noise(4_000, 3, seed=1), x)(noise(4_000, 3), torch.zeros(4_000, 3))
    assert 20 < (moved[:, 2] == 0.25).sum() < 80


def test_draws_are_not_piled_up_beyond_what_was_seen():
    """Where values end, draws that go on must be spread over those near the end."""
    x = noise(4_000, 3)
    x[:, 2] = torch.rand(4_000, generator=torch.Generator().manual_seed(1)) * 2 - 1
    drawn = x + 0.7 * noise(4_000, 3, seed=1)
    moved = bent(drawn, x)(drawn, torch.zeros(4_000, 3))[:, 2]
    assert (drawn[:, 2].abs() > 1).float().mean() > 0.2
    assert (moved.abs() > 1).float().mean() < 0.02
    assert (moved.abs() > 0.98).float().mean() < 0.05


@pytest.mark.parametrize("n_rows", [1, 19, 20])
@pytest.mark.parametrize("n", [0, 49, 50, 500])
def test_too_few_rows_bend_nothing(n, n_rows):
    """However often each comes back; nor do too few values."""
    margins = bent(noise(n, 3), noise(n, 3, seed=1), n_rows=n_rows)
    assert len(margins.place) == (n >= 50 and n_rows >= 20)


@pytest.mark.parametrize("n_rows", [1, 19])
def test_in_few_rows_draws_near_a_value_that_comes_back_become_it(n_rows):
    """Nothing is known of draws then, and others stay what they are."""
    values = torch.cat([torch.zeros(50), torch.tensor([3.4, 4.2, 4.9])])
    few = noise(n_rows, 3)
    margins = bent(few, few, values=values, n_rows=n_rows)
    assert margins.place.tolist() == [2]
    drawn = torch.zeros(5, 3)
    drawn[:, 2] = torch.tensor([-2.0, 0.3, 1.6, 4.4, 6.0])
    moved = margins(drawn, torch.zeros(5, 3))[:, 2]
    assert moved[:3].tolist() == [0.0, 0.0, 0.0]
    torch.testing.assert_close(moved[3:], drawn[3:, 2])


def test_rows_that_would_all_be_left_out_together_are_not():
    x, some = noise(1_000, 3), torch.arange(1_000) % 20 == 3
    margins = bend_numbers(
        Margins.none(),
        noise(1_000, 3, seed=1),
        x,
        numbers={2: Number.of(x[:, 2], NO_ATOMS)},
        counted={2: (some, some)},
        miss=torch.ones(3),
        row=torch.arange(1_000),
    )
    assert torch.isfinite(margins.value).all()


def test_numbers_that_are_all_alike_bend_nothing_that_is_not_finite():
    x = torch.ones(200, 3)
    margins = bent(noise(200, 3), x)
    assert torch.isfinite(margins.value).all()


def test_a_row_does_not_depend_on_its_company():
    p = torch.rand(N, generator=torch.Generator().manual_seed(1))
    hidden = torch.ones(N, 3, dtype=torch.bool)
    cut = cut_atoms(flags(p), known(p), hidden, atoms=ATOMS)
    told, x = torch.ones(N, dtype=torch.bool), noise(N, 3, seed=1).exp()
    margins = bend_numbers(
        cut,
        noise(N, 3),
        x,
        numbers={2: Number.of(x[:, 2], NO_ATOMS)},
        counted={2: (told, told)},
        miss=torch.ones(3),
        row=torch.arange(N),
    )
    drawn, mean = noise(3, N, 3, seed=4), known(p)
    whole = margins(drawn, mean)
    assert torch.equal(margins(drawn[1:2, 7:8], mean[7:8])[0], whole[1, 7:8])
    before = drawn.clone()
    margins(drawn, mean)
    assert torch.equal(drawn, before)


def test_without_columns_draws_are_given_back():
    drawn = noise(4, 3)
    assert Margins.none()(drawn, torch.zeros(4, 3)) is drawn
