"""What networks over the cells of a row share."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from macfm.judge.learned._base import Columns


def sine_code(n: int, width: int) -> Tensor:
    """Return fixed codes of the numbers 0 to n − 1, shape ``(n, width)``."""
    half = torch.arange(width // 2, dtype=torch.float64)
    angle = torch.arange(n)[:, None] * torch.exp(-math.log(1e4) * half / (width // 2))
    return torch.cat([angle.sin(), angle.cos()], dim=1).float()


def attend(layer: nn.TransformerEncoderLayer, tokens: Tensor) -> Tensor:
    """Return what a trained encoder layer makes of tokens ``(n, d, width)``.

    That is the layer itself, without dropout, in operations that can be compiled
    together.
    """
    heads = layer.self_attn
    weight, bias = heads.in_proj_weight, heads.in_proj_bias
    split = F.linear(tokens, weight, bias).unflatten(-1, (3, heads.num_heads, -1))
    query, key, value = split.permute(2, 0, 3, 1, 4)
    seen = F.scaled_dot_product_attention(query, key, value)
    seen = heads.out_proj(seen.transpose(1, 2).flatten(2))
    tokens = layer.norm1(tokens + seen)
    inner = layer.activation(layer.linear1(tokens))
    return layer.norm2(tokens + layer.linear2(inner))


class Lots:
    """Choose among a row's observed columns at random, whole columns at a time.

    A hole hides all coordinates of a category, so training hides them together too:
    one left in sight would tell the others.

    Parameters
    ----------
    columns : Columns
        What the coordinates mean.
    generator : torch.Generator
        Where chance comes from.
    """

    def __init__(self, columns: Columns, generator: torch.Generator) -> None:
        firsts = [block.start for block in columns.blocks]
        self._firsts = torch.tensor(firsts, device=columns.is_number.device)
        self._group = columns.group
        self._generator = generator

    def n_observed(self, observed: Tensor) -> Tensor:
        """Return how many columns each row shows, shape ``(n, 1)``."""
        return observed[:, self._firsts].sum(dim=1, keepdim=True)

    def choose(self, observed: Tensor, n_chosen: Tensor) -> Tensor:
        """Choose observed columns, as many as there are at most.

        Parameters
        ----------
        observed : Tensor of bool, shape (n, d)
            True where a value is known.
        n_chosen : Tensor of numbers, shape (n, 1)
            How many columns of each row.

        Returns
        -------
        Tensor of bool, shape (n, d)
            True at all coordinates of the chosen columns.
        """
        shown = observed[:, self._firsts]
        lot = torch.rand(
            shown.shape, generator=self._generator, device=observed.device
        ).masked_fill(~shown, 2.0)
        rank = lot.argsort(dim=1).argsort(dim=1)
        return (shown & (rank < n_chosen))[:, self._group]
