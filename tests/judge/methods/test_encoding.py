"""Codes, one-hot blocks, and back."""

import numpy as np
import pandas as pd
import pytest

from macfm.judge.methods._encoding import (
    TableCode,
    as_shares,
    draw_categories,
    row_chunks,
)

TABLE = pd.DataFrame(
    {
        "x": [1.0, np.nan, 3.0, 8.0],
        "c": pd.Series(["b", "a", None, "b"], dtype=str),
    }
)


def test_a_complete_table_survives_the_round_trip():
    table = TABLE.dropna()
    code = TableCode.fit(table)
    back = code.from_one_hot(code.one_hot(table))
    np.testing.assert_allclose(back, code.codes(table))
    holes = table.mask(np.ones(table.shape, dtype=bool)).astype(table.dtypes)
    pd.testing.assert_frame_equal(code.complete(holes, back), table)


def test_observed_cells_set_the_scale():
    x = TableCode.fit(TABLE).one_hot(TABLE)
    assert x.shape == (4, 3)
    assert np.nanmean(x[:, 0]) == pytest.approx(0)
    assert np.nanstd(x[:, 0]) == pytest.approx(1)
    np.testing.assert_allclose(np.nanmean(x[:, 1:], axis=0), [1 / 3, 2 / 3])
    np.testing.assert_allclose(TableCode.fit(TABLE).center, [0, 1 / 3, 2 / 3])


def test_an_unseen_category_is_unknown_and_kept():
    code = TableCode.fit(TABLE)
    table = pd.DataFrame({"x": [np.nan], "c": pd.Series(["new"], dtype=str)})
    assert np.isnan(code.one_hot(table)).all()
    filled = code.complete(table, np.array([[2.0, 0.0]]))
    assert filled.loc[0, "c"] == "new"
    assert filled.loc[0, "x"] == 2.0


def test_a_column_without_values_is_named():
    with pytest.raises(ValueError, match="column 'y' has no observed value to learn"):
        TableCode.fit(TABLE.assign(y=np.nan))


def test_shares_are_clipped_and_fall_back():
    shares = as_shares(np.array([[0.5, -0.1, 1.5], [-1.0, -2.0, 0.0]]), np.ones(3) / 3)
    np.testing.assert_allclose(shares, [[0.25, 0, 0.75], [1 / 3, 1 / 3, 1 / 3]])


def test_drawn_categories_follow_their_shares():
    shares = np.tile([0.2, 0.0, 0.5, 0.3], (20_000, 1))
    drawn = draw_categories(shares, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=4) / len(drawn)
    assert counts[1] == 0
    np.testing.assert_allclose(counts, shares[0], atol=0.015)  # 4 standard errors


def test_chunks_cover_all_rows_once():
    for n_rows, width in [(0, 5), (1, 5), (10, 3), (10, 100)]:
        rows = [
            i for part in row_chunks(n_rows, width, most=9) for i in range(10)[part]
        ]
        assert rows == list(range(n_rows))
