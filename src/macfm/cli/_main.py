"""The group of all commands, and the exit codes."""

from __future__ import annotations

import signal
import sys

import click

from macfm import __version__
from macfm.cli._late import Late, LateGroup
from macfm.cli._manners import INTERRUPTED, let_go_of_stdout, write_what_can_be

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
    # Being told to end cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    write_what_can_be()
    try:
        macfm.main(prog_name="macfm", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        let_go_of_stdout()
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
