"""The guide is the conditional normal law, at every time and for every mask."""

from functools import partial

import numpy as np
import pytest
import torch

from macfm.flow import (
    Gaussian,
    GuidedEnsemble,
    NetworkConfig,
    Path,
    SolverConfig,
    _guide,
    _packed,
    fit_gaussian,
    integrate,
    make_network,
    make_schedule,
)

LINEAR = make_schedule("linear", gamma=1.0)
PATH = Path(LINEAR, "t")
D = 5


@pytest.fixture
def moments():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(D, D))
    return rng.normal(size=D), root @ root.T + 0.2 * np.eye(D)


def gaussian(moments):
    mean, covariance = moments
    return Gaussian(torch.from_numpy(mean), torch.from_numpy(np.linalg.inv(covariance)))


def conditional(moments, x, shown):
    """Mean and covariance of the other coordinates, by the textbook's formula."""
    mean, covariance = moments
    other = ~shown
    gain = covariance[np.ix_(other, shown)] @ np.linalg.inv(
        covariance[np.ix_(shown, shown)]
    )
    center = mean[other] + gain @ (x[shown] - mean[shown])
    spread = covariance[np.ix_(other, other)] - gain @ covariance[np.ix_(shown, other)]
    return center, spread


def points(n=40, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x_t = torch.randn(n, D, generator=generator, dtype=torch.float64)
    m_cond = torch.rand(n, D, generator=generator) < 0.5
    return x_t, m_cond


def test_start_leads_to_the_conditional_mean_with_its_spread(moments):
    x_t, m_cond = points()
    guess = gaussian(moments)(x_t, torch.zeros(len(x_t), 1), m_cond)
    for row, shown, v_s, scale in zip(
        x_t.numpy(), m_cond.numpy(), guess.v_s.numpy(), guess.scale.numpy(), strict=True
    ):
        center, spread = conditional(moments, row, shown)
        np.testing.assert_allclose((row + v_s)[~shown], center, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(scale[~shown], np.sqrt(np.diag(spread)), rtol=1e-8)
        assert (v_s[shown] == 0).all()
        assert (scale[shown] == 1).all()


@pytest.mark.parametrize("s", [0.0, 0.3, 0.7, 1.0])
def test_velocity_is_the_mean_of_the_paths_through_a_point(moments, s):
    """E[X − ε | x_t, shown], with x_t and X jointly normal."""
    mean, covariance = moments
    x_t, m_cond = points(n=6)
    guess = gaussian(moments)(x_t, torch.full((6, 1), s), m_cond)
    # The law of (X, ε) seen through x_t on moved and X on shown coordinates.
    joint = np.zeros((2 * D, 2 * D))
    joint[:D, :D], joint[D:, D:] = covariance, np.eye(D)
    both = np.r_[mean, np.zeros(D)]
    for k, shown in enumerate(m_cond.numpy()):
        see = np.hstack([np.diag(np.where(shown, 1, s)), np.diag(~shown * (1 - s))])
        want = np.hstack([np.eye(D), -np.eye(D)])
        inner = np.linalg.inv(see @ joint @ see.T + 1e-12 * np.eye(D))
        expected = want @ (both + joint @ see.T @ inner @ (x_t[k].numpy() - see @ both))
        got = guess.v_s[k].numpy()
        np.testing.assert_allclose(got[~shown], expected[~shown], rtol=1e-5, atol=1e-5)


def test_rows_may_hold_several_points_each(moments):
    x_t, m_cond = points(n=7)
    other = x_t.flip(0)
    guide, s_t = gaussian(moments), torch.full((7, 1), 0.4)
    together = guide(torch.cat([x_t, other]), s_t.repeat(2, 1), m_cond)
    alone = [guide(part, s_t, m_cond) for part in (x_t, other)]
    torch.testing.assert_close(together.v_s, torch.cat([a.v_s for a in alone]))
    torch.testing.assert_close(together.scale, torch.cat([a.scale for a in alone]))


def test_rows_do_not_see_each_other(moments):
    x_t, m_cond = points()
    guide, s_t = gaussian(moments), torch.linspace(0, 1, len(x_t)).unsqueeze(1)
    order = torch.randperm(len(x_t), generator=torch.Generator().manual_seed(0))
    whole = guide(x_t, s_t, m_cond)
    shuffled = guide(x_t[order], s_t[order], m_cond[order])
    torch.testing.assert_close(shuffled.v_s, whole.v_s[order])


def test_trajectories_of_the_guide_alone_have_the_conditional_law(moments):
    shown = np.array([True, False, False, True, False])
    x = np.random.default_rng(3).normal(size=D)
    n = 20_000
    m_cond = torch.from_numpy(shown).repeat(n, 1)
    x_keep = torch.from_numpy(x).repeat(n, 1)
    noise = torch.randn(n, D, generator=torch.Generator().manual_seed(0)).double()
    field = GuidedEnsemble.alone(gaussian(moments), path=PATH)

    def project(point):
        return torch.where(m_cond, x_keep, point)

    ends = integrate(
        lambda point, t: field(point, point.new_full((n, 1), t), m_cond),
        project(noise),
        config=SolverConfig(solver="heun", n_steps=40, grid="uniform", grid_beta=2.0),
        project=project,
        path=PATH,
    ).numpy()
    center, spread = conditional(moments, x, shown)
    np.testing.assert_allclose(ends[:, ~shown].mean(axis=0), center, atol=0.06)
    np.testing.assert_allclose(np.cov(ends[:, ~shown].T), spread, rtol=0.05, atol=0.1)


def test_an_untrained_transformer_around_the_guide_is_the_guide(moments):
    config = NetworkConfig(
        backbone="transformer",
        d_model=16,
        n_blocks=1,
        n_heads=2,
        dropout=0.0,
        n_masks=1,
        residual=True,
        n_frequencies=0,
        precondition=True,
        guide=True,
    )
    network = make_network(
        config,
        group=torch.arange(D),
        hints=True,
        path=PATH,
        variance=None,
        waves=None,
    )
    guide = gaussian(moments)
    x_t, m_cond = points()
    t = torch.linspace(0, 1, len(x_t)).unsqueeze(1)
    with_it = GuidedEnsemble.alone(guide, network, path=PATH)(x_t.float(), t, m_cond)
    without = GuidedEnsemble.alone(guide, path=PATH)(x_t.float(), t, m_cond)
    torch.testing.assert_close(with_it[~m_cond], without[~m_cond])


def test_fit_finds_the_moments_behind_holes(moments):
    mean, covariance = moments
    rng = np.random.default_rng(5)
    x = rng.multivariate_normal(mean, covariance, size=20_000)
    # Holes depend on a column that is always there.
    observed = rng.random(x.shape) > 0.5 / (1 + np.exp(-x[:, [0]]))
    observed[:, 0] = True
    found = fit_gaussian(x, observed, ridge=1e-6, max_iter=200, tol=1e-5)
    np.testing.assert_allclose(found[0], mean, atol=0.08)
    np.testing.assert_allclose(found[1], covariance, atol=0.2)


def by_the_book(x, observed, moments, weights, ridge):
    """One round of expectation-maximisation, row by row."""
    n, d = x.shape
    filled, spread = np.zeros((n, d)), np.zeros((d, d))
    for k, (row, known) in enumerate(zip(x, observed, strict=True)):
        center, inside = conditional(moments, row, known)
        filled[k] = row
        filled[k, ~known] = center
        spread[np.ix_(~known, ~known)] += weights[k] * inside
    mean = np.average(filled, axis=0, weights=weights)
    centered = filled - mean
    covariance = (weights[:, None] * centered).T @ centered + spread
    return mean, covariance / n + np.diag(ridge)


@pytest.mark.parametrize("n_patterns", [1, 6, 300])
def test_a_round_is_the_textbooks_however_many_patterns_and_threads(
    moments, n_patterns, monkeypatch
):
    monkeypatch.setattr(_packed, "_FEW_OPERATIONS", 0)
    rng = np.random.default_rng(n_patterns)
    x = rng.multivariate_normal(*moments, size=300)
    patterns = rng.random((n_patterns, D)) < 0.6
    observed = patterns[rng.integers(n_patterns, size=len(x))]
    observed[0] = True
    weights = rng.uniform(0.5, 2.0, len(x))
    weights /= weights.mean()
    ridge = np.linspace(0.01, 0.05, D)
    start = moments[0] + 0.1, moments[1] + 0.2 * np.eye(D)
    found = [
        fit_gaussian(
            x,
            observed,
            ridge=ridge,
            max_iter=1,
            tol=0.0,
            start=start,
            weights=weights,
            n_threads=n_threads,
        )
        for n_threads in (1, 3)
    ]
    expected = by_the_book(np.where(observed, x, 0.0), observed, start, weights, ridge)
    for k in range(2):
        np.testing.assert_allclose(found[0][k], expected[k], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found[0][k], found[1][k])


def test_what_it_says_does_not_depend_on_threads_and_modes(moments, monkeypatch):
    monkeypatch.setattr(_packed, "_FEW_OPERATIONS", 0)
    guide, n_threads = gaussian(moments), torch.get_num_threads()
    x_t, m_cond = points(n=600)
    s_t = torch.linspace(0, 1, len(x_t), dtype=torch.float64).unsqueeze(1)
    said = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    guess = guide(x_t, s_t, m_cond)
                    said.append((guess.v_s, guess.scale, guide.fill(x_t, m_cond)))
    finally:
        torch.set_num_threads(n_threads)
    for other in said[1:]:
        assert all(map(torch.equal, said[0], other))


@pytest.mark.parametrize("noisy", [False, True])
def test_a_gpus_two_ways_of_solving_agree_with_that_of_a_cpu(monkeypatch, noisy):
    """Coordinates of all rows, or as many as each misses, in pieces of any size."""
    d, n, generator = 21, 60, torch.Generator().manual_seed(0)
    draw = partial(torch.randn, generator=generator, dtype=torch.float64)
    root = draw(d, 2 * d)
    precision, s = root @ root.T / d, torch.linspace(0, 1, n).double().unsqueeze(1)
    m_cond = draw(n, d) < draw(n, 1)
    m_cond[0], m_cond[1] = True, False
    right, eps = torch.where(m_cond, 0.0, draw(1, n, d)), draw(1, n, d)
    asked = precision, right, s, m_cond, eps if noisy else None
    expected = _guide._solve_packed(*asked)
    monkeypatch.setattr(_guide, "_COUNT_STEP", 4)
    for n_cells in (2**24, 4 * d * d):
        monkeypatch.setattr(_guide, "_CHUNK_CELLS", n_cells)
        for solve in (_guide._solve_whole, _guide._solve_counted):
            v_s, scale = solve(*asked)
            torch.testing.assert_close(v_s[:, ~m_cond], expected[0][:, ~m_cond])
            torch.testing.assert_close(scale[~m_cond], expected[1][~m_cond])
            assert (v_s[:, m_cond] == 0).all()
            assert (scale[m_cond] == 1).all()


def test_fit_learns_from_the_few_rows_that_hold_a_column():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 2))
    x[:, 1] = 0.9 * x[:, 0] + 0.44 * x[:, 1]
    observed = np.ones(x.shape, dtype=bool)
    observed[:, 1] = rng.random(len(x)) > 0.99
    rows = observed[:, 1]
    slope = np.polyfit(x[rows, 0], x[rows, 1], 1)[0]
    _, covariance = fit_gaussian(x, observed, ridge=1e-6, max_iter=50, tol=1e-4)
    assert covariance[0, 1] / covariance[0, 0] == pytest.approx(slope, abs=0.01)


