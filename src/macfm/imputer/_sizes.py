"""Values that depend on the size of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SMALL = 1_000
_LARGE = 5_000


@dataclass(frozen=True)
class Size:
    """What the values of a preset may depend on."""

    n_rows: int
    n_columns: int
    on_gpu: bool


@dataclass(frozen=True)
class BySize:
    """A value that depends on the number of rows: below 1,000, below 5,000, above.

    Large tables have two values where a GPU can afford more than a CPU.
    """

    tiny: Any
    small: Any
    large: Any
    large_on_gpu: Any = None

    def value(self, size: Size) -> Any:
        """Return the value for a table."""
        if size.n_rows < _SMALL:
            return self.tiny
        if size.n_rows < _LARGE:
            return self.small
        has_own = size.on_gpu and self.large_on_gpu is not None
        return self.large_on_gpu if has_own else self.large

    def __str__(self) -> str:
        told = f"{self.tiny}, {self.small} or {self.large} by rows"
        if self.large_on_gpu is None:
            return told
        return f"{told}, {self.large_on_gpu} for many on a GPU"


@dataclass(frozen=True)
class ByWidth:
    """A value that depends on the number of columns: below a limit, and from there."""

    narrow: Any
    wide: Any
    limit: int

    def value(self, size: Size) -> Any:
        """Return the value for a table."""
        return self.narrow if size.n_columns < self.limit else self.wide

    def __str__(self) -> str:
        return f"{self.narrow} or {self.wide} by columns"
