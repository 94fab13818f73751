"""Standard streams that may be closed, full, or of a poor encoding."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

STDOUT = "standard output"


def write_what_can_be() -> None:
    """Write a question mark for a character that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def hold_standard_streams() -> None:
    """Take the places of standard streams that are closed.

    The next file that is opened would get them, and with it what libraries print.
    Writing to standard output then fails, as it must: nobody would see the result.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            how = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            os.set_inheritable(os.open(os.devnull, how), True)
            if name != "stdin":
                setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115


class _StandardOutput(io.FileIO):
    """Standard output that says its name when it cannot be written."""

    def write(self, data: Any) -> int:
        """Write bytes."""
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STDOUT
            raise


def name_standard_output() -> None:
    """Have errors of standard output name it; terminals have none."""
    old = sys.stdout
    if isinstance(old, io.TextIOWrapper) and not old.isatty():
        raw = _StandardOutput(old.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=old.encoding, errors=old.errors
        )


def let_go_of_stdout() -> None:
    """Have nothing left to write when Python closes down."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
