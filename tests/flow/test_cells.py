"""A column counts as one cell at every s, whatever the number of its coordinates."""

import pytest
import torch

from macfm.flow import cell_variances, cells_of, parts_of, weigh_cells

SHARES = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
CELL = torch.tensor([0, 1, 1, 1, 1])
N = 400


def rows():
    """One number, and a category of four as centred flags of total variance 1."""
    codes = torch.repeat_interleave(torch.arange(4), (SHARES * N).round().long())
    flags = torch.eye(4, dtype=torch.float64)[codes] - SHARES
    flags = flags / (SHARES * (1 - SHARES)).sum().sqrt()
    number = torch.randn(N, 1, generator=torch.manual_seed(0), dtype=torch.float64)
    return torch.cat([number, flags], dim=1)


def kept(s, variance):
    """Variance of X − ε given s X + (1 − s) ε, for normal X and ε."""
    both = s**2 * variance + (1 - s) ** 2
    return variance + 1 - (s * variance - (1 - s)) ** 2 / both


def weighed(x, observed):
    found = weigh_cells(cell_variances(x, observed, cell=CELL), cell=CELL)
    assert found is not None
    return found


@pytest.fixture
def weights():
    x = rows()
    return weighed(x, torch.ones_like(x, dtype=torch.bool))


@pytest.mark.parametrize("s", [0.0, 0.25, 0.5, 0.875, 1.0])
def test_what_a_category_keeps_counts_as_much_as_a_number(weights, s):
    one = torch.ones(1, dtype=torch.float64)
    at = weights.at(torch.tensor([[s]], dtype=torch.float64))[0]
    assert at[0] == 1
    of_category = sum(
        w * kept(s, variance)
        for w, variance in zip(at[1:], rows()[:, 1:].var(0, correction=0), strict=True)
    )
    torch.testing.assert_close(of_category, kept(s, one)[0])


def test_a_category_is_one_cell_among_its_coordinates(weights):
    torch.testing.assert_close(
        weights.share, torch.tensor([1, 0.25, 0.25, 0.25, 0.25]).double()
    )
    start, end = weights.at(torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    torch.testing.assert_close(start, torch.ones(5).double())
    torch.testing.assert_close(end, weights.share)


def test_columns_of_one_coordinate_all_count_alike():
    x = rows()
    cell = torch.arange(5)
    assert cell_variances(x, x > -9, cell=cell) is None
    assert weigh_cells(None, cell=cell) is None


def test_what_is_not_observed_does_not_matter():
    x = rows()
    observed = torch.rand(x.shape, generator=torch.manual_seed(1)) < 0.7
    other = torch.where(observed, x, 1e6)
    one, two = (weighed(rows, observed) for rows in (x, other))
    assert torch.equal(one.knots, two.knots)


def test_a_category_that_no_row_holds_leaves_the_weights_finite():
    x = rows()
    x[:, 4] = 0.0
    found = weighed(x, torch.ones_like(x, dtype=torch.bool))
    assert torch.isfinite(found.knots).all()
    assert (found.knots > 0).all()


def test_only_coordinates_that_share_a_cell_have_variances_of_their_own():
    x = rows()
    x[:, 0] *= 3  # a number, whatever its spread
    found = cell_variances(x, torch.ones_like(x, dtype=torch.bool), cell=CELL)
    assert found[0] == 1
    torch.testing.assert_close(found[1:], x[:, 1:].var(0, correction=0))


def test_a_number_its_atoms_and_its_score_are_judged_apart_and_weighed_as_two():
    group = torch.tensor([0, 0, 0, 0, 1, 2, 2])
    is_num = torch.tensor([True, False, False, True, True, False, False])
    part, cell = parts_of(group, is_num), cells_of(group, is_num)
    assert part[1] == part[2]
    assert part[5] == part[6]
    assert len(part.unique()) == 5
    assert cell[0] == cell[3]
    assert len(cell.unique()) == 4


def test_a_number_and_its_atoms_are_two_cells():
    group = torch.tensor([0, 0, 0, 1, 1])
    is_num = torch.tensor([True, False, False, False, False])
    cell = cells_of(group, is_num)
    assert cell[0] not in cell[1:]
    assert cell[1] == cell[2]
    assert cell[3] == cell[4] != cell[1]
