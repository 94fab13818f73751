"""What the default must go on being able to do, in numbers that it once could not.

Scores are told over those of a simple peer on the same holes, less is better. Networks
are small and their training short, alike with and without the part that a bound is owed
to. On the seeds 0 to 3 the default stays below each limit and lies above it without the
part; the median of `amounts` does so on two of them, and is lower with the part on all.
The tests keep to seed 0. The limits were set on these seeds. Longer training makes up
for part of what is left out: with 200 steps of width 128 wine without the guide stays
below its limit on two of the four seeds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from macfm import MACFMImputer
from macfm.judge.methods import make_method

# Of some columns nothing else tells, and fit says so.
pytestmark = pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
SHORT = {"max_steps": 150, "d_model": 64, "n_blocks": 2}


def linear(rng):
    """Six columns of two factors."""
    factors = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6))
    return pd.DataFrame(factors + 0.3 * rng.normal(size=factors.shape))


def smooth(rng):
    """Six columns that are curved functions of two numbers."""
    u, v = rng.uniform(-2, 2, size=(2, 400))
    columns = np.column_stack([u, v, u * v, u**2, np.sin(2 * v), np.abs(u - v)])
    return pd.DataFrame(columns + 0.1 * rng.normal(size=columns.shape))


def steps(rng, n=400):
    """Numbers and a category that follow others by steps."""
    x = rng.uniform(-2, 2, size=(n, 6))
    noise = rng.normal(size=(n, 3))
    x[:, 3] = np.sign(x[:, 0]) * np.sign(x[:, 1]) + 0.2 * noise[:, 0]
    x[:, 4] = np.floor(x[:, 2]) + 0.2 * noise[:, 1]
    x[:, 5] = np.where(x[:, 0] > 0.5, x[:, 1], -x[:, 2]) + 0.1 * noise[:, 2]
    table = pd.DataFrame(x, columns=list("abcdef"))
    high, low = np.where(x[:, 1] > 0.5, "p", "q"), np.where(x[:, 0] > -0.5, "r", "p")
    return table.assign(kind=np.where(x[:, 2] > 0, high, low))


def amounts(rng):
    """An amount that is 0 for every second row, and what it depends on."""
    z = rng.normal(size=(400, 2))
    none = rng.random(400) < 1 / (1 + np.exp(-2 * z[:, 0]))
    some = np.exp(1 + 0.5 * z[:, 1] + 0.2 * rng.normal(size=400))
    table = pd.DataFrame(z, columns=["who", "how much"])
    table["amount"] = np.where(none, 0.0, some)
    return table


def skipped(rng):
    """The age of the sick: who was not asked whether they are has neither."""
    bmi = rng.normal(27, 5, 700)
    sick = rng.random(700) < 1 / (1 + np.exp(1.8 - (bmi - 27) / 5))
    age = np.where(sick, rng.normal(52, 9, 700) + bmi / 5, np.nan)
    table = pd.DataFrame({"bmi": bmi, "sick": np.where(sick, "yes", "no")})
    return table.assign(age=age)


def of_sklearn(name):
    """Return what gives a table that comes with scikit-learn."""

    def make(rng):
        return getattr(datasets, f"load_{name}")(as_frame=True).data

    make.__name__ = name
    return make


@dataclass
class Trial:
    """A table with known holes, and an imputer of it without some parts."""

    make: Callable
    without: dict = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self):
        rng = np.random.default_rng([self.seed, 7])
        self.truth = self.make(rng)
        self.hidden = rng.random(self.truth.shape) < 0.25
        if self.make is skipped:
            self.hidden = np.tile(rng.random((len(self.truth), 1)) < 0.2, 3)
            self.hidden[:, 0] = False
        self.table = self.truth.mask(self.hidden)
        self.scale = self.table.std(numeric_only=True)
        self.scored = self.hidden[:, self.is_number] & self.known

    @cached_property
    def is_number(self):
        return self.truth.columns.isin(self.scale.index)

    @cached_property
    def known(self):
        return self.truth[self.scale.index].notna().to_numpy()

    @cached_property
    def imputer(self):
        settings = SHORT | self.without
        imputer = MACFMImputer(random_state=0, verbose=False, settings=settings)
        return imputer.fit(self.table)

    @cached_property
    def em(self):
        return make_method("em").fit(self.table)

    @cached_property
    def filled(self):
        return self.imputer.transform(self.table)

    def misses(self, filled):
        """Errors of numbers in standard deviations, hidden cells only."""
        numbers = filled[self.scale.index].astype(float)
        miss = (numbers - self.truth[self.scale.index]) / self.scale
        return miss.to_numpy()[self.scored]

    def lost(self, column):
        """Rows where a column was hidden, and what it was there."""
        rows = self.hidden[:, self.truth.columns.get_loc(column)]
        return self.table[rows], self.truth[column][rows]


def root_mean_square(misses):
    return np.sqrt(np.mean(misses**2))


def rmse_over_em(trial):
    """RMSE of the mean over that of one normal distribution, EM's."""
    peer = root_mean_square(trial.misses(trial.em.impute(trial.table)))
    return root_mean_square(trial.misses(trial.filled)) / peer


