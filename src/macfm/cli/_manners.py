"""How commands speak and fail: one sentence, an exit code, and no debris."""

from __future__ import annotations

import ast
import errno
import io
import logging
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Exit codes: 0 done, 1 failure, 2 usage, 3 the data do not fit the model, and above 128
# the number of the signal that ended it: 130 for Ctrl-C, 143 for SIGTERM.
FAILURE = 1
USAGE = 2
UNFIT = 3
SIGNALLED = 128
STDOUT = "standard output"

_LINE_END = re.compile(r"[ \t]+(?=\n)")
_INTERRUPTED_TRAINING = "training was interrupted"


def _listed(names: str) -> str:
    """Write a list of names as an option takes it."""
    return shlex.quote(",".join(ast.literal_eval(names)))


# What the library says in Python's words, in those of the command line.
_WORDS = (
    (re.compile(r", or pd\.to_datetime first if it holds dates"), ""),
    (re.compile(r"ignore=\['([^']*)'\]"), r"--ignore '\1'"),
    (
        re.compile(r"pass categorical=(\[.*\])"),
        lambda found: f"give --categorical {_listed(found[1])}",
    ),
    (re.compile(r"list them in ignore=\[\.\.\.\]"), "list them in --ignore"),
    (re.compile(r" \(force=True\)"), ""),
    (re.compile(r"\bdevice='([^']*)'"), r"--device \1"),
    (
        re.compile(r"a file written by MACFMImputer\.save"),
        "one that macfm fit or macfm impute --model wrote",
    ),
    (re.compile(r"named in both impute and ignore"), "named in --only and --ignore"),
    (re.compile(r"^impute (?=names columns)"), "--only "),
    (
        re.compile(
            r"^(categorical|numeric|ordinal|bounds|ignore|leave|derive) (?=names col)"
        ),
        r"--\1 ",
    ),
    (re.compile(r"^(leave|derive) (?=of column)"), r"--\1 "),
    (re.compile(r"name the column in ordinal"), "name the column in --ordinal"),
    (re.compile(r"take it out of ignore"), "take it out of --ignore"),
    (
        re.compile(r"in both (categorical|numeric) and (numeric|ordinal)"),
        r"in both --\1 and --\2",
    ),
)


class Failure(click.ClickException):
    """A sentence for the user, and the exit code that goes with it."""

    def __init__(self, message: str, exit_code: int = FAILURE) -> None:
        super().__init__(in_words(message))
        self.exit_code = exit_code


class Polite(click.Command):
    """A command whose errors are one sentence; `--verbose` adds where they arose."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with spoken_warnings(quiet=bool(ctx.params.get("quiet"))):
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            # The reader, such as head, has seen enough; click would call it a failure.
            let_go_of_stdout()
            return None
        except Exception as error:
            if ctx.params.get("verbose"):
                traceback.print_exc()
            raise Failure(sentence(error)) from error


def sentence(error: Exception) -> str:
    """Say what went wrong; what nobody foresaw is called so."""
    said = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "not enough memory for this table; try fewer rows or --preset fast"
    if isinstance(error, OSError):
        gone = isinstance(error, FileNotFoundError)
        reason = "no such file" if gone else error.strerror or said
        if error.filename == STDOUT:
            let_go_of_stdout()
            reason = "it is closed" if error.errno == errno.EBADF else reason
            return f"{STDOUT}: cannot be written ({reason})"
        return f"{error.filename}: {reason}" if error.filename else reason
    if isinstance(error, ValueError | TypeError | ImportError) and said:
        return said
    return (
        f"unexpected {type(error).__name__}: {said or 'no message'} (run it again with "
        "--verbose to see where, and please report it)"
    )


def in_words(message: str) -> str:
    """Translate the library's parameters into options.

    Examples
    --------
    >>> in_words("it looks like an identifier; consider ignore=['name']")
    "it looks like an identifier; consider --ignore 'name'"
    """
    for pattern, words in _WORDS:
        message = pattern.sub(words, message)
    return message


@contextmanager
def spoken_warnings(*, quiet: bool) -> Iterator[None]:
    """Write warnings as one line each on standard error.

    Training that Ctrl-C ended is an interruption of the command: the library would go
    on with what it has learned, but a file from half a fit is not what was asked for.
    """

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if not quiet:
            click.echo(f"warning: {in_words(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning)
        warnings.filterwarnings("error", message=_INTERRUPTED_TRAINING)
        warnings.showwarning = show
        try:
            yield
        except UserWarning as warning:
            if str(warning).startswith(_INTERRUPTED_TRAINING):
                raise KeyboardInterrupt from None
            raise


class Voice:
    """What a command says beside its result, on standard error.

    Parameters
    ----------
    quiet : bool
        Say nothing but warnings and errors.
    verbose : bool
        Say more.
    """

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self.quiet, self.verbose = quiet, verbose

    def say(self, text: str) -> None:
        """Say what was done."""
        if not self.quiet:
            click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """Say it to those who asked for more."""
        if self.verbose and not self.quiet:
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


def console(*, err: bool = False) -> Console:
    """Make a console as wide as the terminal, of 80 columns where there is none."""
    from rich.console import Console

    file = sys.stderr if err else sys.stdout
    options = {"file": file, "highlight": False, "markup": False, "emoji": False}
    screen = Console(**options)
    if not screen.is_terminal:
        width = os.environ.get("COLUMNS", "")
        options["file"] = _Trimmed(file)
        screen = Console(**options, width=int(width) if width.isdigit() else 80)
    screen.on_broken_pipe = _raise_again  # rich itself would end with a failure
    return screen


def _raise_again() -> None:
    """Raise the exception that is being handled."""
    raise


class _Trimmed(io.TextIOBase):
    """A file that gets lines without the spaces at their ends."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    @property
    def encoding(self) -> str:
        """Encoding of the file, by which boxes and bars are chosen."""
        return self._file.encoding

    def write(self, text: str) -> int:
        """Write whole lines."""
        return self._file.write(_LINE_END.sub("", text))

    def flush(self) -> None:
        """Write what is held back."""
        self._file.flush()


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

    Parameters
    ----------
    headings : sequence of str
        One a column; one that begins with > stands to the right.
    rows : sequence of sequences of str
        The cells.
    width : int
        Width of the screen.
    wrap : bool, default=False
        Whether the last column wraps rather than being cut short.
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


def counted(n: int, what: str, plural: str | None = None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


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
