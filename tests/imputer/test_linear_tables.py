"""On linear tables the draws carry the truth, inside and outside what was observed."""

import warnings

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer
from macfm.flow import TrainingRows
from macfm.imputer import _training


def linear_table(n, d, seed):
    """A column that drives the holes, and others that follow from those before."""
    rng = np.random.default_rng([seed, n, d])
    noise = rng.normal(size=(n, d))
    x = np.empty((n, d))
    x[:, 0] = noise[:, 0]
    for j in range(1, d):
        x[:, j] = 0.6 * x[:, 0] + 0.5 * (j > 1) * x[:, j - 1] + 0.7 * noise[:, j]
    chance = 1 / (1 + np.exp(0.5 - 2 * x[:, [0]]))
    hidden = rng.random((n, d)) < chance
    hidden[:, 0] = False
    names = [f"c{j}" for j in range(d)]
    return pd.DataFrame(x, columns=names), hidden


def slopes(table):
    """Slopes of the last column on the first and the one before it."""
    x = np.asarray(table)
    design = np.column_stack([np.ones(len(x)), x[:, :-1]])
    found = np.linalg.lstsq(design, x[:, -1], rcond=None)[0][1:]
    return np.array([found[0], found[-1]])


def draws_of(complete, hidden, **parameters):
    imputer = MACFMImputer(random_state=0, verbose=False, **parameters)
    table = complete.mask(hidden)
    imputer.fit(table)
    return imputer, np.stack([np.asarray(t) for t in imputer.sample(table, 20)])


def spread_over_error(complete, hidden, draws, region):
    cells = hidden & region[:, None]
    spread = draws.var(axis=0, ddof=1)[cells].mean()
    error = ((draws.mean(axis=0) - complete.to_numpy()) ** 2)[cells].mean()
    return np.sqrt(spread / (error * len(draws) / (len(draws) + 1)))


@pytest.mark.parametrize("d", [2, 5])
def test_slope_and_spread_of_one_table(d):
    complete, hidden = linear_table(1000, d, seed=5)
    _, draws = draws_of(complete, hidden, max_steps=200, d_model=64, n_steps=6)
    whole = slopes(complete)
    pooled = np.mean([slopes(draw) for draw in draws], axis=0)
    # The holes take half of the rows: twice the standard error of the whole table.
    assert np.abs(pooled - whole).max() < 3 * 2 * 0.7 / np.sqrt(1000 * 0.4)
    high = complete["c0"].to_numpy() > 0
    for region in (high, ~high):
        n_cells = (hidden & region[:, None]).sum()
        ratio = spread_over_error(complete, hidden, draws, region)
        assert abs(ratio - 1) < 0.05 + 3 / np.sqrt(2 * n_cells)


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("d", [2, 6, 10])
def test_slopes_over_seeds(n, d):
    n_seeds = 10
    found, ratios = [], []
    for seed in range(n_seeds):
        complete, hidden = linear_table(n, d, seed)
        _, draws = draws_of(complete, hidden)
        pooled = np.mean([slopes(draw) for draw in draws], axis=0)
        found.append(pooled - slopes(complete))
        high = complete["c0"].to_numpy() > 0
        ratios.append(
            [spread_over_error(complete, hidden, draws, r) for r in (high, ~high)]
        )
    error = np.std(found, axis=0) / np.sqrt(n_seeds)
    assert (np.abs(np.mean(found, axis=0)) < 0.03 * 0.6 + 3 * error).all()
    assert (np.abs(np.mean(ratios, axis=0) - 1) < 0.15).all()


def test_too_short_a_budget_gives_the_guide_and_says_so():
    complete, hidden = linear_table(300, 4, seed=1)
    table = complete.mask(hidden)
    imputer = MACFMImputer(random_state=0, verbose=False, budget=0.01)
    with pytest.warns(UserWarning, match="filled by the linear guide alone"):
        filled = imputer.fit_transform(table)
    miss = (filled - complete).to_numpy()[hidden]
    by_mean = (table.mean() - complete).to_numpy()[hidden]
    assert np.sqrt(np.mean(miss**2)) < 0.8 * np.sqrt(np.mean(by_mean**2))


def test_few_steps_are_no_lack_of_time():
    complete, hidden = linear_table(300, 4, seed=1)
    imputer = MACFMImputer(
        random_state=0, verbose=False, budget=600, max_steps=20, evaluate_every=10
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        imputer.fit(complete.mask(hidden))
    assert not any("budget" in str(one.message) for one in caught)


def test_a_network_without_time_does_not_halve_the_trust_in_another(monkeypatch):
    complete, hidden = linear_table(300, 4, seed=1)
    within = _training.within_budget

    def second_comes_late(settings, *, spent, n_turns):
        spent = spent if n_turns == 2 else 1e6
        return within(settings, spent=spent, n_turns=n_turns)

    monkeypatch.setattr(_training, "within_budget", second_comes_late)
    imputer = MACFMImputer(
        random_state=0,
        verbose=False,
        n_networks=2,
        budget=600,
        max_steps=120,
        d_model=32,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        imputer.fit(complete.mask(hidden))
    assert not any("budget" in str(one.message) for one in caught)
    assert len(imputer.network_.members) == 1


def test_an_interrupt_between_networks_keeps_the_first(monkeypatch):
    complete, hidden = linear_table(300, 4, seed=1)
    imputer = MACFMImputer(
        random_state=0, verbose=False, n_networks=2, max_steps=1, d_model=32
    )

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainingRows, "guess_again", interrupt)
    with pytest.warns(UserWarning, match="training was interrupted"):
        imputer.fit(complete.mask(hidden))
    assert len(imputer.network_.members) == 1


def test_one_network_does_not_guess_for_a_second(monkeypatch):
    complete, hidden = linear_table(300, 4, seed=1)

    def refuse(*args, **kwargs):
        raise AssertionError("nobody reads these guesses")

    monkeypatch.setattr(TrainingRows, "guess_again", refuse)
    MACFMImputer(random_state=0, verbose=False, max_steps=1, d_model=32).fit(
        complete.mask(hidden)
    )


def test_a_column_that_nobody_can_tell_is_named():
    complete, hidden = linear_table(600, 3, seed=2)
    complete["dice"] = np.random.default_rng(0).normal(size=600)
    hidden = np.column_stack([hidden, np.random.default_rng(1).random(600) < 0.2])
    with pytest.warns(UserWarning, match="column 'dice' is filled no better than"):
        MACFMImputer(random_state=0, verbose=False, max_steps=60).fit(
            complete.mask(hidden)
        )


def test_a_column_without_holes_is_not_named():
    complete, hidden = linear_table(600, 3, seed=2)
    rng = np.random.default_rng(0)
    dice = [f"dice {k}" for k in range(5)]
    complete[dice] = rng.normal(size=(600, 5))
    with_holes = rng.random((600, 5)) < [0.2, 0, 0, 0, 0]
    table = complete.mask(np.column_stack([hidden, with_holes]))
    with pytest.warns(UserWarning, match="on held-out rows column 'dice 0' is filled"):
        MACFMImputer(random_state=0, verbose=False, max_steps=60).fit(table)
