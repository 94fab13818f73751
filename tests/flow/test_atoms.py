"""Draws are brought to the values that their columns repeat."""

import torch

from macfm.flow import Atoms

LOW, HIGH = -0.5, 1.5
# Number 0 has the atoms 2 and 3, number 1 has the atom 4.
ATOMS = Atoms(
    flag=torch.tensor([2, 3, 4]),
    number=torch.tensor([0, 0, 1]),
    value=torch.tensor([7.0, 8.0, 9.0]),
    low=torch.full((3,), LOW),
    high=torch.full((3,), HIGH),
)
NONE = Atoms(*(torch.empty(0, dtype=t) for t in [torch.int64] * 2 + [torch.float] * 3))


def snapped(*row):
    return ATOMS.snap(torch.tensor(row)).tolist()


def test_a_number_is_the_atom_that_its_row_says():
    assert snapped(0.1, 0.25, 0.6, 0.4, 0.0) == [7.0, 0.25, HIGH, LOW, LOW]
    assert snapped(0.1, 0.2, 0.4, 9.0, 0.6) == [8.0, 9.0, LOW, HIGH, HIGH]


def test_of_several_atoms_the_most_likely_is_taken():
    assert snapped(0.0, 0.0, 0.9, 0.8, 0.0)[:4] == [7.0, 0.0, HIGH, LOW]
    assert snapped(0.0, 0.0, 0.8, 0.9, 0.0)[:4] == [8.0, 0.0, LOW, HIGH]


def test_what_says_nothing_stays_a_number():
    middle = (LOW + HIGH) / 2
    assert snapped(0.5, 0.25, middle, LOW, -99.0) == [0.5, 0.25, LOW, LOW, LOW]


def test_snapping_twice_is_snapping_once():
    x = torch.randn(6, 50, 5, generator=torch.manual_seed(0))
    once = ATOMS.snap(x)
    assert torch.equal(ATOMS.snap(once), once)
    assert once.shape == x.shape
    assert torch.equal(once[3], ATOMS.snap(x[3]))


def test_without_atoms_nothing_changes():
    x = torch.randn(4, 5, generator=torch.manual_seed(0))
    assert NONE.snap(x) is x


def test_a_mean_without_its_atoms_is_that_of_the_other_numbers():
    """Where they are to a row what they are to its column, it tells them exactly."""
    usual = torch.tensor([-LOW / (HIGH - LOW)] * 3)  # the shares in the column
    likely = torch.tensor([0.3, 0.1, 0.85])
    others = torch.tensor(
        [
            -(usual[:2] * ATOMS.value[:2]).sum() / (1 - usual[:2].sum()),
            -usual[2] * ATOMS.value[2] / (1 - usual[2]),
        ]
    )
    lump = torch.stack([(likely * ATOMS.value)[:2].sum(), likely[2] * ATOMS.value[2]])
    left = 1 - torch.stack([likely[:2].sum(), likely[2]])
    mean = torch.cat([lump + left * others, LOW + likely * (HIGH - LOW)])[None]
    torch.testing.assert_close(ATOMS.beside(mean)[0, :2], others)
    assert torch.equal(ATOMS.beside(mean)[:, 2:], mean[:, 2:])
    # a higher mean at the same chances is one of higher numbers, and by more than it is
    higher = mean + torch.tensor([0.1, 0.1, 0, 0, 0])
    assert (ATOMS.beside(higher) - ATOMS.beside(mean))[0, :2].min() > 0.1


def test_a_mean_without_its_atoms_is_finite_whatever_the_chances():
    mean = torch.tensor([[7.0, 9.0, HIGH, HIGH, HIGH], [-9.0, 0.0, 99.0, -99.0, LOW]])
    assert torch.isfinite(ATOMS.beside(mean)).all()
    assert torch.equal(ATOMS.beside(mean)[1:], ATOMS.beside(mean[1:]))
    assert NONE.beside(mean) is mean
