"""Masks split the observed cells and nothing else."""

import pytest
import torch

from macfm.flow import inference_masks, sample_masks

GROUP = torch.tensor([0, 1, 1, 1, 2, 3])


def observed_cells(n=2000, share=0.7):
    generator = torch.Generator().manual_seed(1)
    return (torch.rand(n, 4, generator=generator) < share)[:, GROUP]


def draw_masks(
    observed,
    hide_rate=(0.05, 0.6),
    seed=0,
    hide_one=False,
    rules=None,
    move_missing=True,
):
    generator = torch.Generator().manual_seed(seed)
    return sample_masks(
        observed,
        group=GROUP,
        n_columns=4,
        hide_rate=hide_rate,
        hide_one=hide_one,
        rules=rules,
        move_missing=move_missing,
        generator=generator,
    )


def test_masks_are_disjoint_and_cover_exactly_the_observed_cells():
    observed = observed_cells()
    masks = draw_masks(observed)
    assert not (masks.cond & masks.tgt).any()
    assert torch.equal(masks.cond | masks.tgt, observed)


def test_coordinates_of_one_column_hide_together():
    masks = draw_masks(observed_cells())
    for column in range(4):
        coordinates = masks.tgt[:, column == GROUP]
        assert torch.equal(coordinates, coordinates[:, :1].expand_as(coordinates))


def test_hidden_share_follows_the_range_row_by_row():
    observed = torch.ones(4000, 300, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    masks = sample_masks(
        observed,
        group=torch.arange(300),
        n_columns=300,
        hide_rate=(0.2, 0.5),
        hide_one=False,
        rules=None,
        move_missing=True,
        generator=generator,
    )
    share = masks.tgt.double().mean(dim=1)
    assert share.mean().item() == pytest.approx(0.35, abs=0.01)
    # rows differ by their own rate, not only by chance: sd of U(0.2, 0.5) is 0.087
    assert share.std().item() == pytest.approx(0.09, abs=0.01)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_rates_of_zero_and_one_hide_nothing_and_everything(rate):
    observed = observed_cells()
    masks = draw_masks(observed, hide_rate=(rate, rate))
    assert torch.equal(masks.tgt, observed & (rate == 1.0))


def test_with_hide_one_every_row_that_has_a_cell_hides_one():
    observed = observed_cells(share=0.5)
    by_lot, masks = (draw_masks(observed, hide_one=flag) for flag in (False, True))
    some = by_lot.tgt.any(dim=1)
    assert 0.3 < (~some & observed.any(dim=1)).double().mean() < 0.7
    assert torch.equal(masks.tgt.any(dim=1), observed.any(dim=1))
    # Rows that hide something anyway hide what they would.
    assert torch.equal(masks.tgt[some], by_lot.tgt[some])
    columns = torch.stack(
        [masks.tgt[~some][:, k == GROUP].any(dim=1) for k in range(4)]
    )
    assert (columns.sum(dim=0) <= 1).all()
    assert (columns.sum(dim=1) > 100).all()


def test_same_generator_state_same_masks():
    observed = observed_cells()
    assert torch.equal(draw_masks(observed).tgt, draw_masks(observed).tgt)
    assert not torch.equal(draw_masks(observed).tgt, draw_masks(observed, seed=9).tgt)


def test_inference_keeps_the_observed_and_moves_the_rest():
    observed = observed_cells()
    masks = inference_masks(observed)
    assert torch.equal(masks.cond, observed)
    assert torch.equal(masks.tgt, ~observed)
    assert torch.equal(masks.moved, ~observed)


def test_what_is_not_shown_moves_whether_it_was_recorded_or_not():
    observed = observed_cells()
    masks = draw_masks(observed)
    assert torch.equal(masks.moved, ~masks.cond)
    as_in_the_paper = draw_masks(observed, move_missing=False)
    assert torch.equal(as_in_the_paper.moved, as_in_the_paper.tgt)
