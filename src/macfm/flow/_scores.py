"""Draws of numbers that lean to one side, read off their normal scores."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class Scores(nn.Module):
    """Columns of numbers whose normal scores are coordinates beside them.

    Parameters
    ----------
    parts : mapping of str to Tensor
        ``number`` and ``score``, the two coordinates of each column, int64 of shape
        ``(k,)``; ``at``, scores that rise, and ``value``, what the number is there,
        float32 of shape ``(k, n_knots)``.

    Notes
    -----
    A number x with many small values and few large ones is drawn badly as it is, and
    well as z = Φ⁻¹((rank of x − ½) / n), which is normal. Both are transported; the
    conditional mean is that of x, and a draw is the x that belongs to the z drawn,
    along straight lines between those known, and never beyond them.
    """

    # NOTE[DIFF]: the paper transports standardised numbers alone.

    number: Tensor
    score: Tensor
    at: Tensor
    value: Tensor

    PARTS = ("number", "score", "at", "value")

    def __init__(self, parts: Mapping[str, Tensor]) -> None:
        super().__init__()
        for name in self.PARTS:
            self.register_buffer(name, parts[name])

    @classmethod
    def none(cls) -> Scores:
        """Return that of no columns."""
        place, table = torch.zeros(0, dtype=torch.int64), torch.zeros(0, 2)
        return cls({"number": place, "score": place, "at": table, "value": table})

    def __len__(self) -> int:
        return len(self.number)

    def take(self, some: Tensor) -> Scores:
        """Return some of the columns, by flags of shape ``(k,)``."""
        return Scores({name: getattr(self, name)[some] for name in self.PARTS})

    def settle(self, x: Tensor) -> Tensor:
        """Return rows, shape ``(…, d)``, whose numbers are those of their scores."""
        if not len(self):
            return x
        x = x.clone()
        x[..., self.number] = read_off(x[..., self.score], self.at, self.value)
        return x


def read_off(z: Tensor, at: Tensor, value: Tensor) -> Tensor:
    """Read values ``(…, k)`` off lines between points, none beyond the last ones.

    The points of each of k lines, ``(k, n_knots)``, rise.
    """
    flat = z.flatten(0, -2).T.contiguous()  # (k, n)
    above = torch.searchsorted(at, flat).clamp(1, at.shape[1] - 1)
    low, high = (at.gather(1, k).double() for k in (above - 1, above))
    part = ((flat - low) / (high - low).clamp(min=1e-12)).clamp(0.0, 1.0)
    first, last = (value.gather(1, k).double() for k in (above - 1, above))
    found = first + part * (last - first)
    return found.T.to(z.dtype).view(z.shape)
