"""Guesses of the holes of training rows are drawn anew by a network, some of them."""

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from macfm.flow import (
    Atoms,
    GuidedEnsemble,
    Path,
    RowConfig,
    Scores,
    _rows,
    make_schedule,
    prepare_rows,
)
from macfm.flow._pace import one_thread

N, D = 200, 3
PATH = Path(make_schedule("linear", gamma=1.0), "t")


def prepared(n, d):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)).astype(np.float32)
    x[:, 1:] += 0.5 * x[:, :1]
    observed = rng.random((n, d)) < 0.6
    empty = torch.zeros(0, dtype=torch.int64)
    fields = dict.fromkeys(Atoms.__dataclass_fields__, empty)
    return prepare_rows(
        np.where(observed, x, 0.0).astype(np.float32),
        observed,
        weights=None,
        group=np.arange(d),
        is_num=np.ones(d, dtype=bool),
        atoms=Atoms(**fields),
        scores=Scores.none(),
        path=PATH,
        config=RowConfig(guide=True, move_missing=True, validation_share=0.1),
        seed=0,
        device=torch.device("cpu"),
    )


@pytest.fixture
def rows():
    return prepared(N, D)


def again(rows):
    network = GuidedEnsemble.alone(rows.guide, path=PATH)
    generator = torch.Generator().manual_seed(0)
    return rows.guess_again(network, path=PATH, generator=generator)


def test_what_was_observed_is_in_every_guess(rows):
    fills = again(rows)
    assert len(fills) == 2
    for fill in fills:
        assert torch.equal(fill[rows.observed], rows.x[rows.observed])
    holes = ~rows.observed
    assert (fills[0] != fills[1])[holes].all()
    # Six steps of Euler's method make draws of N(0, 1) a little narrow; means are 0.
    assert 0.6 < fills[:, holes].std() < 1.1


def test_of_many_rows_some_are_drawn_anew(rows, monkeypatch):
    monkeypatch.setattr(_rows, "_MAX_REFILLED", {"cpu": 30})
    changed = (again(rows) != rows.fills[:2]).any(dim=2)
    assert torch.equal(changed[0], changed[1])
    assert changed[0].sum() == 30


@pytest.mark.slow  # smaller tables have the same last bits anyway
def test_the_guide_does_not_depend_on_the_threads_of_numpy():
    guides = []
    for n_threads in (1, 2):
        with threadpool_limits(limits=n_threads, user_api="blas"):
            guides.append(prepared(3_000, 100).whole_guide.precision)
    assert torch.equal(*guides)


def ridge_of(x, observed, n_threads=1):
    with one_thread():
        return _rows._choose_ridge(
            np.where(observed, x, 0.0),
            observed,
            group=np.arange(x.shape[1]),
            rng=np.random.default_rng(0),
            device=torch.device("cpu"),
            n_threads=n_threads,
        )


def test_a_ridge_does_not_depend_on_threads():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    observed = rng.random(x.shape) < 0.8
    assert ridge_of(x, observed, 1) == ridge_of(x, observed, 3)


def test_guide_of_noise_is_shrunk_to_means_and_that_of_lines_is_not():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 12))
    line = rng.normal(size=(200, 1)) * np.ones(4) + 0.1 * rng.normal(size=(200, 4))
    shown = rng.random(noise.shape) < 0.8
    assert ridge_of(noise, shown) >= 100
    assert ridge_of(line, shown[:, :4]) <= 1


def test_ridge_of_a_wide_table_counts_like_as_many_rows_however_many_there_are():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 8)) @ rng.normal(size=(8, 50))
    x += 1.5 * rng.normal(size=x.shape)
    x /= x.std(axis=0)
    observed = rng.random(x.shape) < 0.7
    counts = [ridge_of(x[:n], observed[:n]) for n in (500, 2_000)]
    assert counts == [30, 30]


def guide_of(x, observed, ridge):
    with one_thread():
        moments = _rows._fit(x, observed, ridge, device=torch.device("cpu"))
        return _rows._gaussian(*moments)


def miss_of(guide, x, observed):
    """Return the root mean square error of what a guide fills."""
    with one_thread():
        filled = guide.fill(torch.from_numpy(x), torch.from_numpy(observed)).numpy()
    return np.sqrt(np.mean((x - filled)[~observed] ** 2))


def test_a_ridge_counts_like_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1)) + rng.normal(size=(300, 6))
    observed = rng.random(x.shape) < 0.8
    x = np.where(observed, x, 0.0)
    once = guide_of(x, observed, 10.0)
    thrice = guide_of(np.tile(x, (3, 1)), np.tile(observed, (3, 1)), 30.0)
    torch.testing.assert_close(thrice.precision, once.precision, rtol=1e-6, atol=1e-6)


def test_a_ridge_leaves_rare_categories_their_say():
    rng = np.random.default_rng(0)
    shares = [0.6, 0.3, 0.05, 0.03, 0.02]
    code = rng.choice(len(shares), size=4_000, p=shares)
    flags = np.eye(len(shares))[code]
    flags = (flags - flags.mean(axis=0)) / np.sqrt(flags.var(axis=0).sum())
    number = (code - code.mean()) / code.std()
    x = np.column_stack([flags, number])
    observed = np.ones(x.shape, dtype=bool)
    guide = guide_of(x, observed, 30.0)
    observed[code == 4, -1] = False
    assert miss_of(guide, x, observed) < 0.2  # with the ridge of a number 0.4


def test_a_guide_learns_from_more_rows_than_it_begins_with(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12_000, 3)) @ rng.normal(size=(3, 60))
    x += 2 * rng.normal(size=x.shape)
    x /= x.std(axis=0)
    observed = rng.random(x.shape) < 0.7
    many, new = slice(0, 10_000), slice(10_000, None)
    shown = np.where(observed, x, 0.0)
    monkeypatch.setattr(_rows, "_MAX_FIT_CELLS", 60 * 1_000)
    of_many = guide_of(shown[many], observed[many], 10.0)
    monkeypatch.setattr(_rows, "_MAX_LAST_CELLS", 60 * 1_000)
    of_some = guide_of(shown[many], observed[many], 10.0)
    errors = [miss_of(guide, x[new], observed[new]) for guide in (of_many, of_some)]
    assert errors[0] < 0.995 * errors[1]


def test_guide_of_few_rows_fills_new_ones_nearly_as_well_as_any_ridge_would():
    excess = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        loadings = rng.normal(size=(3, 13))
        x = rng.normal(size=(490, 3)) @ loadings + 2 * rng.normal(size=(490, 13))
        x /= x.std(axis=0)
        observed = rng.random(x.shape) < 0.7
        few, new = slice(0, 90), slice(90, None)
        errors = {
            ridge: miss_of(
                guide_of(x[few], observed[few], ridge), x[new], observed[new]
            )
            for ridge in _rows._PSEUDO_ROWS
        }
        chosen = errors[ridge_of(x[few], observed[few])]
        excess.append((chosen / min(errors.values())) ** 2 - 1)
    assert np.mean(excess) < 0.018  # a standard error of slack had 0.022
