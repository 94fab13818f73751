"""Draws are written as the column's own values are written."""

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table
from macfm.table._often import Often, decimals_of
from macfm.table._transform import NumericTransform

rng = np.random.default_rng(0)


def plain(values):
    return NumericTransform.fit(np.asarray(values, dtype=float), "standard")


def test_a_value_that_comes_back_is_restored_to_the_last_bit():
    seen = np.concatenate([rng.normal(1e4, 2, 800), [36.6] * 40, [1e4 / 3] * 40])
    transform = plain(seen)
    often = Often.fit(seen, np.array([]), transform)
    assert often.offsets.tolist() == [36.6, 1e4 / 3]
    x = transform.forward(seen).astype(np.float32)
    rounded = transform.inverse(x)
    assert (rounded[800:] != seen[800:]).all()
    restored = often.restore(rounded, x)
    assert (restored[800:] == seen[800:]).all()
    assert (restored[:800] == rounded[:800]).all()


@pytest.mark.parametrize(
    ("n_cells", "n_others", "is_often"),
    [(4, 20, False), (5, 20, True), (5, 994, True), (5, 996, False), (9, 1700, True)],
)
def test_values_come_back_from_five_cells_and_half_a_percent_on(
    n_cells, n_others, is_often
):
    seen = np.concatenate([np.arange(n_others) + 0.5, [-7.0] * n_cells])
    often = Often.fit(seen, np.array([]), plain(seen))
    assert often.offsets.tolist() == [-7.0] * is_often


def test_atoms_are_left_to_themselves_and_do_not_count():
    seen = np.concatenate([np.zeros(5_000), np.arange(900) + 0.5, [7.0] * 5])
    assert Often.fit(seen, np.array([0.0]), plain(seen)).offsets.tolist() == [7.0]


@pytest.mark.parametrize("known", [[], [2.0], [2.0, 3.0]])
def test_numbers_that_are_none_of_them_stay(known):
    transform = plain([0.0, 1.0, 2.0, 3.0])
    often = Often.make(np.array(known), transform)
    offsets = np.array([-1e9, 0.1, 2.5, 1e9])
    assert often.restore(offsets, transform.forward(offsets)).tolist() == list(offsets)


@pytest.mark.parametrize(
    ("seen", "decimals"),
    [
        ([1.0, 2.0], 0),
        ([36.6, 37.0], 1),
        ([0.1 + 0.2, 1.0], 0),
        ([1e-6], 6),
        ([1e-7], 0),
        ([np.pi], 0),
        ([-2.25, 1e300], 2),
        ([], 0),
    ],
)
def test_decimals_are_those_of_all_values(seen, decimals):
    assert decimals_of(np.array(seen)) == decimals


def drawn(frame, x, **wishes):
    table = as_table(frame)
    encoder = TableEncoder.fit(table, TableSchema.infer(table, **wishes))
    holes = as_table(frame.iloc[:1].mask(frame.iloc[:1].notna()).reindex([0] * len(x)))
    values = encoder.encode(as_table(pd.DataFrame({"a": x}))).x
    again = TableEncoder.from_arrays(encoder.schema, encoder.to_arrays())
    found = [
        one.complete(holes, values, drawn=True)["a"].to_numpy()
        for one in (encoder, again)
    ]
    np.testing.assert_array_equal(*found)
    return found[0], encoder.complete(holes, values)["a"].to_numpy()


def test_draws_have_the_decimals_of_their_column_and_means_have_more():
    frame = pd.DataFrame({"a": rng.normal(37, 1, 200).round(1)})
    x = np.array([36.5873, 36.6, 37.04999, 40.123])
    draws, means = drawn(frame, x)
    assert draws.tolist() == [36.6, 36.6, 37.0, 40.1]
    np.testing.assert_allclose(means, x, rtol=1e-6)


def test_an_atom_may_have_more_decimals_than_others_have():
    values = rng.uniform(1.5, 90, 400).round(1)
    values[:150] = 0.75  # half of what can be detected
    table = as_table(pd.DataFrame({"a": values}))
    encoder = TableEncoder.fit(table, TableSchema.infer(table))
    x = encoder.encode(table).x[:300]
    x[150:, 0] += 1e-3
    holes = as_table(pd.DataFrame({"a": np.full(300, np.nan)}))
    (column,) = encoder.decode(holes, x, drawn=True).values()
    found = column[1].astype(float)
    below = found < 1
    assert np.unique(found[below]).tolist() == [0.75]
    assert (found[~below].round(1) == found[~below]).all()


def test_whole_numbers_that_are_to_be_amounts_are_not_rounded():
    frame = pd.DataFrame({"a": rng.integers(0, 500, 200) * 1.0})
    draws, _ = drawn(frame, np.array([3.25, 7.75]), numeric=["a"])
    np.testing.assert_allclose(draws, [3.25, 7.75], atol=1e-4)


def test_rounding_steps_over_no_bound():
    frame = pd.DataFrame({"a": rng.uniform(0.3, 0.8, 200).round(1)})
    draws, _ = drawn(frame, np.array([0.34, 0.26, 0.84]), bounds={"a": (0.28, 0.82)})
    assert draws.min() >= 0.28
    assert draws.max() <= 0.82


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("often", np.array([])),
        ("often", np.array([2.0, 1.0])),
        ("often", np.array([1.0, np.nan])),
        ("often", np.array([1.0], dtype=np.float32)),
        ("decimals", np.array(0)),
        ("decimals", np.array(7)),
        ("decimals", np.array(1.0)),
    ],
)
def test_what_no_fit_gives_is_refused(name, array):
    table = as_table(pd.DataFrame({"a": rng.normal(size=50).round(1)}))
    encoder = TableEncoder.fit(table, TableSchema.infer(table))
    arrays = encoder.to_arrays() | {f"0.{name}": array}
    with pytest.raises(ValueError, match=name):
        TableEncoder.from_arrays(encoder.schema, arrays)
