"""Rows are numbered as sorting them would number them."""

import numpy as np
import pytest

from macfm.flow._levels import number_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_numbered_in_their_order(dtype):
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(7, 4)).astype(dtype)
    x = codes[rng.integers(7, size=500)]
    distinct, number = np.unique(x, axis=0, return_inverse=True)
    found, told = number_rows(x)
    np.testing.assert_array_equal(found, distinct)
    np.testing.assert_array_equal(told, number.ravel())


def test_one_row_and_rows_of_one_entry():
    found, told = number_rows(np.array([[3.0], [1.0], [3.0]]))
    np.testing.assert_array_equal(found, [[1.0], [3.0]])
    np.testing.assert_array_equal(told, [1, 0, 1])
