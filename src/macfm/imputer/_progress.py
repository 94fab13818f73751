"""What a person watching `fit` sees: a bar on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from macfm._progress import make_progress
from macfm.flow import Evaluation

logger = logging.getLogger("macfm")


def _describe(evaluation: Evaluation) -> str:
    text = f"loss {evaluation.loss:.3f}"
    if not math.isnan(evaluation.val_error):
        text += f", validation {evaluation.val_error:.3f}"
    return text


@contextmanager
def training_progress(
    *, verbose: bool, n_networks: int
) -> Iterator[Callable[..., None]]:
    """Yield ``show(evaluation, n_steps, member=k)``, to be called at each evaluation.

    With `verbose` and a terminal (or notebook) attached to standard error it draws a
    bar for each network with the loss, the validation error and the time left; it
    always logs at level DEBUG.
    """

    def log(evaluation: Evaluation, n_steps: int, *, member: int) -> None:
        logger.debug(
            "network %d of %d, step %d of %d: %s",
            *(member + 1, n_networks, evaluation.step, n_steps, _describe(evaluation)),
        )

    told = "{task.completed}/{task.total}, {task.description}"
    parts = ("network {task.fields[name]}", "bar", told, "left")
    with make_progress(*parts, shown=verbose) as progress:
        bars: dict[int, Any] = {}

        def show(evaluation: Evaluation, n_steps: int, *, member: int) -> None:
            log(evaluation, n_steps, member=member)
            if member not in bars:
                name = f"{member + 1} of {n_networks}"
                bars[member] = progress.add_task("starting", name=name)
            progress.update(
                bars[member],
                completed=evaluation.step,
                total=n_steps,
                description=_describe(evaluation),
            )

        yield show
