"""Trees and spreads move answers as far as held-out rows say, and no observed cell."""

import copy
import dataclasses

import pytest
import torch
from torch import nn

from macfm.flow import (
    Atoms,
    Gaussian,
    GuidedEnsemble,
    Levels,
    Margins,
    Masks,
    Path,
    Polish,
    Scores,
    SolverConfig,
    Stretch,
    Validation,
    Witness,
    calibrate,
    make_schedule,
)
from macfm.flow._calibrate import _BEFORE, _share, _Testimony
from macfm.flow._polish import Center
from macfm.flow._trust import weighed

D = 3
PATH = Path(make_schedule("linear", gamma=1.0), "t")
SOLVER = SolverConfig(solver="heun", n_steps=8, grid="uniform", grid_beta=1.0)
_NO, _NOWHERE = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
NONE = Atoms(flag=_NOWHERE, number=_NOWHERE, value=_NO, low=_NO, high=_NO)


class Says(nn.Module):
    """Trees of one column that answer by a function of the row."""

    def __init__(self, place, answer):
        super().__init__()
        self.place, self.answer, self.depth = torch.tensor(place), answer, 0

    def forward(self, x):
        return self.answer(x)

    medians = forward


class Grove:
    """Asks one column after the other."""

    def __init__(self, trees):
        self.trees = list(trees)

    def __call__(self, x, rows):
        return {k: self.trees[k](x[some]) for k, some in rows.items()}

    def medians(self, x, rows):
        return {k: self.trees[k].medians(x[some]) for k, some in rows.items()}


@pytest.fixture(autouse=True)
def _trees_of_any_kind(monkeypatch):
    monkeypatch.setattr("macfm.flow._polish.Grove", Grove)


def guide_alone(scale=1.0):
    precision = torch.eye(D).double() / scale**2
    return GuidedEnsemble.alone(Gaussian(torch.zeros(D).double(), precision), path=PATH)


def held_out(x):
    generator = torch.Generator().manual_seed(1)
    hidden = torch.rand(x.shape, generator=generator) < 0.4
    return Validation(
        x=x,
        masks=Masks(cond=~hidden, tgt=hidden, moved=hidden),
        eps=torch.randn(x.shape, generator=generator),
        t=0.0,
        n_rows=len(x),
        n_cells=int(hidden.sum()),
    )


def found(
    x,
    trees,
    *,
    folds=(),
    is_num=None,
    levels=(),
    atoms=NONE,
    scores=None,
    margins=True,
    hurried=False,
    scale=1.0,
):
    return calibrate(
        Witness(guide_alone(scale), trees, held_out(x)),
        [Witness(guide_alone(scale), *fold) for fold in folds],
        levels=levels,
        atoms=atoms,
        scores=scores or Scores.none(),
        margins=margins,
        hurried=hurried,
        x=x,
        observed=torch.ones_like(x, dtype=torch.bool),
        group=torch.arange(D),
        is_num=torch.ones(D, dtype=torch.bool) if is_num is None else is_num,
        path=PATH,
        solver=SOLVER,
        generator=torch.Generator().manual_seed(0),
    ).polish


def said(share, n):
    """What trees say that should be believed to this share: 0, that they are silent."""
    x = noise(n)
    rows = held_out(x)
    change = x / share if share else torch.zeros_like(x)
    mean = torch.where(rows.masks.cond, x, 0.0)
    center = Center(networks=mean, polished=mean + 0.5 * change)
    return _Testimony(polish=None, center=center, validation=rows)


def noise(n=4_000):
    return torch.randn(n, D, generator=torch.Generator().manual_seed(5))


def test_trees_that_know_are_believed_and_those_that_guess_are_not():
    x = noise()
    x[:, 0] = 2 * (x[:, 2] > 0).float() - 1
    knows = Says([0], lambda row: 2 * (row[:, 2:] > 0).float() - 1)
    guesses = Says([1], lambda row: 3 * torch.sin(50 * row[:, 2:]))
    # column 2 is hidden in some rows, and then nobody knows column 0
    share = found(x, [knows]).share
    assert 0.4 < share[0] <= 1
    polish = found(x, [guesses])
    assert polish.share[1] == 0
    assert len(polish.trees) == 0


