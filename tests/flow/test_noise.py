"""Noise belongs to the row: not to its place, its batch or its neighbours."""

import numpy as np
import pytest
import torch

from macfm.flow import keyed_normal, row_keys


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 7)).astype(np.float32)
    observed = rng.random((300, 7)) < 0.7
    return np.where(observed, x, 0).astype(np.float32), observed


def test_keys_follow_their_rows_through_any_order_and_subset(rows):
    x, observed = rows
    keys = row_keys(x, observed)
    order = np.random.default_rng(1).permutation(len(x))
    np.testing.assert_array_equal(row_keys(x[order], observed[order]), keys[order])
    np.testing.assert_array_equal(row_keys(x[40:41], observed[40:41]), keys[40:41])
    assert len(np.unique(keys)) == len(keys)


def test_keys_do_not_see_values_under_missing_cells(rows):
    x, observed = rows
    scrambled = np.where(observed, x, 99.0).astype(np.float32)
    np.testing.assert_array_equal(row_keys(scrambled, observed), row_keys(x, observed))


def test_an_observed_zero_differs_from_a_missing_cell():
    x = np.zeros((2, 3), dtype=np.float32)
    observed = np.array([[True, True, True], [True, False, True]])
    assert len(np.unique(row_keys(x, observed))) == 2


def test_negative_zero_is_zero():
    observed = np.ones((1, 2), dtype=bool)
    plus = np.array([[0.0, 1.0]], dtype=np.float32)
    minus = np.array([[-0.0, 1.0]], dtype=np.float32)
    assert row_keys(plus, observed) == row_keys(minus, observed)


def test_twins_get_different_keys_counted_in_order():
    x = np.ones((5, 2), dtype=np.float32)
    x[2] = 7.0
    observed = np.ones_like(x, dtype=bool)
    keys = row_keys(x, observed)
    assert len(np.unique(keys)) == 5
    np.testing.assert_array_equal(row_keys(x[:2], observed[:2]), keys[:2])


def test_no_rows_and_no_columns():
    assert row_keys(np.zeros((0, 3), np.float32), np.zeros((0, 3), bool)).shape == (0,)
    assert len(row_keys(np.zeros((4, 0), np.float32), np.zeros((4, 0), bool))) == 4


def test_noise_is_standard_normal_and_independent():
    keys = torch.arange(20_000)
    noise = torch.cat([*keyed_normal(keys, seed=3, draws=[0, 1], d=4)], dim=1)
    correlation = torch.corrcoef(noise.T)
    torch.testing.assert_close(
        correlation, torch.eye(8, dtype=torch.float64), atol=0.03, rtol=0
    )
    assert noise.mean().item() == pytest.approx(0, abs=0.01)
    assert noise.std().item() == pytest.approx(1, abs=0.01)
    tails = (noise.abs() > 1.96).double().mean().item()
    assert tails == pytest.approx(0.05, abs=0.003)


def test_noise_is_a_function_of_seed_draw_key_and_column_alone():
    keys = torch.tensor([5, 9, -(2**62)])
    whole = keyed_normal(keys, seed=1, draws=[0, 2], d=6)
    assert whole.shape == (2, 3, 6)
    assert whole.isfinite().all()
    assert torch.equal(keyed_normal(keys, seed=1, draws=[2], d=6)[0], whole[1])
    one_row = keyed_normal(keys[1:2], seed=1, draws=[0, 2], d=6)
    assert torch.equal(one_row, whole[:, 1:2])
    fewer = keyed_normal(keys, seed=1, draws=[0, 2], d=3)
    assert torch.equal(fewer, whole[:, :, :3])
    assert not torch.equal(keyed_normal(keys, seed=2, draws=[0, 2], d=6), whole)
