"""The group of all commands, and the exit codes."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from types import FrameType

import click

from macfm import __version__
from macfm.cli._late import Late, LateGroup
from macfm.cli._manners import (
    FAILURE,
    SIGNALLED,
    Failure,
    hold_standard_streams,
    let_go_of_stdout,
    name_standard_output,
    sentence,
    write_what_can_be,
)

COMMANDS = {
    "inspect": Late(
        "macfm.cli._inspect:inspect", "Show what is missing and what that depends on."
    ),
    "impute": Late("macfm.cli._impute:impute", "Fill the holes of a table."),
    "fit": Late("macfm.cli._fit:fit", "Learn from a table and save the model."),
    "transform": Late(
        "macfm.cli._transform:transform", "Fill a table with a saved model."
    ),
    "info": Late("macfm.cli._info:info", "Show what is inside a model file."),
    "report": Late(
        "macfm.cli._report:report", "Write an HTML page on what was filled."
    ),
    "compare": Late(
        "macfm.cli._compare:compare", "Compare methods on your own observed cells."
    ),
    "demo": Late("macfm.cli._demo:demo", "See it work on the Titanic's passengers."),
    "completion": Late(
        "macfm.cli._completion:completion", "Print the completion script of a shell."
    ),
    "bench": Late(
        "macfm.cli._bench:bench",
        "Compare imputers on tables whose hidden cells are known.",
    ),
}


@click.group(
    cls=LateGroup,
    late=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="macfm")
def macfm() -> None:
    """Fill the holes of a table, and tell how sure the filled values are."""


def main() -> None:
    """Run the command line and end the process."""
    hold_standard_streams()
    name_standard_output()
    write_what_can_be()
    ended_by = _end_politely()
    try:
        macfm.main(prog_name="macfm", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        let_go_of_stdout()
    except OSError as error:
        Failure(sentence(error)).show()
        sys.exit(FAILURE)
    except (click.Abort, KeyboardInterrupt):
        number = ended_by[0] if ended_by else signal.SIGINT
        with suppress(OSError):  # the terminal may be gone
            click.echo("terminated" if ended_by else "interrupted", err=True)
        sys.exit(SIGNALLED + number)


def _end_politely() -> list[int]:
    """Have a process that is told to end clean up as Ctrl-C does; return by which."""
    ended_by: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # cleaning up is not interrupted
        ended_by.append(number)
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup ignores the latter, and so it stays.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)
    return ended_by
