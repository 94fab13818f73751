"""Errors of cells pooled into scores, and their standard errors."""

import numpy as np
import pandas as pd
import pytest

from macfm.judge._pool import Pool, is_flat


def pool_of(errors, *, numbers=None, flat=None, n_folds=2, seed=0):
    """A pool of errors, an array (n_rows, n_columns) for each method."""
    n_rows, n_columns = next(iter(errors.values())).shape
    row, column = (a.ravel() for a in np.indices((n_rows, n_columns)))
    numbers = [True] * n_columns if numbers is None else numbers
    parts = [
        pd.DataFrame(
            {
                "method": method,
                "fold": row % n_folds,
                "row": row,
                "column": column,
                "miss": np.where(np.array(numbers)[column], np.abs(e).ravel(), np.nan),
                "hit": np.where(np.array(numbers)[column], np.nan, e.ravel()),
            }
        )
        for method, e in errors.items()
    ]
    names = [f"c{j}" for j in range(n_columns)]
    flat = [False] * n_columns if flat is None else flat
    return Pool.of(
        pd.concat(parts), list(errors), names, numbers=numbers, flat=flat, seed=seed
    )


def normal(n=400, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_the_mean_is_the_unit_and_a_scale_is_found():
    e = normal()
    table = pool_of({"mean": e, "half": e / 2}).overall().set_index("method")
    for score in ("rmse_ratio", "mae_ratio"):
        assert table.loc["mean", score] == pytest.approx(1)
        assert table.loc["half", score] == pytest.approx(0.5)
        assert table.loc["mean", f"{score}_se"] == pytest.approx(0, abs=1e-12)


def test_every_column_counts_the_same():
    e = normal(n=4000, d=2)
    other = e * [0.2, 0.8]
    found = pool_of({"mean": e, "other": other}).overall()["rmse_ratio"][1]
    assert found == pytest.approx(np.sqrt((0.2**2 + 0.8**2) / 2), rel=0.02)


def test_a_column_whose_hidden_cells_hardly_vary_does_not_decide():
    e = normal(d=5)
    e[:, 4] = 0.01  # none of its rare values was hidden
    other = e * 0.6
    other[:, 4] = 0.1  # ten times the error of the mean, and still next to nothing
    table = pool_of({"mean": e, "other": other})
    assert table._scores["rmse_ratio_by_column"][0, 1, 4] == pytest.approx(10)
    assert table.overall()["rmse_ratio"][1] == pytest.approx(0.6, abs=0.01)


def test_one_rare_hidden_value_does_not_decide():
    e = normal(d=5)
    e[0, 4] = 500.0  # all methods miss it
    other = e * 0.6
    other[0, 4] = 500.0
    score = pool_of({"mean": e, "other": other}).overall()["rmse_ratio"][1]
    assert score < np.sqrt((4 * 0.36 + 1) / 5) + 0.01


def test_columns_that_hardly_vary_can_be_left_out():
    e = normal(d=3)
    other = e * 0.5
    other[:, 2] = 1000.0
    pool = pool_of({"mean": e, "other": other}, flat=[False, False, True])
    assert pool.overall()["rmse_ratio"][1] == pytest.approx(0.5)


def test_identical_methods_differ_by_nothing():
    e, hit = normal(), (normal(seed=1) > 0).astype(float)
    for errors, numbers in ((e, None), (hit, [False] * 4)):
        pairs = pool_of({"mean": errors, "a": errors, "b": errors}, numbers=numbers)
        assert not pairs.pairs()["clear"].any()
        assert (pairs.pairs()["difference"].abs() < 1e-12).all()


def test_a_method_that_is_better_is_clearly_so_and_luck_is_not():
    e = normal(n=300)
    rng = np.random.default_rng(3)
    errors = {
        "mean": e,
        "better": 0.8 * e + 0.1 * rng.normal(size=e.shape),
        "same": 0.8 * e + 0.1 * rng.normal(size=e.shape),
    }
    pairs = pool_of(errors).pairs().set_index(["score", "method", "other"])
    assert pairs.loc[("rmse_ratio", "mean", "better"), "clear"]
    assert pairs.loc[("rmse_ratio", "mean", "better"), "difference"] > 0.1
    assert not pairs.loc[("rmse_ratio", "better", "same"), "clear"]


@pytest.mark.parametrize("score", ["rmse_ratio", "accuracy"])
def test_standard_errors_are_those_of_repeated_experiments(score):
    scores, errors, gaps, gap_errors = [], [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        e, noise = rng.normal(size=(2, 80, 3))
        a, b = 0.5 * e + 0.5 * noise, 0.5 * e + 0.5 * rng.normal(size=e.shape)
        made = {"mean": e, "a": a, "b": b}
        numbers = None
        if score == "accuracy":
            made, numbers = {m: (x > 0) * 1.0 for m, x in made.items()}, [False] * 3
        pool = pool_of(made, numbers=numbers, n_folds=1, seed=seed)
        table = pool.overall().set_index("method").loc["a"]
        pair = pool.pairs().query("score == @score and method == 'a'").iloc[0]
        scores.append(table[score])
        errors.append(table[f"{score}_se"])
        gaps.append(pair["difference"])
        gap_errors.append(pair["se"])
    # 60 experiments know their spread to 9 %.
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.3)
    assert np.mean(gap_errors) == pytest.approx(np.std(gaps), rel=0.3)
    assert np.mean(np.abs(gaps) > 2 * np.array(gap_errors)) < 0.15


def test_what_changes_from_fold_to_fold_is_part_of_the_error():
    e = normal(n=2000)
    scale = np.where(np.arange(2000) % 2, 0.5, 0.9)[:, None]  # one fit went wrong
    pool = pool_of({"mean": e, "other": scale * e})
    error = pool.overall()["rmse_ratio_se"][1]
    assert error == pytest.approx(0.2, rel=0.1)
    assert (
        pool_of({"mean": e, "other": scale * e}, n_folds=1).overall()["rmse_ratio_se"][
            1
        ]
        < 0.05
    )


def test_the_same_seed_gives_the_same_errors():
    errors = {"mean": normal(), "a": normal(seed=1)}
    first, second = (pool_of(errors, n_folds=1).pairs() for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    with pytest.raises(AssertionError):
        pd.testing.assert_frame_equal(first, pool_of(errors, seed=1, n_folds=1).pairs())


def test_kinds_are_kept_apart():
    e = np.column_stack([normal(d=1)[:, 0], (normal(d=1, seed=1)[:, 0] > 0) * 1.0])
    table = pool_of({"mean": e, "a": e}, numbers=[True, False]).overall()
    assert table["accuracy"].tolist() == [e[:, 1].mean()] * 2
    assert table["rmse_ratio"].tolist() == [1, 1]
    only = pool_of({"mean": e[:, :1], "a": e[:, :1]}).overall()
    assert only["accuracy"].isna().all()


@pytest.mark.parametrize(
    ("values", "flat"),
    [
        (np.repeat([0.0, 1.0], [97, 3]), True),
        (np.repeat([0.0, 1.0], [90, 10]), False),
        (np.append(np.random.default_rng(0).normal(size=200), 1e4), True),
        (np.random.default_rng(0).normal(size=200), False),
        (np.random.default_rng(0).lognormal(0, 1.5, 200), False),
        (np.arange(10.0), False),
    ],
)
def test_what_hardly_varies(values, flat):
    assert is_flat(values) is flat
