"""Draws of numbers that often repeat a value, brought to that value itself."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# The share of a row that the column speaks for, where numbers are no atom.
_DOUBT = 0.1


@dataclass(frozen=True)
class Atoms:
    """Values that columns of numbers repeat; tensors of shape ``(k,)``.

    Notes
    -----
    An atom a of a number x has a coordinate of its own, c, which is c₁ where x = a and
    c₀ elsewhere. A draw says "a" if it is nearer to c₁ than to c₀,

        p = (c − c₀) / (c₁ − c₀) > ½,

    and of several atoms of one number the one with the largest p.
    """

    flag: Tensor
    """Coordinate of each atom, int64."""
    number: Tensor
    """Coordinate of the number that repeats it, or of its normal score, int64."""
    value: Tensor
    """The atom as a value of that coordinate."""
    low: Tensor
    """c₀, the flag where the number is another."""
    high: Tensor
    """c₁, the flag where the number is the atom."""

    def to(self, device: torch.device) -> Atoms:
        """Return the same on another device."""
        parts = (self.flag, self.number, self.value, self.low, self.high)
        return Atoms(*(part.to(device) for part in parts))

    def spoken(self, x: Tensor) -> Tensor:
        """Tell of rows, shape ``(…, d)``, which numbers they say to be an atom."""
        said = torch.zeros_like(x, dtype=torch.bool)
        p = self.chances(x)
        for k, j in enumerate(self.number.tolist()):
            said[..., j] |= p[..., k] > 0.5
        return said

    def chances(self, x: Tensor) -> Tensor:
        """Return p of each atom, shape ``(…, k)``."""
        return (x[..., self.flag.tolist()] - self.low) / (self.high - self.low)

    def beside(self, mean: Tensor) -> Tensor:
        """Return the mean of numbers if they are no atom, of rows' mean ``(n, d)``.

        With p the probabilities of the atoms a, it is (m − Σ p a) / (1 − Σ p), drawn
        towards that of the column: where a number is hardly anything but an atom, a
        row says little of it.
        """
        if not len(self.flag):
            return mean
        # The last row is the column as a whole, whose mean is 0.
        usual = -self.low / (self.high - self.low)
        p = torch.cat([self.chances(mean).clamp(0.0, 1.0), usual[None]])
        total, lump = mean.new_zeros(2, len(p), mean.shape[1])
        total.index_add_(1, self.number, p)
        lump.index_add_(1, self.number, p * self.value)
        left = (1 - total).clamp(min=0.0)
        others = -lump[-1] / left[-1].clamp(min=_DOUBT)
        found = (mean - lump[:-1] + _DOUBT * others) / (left[:-1] + _DOUBT)
        return torch.where(total[-1] > 0, found, mean)

    def snap(self, x: Tensor) -> Tensor:
        """Make rows, shape ``(…, d)``, say of every atom yes or no, and be it if yes.

        Rows of the table itself stay as they are.
        """
        if not len(self.flag):
            return x
        flags, numbers = self.flag.tolist(), self.number.tolist()
        p = self.chances(x)
        x, largest = x.clone(), torch.full_like(x, 0.5)
        for k, j in enumerate(numbers):
            larger = p[..., k] > largest[..., j]
            x[..., j] = torch.where(larger, self.value[k], x[..., j])
            largest[..., j] = torch.where(larger, p[..., k], largest[..., j])
        for k, j in enumerate(numbers):
            yes = (p[..., k] > 0.5) & (p[..., k] == largest[..., j])
            x[..., flags[k]] = torch.where(yes, self.high[k], self.low[k])
        return x