def mae_over_median(trial):
    """MAE of the median over that of the columns' medians."""
    medians = trial.table.fillna(trial.table.median(numeric_only=True))
    trial.imputer.set_params(method="median", n_trials=40)
    ours = trial.misses(trial.imputer.transform(trial.table))
    return np.abs(ours).mean() / np.abs(trial.misses(medians)).mean()


def width_over_em(trial):
    """Width of intervals of 90 % over EM's, endless if they hold less than 85 %."""
    rows = trial.table[:100]
    told = trial.imputer.intervals(rows, level=0.9)
    places = told["row"].to_numpy(int), told["column"].to_numpy(int)
    truth = trial.truth.to_numpy()[places]
    draws = np.stack(trial.em.draw(rows, 100))[:, *places]
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    scale = trial.scale.to_numpy()[places[1]]
    if ((told["low"] <= truth) & (truth <= told["high"])).mean() < 0.85:
        return np.inf
    ours, peer = (told["high"] - told["low"]) / scale, (high - low) / scale
    return ours.mean() / peer.mean()


def categories_missed(trial):
    """Share of categories not found, over that of the most frequent one."""
    rows, truth = trial.lost("kind")
    frequent = trial.table["kind"].mode()[0]
    found = trial.imputer.transform(rows)["kind"]
    return (found != truth).mean() / (frequent != truth).mean()


def zeros_lost(trial):
    """Share of the zeros that draws lack, or have too many."""
    rows, truth = trial.lost("amount")
    draws = trial.imputer.sample(rows, 10)
    drawn = np.mean([(draw["amount"] == 0).mean() for draw in draws])
    return abs(1 - drawn / (truth == 0).mean())


def surprise(trial):
    """Squared error of a category's probability over that of its share."""
    rows, truth = trial.lost("sick")
    told = trial.imputer.category_probabilities(rows)["sick"]["yes"]
    share = (trial.table["sick"] == "yes").sum() / trial.table["sick"].count()
    sick = truth == "yes"
    return ((told - sick) ** 2).mean() / ((share - sick) ** 2).mean()


@dataclass(frozen=True)
class Bounds:
    """The most that scores of a table may be; without a part each is more."""

    table: Callable
    part: str
    limits: dict

    def __str__(self):
        return f"{self.table.__name__} without {self.part}"


OFF = {"guide": False, "n_trees": 0, "atoms": False, "mask_input": False}
BOUNDS = [
    Bounds(linear, "guide", {rmse_over_em: 1.07}),
    Bounds(of_sklearn("wine"), "guide", {rmse_over_em: 0.978}),
    Bounds(of_sklearn("iris"), "guide", {rmse_over_em: 1.02}),
    Bounds(smooth, "guide", {rmse_over_em: 0.8, width_over_em: 0.95}),
    Bounds(steps, "n_trees", {rmse_over_em: 0.94, categories_missed: 0.3}),
    Bounds(amounts, "atoms", {mae_over_median: 0.85, zeros_lost: 0.2}),
    Bounds(skipped, "mask_input", {surprise: 0.97}),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_default_keeps_bounds_that_it_owes_to_a_part(bounds):
    whole = Trial(bounds.table)
    found = {score: score(whole) for score in bounds.limits}
    assert all(found[score] < limit for score, limit in bounds.limits.items()), found
    less = Trial(bounds.table, {bounds.part: OFF[bounds.part]})
    found = {score: score(less) for score in bounds.limits}
    assert all(found[score] > limit for score, limit in bounds.limits.items()), found


def test_small_tables_with_steps_and_repeated_values_are_filled_well():
    """Nothing is cut short here: this is the default as it comes.

    A network and a guide alone reach an error of 0.618, and draw half of the zeros.
    With trees and atoms it is 0.600, and their share is right within sampling error.
    """
    rng = np.random.default_rng(3)
    complete = steps(rng, n=500).drop(columns="kind")
    zero = rng.uniform(size=len(complete)) < 0.5
    complete["g"] = np.where(zero, 0.0, np.exp(complete["a"]))
    hidden = rng.uniform(size=complete.shape) < 0.25
    table = complete.mask(hidden)
    imputer = MACFMImputer(random_state=0, verbose=False).fit(table)
    miss = ((imputer.transform(table) - complete) / complete.std()).to_numpy()
    error = root_mean_square(miss[:, :6][hidden[:, :6]])
    lost = hidden[:, 6]
    draws = imputer.sample(table[lost], 10)
    zeros = np.mean([(draw["g"] == 0).mean() for draw in draws])
    assert error < 0.61
    assert abs(zeros - (complete["g"][lost] == 0).mean()) < 0.1


def test_a_column_of_noise_is_named_though_trees_are_grown_from_all_rows_at_last():
    rng = np.random.default_rng(3)
    complete = steps(rng, n=700).drop(columns="kind")
    complete["noise"] = rng.normal(size=len(complete))
    table = complete.mask(rng.random(complete.shape) < 0.25)
    imputer = MACFMImputer(random_state=0, verbose=False, settings=SHORT)
    with pytest.warns(UserWarning, match=r"'noise'.*no better than by the mean"):
        imputer.fit(table)
    assert len(imputer.network_.polish.trees) > 0
