"""Muon: momentum whose matrices are made orthogonal before each step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_MOMENTUM = 0.95
# Coefficients of Jordan's quintic iteration: they bring every singular value between
# 0.001 and 1 near 1 in five rounds.
_QUINTIC = (3.4445, -4.7750, 2.0315)
_N_ROUNDS = 5
# An orthogonal update is so much longer than AdamW's; times this its entries are as
# large as AdamW's usually are, and one learning rate serves both (Moonlight, 2025).
_SCALE = 0.2


class Muon:
    """Steps along orthogonalised momentum, for the matrices of hidden layers.

    Matrices of one shape are worked out together, and nothing asks the device for a
    value, so that a step can be recorded as a CUDA graph.

    Parameters
    ----------
    weights : sequence of Parameter
        Matrices, moved in place.
    weight_decay : float
        Decoupled weight decay.

    Notes
    -----
    With momentum m ← β m + g, the update of W ∈ R^{a × b} is

        W ← (1 − η λ) W − η 0.2 √max(a, b) · U,   U ≈ (G Gᵀ)^{-1/2} G,  G = g + β m,

    where five rounds X ← a X + (b X Xᵀ + c (X Xᵀ)²) X give U up to ± 30 % in its
    singular values (Jordan et al. 2024).
    """

    # NOTE[DIFF]: the paper does not name its optimiser.

    def __init__(self, weights: Sequence[Tensor], *, weight_decay: float) -> None:
        self._weight_decay = weight_decay
        by_shape: dict[torch.Size, list[Tensor]] = {}
        for weight in weights:
            by_shape.setdefault(weight.shape, []).append(weight)
        self._groups = list(by_shape.values())
        self._momenta = [torch.zeros_like(torch.stack(group)) for group in self._groups]

    @torch.no_grad()
    def step(self, rate: float | Tensor) -> None:
        """Move all weights along their gradients."""
        for group, momentum in zip(self._groups, self._momenta, strict=True):
            gradient = torch.stack([w.grad for w in group if w.grad is not None])
            momentum.mul_(_MOMENTUM).add_(gradient)
            update = orthogonalised(gradient.add(momentum, alpha=_MOMENTUM))
            update = update * (_SCALE * max(update.shape[1:]) ** 0.5 * rate)
            torch._foreach_mul_(group, 1 - rate * self._weight_decay)
            torch._foreach_sub_(group, list(update.unbind()))

    def reset(self) -> None:
        """Forget the momentum."""
        for momentum in self._momenta:
            momentum.zero_()


def orthogonalised(matrices: Tensor) -> Tensor:
    """Bring the singular values of matrices ``(k, a, b)`` near 1, one way or another.

    In bfloat16 on a GPU, where that is several times faster and exact enough.
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.transpose(1, 2) if is_tall else matrices
    x = x / (torch.linalg.matrix_norm(x)[:, None, None] + 1e-7)
    if x.is_cuda:
        x = x.bfloat16()
    a, b, c = _QUINTIC
    for _ in range(_N_ROUNDS):
        square = x @ x.transpose(1, 2)
        x = torch.baddbmm(
            x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a
        )
    x = x.to(matrices.dtype)
    return x.transpose(1, 2) if is_tall else x
