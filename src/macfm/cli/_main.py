"""The group of all commands, and the exit codes."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

import click

from macfm import __version__
from macfm.cli._failures import SIGNALLED, failure
from macfm.cli._late import Late, LateGroup
from macfm.cli._signals import end_politely, ended_by
from macfm.cli._streams import (
    hold_standard_streams,
    let_go_of_stdout,
    name_standard_output,
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
    end_politely()
    try:
        code = macfm.main(prog_name="macfm", standalone_mode=False)
        sys.stdout.flush()
        # What a command ended with by click's Exit comes back as its value.
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        let_go_of_stdout()
    except OSError as error:
        said = failure(error)
        said.show()
        sys.exit(said.exit_code)
    except (click.Abort, KeyboardInterrupt):
        number = ended_by()
        with suppress(OSError):  # the terminal may be gone
            word = "interrupted" if number == signal.SIGINT else "terminated"
            click.echo(word, err=True)
        sys.exit(SIGNALLED + number)