def test_a_share_is_what_was_thought_until_several_rows_agree():
    before = torch.tensor([_BEFORE[0]]).double()
    square = 1 + torch.rand(400, 1, generator=torch.Generator().manual_seed(0)).double()
    product = 0.8 * square
    torch.testing.assert_close(
        weighed(product, square, before=before), 0 * before + 0.8
    )
    nothing = torch.zeros(5, 1).double()
    assert torch.equal(weighed(nothing, nothing, before=before), before)
    one_row = torch.tensor([[1.0], [0], [0]]).double()
    assert torch.equal(weighed(0.9 * one_row, one_row, before=before), before)
    # a row that outweighs all others is hardly heard
    loud = torch.tensor([[1e6], [1], [1]]).double()
    said = torch.tensor([[0.9e6], [-1], [1]]).double()
    torch.testing.assert_close(
        weighed(said, loud, before=before), before, atol=0.05, rtol=0
    )
    # and rows that contradict each other change little
    both = torch.tensor([[1.0], [-1]]).double().repeat(4, 1)
    share = weighed(both, both.abs(), before=before)
    assert 0.2 < share < _BEFORE[0]


def test_without_a_word_of_held_out_rows_each_kind_has_its_own_share():
    is_num = torch.tensor([True, False, True])
    share = _share(said(0.0, 50), [], group=torch.arange(D), is_num=is_num)
    torch.testing.assert_close(share, torch.tensor([0.3, 0.5, 0.3]))


def test_folds_say_what_is_thought_before_held_out_rows_speak():
    def share(held, *folds):
        is_num = torch.tensor([True, False, True])
        return _share(held, folds, group=torch.arange(D), is_num=is_num)

    everywhere = torch.ones(D)
    folds = [said(0.8, 200), said(0.8, 200)]
    # the change by trees is right in four fifths of its length
    torch.testing.assert_close(share(said(0.0, 9), *folds), 0.8 * everywhere)
    torch.testing.assert_close(share(said(0.4, 4_000), *folds), 0.4 * everywhere)
    # those without a word leave things as they are
    torch.testing.assert_close(share(said(0.0, 9), said(0.0, 9)), share(said(0.0, 9)))


def test_folds_are_heard_of_medians_too():
    # trees are right, but of a few held-out rows they are wrong
    x = noise(400)
    x[:, 0] = 2 * (x[:, 2] > 0).float() - 1
    knows = Says([0], lambda row: 2 * (row[:, 2:] > 0).float() - 1)
    few = x[:6].clone()
    few[:, 0] *= -1
    alone = found(few, [knows])
    advised = found(few, [knows], folds=[([knows], held_out(x))])
    assert advised.share[0] > alone.share[0]
    assert advised.in_median[0] > max(alone.in_median[0], advised.share[0])


def test_trees_are_held_near_networks_that_are_nearly_exact():
    def answer(row):
        near = 0.05 * torch.sign(row[:, 2:])
        return torch.where(row[:, 2:] > 90, 9.0, near)

    x = noise()
    x[:, 0] = 0.1 * torch.sign(x[:, 2])  # the networks' mean is 0, and errs by 0.1
    polish = found(x, [Says([0], answer), Says([1], answer)])
    assert polish.reach[0] == pytest.approx(0.05)
    assert polish.reach[1] == torch.inf
    row = torch.tensor([[0.0, 0.0, 99.0]])
    observed = torch.tensor([[False, False, True]])
    center = polish.center(row, observed, row, n_rows=1)
    torch.testing.assert_close(center.polished[0, 0], polish.share[0] * 0.05)
    assert polish.medians(observed, center, n_rows=1)[0, 0] == pytest.approx(0.05)


def test_a_median_believes_trees_no_less_than_a_mean_does():
    x = noise()
    # Half of the errors of the trees are none, the others are large.
    x[:, 0] = torch.where(x[:, 1] > 0, torch.sign(x[:, 2]), 3 * x[:, 0])
    knows = Says([0], lambda row: torch.sign(row[:, 2:]))
    polish = found(x, [knows])
    assert polish.share[0] < polish.in_median[0] <= 1
    assert (polish.in_median[1:] == 0).all()
    assert torch.equal(polish.in_median, found(x, [knows]).in_median)
    assert torch.equal(polish.in_median, polish.with_trees([knows]).in_median)
    assert found(x, []).in_median is None


