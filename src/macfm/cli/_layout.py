"""What commands print: consoles, tables without frames, numbers in words."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LINE_END = re.compile(r"[ \t]+(?=\n)")


def console(*, err: bool = False) -> Console:
    """Make a console as wide as the terminal, of 80 columns where there is none."""
    from rich.console import Console

    file = sys.stderr if err else sys.stdout
    options: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    screen = Console(file=file, **options)
    if not screen.is_terminal:
        width = os.environ.get("COLUMNS", "")
        screen = Console(
            file=cast("TextIO", _Trimmed(file)),  # all that rich asks of a file
            width=int(width) if width.isdigit() else 80,
            **options,
        )
    # rich itself would end with a failure, and offers no other way than this.
    screen.on_broken_pipe = _raise_again  # type: ignore[method-assign]
    return screen


def _raise_again() -> None:
    """Raise the exception that is being handled."""
    raise


class _Trimmed(io.TextIOBase):
    """A file that gets lines without the spaces at their ends."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    @property
    def encoding(self) -> str:  # type: ignore[override]  # nobody sets it
        """Encoding of the file, by which boxes and bars are chosen."""
        return self._file.encoding

    def write(self, text: str) -> int:
        """Write whole lines."""
        return self._file.write(_LINE_END.sub("", text))

    def flush(self) -> None:
        """Write what is held back."""
        self._file.flush()


def item(screen: Console, text: str, mark: str = "-") -> None:
    """Print a point of a list, further lines under the first."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=len(mark), no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(mark, text)
    screen.print(grid)


def plain_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    wrap: bool = False,
) -> Table:
    """Lay out rows without a frame; the last column takes the room that is left.

    A heading that begins with > stands to the right. The last column is cut short
    unless it may `wrap`.
    """
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1))
    widths = [max(map(cell_len, cells)) for cells in zip(headings, *rows, strict=True)]
    widths[0] = min(widths[0], max(width // 4, 12))
    left = width - sum(widths[:-1]) - 2 * (len(widths) - 1)
    widths[-1] = min(widths[-1], max(left, 12))
    for place, heading in enumerate(headings):
        cut = place < len(headings) - 1 or not wrap
        table.add_column(
            heading.removeprefix(">"),
            justify="right" if heading.startswith(">") else "left",
            width=widths[place],
            no_wrap=cut,
            overflow="ellipsis" if cut else "fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def seconds_text(seconds: float) -> str:
    """Write a length of time.

    Examples
    --------
    >>> seconds_text(0.4), seconds_text(42.3), seconds_text(310)
    ('0.4 s', '42 s', '5 min 10 s')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
