"""Trees in one table say what each says by itself, bit for bit, in any company."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesRegressor

from macfm.flow import _grove
from macfm.flow._forest import _packed
from macfm.flow._grove import Grove

D = 7
PLACES = ([0], [3, 4, 5], [6])


@pytest.fixture(scope="module")
def trees():
    """Trees of three columns, one of them three wide, of different depths."""
    rng = np.random.default_rng(0)
    grown = []
    for n, place in zip((40, 300, 2), PLACES, strict=True):
        others = np.setdiff1d(np.arange(D), place)
        x = rng.normal(size=(n, len(others))).astype(np.float32).round(1)
        y = rng.normal(size=(n, len(place))) + x[:, :1]
        forest = ExtraTreesRegressor(5 + n % 7, random_state=0)
        forest.fit(x, y if len(place) > 1 else y[:, 0])
        grown.append(
            _packed(
                [one.tree_ for one in forest.estimators_],
                place=np.array(place),
                others=others,
            )
        )
    return grown


def rows_of(n, seed=1):
    """Rows with ties at thresholds, zeros of both signs and far values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D)).round(1)
    x[rng.random(x.shape) < 0.1] = -0.0
    x[rng.random(x.shape) < 0.05] *= 1e30
    return torch.from_numpy(x.astype(np.float32))


def some_rows(n, seed=2):
    asked = torch.rand(3, n, generator=torch.Generator().manual_seed(seed)) < 0.4
    return {k: torch.nonzero(one).squeeze(1) for k, one in enumerate(asked)}


def same(found, expected):
    return found.keys() == expected.keys() and all(
        torch.equal(found[k], expected[k]) for k in expected
    )


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("together", [3, 64, 2**15])
@pytest.mark.parametrize("at_a_time", [1, 1_000, 2**20])
def test_a_grove_says_what_its_trees_say(
    trees, together, at_a_time, n_threads, monkeypatch
):
    monkeypatch.setattr(_grove, "_TOGETHER", together)
    monkeypatch.setattr(_grove, "_AT_A_TIME", at_a_time)
    monkeypatch.setattr(torch, "get_num_threads", lambda: n_threads)
    x, rows = rows_of(200), some_rows(200)
    expected = {k: trees[k](x[some]) for k, some in rows.items()}
    assert same(Grove(trees)(x, rows), expected)
    medians = {k: trees[k].medians(x[some]) for k, some in rows.items()}
    assert same(Grove(trees).medians(x, rows), medians)


def test_a_row_is_told_the_same_in_any_company(trees):
    x, rows = rows_of(150), some_rows(150)
    grove = Grove(trees)
    found, first = grove(x, rows), torch.zeros(1, dtype=torch.int64)
    for k, some in rows.items():
        for row, said in zip(some[:20], found[k][:20], strict=True):
            alone = grove(x[row : row + 1], {k: first})
            assert torch.equal(alone[k][0], said)


def test_nobody_is_told_what_nobody_asked(trees):
    assert Grove(trees)(rows_of(3), {}) == {}


def test_a_pickled_grove_is_its_trees_alone(trees):
    grove, x, rows = Grove(trees), rows_of(50), some_rows(50)
    before = pickle.dumps(grove)
    found = grove(x, rows)
    assert len(pickle.dumps(grove)) == len(before)
    assert same(pickle.loads(pickle.dumps(grove))(x, rows), found)


def test_where_there_are_no_trees_nobody_is_asked():
    """As in a budget that left no time to grow any."""
    assert Grove([])(rows_of(5), {}) == {}
    assert Grove([]).medians(rows_of(5), {}) == {}