def test_medians_of_trees_are_those_of_hidden_cells_alone():
    trees = [Says([1], lambda row: torch.full((len(row), 1), 9.0))]
    ones = torch.ones(D)
    polish = plain(trees, share=ones)
    observed = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0]]).bool()
    center = polish.center(noise(3), observed, noise(3), n_rows=2)
    medians = polish.medians(observed, center, n_rows=2)  # the last row is padding
    expected = noise(3)
    expected[0, 1] = 9
    assert torch.equal(medians, expected)


def rms(x):
    return x.square().mean(dim=0).sqrt()


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.25])
def test_draws_are_brought_to_the_width_of_the_errors(scale):
    polish = found(noise(), [], scale=scale)
    fresh = scale * torch.randn(20_000, D, generator=torch.Generator().manual_seed(9))
    torch.testing.assert_close(
        rms(polish.stretch(fresh)), torch.ones(D), atol=0.06, rtol=0
    )


# Column 0 says of column 1 whether it is 0.7 or not.
ATOMS = Atoms(
    flag=torch.tensor([0]),
    number=torch.tensor([1]),
    value=torch.tensor([0.7]),
    low=torch.tensor([-0.5]),
    high=torch.tensor([2.0]),
)
NUMBERS = torch.tensor([False, True, True])


def with_atoms(x):
    x[:, 0] = torch.where(x[:, 0] > 0.5, 2.0, -0.5)
    x[:, 1] = torch.where(x[:, 0] > 0, 0.7, x[:, 1])
    return x


def test_numbers_with_atoms_go_with_their_mean_if_they_are_none():
    polish = found(with_atoms(noise()), [], atoms=ATOMS, is_num=NUMBERS, margins=False)
    polish.follows = torch.tensor([0.0, 0.6, 1.0])
    assert polish.moves.tolist() == [False, False, True]
    assert polish.stretch.acts.tolist() == [False, True, True]
    drawn = noise(12).view(2, 6, D)
    first, last = torch.zeros(6, D), torch.ones(6, D)
    observed = torch.zeros(6, D, dtype=torch.bool)
    moved = move(polish, drawn, Center(networks=first, polished=last), observed)
    stretched = polish.stretch(drawn)
    assert torch.equal(moved[..., 0], drawn[..., 0])
    torch.testing.assert_close(moved[..., 2], 1 + stretched[..., 2])
    go = 0.6 * (ATOMS.beside(last) - ATOMS.beside(first))[:, 1]
    assert (go > 0.1).all()
    torch.testing.assert_close(moved[..., 1], go + stretched[..., 1])


@pytest.mark.parametrize("is_right", [True, False])
def test_draws_of_numbers_with_atoms_follow_trees_that_know_what_is_none(is_right):
    """What trees know of the atom alone moves the mean, and not draws of the others."""
    x = noise()
    x[:, 0] = torch.where(x[:, 2].abs() < 0.5, 2.0, -0.5)
    x[:, 1] = torch.where(x[:, 2].abs() < 0.5, 4.0, torch.sign(x[:, 2]))
    atoms = dataclasses.replace(ATOMS, value=torch.tensor([4.0]))

    def answer(row):
        known = row[:, 2:]  # 0 where it is hidden, and then nobody knows column 1
        side = torch.sign(known) if is_right else -torch.sign(known)
        return torch.where((known.abs() < 0.5) & (known != 0), 4.0, side)

    polish = found(x, [Says([1], answer)], atoms=atoms, is_num=NUMBERS)
    assert polish.share[1] > 0.3
    assert polish.follows[[0, 2]].tolist() == [0, 1]
    assert polish.follows[1] > 0.8 if is_right else polish.follows[1] < 0.4


