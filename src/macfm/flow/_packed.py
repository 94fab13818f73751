"""Rows with similarly many unknown coordinates, worked out together on a CPU."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

# Rows are cut into so many pieces at least, unless these would be of fewer rows, which
# are not worth a factorisation of their own.
_N_PIECES = 8
_PIECE_ROWS = 32
# Numbers in the matrices of rows that are factorised together: they stay in a core's
# cache, those of more rows take twice as long each.
_PIECE_CELLS = 2**17
# To start a thread takes as long as some hundred small factorisations.
_FEW_OPERATIONS = 2**23


def by_count(unknown: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield rows ``(b,)`` with their unknown coordinates ``(b, k)``, few of them first.

    ``unknown`` has the shape ``(n, d)``. A row with fewer than k of them is filled up
    with d, a coordinate beyond the last.
    """
    n, d = unknown.shape
    counts, order = torch.sort(unknown.sum(dim=1), stable=True)
    n_unknown = counts.tolist()
    row, place = torch.nonzero(unknown[order], as_tuple=True)
    first = torch.full((n, n_unknown[-1] if n else 0), d)
    first[row, torch.arange(len(row)) - (counts.cumsum(0) - counts)[row]] = place
    start, most = 0, max(-(-n // _N_PIECES), _PIECE_ROWS)
    while start < n:
        # As many rows as their matrices, each as large as the last one's, allow.
        ends = range(min(start + _PIECE_ROWS, n), min(start + most, n) + 1)
        sizes = partial(_piece_cells, n_unknown, start)
        end = ends[max(bisect_right(ends, _PIECE_CELLS, key=sizes) - 1, 0)]
        if k := n_unknown[end - 1]:
            yield order[start:end], first[start:end, :k]
        start = end


def _piece_cells(n_unknown: list[int], start: int, end: int) -> int:
    """Count the numbers in the matrices of rows in order of what they miss."""
    return (end - start) * n_unknown[end - 1] ** 2


def threads_for(pieces: Iterable[Tensor], *, n_threads: int) -> int:
    """Return how many of some threads pay for pieces of unknown coordinates (b, k)."""
    n_operations = sum(len(unknown) * unknown.shape[1] ** 3 for unknown in pieces)
    return n_threads if n_operations > _FEW_OPERATIONS else 1


def beyond(matrix: Tensor) -> Tensor:
    """Return a matrix with a line and a column of zeros for the coordinate d."""
    return F.pad(matrix, (0, 1, 0, 1))


def blocks(matrix: Tensor, unknown: Tensor) -> Tensor:
    """Return the blocks of a matrix at coordinates ``(b, k)``, shape ``(b, k, k)``."""
    b, k = unknown.shape
    lines = matrix.index_select(0, unknown.flatten()).view(b, k, -1)
    return lines.gather(2, unknown.unsqueeze(1).expand(b, k, k))


def inverse_root(matrix: Tensor) -> Tensor:
    """Return L⁻¹ for symmetric matrices L Lᵀ, ``(n, k, k)``."""
    root = torch.linalg.cholesky_ex(matrix).L
    eye = torch.eye(root.shape[-1], dtype=root.dtype, device=root.device)
    return torch.linalg.solve_triangular(root, eye, upper=False)
