"""`macfm impute`: fit and fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from macfm._words import count
from macfm.cli import _model
from macfm.cli._command import Polite, output_option
from macfm.cli._options import (
    check_draws,
    data_argument,
    draws_options,
    method_option,
    model_options,
    reading_options,
    talking_options,
    writing_options,
)
from macfm.cli._tables import (
    Source,
    check_targets,
    read_source,
    say_notes,
    tell_notes,
)
from macfm.cli._voice import Voice

if TYPE_CHECKING:
    import pandas as pd


@click.command(cls=Polite)
@data_argument
@output_option(
    "-o",
    "--output",
    type=click.Path(),
    help="Completed table, - for standard output; with --draws a file or a folder.",
)
@output_option(
    "--model", metavar="FILE", type=click.Path(), help="Save the model here."
)
@output_option(
    "--report", metavar="FILE", type=click.Path(), help="Write an HTML report here."
)
@output_option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@draws_options
@method_option
@model_options
@reading_options
@writing_options
@talking_options
def impute(data: str, **options: Any) -> None:
    """Fill the holes of a table.

    DATA is a CSV, TSV, Parquet, Feather, JSON Lines or Excel file, plain or compressed
    (.gz, .bz2, .xz, .zst), or - for standard input. Observed cells are written as they
    were read, character by character.

    \b
    Examples:
      macfm impute patients.csv -o completed.csv
      macfm impute patients.csv -o completed.csv --id patient --bounds age=0:120
      macfm impute patients.csv -o completed.csv --model patients.macfm
      macfm impute patients.csv --draws 20 -o draws/
      macfm impute patients.parquet -o completed.parquet --report report.html
      zcat patients.csv.gz | macfm impute - -o - > completed.csv
    """
    voice = Voice(quiet=options["quiet"], verbose=options["verbose"])
    output, n_draws = options["output"], options["draws"]
    check_draws(options)
    if output is None and not options["dry_run"]:
        raise click.UsageError("where to? Give -o FILE, or -o - for standard output")
    check_targets(
        force=options["force"],
        draws=n_draws is not None,
        to=options["to"],
        reads={"DATA": data},
        output=output,
        model=options["model"],
        report=options["report"],
    )
    source = read_source(data, options)
    if options["dry_run"]:
        from macfm.cli._dry_run import dry_run

        dry_run(source, options, voice)
        return
    wanted = options["model"] or options["report"] or n_draws is not None
    imputer = None
    if source.n_missing or wanted:
        imputer = _model.make_imputer(source, options)
    voice.say(source.headline())
    tell_notes(source, voice)
    if imputer is None:
        notes = source.file.write(
            source.frame, output, format=options["to"], force=options["force"]
        )
        say_notes(notes, voice)
        voice.say("nothing to fill; the output is a copy")
        return
    fitted = _model.fit(imputer, source, voice)
    voice.say(fitted.sentence())
    filled = write_filled(source, imputer, source.frame, options, voice)
    if options["model"]:
        imputer.save(options["model"])
        voice.say(f"{options['model']} written: the model; see macfm info")
    if options["report"]:
        from macfm.cli._report import write

        write(
            source, imputer, source.frame, options["report"], options, voice, **filled
        )


def write_filled(
    source: Source,
    imputer: Any,
    frame: pd.DataFrame,
    options: dict[str, Any],
    voice: Voice,
) -> dict[str, Any]:
    """Fill the table and write it; return the ``completed`` one or the ``draws``."""
    output, n_draws = options["output"], options["draws"]
    how = {"format": options["to"], "force": options["force"]}
    how["bounds"] = _model.number_bounds(imputer)
    if n_draws is None:
        completed = _model.complete(imputer, source, frame)
        say_notes(source.file.write(completed, output, **how), voice)
        voice.say(_model.filled_sentence(source, completed))
        if output != "-":
            voice.say(f"{output} written")
        return {"completed": completed}
    draws = _model.draw(imputer, source, frame, n_draws)
    notes = source.file.write_draws(
        draws, output, include_original=options["with_original"], **how
    )
    say_notes(notes, voice)
    voice.say(f"{_model.filled_sentence(source, draws[0])} in each table")
    where = "standard output" if output == "-" else output
    voice.say(f"{where} written: {count(n_draws, 'completed table')}")
    return {"draws": draws}
