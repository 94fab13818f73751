"""`macfm fit`: learn from a table and keep the model."""

from __future__ import annotations

from typing import Any

import click

from macfm.cli import _model
from macfm.cli._command import Polite, output_option
from macfm.cli._options import (
    data_argument,
    force_option,
    method_option,
    model_options,
    reading_options,
    talking_options,
)
from macfm.cli._tables import check_targets, read_source, tell_notes
from macfm.cli._voice import Voice


@click.command(cls=Polite)
@data_argument
@output_option(
    "--model", metavar="FILE", type=click.Path(), required=True, help="Save it here."
)
@method_option
@model_options
@reading_options
@force_option
@talking_options
def fit(data: str, **options: Any) -> None:
    """Learn from a table and save the model, to fill other tables with it.

    The model holds no rows, but it does hold names of columns and categories; `macfm
    info` lists what it reveals.

    \b
    Examples:
      macfm fit january.csv --model patients.macfm --id patient
      macfm transform february.csv --model patients.macfm -o completed.csv
    """
    voice = Voice(quiet=options["quiet"], verbose=options["verbose"])
    check_targets(force=options["force"], reads={"DATA": data}, model=options["model"])
    source = read_source(data, options)
    imputer = _model.make_imputer(source, options)
    voice.say(source.headline())
    tell_notes(source, voice)
    fitted = _model.fit(imputer, source, voice)
    voice.say(fitted.sentence())
    fitted.imputer.save(options["model"])
    voice.say(f"{options['model']} written; macfm info tells what is inside")
