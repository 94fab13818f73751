"""Packed trees say what scikit-learn's say, and never see the cell they look for."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesRegressor

from macfm.flow import _forest, fit_trees
from macfm.flow._forest import _grow, _packed

N, D = 300, 4


def rows(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, D)).astype(np.float32)
    x[:, 3] = np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0)  # trees find it, lines do not
    return torch.from_numpy(x), torch.from_numpy(rng.random((N, D)) < 0.8)


def by_zero(x, m_cond):
    return torch.where(m_cond, x, 0.0)


def grown(x, observed, *, fill=by_zero, weights=None, group=None, seed=0, **others):
    return fit_trees(
        torch.where(observed, x, 0.0),
        observed,
        weights=weights,
        group=torch.arange(D) if group is None else group,
        fill=fill,
        n_trees=20,
        n_jobs=1,
        rng=np.random.default_rng(seed),
        **{"max_seconds": np.inf, "only": None} | others,
    )


@pytest.mark.parametrize("width", [1, 3])
def test_packed_trees_are_the_trees(width):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 5)).astype(np.float32).round(1)  # many ties
    y = rng.normal(size=(200, width)) + x[:, :1]
    forest = ExtraTreesRegressor(7, random_state=0)
    forest.fit(x, y if width > 1 else y[:, 0])
    others, place = np.array([0, 2, 3, 5, 6]), np.arange(width) + 7
    packed = _packed(
        [one.tree_ for one in forest.estimators_], place=place, others=others
    )
    wide = np.full((200, 10), np.nan, dtype=np.float32)
    wide[:, others] = x
    found = packed(torch.from_numpy(wide)).numpy()
    np.testing.assert_allclose(
        found, forest.predict(x).reshape(200, width), rtol=1e-5, atol=1e-6
    )
    said = [one.predict(x).reshape(200, width) for one in forest.estimators_]
    np.testing.assert_allclose(
        packed.medians(torch.from_numpy(wide)).numpy(),
        np.median(said, axis=0),
        rtol=1e-5,
        atol=1e-6,
    )


def test_trees_find_what_depends_on_the_others():
    x, observed = rows()
    trees = {int(t.place[0]): t for t in grown(x, observed)}
    new, _ = rows(seed=1)
    sign = trees[3](new).squeeze(1)
    assert ((sign > 0) == (new[:, 3] > 0)).float().mean() > 0.9


def test_a_column_is_hidden_where_its_trees_learn():
    x, observed = rows()
    shown = []

    def watching(x, m_cond):
        shown.append(m_cond.clone())
        return by_zero(x, m_cond)

    grown(x, observed, fill=watching)
    hidden = torch.stack([observed & ~m_cond for m_cond in shown])
    assert torch.equal(hidden.sum(dim=0).bool(), observed)  # each cell in one turn
    assert (hidden.sum(dim=0) <= 1).all()


def test_columns_are_hidden_one_by_one():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 40, generator=generator)
    observed = torch.ones(30, 40, dtype=torch.bool)
    n_hidden = []

    def watching(x, m_cond):
        n_hidden.append((~m_cond).sum(dim=1))
        return by_zero(x, m_cond)

    some = torch.arange(40) < 1
    grown(x, observed, group=torch.arange(40), fill=watching, only=some)
    assert torch.equal(torch.stack(n_hidden), torch.ones(40, 30, dtype=torch.int64))


def test_what_is_filled_beside_a_cell_does_not_tell_it():
    """A fill that copies the hidden cell into its neighbour would show in the error."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, D, generator=generator)
    observed = torch.ones(400, D, dtype=torch.bool)
    observed[:, 1] = False

    def leaking(x, m_cond):
        filled = by_zero(x, m_cond)
        filled[:, 1] = filled[:, 0]  # what it knows of column 0
        return filled

    trees = {int(t.place[0]): t for t in grown(x, observed, fill=leaking)}
    assert 1 not in trees  # nothing was observed
    new = torch.randn(400, D, generator=generator)
    filled = leaking(
        torch.where(torch.tensor([False, True, True, True]), new, 0.0),
        torch.tensor([False, True, True, True]).expand(400, D),
    )
    error = (trees[0](filled).squeeze(1) - new[:, 0]).square().mean()
    assert error < 1.25 * new[:, 0].square().mean()


@pytest.mark.parametrize(("n", "d", "width"), [(60, 3, 1), (400, 50, 2)])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_trees_are_those_of_a_forest_however_many_threads_grow_them(
    n, d, width, n_jobs
):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)).astype(np.float32)
    y, weights = rng.normal(size=(n, width)), rng.random(n)
    grown = _grow(x, y, weights=weights, n_trees=9, n_jobs=n_jobs, seed=5)
    share = 1.0 if d <= 40 else 0.4
    forest = ExtraTreesRegressor(
        9, min_samples_leaf=2, max_features=share, random_state=5
    ).fit(x, y if width > 1 else y[:, 0], sample_weight=weights)
    for one, other in zip(grown, forest.estimators_, strict=True):
        np.testing.assert_array_equal(one.feature, other.tree_.feature)
        np.testing.assert_array_equal(one.threshold, other.tree_.threshold)
        np.testing.assert_array_equal(one.value, other.tree_.value)


