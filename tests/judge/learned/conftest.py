"""The toy that every learned baseline is tried on: two factors behind eight columns."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from macfm.judge.methods import make_method

NAMES = [f"x{j}" for j in range(8)]


class Toy:
    """Complete rows to train on and to test on, and where 30 % of them are hidden."""

    def __init__(self, n_train=1_000, n_test=500, seed=0):
        rng = np.random.default_rng(seed)
        loadings = rng.normal(size=(2, 8))
        n = n_train + n_test
        x = rng.normal(size=(n, 2)) @ loadings + 0.3 * rng.normal(size=(n, 8))
        table = pd.DataFrame(x, columns=NAMES)
        flags = pd.DataFrame(rng.random((n, 8)) < 0.3, columns=NAMES)
        self.train, self.test = table[:n_train], table[n_train:]
        self.train_hidden, self.test_hidden = flags[:n_train], flags[n_train:]

    def fit(self, name, *, seed=0, **settings):
        """The method of that name, fitted on the training rows."""
        method = make_method(name, seed=seed, **settings)
        return method.fit(self.train.mask(self.train_hidden))

    def error(self, method):
        """Root mean squared error on hidden test cells, in standard deviations."""
        return self.error_of(method.impute(self.test.mask(self.test_hidden)))

    def error_of(self, filled):
        """The same of a filled table of test rows."""
        gap = (filled - self.test) / self.test.std(ddof=0)
        return float(np.sqrt(np.mean(gap.to_numpy()[self.test_hidden.to_numpy()] ** 2)))

    @property
    def best(self):
        """Error of EM, which is nearly the best possible."""
        return self.error(self.fit("em"))


@cache
def _toy(n_train, n_test):
    return Toy(n_train, n_test)


@pytest.fixture
def toy():
    """The toy of 1,000 training and 500 test rows."""
    return _toy(1_000, 500)