@pytest.mark.parametrize("is_right", [True, False])
def test_numbers_are_read_off_their_scores_where_that_is_better(is_right):
    x = noise()
    x[:, 0] = (x[:, 1].exp() - 1.65) / 2.16  # leans to one side
    at = torch.linspace(-5, 5, 200)
    value = (at.exp() - 1.65) / 2.16 if is_right else 3 * at
    parts = {"number": torch.tensor([0]), "score": torch.tensor([1])}
    scores = Scores(parts | {"at": at[None], "value": value[None]})
    polish = found(x, [], scores=scores)
    assert len(polish.scores) == is_right
    drawn = noise(12).view(2, 6, D)
    center = Center(networks=torch.zeros(6, D), polished=torch.zeros(6, D))
    observed = torch.zeros(6, D, dtype=torch.bool)
    observed[0] = True
    moved = move(polish, drawn, center, observed)
    assert torch.equal(moved[:, 0], drawn[:, 0])
    plain = polish.moved(drawn, center, stretched=True)
    plain = polish.margins(plain, center.networks)[:, 1:]
    read = scores.settle(plain) if is_right else plain
    assert torch.equal(moved[:, 1:], read)
    assert torch.equal(moved[:, 1:, 1:], plain[..., 1:])


def test_in_a_hurry_fewer_rows_are_drawn(monkeypatch):
    n_rows = []

    def drawn(network, x, observed, *, eps, path, config):
        n_rows.append(len(x))
        return torch.zeros_like(eps).flatten(0, 1)

    monkeypatch.setattr("macfm.flow._calibrate.draw_rows", drawn)
    monkeypatch.setattr("macfm.flow._calibrate._MAX_DRAWN_CELLS", {"cpu": 1_200})
    for hurried in (False, True):
        found(noise(), [], hurried=hurried)
    assert n_rows == [400, 100]


def test_draws_of_another_shape_get_that_of_the_values():
    """Held-out numbers lean to one side, draws do not, until they have margins."""
    x = noise()
    x[:, 0] = (x[:, 0] + 0.35 * x[:, 0].square() - 0.35) / 1.12
    polish = found(x, [])
    assert 0 in polish.margins.place.tolist()
    drawn = noise(4_000)[None]
    center = Center(networks=torch.zeros(4_000, D), polished=torch.zeros(4_000, D))
    observed = torch.zeros(4_000, D, dtype=torch.bool)
    moved = move(polish, drawn, center, observed)[0]
    probability = torch.linspace(0.05, 0.95, 19)
    wanted = x[:, 0].quantile(probability)
    before, after = (
        (one[:, 0].quantile(probability) - wanted).abs() for one in (drawn[0], moved)
    )
    assert after.mean() < 0.3 * before.mean()
    assert after.max() < before.max()


def test_what_is_drawn_for_a_median_is_moved_and_not_stretched():
    x = noise()
    x[:, 0] = x[:, 0].exp()  # so that there are margins
    polish = found(x, [], scale=1.25)
    assert len(polish.margins.place)
    drawn = noise(12).view(2, 6, D)
    center = Center(networks=torch.zeros(6, D), polished=torch.ones(6, D))
    observed = torch.zeros(6, D, dtype=torch.bool)
    moved = move(polish, drawn, center, observed, stretched=False)
    torch.testing.assert_close(moved, 1 + drawn)


def plain(trees, *, share, spread=None):
    stretch = Stretch.none(torch.ones(D))
    if spread is not None:
        stretch.spread.copy_(spread)
    return Polish(
        trees,
        share,
        torch.ones(D),
        atoms=NONE,
        stretch=stretch,
        levels=[],
        scores=Scores.none(),
        margins=Margins.none(),
        reach=None,
        in_median=None,
    )


def move(polish, drawn, center, observed, seed=0, stretched=True):
    return polish.move(
        drawn,
        center,
        observed,
        keys=torch.arange(drawn.shape[1]),
        seed=seed,
        draws=range(len(drawn)),
        stretched=stretched,
    )


def test_observed_coordinates_stay_in_the_mean_and_in_draws():
    trees = [Says([k], lambda row: torch.full((len(row), 1), 9.0)) for k in range(D)]
    polish = plain(trees, share=torch.ones(D), spread=torch.full((D,), 2.0))
    x = noise(20)
    observed = torch.rand(20, D, generator=torch.Generator().manual_seed(0)) < 0.5
    mean = torch.where(observed, x, 0.0)
    center = polish.center(x, observed, mean, n_rows=20)
    assert torch.equal(center.polished[observed], x[observed])
    assert (center.polished[~observed] == 9).all()
    drawn = torch.where(observed, x, noise(20)[None])
    moved = move(polish, drawn, center, observed)
    assert torch.equal(moved[0][observed], x[observed])


