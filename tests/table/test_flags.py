"""Flag columns go beside a table and leave it as it was."""

import numpy as np
import pandas as pd
import pytest

from macfm.table import append_flags

FLAGS = {"gone": np.array([True, False])}


def test_frame_gets_boolean_columns_on_its_own_index():
    frame = pd.DataFrame({"a": [1, 2]}, index=["r", "r"])
    wider = append_flags(frame, FLAGS)
    expected = pd.DataFrame({"a": [1, 2], "gone": [True, False]}, index=["r", "r"])
    pd.testing.assert_frame_equal(wider, expected)
    assert list(frame) == ["a"]


def test_array_keeps_its_dtype():
    wider = append_flags(np.zeros((2, 1), dtype=np.float32), FLAGS)
    assert wider.dtype == np.float32
    np.testing.assert_array_equal(wider, [[0, 1], [0, 0]])


def test_polars_gets_boolean_columns():
    pl = pytest.importorskip("polars")
    wider = append_flags(pl.DataFrame({"a": [1, 2]}), FLAGS)
    assert wider.to_dict(as_series=False) == {"a": [1, 2], "gone": [True, False]}


def test_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match="'gone'"):
        append_flags(pd.DataFrame({"gone": [1, 2]}), FLAGS)
