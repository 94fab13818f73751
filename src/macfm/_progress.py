"""What a person watching `fit` sees: a bar on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from macfm.flow import Evaluation

logger = logging.getLogger("macfm")


def _describe(evaluation: Evaluation) -> str:
    text = f"loss {evaluation.loss:.4f}"
    if not math.isnan(evaluation.val_error):
        text += f", validation error {evaluation.val_error:.4f}"
    return text


@contextmanager
def training_progress(*, verbose: bool) -> Iterator[Callable[[Evaluation, int], None]]:
    """Yield a callback that shows each evaluation.

    With `verbose` and a terminal (or notebook) attached to standard error it draws a
    bar with the loss, the validation error and the time left; it always logs at level
    DEBUG.
    """

    def log(evaluation: Evaluation, n_steps: int) -> None:
        logger.debug(
            "step %d of %d: %s", evaluation.step, n_steps, _describe(evaluation)
        )

    from rich.console import Console

    console = Console(stderr=True)
    if not (verbose and (console.is_terminal or console.is_jupyter)):
        yield log
        return

    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("fitting"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} steps, {task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=None)

        def show(evaluation: Evaluation, n_steps: int) -> None:
            log(evaluation, n_steps)
            progress.update(
                bar,
                completed=evaluation.step,
                total=n_steps,
                description=_describe(evaluation),
            )

        yield show
