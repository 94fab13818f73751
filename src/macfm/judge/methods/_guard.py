"""A guard against methods that fail without a word."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from macfm.judge.methods._base import Method

_MOST = 0.99


def check_learned(
    method: Method, train: pd.DataFrame, filled: pd.DataFrame, table: pd.DataFrame
) -> None:
    """Raise if a learned method filled numbers with nothing but column means.

    Some packages give up on an error and return the means they started from. A
    RuntimeError says so if more than 99 % of the filled cells of columns that vary
    equal the mean of their column, in `train` or in the `table` that was filled, to
    nine digits of its standard deviation. A method with ``learned = False`` always
    passes.
    """
    if not method.learned:
        return
    n_filled = n_means = 0
    for name in train.columns:
        if not is_float_dtype(train[name]):
            continue
        sd = train[name].std(ddof=0)
        if train[name].nunique() < 2:
            continue
        values = filled[name].to_numpy()[table[name].isna().to_numpy()]
        # A package may have started from the means of the rows it was given.
        means = (train[name].mean(), table[name].mean())
        is_mean = [np.abs(values - m) <= 1e-9 * max(sd, abs(m)) for m in means]
        n_filled += len(values)
        n_means += int(np.logical_or(*is_mean).sum())
    if n_filled and n_means > _MOST * n_filled:
        raise RuntimeError(
            f"{method.name} filled {n_means} of {n_filled} numeric cells with the mean "
            f"of their column: it did not learn"
        )
