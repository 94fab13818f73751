"""What each of our own implementations must satisfy."""

import numpy as np
import pandas as pd
import pytest

from macfm.judge.methods import make_method


def normal_table(n=600, d=5, seed=0):
    """Rows of one multivariate normal, and its mean and covariance."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    mean = rng.normal(size=d) * 3
    x = rng.normal(size=(n, d)) @ root.T + mean
    return pd.DataFrame(x, columns=list("abcde")[:d]), mean, root @ root.T


def with_holes(table, share=0.3, seed=1):
    flags = np.random.default_rng(seed).random(table.shape) < share
    return table.mask(pd.DataFrame(flags, table.index, table.columns)), flags


def rmse(filled, truth, flags, columns):
    error = (filled[columns] - truth[columns]) / truth[columns].std()
    return np.sqrt(np.mean(error.to_numpy()[flags] ** 2))


def test_knn_on_numbers_is_that_of_scikit_learn():
    from sklearn.impute import KNNImputer

    train, _ = with_holes(normal_table()[0])
    test, _ = with_holes(normal_table(n=80, seed=5)[0])
    test.iloc[0] = train.iloc[3].fillna(0.5)  # a row of the training table
    scale, center = train.std(ddof=0), train.mean()
    theirs = KNNImputer(n_neighbors=10, weights="distance").fit(
        ((train - center) / scale).to_numpy()
    )
    expected = theirs.transform(((test - center) / scale).to_numpy())
    filled = make_method("knn").fit(train).impute(test)
    expected = expected * scale.to_numpy() + center.to_numpy()
    np.testing.assert_allclose(filled, expected, rtol=1e-6)


def test_em_finds_the_normal_and_its_conditional_mean():
    truth, mean, covariance = normal_table(n=6000)
    train, flags = with_holes(truth)
    method = make_method("em", max_iter=300, tol=1e-7, ridge=1e-6).fit(train)
    scale, center = train.std(ddof=0).to_numpy(), train.mean().to_numpy()
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(
        method.mean_ * scale + center, mean, atol=0.08 * spread.max()
    )
    found = method.covariance_ * np.outer(scale, scale)
    np.testing.assert_allclose(
        found / np.outer(spread, spread),
        covariance / np.outer(spread, spread),
        atol=0.05,
    )
    row, hidden = train.iloc[0].to_numpy(), flags[0]
    fitted_mean = method.mean_ * scale + center
    o, m = np.ix_(~hidden, ~hidden), np.ix_(hidden, ~hidden)
    shift = found[m] @ np.linalg.solve(found[o], (row - fitted_mean)[~hidden])
    filled = method.impute(train.head(1)).to_numpy()[0]
    np.testing.assert_allclose(filled[hidden], fitted_mean[hidden] + shift, rtol=1e-6)


def test_em_draws_have_the_conditional_spread():
    truth, _, _ = normal_table(n=2000)
    train, flags = with_holes(truth)
    method = make_method("em", ridge=1e-6).fit(train)
    draws = np.stack([d.to_numpy() for d in method.draw(train, 30)])
    center = method.impute(train).to_numpy()
    spread = np.sqrt(((draws - center) ** 2).mean(axis=0)[flags].mean())
    error = np.sqrt(((truth.to_numpy() - center)[flags] ** 2).mean())
    assert spread == pytest.approx(error, rel=0.06)
    np.testing.assert_allclose(
        draws.mean(axis=0)[flags],
        center[flags],
        atol=5 * draws.std(axis=0)[flags].max() / np.sqrt(30),
    )


def test_mice_agrees_with_scikit_learn_on_numbers():
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    truth, _, _ = normal_table(n=1500)
    train, flags = with_holes(truth)
    theirs = IterativeImputer(max_iter=100, random_state=0)
    expected = theirs.fit_transform(train)
    filled = make_method("mice", n_draws=40).fit(train).impute(train)
    ours = rmse(filled, truth, flags, list(truth))
    best = rmse(
        pd.DataFrame(expected, columns=truth.columns), truth, flags, list(truth)
    )
    # The mean of 40 draws has 1/80 more error than the conditional mean.
    assert ours == pytest.approx(best * (1 + 1 / 80), rel=0.03)


def test_mice_draws_categories_as_often_as_they_are():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    words = np.array(["a", "b", "c"], dtype=object)[
        np.digitize(x + 0.5 * rng.normal(size=4000), [-0.5, 1])
    ]
    truth = pd.DataFrame({"x": x, "c": pd.Series(words, dtype=str)})
    train, _ = with_holes(truth)
    draws = make_method("mice").fit(train).draw(train, 4)
    assert sum(not d.equals(draws[0]) for d in draws) == 3
    hidden = train["c"].isna()
    for draw in draws:
        shares = draw.loc[hidden, "c"].value_counts(normalize=True).sort_index()
        actual = truth.loc[hidden, "c"].value_counts(normalize=True).sort_index()
        # 1,200 cells: standard errors of 1.4 %; the scores of a category are linear.
        np.testing.assert_allclose(shares, actual, atol=0.06)
        # The draws keep how the two columns hang together.
        means = draw[hidden].groupby("c")["x"].mean()
        assert means["a"] < means["b"] < means["c"]


def test_mice_stays_within_reach_of_what_it_saw_where_rows_are_few():
    rng = np.random.default_rng(0)
    n = 60
    truth = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("wxyz"))
    for j in range(8):
        truth[f"c{j}"] = pd.Series(rng.choice(list("abcdef"), n), dtype=str)
    train, _ = with_holes(truth, share=0.5)
    train.loc[12:, "z"] = np.nan
    method = make_method("mice").fit(train)
    x = method.code_.one_hot(train)
    assert x.shape[1] > train["z"].notna().sum()  # more coefficients than rows
    for draw in (method.impute(train), *method.draw(train, 3)):
        for name in "wxyz":
            low, high = train[name].min(), train[name].max()
            reach = 1.000001 * (high - low)
            assert draw[name].between(low - reach, high + reach).all()


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_mice_frees_half_as_many_coefficients_as_it_has_rows(ridge):
    design = np.random.default_rng(0).normal(size=(20, 30))
    gram = design.T @ design
    method = make_method("mice", ridge=ridge)
    ridges = method._ridges(gram, 20)
    assert ridges[0] == ridge  # the intercept's
    scale = np.sqrt(np.diag(gram))
    levels = np.linalg.eigvalsh(gram / np.outer(scale, scale))
    n_free = (levels / (levels + ridges[1])).sum()
    assert 6 < n_free <= 10
    assert (method._ridges(gram, 60) == ridge).all()  # two rows a coefficient


def low_rank(n=300, d=12, rank=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    return pd.DataFrame(x, columns=[f"v{j}" for j in range(d)])


def test_softimpute_recovers_a_low_rank_table():
    truth = low_rank()
    train, flags = with_holes(truth)
    filled = make_method("softimpute").fit(train).impute(train)
    assert rmse(filled, truth, flags, list(truth)) < 0.1


def test_softimpute_fills_new_rows_as_it_fills_its_own():
    train, _ = with_holes(low_rank())
    method = make_method("softimpute", tol=1e-9, max_iter=5000, n_lambdas=5).fit(train)
    x = method.code_.one_hot(train)
    z, _ = method._complete(x, np.zeros_like(x), method.penalty_)
    hidden = np.isnan(x)
    np.testing.assert_allclose(method.scores(x)[hidden], z[hidden], atol=1e-3)


@pytest.mark.parametrize("name", ["missforest", "extra-trees"])
def test_chained_trees_stop_and_find_steps(name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=800)
    truth = pd.DataFrame(
        {
            "x": x,
            "step": np.where(x > 0, 3.0, -1.0) + 0.1 * rng.normal(size=800),
            "c": pd.Series(np.where(np.abs(x) < 0.7, "in", "out"), dtype=str),
        }
    )
    train, flags = with_holes(truth, share=0.2)
    method = make_method(name, n_trees=20).fit(train)
    assert 1 <= method.n_sweeps_ <= 5
    filled = method.impute(train)
    only = flags[:, 1] & ~flags[:, 0]  # the step is hidden, x is not
    error = (filled["step"] - truth["step"])[only]
    assert np.abs(error).median() < 0.2  # the step is 4 high, its noise 0.1
    only = flags[:, 2] & ~flags[:, 0]
    assert (filled["c"] == truth["c"])[only].mean() > 0.85


def test_gcimpute_takes_fractions_that_often_repeat_a_value():
    pytest.importorskip("gcimpute")
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    truth = pd.DataFrame({"x": z + 0.3 * rng.normal(size=400)})
    truth["duration"] = np.where(z > 0, 3.3 * np.exp(z), 0.0)
    train, _ = with_holes(truth)
    method = make_method("gcimpute").fit(train)
    hidden = train["duration"].isna()
    filled = method.impute(train).loc[hidden, "duration"]
    assert set(filled) <= set(train["duration"].dropna())
    assert np.corrcoef(filled, truth.loc[hidden, "duration"])[0, 1] > 0.6
    new = train.head(3).assign(duration=[1.2345, np.nan, 1e9])  # unseen values
    assert method.impute(new)["duration"].iloc[[0, 2]].tolist() == [1.2345, 1e9]
