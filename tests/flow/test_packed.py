"""Rows are packed by how many coordinates they miss, and none is lost."""

import pytest
import torch

from macfm.flow._packed import beyond, blocks, by_count, inverse_root, threads_for


@pytest.mark.parametrize(("n", "d", "share"), [(1, 3, 0.5), (700, 9, 0.4), (90, 80, 1)])
def test_every_row_comes_once_with_what_it_misses(n, d, share):
    torch.manual_seed(0)
    unknown = torch.rand(n, d) < share
    seen = []
    for rows, place in by_count(unknown):
        counts = (place < d).sum(dim=1)
        assert counts.max() == place.shape[1]
        for row, coordinates in zip(rows.tolist(), place.tolist(), strict=True):
            known = [k for k in coordinates if k < d]
            assert known == torch.nonzero(unknown[row]).squeeze(1).tolist()
        seen += rows.tolist()
    assert len(seen) == len(set(seen))
    assert set(seen) >= set(torch.nonzero(unknown.any(dim=1)).squeeze(1).tolist())


def test_a_piece_is_no_larger_than_a_cache_allows_whatever_comes_together():
    """A few that miss much behind many that miss little are apart from these."""
    unknown = torch.zeros(20_000, 160, dtype=torch.bool)
    unknown[:2_000, :1] = True
    unknown[2_000:, :120] = True
    for rows, place in by_count(unknown):
        assert len(rows) * place.shape[1] ** 2 <= max(2**17, 32 * 120**2)


def test_nothing_comes_where_nothing_is_missing():
    assert list(by_count(torch.zeros(5, 3, dtype=torch.bool))) == []
    assert list(by_count(torch.zeros(0, 3, dtype=torch.bool))) == []


def test_blocks_are_those_of_the_matrix_and_empty_beyond_it():
    matrix = torch.arange(16.0).view(4, 4)
    found = blocks(beyond(matrix), torch.tensor([[0, 2, 3], [1, 3, 4]]))
    assert torch.equal(found[0], matrix[[0, 2, 3]][:, [0, 2, 3]])
    assert torch.equal(found[1, :2, :2], matrix[[1, 3]][:, [1, 3]])
    assert not found[1, 2].any()
    assert not found[1, :, 2].any()


def test_an_inverse_root_squares_to_the_inverse():
    factor = torch.randn(6, 7, 9, generator=torch.Generator().manual_seed(0)).double()
    matrix = factor @ factor.mT
    root = inverse_root(matrix)
    assert torch.equal(root, root.tril())
    torch.testing.assert_close(
        root.mT @ root @ matrix, torch.eye(7).double().expand(6, 7, 7)
    )


def test_threads_are_for_much_work_alone():
    few, many = torch.zeros(10, 10), torch.zeros(1_000, 40)
    assert threads_for([few, few], n_threads=4) == 1
    assert threads_for([few, many], n_threads=4) == 4
    assert threads_for([few, many], n_threads=1) == 1