def test_trees_are_asked_again_only_where_another_column_has_changed():
    asked = [[] for _ in range(D)]

    def answer(k):
        def said(row):
            asked[k].append(len(row))
            return row.sum(dim=1, keepdim=True) - row[:, k : k + 1]

        return Says([k], said)

    ones = torch.ones(D)
    trees = [answer(k) for k in range(D)]
    polish = plain(trees, share=ones)
    observed = torch.tensor(
        [[1, 1, 1], [0, 1, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0]]
    ).bool()
    x = torch.where(observed, torch.arange(6.0)[:, None] + torch.arange(D), 0.0)
    center = polish.center(x, observed, x, n_rows=5)
    # The last row is padding: nobody is asked, and its mean stays.
    assert asked == [[3, 2], [2, 2], [2, 1]]
    assert torch.equal(center.polished[5], x[5])
    assert center.polished[1].tolist() == [5.0, 2.0, 3.0]
    # Each column hears what was first said of the other: 4 and 4.
    assert center.polished[2].tolist() == [8.0, 8.0, 4.0]


def test_a_copy_asks_its_own_trees():
    """Buffers of a copy that goes to a GPU must be those that are asked."""
    ones = torch.ones(D)
    polish = plain([Says([0], torch.sin)], share=ones)
    other = copy.deepcopy(polish)
    assert other._grove.trees[0] is other.trees[0]
    assert other.trees[0] is not polish.trees[0]


CODES = {
    "one-hot": torch.eye(3) * 1.7 - 0.4,
    "two in one coordinate": torch.tensor([[-0.5], [1.5]]),
}


@pytest.mark.parametrize("codes", CODES.values(), ids=CODES)
def test_probabilities_are_those_of_which_a_code_is_the_mean(codes):
    levels = Levels(torch.arange(codes.shape[1]), codes)
    p = torch.rand(10, len(codes), generator=torch.Generator().manual_seed(0)).double()
    p = p / p.sum(dim=1, keepdim=True)
    torch.testing.assert_close(levels.probabilities((p @ codes.double()).float()), p)
    assert levels.nearest(codes).tolist() == list(range(len(codes)))


@pytest.mark.parametrize("codes", CODES.values(), ids=CODES)
def test_redrawn_categories_follow_the_new_law_and_few_change(codes):
    """The shares are the new ones, and no more draws change than must."""
    n_levels = len(codes)
    levels = Levels(torch.arange(codes.shape[1]), codes)
    generator = torch.Generator().manual_seed(3)
    old = torch.tensor([[0.6, 0.3, 0.1][:n_levels]]).double()
    new = torch.tensor([[0.2, 0.3, 0.5][:n_levels]]).double()
    old, new = old / old.sum(), new / new.sum()
    first = torch.multinomial(old[0], 40_000, replacement=True, generator=generator)
    u = torch.rand(40_000, 1, 2, generator=generator).double()
    code = levels.redrawn(codes[first][:, None], old, new, u)
    second = levels.nearest(code).squeeze(1)
    shares = torch.bincount(second, minlength=n_levels) / 40_000
    torch.testing.assert_close(shares.double(), new[0], atol=0.01, rtol=0)
    changed = (first != second).double().mean()
    torch.testing.assert_close(changed, (old - new).abs().sum() / 2, atol=0.01, rtol=0)


def test_a_moved_draw_belongs_to_its_row():
    codes = CODES["one-hot"]
    polish = Polish(
        [Says([0, 1, 2], lambda row: codes[:1].expand(len(row), -1))],
        torch.ones(D),
        torch.zeros(D),
        atoms=NONE,
        stretch=Stretch.none(torch.ones(D)),
        levels=[Levels(torch.arange(D), codes)],
        scores=Scores.none(),
        margins=Margins.none(),
        reach=None,
        in_median=None,
    )
    observed = torch.zeros(8, D, dtype=torch.bool)
    p = torch.full((8, 3), 1 / 3)
    mean = p @ codes
    center = Center(networks=mean, polished=torch.lerp(mean, codes[0], 0.5))
    drawn = codes[torch.arange(16).view(2, 8) % 3]
    both = move(polish, drawn, center, observed)
    half = Center(networks=mean[:4], polished=center.polished[:4])
    alone = move(polish, drawn[:, :4], half, observed[:4])
    assert torch.equal(both[:, :4], alone)
