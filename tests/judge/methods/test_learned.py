"""What every learned baseline has in common: settings, budget, provenance."""

import re
import time

import numpy as np
import pandas as pd
import pytest

from macfm.judge.methods import METHODS, make_method
from macfm.judge.methods._learned import LearnedMethod

LEARNED = [n for n, method in METHODS.items() if issubclass(method, LearnedMethod)]
EACH = pytest.mark.parametrize("name", LEARNED)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1)) + 0.5 * rng.normal(size=(300, 4))
    frame = pd.DataFrame(x, columns=list("abcd"))
    return frame.mask(rng.random(frame.shape) < 0.2)


def test_there_are_ten():
    assert len(LEARNED) == 10


@EACH
def test_its_source_is_named_with_the_year(name):
    method = METHODS[name]
    assert re.search(r"20(1[89]|2\d)", method.source)
    assert re.search(r"\(20(1[89]|2\d)\)", method.about)


@EACH
def test_quick_changes_settings_it_has_and_yields_to_what_is_said(name):
    method = METHODS[name]
    assert method.quick
    assert set(method.quick) <= set(method.authors)
    assert make_method(name).settings == {
        "budget": None,
        "quick": False,
        **method.authors,
    }
    quick = make_method(name, quick=True).settings
    assert {k: quick[k] for k in method.quick} == method.quick
    first = next(iter(method.quick))
    own = method.authors[first]
    assert make_method(name, quick=True, **{first: own}).settings[first] == own


@EACH
def test_a_budget_ends_training_in_good_order(name, table):
    # Filling is not training; few samples keep it short.
    few = {"n_samples": 2, "n_levels": 3, "n_inner": 2, "n_trials": 2}
    few = {k: v for k, v in few.items() if k in METHODS[name].authors}
    method = make_method(name, quick=True, budget=0.3, device="auto", **few)
    began = time.perf_counter()
    filled = method.fit(table).impute(table)
    # Without it the least of them takes many times as long.
    assert time.perf_counter() - began < 10
    assert np.isfinite(filled.to_numpy()).all()


@EACH
@pytest.mark.parametrize("budget", [0, -1.0, float("nan")])
def test_a_budget_must_be_seconds(name, budget):
    with pytest.raises(ValueError, match=f"{name}: budget must be a number of seconds"):
        make_method(name, budget=budget)


@EACH
def test_evaluations_are_counted(name):
    assert make_method(name).network_evaluations_per_row() >= 1