def test_the_same_seed_grows_the_same_trees_and_weights_count():
    x, observed = rows()
    one, two = grown(x, observed), grown(x, observed)
    for a, b in zip(one, two, strict=True):
        assert torch.equal(a.threshold, b.threshold)
        assert torch.equal(a.value, b.value)
    heavy = torch.where(x[:, 3] > 0, 1.0, 1e-9)
    biased = grown(x, observed, weights=heavy)
    noise = torch.zeros(50, D)
    assert biased[-1](noise).mean() > one[-1](noise).mean() + 0.3


def test_columns_that_do_not_vary_or_stand_alone_have_no_trees():
    x, observed = rows()
    x[:, 2] = 1.0
    assert [int(t.place[0]) for t in grown(x, observed)] == [0, 1, 3]
    assert grown(x, observed, group=torch.zeros(D, dtype=torch.int64)) == []


class Clock:
    """A clock that only what is watched moves on."""

    def __init__(self, monkeypatch, *, seconds_a_cell=0.0, seconds_a_tree=0.0):
        self.now = 0.0
        self.seconds_a_cell = seconds_a_cell
        watched = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr(_forest, "time", watched)

        def grow(*args, n_trees, **kwargs):
            self.now += seconds_a_tree * n_trees
            return _grow(*args, n_trees=n_trees, **kwargs)

        monkeypatch.setattr(_forest, "_grow", grow)

    def fill(self, x, m_cond):
        self.now += self.seconds_a_cell * x.numel()
        return by_zero(x, m_cond)


def test_columns_that_are_not_begun_in_time_have_no_trees(monkeypatch):
    Clock(monkeypatch, seconds_a_tree=1.0)  # 20 trees a column
    in_time = grown(*rows(), max_seconds=5)
    assert [int(t.place[0]) for t in in_time] == [0]


@pytest.mark.parametrize(("seconds", "n_trees"), [(80, 20), (50, 10), (23, 1)])
def test_columns_share_the_trees_that_time_is_enough_for(monkeypatch, seconds, n_trees):
    Clock(monkeypatch, seconds_a_tree=1.0)
    trees = grown(*rows(), max_seconds=seconds)
    assert [len(one.roots) for one in trees] == [20, *3 * [n_trees]]


@pytest.mark.parametrize("share", [0.3, 0.5, 2.0])
def test_in_a_hurry_fewer_rows_are_filled(monkeypatch, share):
    monkeypatch.setattr(_forest, "_TIMED_ROWS", 20)
    monkeypatch.setattr(_forest, "_LEAST_ROWS", 50)
    x, observed = rows()
    clock = Clock(monkeypatch, seconds_a_cell=1.0)
    seconds = share * D * x.numel() / _forest._FILLING_SHARE
    trees = grown(x, observed, fill=clock.fill, max_seconds=seconds)
    assert len(trees) == D
    n_filled = (clock.now - 20 * D) / D / D
    assert n_filled == pytest.approx(min(share * N - 20 / D, N), abs=1)


def test_trees_of_too_few_rows_are_not_grown(monkeypatch):
    clock = Clock(monkeypatch, seconds_a_cell=1.0)
    assert grown(*rows(), fill=clock.fill, max_seconds=10) == []


def test_only_the_columns_that_are_wanted_have_trees():
    x, observed = rows()
    wanted = torch.tensor([False, True, False, True])
    assert [int(t.place[0]) for t in grown(x, observed, only=wanted)] == [1, 3]


def test_many_columns_share_the_trees():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 80, generator=generator)
    observed = torch.ones(40, 80, dtype=torch.bool)
    some = torch.arange(80) < 2
    trees = grown(x, observed, group=torch.arange(80), only=some)
    assert [len(t.roots) for t in trees] == [10, 10]  # of 20 for up to 40 columns


def test_of_many_rows_some_grow_the_trees_in_fewer_turns(monkeypatch):
    x, observed = rows()
    turns = []

    def fill(part, m_cond):
        turns.append(len(part))
        return by_zero(part, m_cond)

    monkeypatch.setattr(_forest, "_MAX_ROWS", 100)
    monkeypatch.setattr(_forest, "_MAX_FILLED", 200 * D)
    monkeypatch.setattr(_forest, "_MIN_TURNS", 1)
    weights = torch.arange(N, dtype=torch.float32) + 1
    trees = grown(x, observed, fill=fill, weights=weights)
    assert turns == [100, 100]
    # A leaf has two rows or more, so a tree of 100 rows has 50 leaves at most.
    assert all(len(one.value) <= 20 * 99 for one in trees)
    assert len(trees) == D
