"""Ranges of filled cells in tables as users have them."""

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer
from macfm.table import range_places

QUICK = {
    "max_steps": 8,
    "evaluate_every": 4,
    "d_model": 16,
    "n_blocks": 1,
    "n_steps": 2,
    "n_trees": 2,
    "verbose": False,
    "random_state": 0,
}


def test_a_name_that_is_a_tuple_stands_in_one_cell():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    x = x.mask(rng.random(x.shape) < 0.2)
    deep = x.set_axis(pd.MultiIndex.from_product([["a", "b"], ["u", "v"]]), axis=1)
    flat, told = (MACFMImputer(**QUICK).fit(t).intervals(t, 0.5, 9) for t in (x, deep))
    assert set(told["column"]) == set(deep.columns)
    names = dict(zip(deep.columns, x.columns, strict=True))
    pd.testing.assert_frame_equal(
        told.assign(column=told["column"].map(names)), flat, check_dtype=False
    )


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_a_range_holds_its_level_of_exchangeable_truths(level):
    for n_draws in range(1, 400):
        low, high = range_places(level, n_draws)
        held = (high - low) / (n_draws + 1)  # of the gaps in which a truth may lie
        if n_draws + 1 >= round(2 / (1 - level), 6):
            assert held >= level - 1e-9
            narrower = (high - low - 2) / (n_draws + 1)
            assert narrower < level - 1e-9
        else:
            assert (low, high) == (0, n_draws - 1)


def test_a_table_of_ranges_has_the_types_of_what_it_holds():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    x = x.mask(rng.random(x.shape) < 0.3).set_axis(range(100, 160))
    told = MACFMImputer(**QUICK).fit(x).intervals(x, 0.5, 9)
    numbers = told[["value", "low", "high", "certainty"]]
    assert {str(dtype) for dtype in numbers.dtypes} == {"float64"}
    assert told["row"].dtype == x.index.dtype
    filled = MACFMImputer(**QUICK).fit(x).transform(x)
    for cell in told.itertuples():  # labels and names find their cells
        assert filled.loc[cell.row, cell.column] == cell.value
    x["c"] = np.where(rng.random(60) < 0.5, "u", None)
    x.loc[100, "c"] = "v"
    told = MACFMImputer(**QUICK).fit(x).intervals(x, 0.5, 9)
    assert told["value"].dtype == object
    assert str(told["low"].dtype) == "float64"


def test_whole_numbers_keep_their_digits_in_a_table_of_ranges():
    big = 2**53 + 1
    x = pd.DataFrame({"n": pd.array([big, big + 2] * 30, dtype="Int64")})
    x["a"] = np.random.default_rng(0).normal(size=60)
    x = x.mask(np.random.default_rng(1).random(x.shape) < 0.3)
    imputer = MACFMImputer(**QUICK, numeric=["n"]).fit(x)
    told, filled = imputer.intervals(x, 0.5, 9), imputer.transform(x)
    for cell in told.itertuples():
        assert filled.loc[cell.row, cell.column] == cell.value
