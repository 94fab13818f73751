"""`macfm transform`: fill a table with a model that is there already."""

from __future__ import annotations

from typing import Any

import click

from macfm.cli import _model
from macfm.cli._command import Polite, columns_option, file_option, output_option
from macfm.cli._impute import write_filled
from macfm.cli._options import (
    check_draws,
    data_argument,
    device_option,
    draws_options,
    method_option,
    reading_options,
    talking_options,
    writing_options,
)
from macfm.cli._tables import check_targets, tell_notes
from macfm.cli._voice import Voice


@click.command(cls=Polite)
@data_argument
@file_option(
    "--model",
    metavar="FILE",
    type=click.Path(),
    required=True,
    help="Model that macfm fit or macfm impute saved.",
)
@output_option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="Completed table, - for standard output; with --draws a file or a folder.",
)
@draws_options
@columns_option(
    "--ignore",
    help="Columns that the model does not know, to be passed through.",
)
@method_option
@device_option
@reading_options
@writing_options
@talking_options
def transform(data: str, **options: Any) -> None:
    """Fill a table with a saved model; nothing is learned from it.

    The columns must be those of the model, in any order. A category that the model has
    not seen is kept and does not inform. If the table does not fit the model, the exit
    code is 3.

    \b
    Examples:
      macfm transform february.csv --model patients.macfm -o completed.csv
      cat rows.csv | macfm transform - --model patients.macfm -o - > completed.csv
    """
    voice = Voice(quiet=options["quiet"], verbose=options["verbose"])
    check_draws(options)
    check_targets(
        force=options["force"],
        draws=options["draws"] is not None,
        to=options["to"],
        reads={"DATA": data, "--model": options["model"]},
        output=options["output"],
    )
    source, imputer = _model.read_for_model(data, options)
    voice.say(source.headline())
    unused = [c.name for c in imputer.schema_.columns if c.kind == "ignored"]
    tell_notes(source, voice, unused)
    frame = _model.align(imputer, source, options["model"])
    write_filled(source, imputer, frame, options, voice)