def test_fill_keeps_the_observed_and_gives_the_conditional_mean(moments):
    rng = np.random.default_rng(4)
    x, shown = rng.normal(size=(6, D)), rng.random((6, D)) < 0.5
    shown[0], shown[1] = True, False
    filled = gaussian(moments).fill(torch.from_numpy(x), torch.from_numpy(shown))
    for row, known, found in zip(x, shown, filled.numpy(), strict=True):
        center, _ = conditional(moments, row, known)
        assert (found[known] == row[known]).all()
        np.testing.assert_allclose(found[~known], center, rtol=1e-9, atol=1e-9)


def test_draws_keep_the_observed_and_have_the_conditional_spread(moments):
    shown = np.array([True, False, True, False, False])
    x = np.random.default_rng(3).normal(size=(1, D))
    noise = torch.randn(20_000, 1, D, generator=torch.Generator().manual_seed(0))
    drawn = gaussian(moments).draw(
        torch.from_numpy(x), torch.from_numpy(shown[None]), eps=noise
    )
    drawn = drawn[:, 0].numpy()
    center, spread = conditional(moments, x[0], shown)
    assert (drawn[:, shown] == x[:, shown]).all()
    np.testing.assert_allclose(drawn[:, ~shown].mean(axis=0), center, atol=0.06)
    np.testing.assert_allclose(np.cov(drawn[:, ~shown].T), spread, rtol=0.05, atol=0.1)
