"""What a report is made of: sections of tables and pictures, free of any markup."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASH = "–"
#: Stands behind a published value that is worthless.
WORTHLESS = "‡"


@dataclass(frozen=True)
class Entry:
    """One entry of a table."""

    #: A number, a text, or None for an empty cell.
    value: float | str | None = None
    #: Standard deviation over masks, None where there is one mask only.
    std: float | None = None
    #: How many results the value rests on.
    n: int = 0
    decimals: int = 2
    #: Printed directly after the number: "×", " %".
    unit: str = ""
    #: Printed with its sign, plus or minus.
    signed: bool = False
    #: Best of its column, or within the standard error of the best.
    best: bool = False
    #: Asks for attention.
    flag: bool = False
    #: Signs that the table's notes explain.
    marks: str = ""
    #: Fewer results than in the others' cells, so that `n` is printed.
    short: bool = False
    #: Why the cell is empty, or what else there is to know.
    note: str = ""
    #: The published value.
    published: float | None = None
    #: Why the published value is worthless, "" if it is not.
    fault: str = ""

    @property
    def amount(self) -> float | None:
        """The value, None where it is a text or there is none."""
        return None if isinstance(self.value, str) else self.value

    @property
    def number(self) -> str:
        """The value as text, without deviation and marks."""
        if self.value is None:
            return DASH
        if isinstance(self.value, str):
            return self.value
        least = 10.0**-self.decimals
        if 0 < self.value < least / 2 and not self.signed:
            return f"<{least:.{self.decimals}f}{self.unit}"
        sign = "+" if self.signed else ""
        text = f"{self.value:{sign}.{self.decimals}f}".replace("-", "−")
        return f"{text}{self.unit}"

    @property
    def spread(self) -> str:
        """The standard deviation as text, empty if there is none."""
        return "" if self.std is None else f"{self.std:.{self.decimals}f}"

    @property
    def published_text(self) -> str:
        """The published value as text, empty if there is none."""
        return "" if self.published is None else f"{self.published:.{self.decimals}f}"

    @property
    def published_mark(self) -> str:
        """The sign of a published value that is worthless."""
        return WORTHLESS if self.fault and self.published is not None else ""


@dataclass(frozen=True)
class ScoreColumn:
    """A heading; `summary` columns stand apart from those of the datasets."""

    title: str
    summary: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    key: str
    title: str
    cells: tuple[Entry, ...]
    #: "", "ours", or "published" for one that only the paper has.
    kind: str = ""


@dataclass(frozen=True)
class ScoreTable:
    """A table with its heading and the notes that stand under it."""

    slug: str
    title: str
    columns: tuple[ScoreColumn, ...]
    rows: tuple[Row, ...]
    corner: str = "method"
    notes: tuple[str, ...] = ()
    #: Tests of the best-ranked method against each other one.
    tests: ScoreTable | None = None

    def footnotes(self) -> dict[str, str]:
        """Return the letter of each reason why a cell is empty."""
        reasons = dict.fromkeys(
            cell.note
            for row in self.rows
            for cell in row.cells
            if cell.value is None and cell.note
        )
        return dict(zip(reasons, _letters(), strict=False))


def _letters() -> list[str]:
    pairs = map("".join, product(string.ascii_lowercase, repeat=2))
    return [*string.ascii_lowercase, *pairs]


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when the report is written."""

    slug: str
    title: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, tables and pictures."""

    slug: str
    title: str
    text: tuple[str, ...] = ()
    items: tuple[ScoreTable | Picture, ...] = field(default_factory=tuple)

    @property
    def tables(self) -> list[ScoreTable]:
        """The tables among the items."""
        return [item for item in self.items if isinstance(item, ScoreTable)]

    @property
    def pictures(self) -> list[Picture]:
        """The pictures among the items."""
        return [item for item in self.items if isinstance(item, Picture)]
