"""Rows are left out in turn, and what speaks of them has not seen them."""

import numpy as np
import pytest
import torch

from macfm.flow import (
    Atoms,
    Path,
    RowConfig,
    Scores,
    fit_gaussian,
    leave_out,
    make_schedule,
    prepare_rows,
)

PATH = Path(make_schedule("linear", gamma=1.0), "t")
GROUP = torch.arange(3)


def prepared(n=60, *, share=0.1, weights=None):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    x[:, 1:] += x[:, :1]
    observed = rng.random((n, 3)) < 0.8
    observed[:, 0] = True
    x[:, 0] = np.arange(n)  # tells the rows apart
    empty = torch.zeros(0, dtype=torch.int64)
    return prepare_rows(
        np.where(observed, x, 0.0).astype(np.float32),
        observed,
        weights=weights,
        group=GROUP.numpy(),
        is_num=np.ones(3, dtype=bool),
        atoms=Atoms(**dict.fromkeys(Atoms.__dataclass_fields__, empty)),
        scores=Scores.none(),
        path=PATH,
        config=RowConfig(guide=True, move_missing=True, validation_share=share),
        seed=0,
        device=torch.device("cpu"),
    )


def folds(rows, *, n_folds=4, seed=0):
    return list(leave_out(rows, n_folds=n_folds, group=GROUP, path=PATH, seed=seed))


@pytest.mark.parametrize("share", [0.1, 0.0])
def test_every_row_is_left_out_once_and_trained_on_otherwise(share):
    left_out = []
    for fold in folds(prepared(share=share)):
        known = fold.validation
        own = known.x[: known.n_rows, 0].tolist()
        assert sorted(own + fold.x[:, 0].tolist()) == list(range(60))
        left_out += own
        assert known.masks.tgt.any()
    assert sorted(left_out) == list(range(60))


def test_the_guide_of_a_fold_is_that_of_the_others_with_the_same_ridge():
    weights = np.linspace(1, 9, 60).astype(np.float32)
    for rows in (prepared(), prepared(weights=weights)):
        for fold in folds(rows):
            x, observed = fold.x.numpy(), fold.observed.numpy()
            spread = np.sqrt((x**2).sum(axis=0, where=observed) / observed.sum(axis=0))
            mean, covariance = fit_gaussian(
                x,
                observed,
                ridge=rows.ridge / len(x) * spread,
                max_iter=200,
                tol=1e-6,
                weights=None if fold.weights is None else fold.weights.numpy(),
            )
            guide = fold.guide.guide
            np.testing.assert_allclose(guide.mean, mean, rtol=0.01, atol=0.01)
            found = torch.linalg.inv(guide.precision)
            np.testing.assert_allclose(found, covariance, rtol=0.05, atol=0.05)


def test_weights_go_with_their_rows():
    weights = np.arange(60, dtype=np.float32) + 1
    for fold in folds(prepared(weights=weights)):
        torch.testing.assert_close(fold.weights, fold.x[:, 0] + 1)


def test_the_seed_deals_the_rows():
    rows = prepared()
    first, again, other = (folds(rows, seed=seed)[0] for seed in (0, 0, 1))
    assert torch.equal(first.x, again.x)
    assert torch.equal(first.validation.masks.tgt, again.validation.masks.tgt)
    assert set(first.x[:, 0].tolist()) != set(other.x[:, 0].tolist())


def test_fewer_rows_than_folds_are_left_out_too():
    found = folds(prepared(3), n_folds=4)
    assert all(len(fold.x) == 2 for fold in found)
    # one in which nothing was hidden by lot has nothing to say
    assert {int(fold.validation.x[0, 0]) for fold in found} <= {0, 1, 2}
    assert found
