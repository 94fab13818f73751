"""Points to train at come in whole epochs, hide what was observed, know the guide."""

import pytest
import torch

from macfm.flow import (
    Gaussian,
    Path,
    PointLaw,
    PointSource,
    TimeLaw,
    make_schedule,
)
from macfm.flow import _points as points_module

N, D, BATCH = 40, 5, 8
PATH = Path(make_schedule("linear", gamma=1.0), "t")


def rows():
    generator = torch.Generator().manual_seed(0)
    x = torch.arange(N)[:, None] + torch.rand(N, D, generator=generator)
    observed = torch.rand(N, D, generator=generator) < 0.7
    observed[:, 0] = True
    return torch.where(observed, x, 0.0), observed


def source(*, weights=None, guide=None, seed=0, time_law=None):
    x, observed = rows()
    law = PointLaw(
        group=torch.arange(D),
        is_num=torch.ones(D, dtype=torch.bool),
        path=PATH,
        time_law=time_law or TimeLaw(beta=None, share_t0=0.2, held_at=0.0),
        hide_rate=(0.1, 0.6),
        hide_one=False,
        rules=None,
        guide=guide,
        sigma_in=0.0,
        perturbed=False,
    )
    generator = torch.Generator().manual_seed(seed)
    made = PointSource(
        x, observed, weights=weights, law=law, batch_size=BATCH, generator=generator
    )
    made.begin(x[None])
    return made


def row_numbers(points):
    """Rows whose first value is shown tell their number by it."""
    shown = points.masks.cond[:, 0]
    return points.sample.x_t[shown, 0].floor().long()


def test_cells_are_shown_or_hidden_and_missing_ones_never_scored():
    _, observed = rows()
    taken = source()
    for _ in range(30):
        points = taken.take()
        masks = points.masks
        assert len(masks.cond) == BATCH
        assert not (masks.cond & masks.tgt).any()
        known = row_numbers(points)
        union = (masks.cond | masks.tgt)[masks.cond[:, 0]]
        assert torch.equal(union, observed[known])
        assert (points.sample.v_star[~masks.tgt] == 0).all()


def test_an_epoch_takes_every_row_once():
    taken = source(time_law=TimeLaw(beta=None, share_t0=0.0, held_at=0.0))
    seen = torch.cat([row_numbers(taken.take()) for _ in range(N // BATCH * 20)])
    counts = torch.bincount(seen, minlength=N)
    assert counts.max() <= 20
    assert counts.min() > 0


def test_rows_without_weight_never_come():
    weights = torch.ones(N)
    weights[::2] = 0
    taken = source(weights=weights)
    seen = torch.cat([row_numbers(taken.take()) for _ in range(40)])
    assert (seen % 2 == 1).all()


def test_the_guess_is_the_guides_at_the_same_point():
    generator = torch.Generator().manual_seed(3)
    root = torch.randn(D, D, generator=generator, dtype=torch.float64)
    guide = Gaussian(torch.zeros(D).double(), root @ root.T + torch.eye(D))
    taken = source(guide=guide)
    for _ in range(10):
        points = taken.take()
        again = guide(points.sample.x_t, points.sample.s_t, points.masks.cond)
        torch.testing.assert_close(points.guess.v_s, again.v_s)
        torch.testing.assert_close(points.guess.scale, again.scale)


def test_new_guesses_count_from_the_next_batch():
    x, observed = rows()
    taken = source(time_law=TimeLaw(beta=(200.0, 1.0), share_t0=0.0, held_at=0.0))
    for _ in range(3):
        taken.take()
    taken.begin(torch.where(observed, x, -1e6)[None])
    points = taken.take()
    shown = points.masks.cond[:, 0]
    missing = ~observed[row_numbers(points)]
    assert (points.sample.x_t[shown][missing] < -1e4).all()


def test_the_same_seed_gives_the_same_points():
    one, other = source(seed=5), source(seed=5)
    for _ in range(5):
        for mine, theirs in zip(
            one.take().tensors(), other.take().tensors(), strict=True
        ):
            assert torch.equal(mine, theirs)


def test_map_reaches_every_tensor():
    points = source().take()
    doubled = points.map(lambda part: torch.cat([part, part]))
    assert len(points.tensors()) == 8  # five of the path, three masks
    for mine, theirs in zip(doubled.tensors(), points.tensors(), strict=True):
        assert len(mine) == 2 * len(theirs)


@pytest.mark.parametrize("most", [4, 9, 18, 64])
def test_a_wide_guide_is_asked_once_for_every_four_points(monkeypatch, most):
    monkeypatch.setattr(points_module, "_WIDE_GUIDE", D)
    monkeypatch.setattr(points_module, "_MAX_CELLS", most * BATCH * D)
    guide = Gaussian(torch.zeros(D).double(), torch.eye(D).double())
    asked = []

    def count(_, given, __):
        asked.append(len(given[0]) / len(given[2]))

    guide.register_forward_hook(count)
    taken = source(guide=guide)
    for _ in range(4 * most):
        taken.take()
    assert set(asked[2:]) == {4.0}
    assert set(asked) <= {1.0, 4.0}  # a pool of two batches has no room for four
