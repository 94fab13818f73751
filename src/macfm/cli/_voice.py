"""What a command says beside its result, on standard error."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from macfm.cli._flags import in_flags
from macfm.cli._layout import console
from macfm.cli._signals import heed


@contextmanager
def spoken_warnings(*, quiet: bool) -> Iterator[None]:
    """Write warnings as one line each, with the options they speak of.

    Training that Ctrl-C ended is an interruption of the command: the library would warn
    and go on with what it has learned, but a file from half a fit is not what was asked
    for.
    """

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        heed()
        if not quiet:
            click.echo(f"warning: {in_flags(message.args[0])}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


class Voice:
    """What a command says beside its result, on standard error.

    If it is quiet, nothing but warnings and errors.
    """

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self.quiet, self.verbose = quiet, verbose

    def say(self, text: str) -> None:
        """Say what was done."""
        if not self.quiet:
            click.echo(text, err=True)

    @contextmanager
    def log(self) -> Iterator[None]:
        """Write the library's log while it works, if asked for more."""
        if not self.verbose or self.quiet or console(err=True).is_terminal:
            yield
            return
        logger = logging.getLogger("macfm")
        handler = logging.StreamHandler(sys.stderr)
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(before)
