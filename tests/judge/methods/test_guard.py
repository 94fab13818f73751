"""The guard against methods that fail without a word."""

import numpy as np
import pandas as pd
import pytest

from macfm.judge.methods import check_learned, make_method

RNG = np.random.default_rng(0)
TRUTH = pd.DataFrame(
    {
        "a": RNG.normal(size=500) + 1e6,
        "b": RNG.exponential(size=500) / 1e6,
        "constant": 1.0,
        "c": RNG.choice(["u", "v"], size=500),
    }
)
TRAIN = TRUTH.mask(pd.DataFrame(RNG.random(TRUTH.shape) < 0.4, columns=TRUTH.columns))
MEANS = make_method("mean").fit(TRAIN).impute(TRAIN)


def test_column_means_from_a_learned_method_are_refused():
    with pytest.raises(RuntimeError, match=r"knn filled \d+ of \d+ numeric cells with"):
        check_learned(make_method("knn"), TRAIN, MEANS, TRAIN)


def test_means_of_the_rows_it_was_given_are_refused_too():
    table = TRAIN.head(200)
    filled = make_method("mean").fit(table).impute(table)
    with pytest.raises(RuntimeError, match="it did not learn"):
        check_learned(make_method("hyperimpute"), TRAIN, filled, table)


def test_the_mean_itself_may_give_means():
    check_learned(make_method("mean"), TRAIN, MEANS, TRAIN)


@pytest.mark.parametrize("share", [0.02, 1.0])
def test_a_few_other_values_are_enough(share):
    filled = MEANS.copy()
    for column in ("a", "b"):
        rows = np.flatnonzero(TRAIN[column].isna())
        rows = rows[: max(int(share * len(rows)), 1)]
        filled.loc[rows, column] += TRAIN[column].std() / 100
    check_learned(make_method("knn"), TRAIN, filled, TRAIN)


def test_a_table_without_numbers_passes():
    check_learned(make_method("knn"), TRAIN[["c"]], MEANS[["c"]], TRAIN[["c"]])
