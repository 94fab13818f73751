"""Attention between the columns of a row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from macfm.flow.network._dropout import Dropout
from macfm.flow.network._parts import TimeEncoding, masks_shown, padded


class TransformerBlock(nn.Module):
    """Attention and SwiGLU, both modulated by the time (AdaLN-Zero)."""

    def __init__(self, *, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.dropout = Dropout(dropout)
        self.norm_1 = nn.LayerNorm(d_model, elementwise_affine=False)
        self.norm_2 = nn.LayerNorm(d_model, elementwise_affine=False)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
        d_hidden = 2 * d_model
        self.gate = nn.Linear(d_model, 2 * d_hidden)
        self.down = nn.Linear(d_hidden, d_model)
        self.modulation = nn.Linear(d_model, 6 * d_model)
        nn.init.zeros_(self.modulation.weight)
        nn.init.zeros_(self.modulation.bias)

    def forward(self, h: Tensor, c_t: Tensor) -> Tensor:
        """Mix tokens ``(n, n_tokens, d_model)`` under a time code ``(n, d_model)``."""
        modulation = self.modulation(F.silu(c_t)).unsqueeze(1)
        shift_1, scale_1, gate_1, shift_2, scale_2, gate_2 = modulation.chunk(6, dim=-1)
        attended = self._attend(self.norm_1(h) * (1 + scale_1) + shift_1)
        h = h + gate_1 * self.dropout(attended)
        value, gate = self.gate(self.norm_2(h) * (1 + scale_2) + shift_2).chunk(2, -1)
        return h + gate_2 * self.down(self.dropout(F.silu(gate) * value))

    def _attend(self, h: Tensor) -> Tensor:
        n, n_tokens, d_model = h.shape
        heads = (
            self.qkv(h).view(n, n_tokens, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2])
        return self.out(mixed.transpose(1, 2).reshape(n, n_tokens, d_model))


class TransformerVelocity(nn.Module):
    """One token a column, AdaLN-Zero conditioning, a zero-initialised head.

    The coordinates of one column (``group``) make one token, and each coordinate reads
    its velocity from the token of its column.

    Shape
    -----
    ``x_t, m_cond`` and the result are ``(n, d)``, ``t`` is ``(n, 1)``, ``hints`` are
    `n_hints` tensors of shape ``(n, d)``.
    """

    group: Tensor
    member: Tensor

    def __init__(
        self,
        *,
        group: Tensor,
        d_model: int,
        n_blocks: int,
        n_heads: int,
        dropout: float,
        n_masks: int,
        n_hints: int,
    ) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(
                f"d_model must be a multiple of n_heads, got d_model={d_model} and "
                f"n_heads={n_heads}"
            )
        d, n_tokens = len(group), int(group.max()) + 1
        self.n_masks = n_masks
        self.register_buffer("group", group)
        self.n_pad = padded(d) - d
        member = F.one_hot(group, n_tokens).T.float()
        self.register_buffer("member", F.pad(member, (0, self.n_pad)))
        embed = torch.randn(d + self.n_pad, d_model) / math.sqrt(d_model)
        self.embed = nn.Parameter(embed)
        self.hints = nn.ParameterList(
            torch.randn(d + self.n_pad, d_model) / math.sqrt(d_model)
            for _ in range(n_hints)
        )
        self.column = nn.Parameter(torch.randn(n_tokens, d_model) / math.sqrt(d_model))
        self.state = nn.Parameter(torch.randn(n_masks, d_model) / math.sqrt(d_model))
        self.time = TimeEncoding(d_model=d_model)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model=d_model, n_heads=n_heads, dropout=dropout)
            for _ in range(n_blocks)
        )
        self.norm = nn.LayerNorm(d_model, elementwise_affine=False)
        self.head_weight = nn.Parameter(torch.zeros(d, d_model))
        self.head_bias = nn.Parameter(torch.zeros(d))

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, hints: Sequence[Tensor] = ()
    ) -> Tensor:
        """Predict the velocity at ``x_t``."""
        h = self._tokens(x_t, self.embed) + self.column
        for hint, embed in zip(hints, self.hints, strict=True):
            h = h + self._tokens(hint, embed)
        first = self.member.argmax(dim=1)  # masks agree within a column
        for mask, state in zip(
            masks_shown(m_cond, self.n_masks, x_t.dtype), self.state, strict=True
        ):
            h = h + mask[:, first, None] * state
        c_t = self.time(t)
        for block in self.blocks:
            h = block(h, c_t)
        return (self.norm(h)[:, self.group] * self.head_weight).sum(-1) + self.head_bias

    def _tokens(self, x: Tensor, embed: Tensor) -> Tensor:
        """Sum the embedded coordinates of each column: ``(n, n_tokens, d_model)``."""
        return (F.pad(x, (0, self.n_pad)).unsqueeze(1) * self.member) @ embed
