"""Draws of numbers are read off their normal scores."""

import torch

from macfm.flow import Scores

# Numbers 0 and 2 have the scores 1 and 4; coordinate 3 is another column's.
SCORES = Scores(
    {
        "number": torch.tensor([0, 2]),
        "score": torch.tensor([1, 4]),
        "at": torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0]]),
        "value": torch.tensor([[0.0, 1.0, 9.0], [5.0, 6.0, 7.0]]),
    }
)


def settled(*row):
    return SCORES.settle(torch.tensor([row])).tolist()[0]


def test_a_number_is_that_of_its_score():
    assert settled(8.0, 0.5, 8.0, 8.0, -1.0) == [5.0, 0.5, 5.5, 8.0, -1.0]
    assert settled(8.0, -1.0, 8.0, 8.0, 2.0) == [0.0, -1.0, 7.0, 8.0, 2.0]


def test_beyond_the_ends_there_is_nothing():
    assert settled(0.0, 99.0, 0.0, 0.0, -99.0) == [9.0, 99.0, 5.0, 0.0, -99.0]


def test_scores_that_are_repeated_give_a_number():
    steep = Scores(
        {
            "number": torch.tensor([0]),
            "score": torch.tensor([1]),
            "at": torch.tensor([[0.0, 0.0, 1.0, 1.0]]),
            "value": torch.tensor([[2.0, 3.0, 4.0, 5.0]]),
        }
    )
    x = torch.tensor([[0.0, z] for z in (-1.0, 0.0, 0.5, 1.0, 2.0)])
    found = steep.settle(x)[:, 0]
    assert (found.diff() >= 0).all()
    assert found[2] == 3.5
    assert ((found >= 2) & (found <= 5)).all()


def test_a_row_does_not_depend_on_its_company():
    x = torch.randn(3, 70, 5, generator=torch.manual_seed(0))
    whole = SCORES.settle(x)
    assert whole.shape == x.shape
    assert torch.equal(whole[1, 7:8], SCORES.settle(x[1, 7:8]))
    assert torch.equal(SCORES.settle(whole), whole)


def test_what_was_given_is_left_alone():
    x = torch.randn(4, 5, generator=torch.manual_seed(0))
    before = x.clone()
    SCORES.settle(x)
    assert torch.equal(x, before)
    assert Scores.none().settle(x) is x


def test_some_of_them():
    some = SCORES.take(torch.tensor([False, True]))
    assert (len(SCORES), len(some), len(Scores.none())) == (2, 1, 0)
    row = torch.tensor([[8.0, 0.5, 8.0, 8.0, -1.0]])
    assert some.settle(row).tolist() == [[8.0, 0.5, 5.5, 8.0, -1.0]]
