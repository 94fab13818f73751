"""`macfm report`: a page about what was missing and what was filled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from macfm.cli import _model
from macfm.cli._command import Polite, file_option, output_option
from macfm.cli._failures import Failure
from macfm.cli._flags import told
from macfm.cli._options import (
    data_argument,
    force_option,
    model_options,
    reading_options,
    talking_options,
)
from macfm.cli._tables import Source, check_targets, read_source, tell_notes
from macfm.cli._voice import Voice

if TYPE_CHECKING:
    import pandas as pd


@click.command(cls=Polite)
@data_argument
@output_option(
    "-o",
    "--output",
    type=click.Path(),
    default="report.html",
    show_default=True,
    help="The page.",
)
@file_option(
    "--model",
    metavar="FILE",
    type=click.Path(),
    help="Use this saved model instead of fitting one.",
)
@output_option("--title", help="Heading of the page.")
@output_option(
    "--no-compare",
    is_flag=True,
    help="Leave out the error on hidden cells, which takes a few more fits.",
)
@model_options
@reading_options
@force_option
@talking_options
def report(data: str, **options: Any) -> None:
    """Write an HTML page: what is missing, what was filled, how good it is.

    The page is one file and opens without a network. A model is fitted for it unless
    one is given.

    \b
    Examples:
      macfm report patients.csv -o report.html
      macfm report patients.csv --model patients.macfm --no-compare
    """
    voice = Voice(quiet=options["quiet"], verbose=options["verbose"])
    check_targets(
        force=options["force"],
        reads={"DATA": data, "--model": options["model"]},
        report=options["output"],
    )
    if options["model"]:
        source, imputer = _model.read_for_model(data, options)
        voice.say(source.headline())
        frame = _model.align(imputer, source, options["model"])
    else:
        source = read_source(data, options)
        imputer = _model.make_imputer(source, options)
        voice.say(source.headline())
        tell_notes(source, voice)
        fitted = _model.fit(imputer, source, voice)
        voice.say(fitted.sentence())
        frame = source.frame
    write(source, imputer, frame, options["output"], options, voice)


def write(
    source: Source,
    imputer: Any,
    frame: pd.DataFrame,
    path: str,
    options: dict[str, Any],
    voice: Voice,
    *,
    completed: pd.DataFrame | None = None,
    draws: list[pd.DataFrame] | None = None,
) -> None:
    """Write the page of a fitted imputer and the table it filled."""
    from macfm.report import report as make_page

    if not options.get("no_compare"):
        voice.say("comparing with other methods on hidden cells, for the report")
    try:
        page = make_page(
            source.labelled(frame),
            imputer,
            completed=None if completed is None else source.labelled(completed),
            draws=None if draws is None else [source.labelled(one) for one in draws],
            compare=not options.get("no_compare"),
            title=options.get("title"),
            name=os.path.basename(source.file.source),
            seed=options["seed"],
            flags=True,
        )
        page.save(path)
    except (ValueError, OverflowError) as error:
        raise Failure(
            f"{source.file.source}: the report {path} could not be made ({told(error)})"
        ) from error
    voice.say(f"{path} written: open it in a browser")
