"""Bars on the terminal of a person who waits, and nothing elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.progress import Progress


def make_progress(
    *parts: str, shown: bool = True, console: Console | None = None
) -> Progress:
    """Return rich's progress with these parts, which draws on a terminal alone.

    Parameters
    ----------
    *parts : str
        From left to right: "bar", "count" (3/10), "bytes", "speed", "elapsed", "left"
        (the time), or a text with the fields of a task, ``"{task.description}"``.
    shown : bool, default=True
        Whether the person wants it.
    console : Console, default=None
        Where to draw; standard error when None.

    Returns
    -------
    Progress
        A context manager with ``add_task``, ``update`` and ``advance``.
    """
    from rich import progress
    from rich.console import Console

    columns: dict[str, Callable[[], progress.ProgressColumn]] = {
        "bar": lambda: progress.BarColumn(bar_width=16),
        "count": progress.MofNCompleteColumn,
        "bytes": progress.DownloadColumn,
        "speed": progress.TransferSpeedColumn,
        "elapsed": progress.TimeElapsedColumn,
        "left": progress.TimeRemainingColumn,
    }
    console = console or Console(stderr=True)
    return progress.Progress(
        *(columns[p]() if p in columns else progress.TextColumn(p) for p in parts),
        console=console,
        transient=True,
        disable=not (shown and (console.is_terminal or console.is_jupyter)),
    )
