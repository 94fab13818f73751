"""How commands fail: one sentence, and an exit code by what is at fault."""

from __future__ import annotations

import errno

import click

from macfm._errors import MacfmError, ParameterError
from macfm.cli._flags import told
from macfm.cli._streams import STDOUT, let_go_of_stdout

# Exit codes: 0 done, 1 failure, 2 usage, 3 the data do not fit the model, and above 128
# the number of the signal that ended it: 130 for Ctrl-C, 143 for SIGTERM.
FAILURE = 1
USAGE = 2
UNFIT = 3
SIGNALLED = 128


class Failure(click.ClickException):
    """A sentence for the user, and the exit code that goes with it."""

    def __init__(self, message: str, exit_code: int = FAILURE) -> None:
        super().__init__(message)
        # click reads it from the exception, and calls it a class variable.
        self.exit_code = exit_code  # type: ignore[misc]


def failure(
    error: Exception, *, where: str = "", exit_code: int | None = None
) -> Failure:
    """Turn an error of the library into one of a command.

    Unless a parameter is at fault it names the file `where` and ends with `exit_code`,
    by default with that of the error.
    """
    said = sentence(error)
    if isinstance(error, ParameterError):
        return Failure(said, error.exit_code)
    if exit_code is None:
        exit_code = error.exit_code if isinstance(error, MacfmError) else FAILURE
    return Failure(f"{where}: {said}" if where else said, exit_code)


def sentence(error: Exception) -> str:
    """Say what went wrong; what nobody foresaw is called so."""
    if isinstance(error, MemoryError):
        return "not enough memory for this table; try fewer rows or --preset fast"
    if isinstance(error, OSError):
        gone = isinstance(error, FileNotFoundError) and error.filename
        reason = "no such file" if gone else error.strerror or str(error)
        if error.filename == STDOUT:
            let_go_of_stdout()
            reason = "it is closed" if error.errno == errno.EBADF else reason
            return f"{STDOUT}: cannot be written ({reason})"
        return f"{error.filename}: {reason}" if error.filename else reason
    said = told(error)
    if isinstance(error, ValueError | TypeError | ImportError) and said:
        return said
    return (
        f"unexpected {type(error).__name__}: {said or 'no message'} (run it again with "
        "--verbose to see where, and please report it)"
    )
