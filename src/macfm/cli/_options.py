"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from macfm.cli import _parse
from macfm.cli._config import read_config

Decorator = Callable[[Any], Any]

PRESETS = ("fast", "default", "best", "paper")
METHODS = ("mean", "median", "sample")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}

data_argument = click.argument("data", metavar="DATA", type=click.Path())


def _seconds(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> float | None:
    try:
        return None if value is None else _parse.seconds(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _delimiter(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> str | None:
    if value is None:
        return None
    value = _DELIMITERS.get(value.lower(), value)
    if len(value) != 1:
        raise click.BadParameter(f"{value!r} is not one character, nor the word tab")
    return value


def _format(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> str | None:
    if value is None:
        return None
    from macfm.files import COMPRESSIONS, FORMATS

    name, _, compression = value.lower().lstrip(".").partition(".")
    # Suffixes will do for names: xlsx for excel, pq for parquet.
    spelt = (*FORMATS, "xlsx", "pq", "txt", "tab", "arrow", "ndjson")
    if name not in spelt or (compression and compression not in COMPRESSIONS):
        raise click.BadParameter(
            f"{value!r} is not a format; use one of {', '.join(FORMATS)}, with "
            f".{', .'.join(COMPRESSIONS)} if it is compressed"
        )
    return value


_READING = {
    "from": click.option(
        "--from",
        "from_",
        metavar="FORMAT",
        callback=_format,
        help="Format of DATA: csv, tsv, parquet, feather, jsonl, excel, also csv.gz "
        "and so on. Default: by the suffix.",
    ),
    "delimiter": click.option(
        "--delimiter",
        metavar="CHAR",
        callback=_delimiter,
        help="Between fields of a CSV file, or the word tab. Default: found out.",
    ),
    "encoding": click.option(
        "--encoding", help="Encoding of a text file. Default: found out."
    ),
    "sheet": click.option(
        "--sheet", help="Sheet of an Excel file. Default: the first."
    ),
    "na-values": click.option(
        "--na-values",
        multiple=True,
        metavar="MARKS",
        help="Further texts that mean missing, such as -999,none; or age=-999 for one "
        "column.",
    ),
    "no-default-na": click.option(
        "--no-default-na",
        is_flag=True,
        help="NA, NaN, null, ? and so on are values; only an empty cell and "
        "--na-values mean missing.",
    ),
}
_COLUMNS = {
    "categorical": click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMNS",
        help="Numbers that are codes, such as ward,plan.",
    ),
    "numeric": click.option(
        "--numeric",
        multiple=True,
        metavar="COLUMNS",
        help="Numbers that are amounts although they are whole, or only two.",
    ),
    "ordinal": click.option(
        "--ordinal",
        multiple=True,
        metavar="COLUMN=LEVELS",
        help="Levels from low to high, such as 'stage=I<II<III'; may be repeated.",
    ),
    "ignore": click.option(
        "--ignore",
        multiple=True,
        metavar="COLUMNS",
        help="Columns that neither inform nor are filled.",
    ),
    "id": click.option(
        "--id",
        "id_",
        multiple=True,
        metavar="COLUMNS",
        help="Columns that name the rows: ignored by the model, shown in the report.",
    ),
}
_MODEL = {
    "bounds": click.option(
        "--bounds",
        multiple=True,
        metavar="COLUMN=LOW:HIGH",
        help="Limits of filled values, such as age=0:120,weight=0: (LOW..HIGH for "
        "times with a colon), dose=none or dose=observed; observed or none alone is "
        "for all columns. Default: limits that all observed values respect.",
    ),
    "leave": click.option(
        "--leave",
        multiple=True,
        metavar="COLUMN:RULE",
        help='Holes that mean “does not apply” and stay empty, such as "age_dx: '
        "diabetes == 'No'\"; may be repeated.",
    ),
    "derive": click.option(
        "--derive",
        multiple=True,
        metavar="COLUMN=FORMULA",
        help='Columns that follow from others, such as "bmi = weight / height**2"; '
        "may be repeated.",
    ),
    "only": click.option(
        "--only",
        multiple=True,
        metavar="COLUMNS",
        help="Columns to fill; the others inform but keep their holes.",
    ),
    "preset": click.option(
        "--preset",
        type=click.Choice(PRESETS),
        default="default",
        show_default=True,
        help="How much to train; paper is the published method.",
    ),
    "budget": click.option(
        "--budget",
        metavar="TIME",
        callback=_seconds,
        help="Most time for training, such as 90s, 5m or 1h; results then depend on "
        "the machine's speed.",
    ),
    "seed": click.option(
        "--seed",
        metavar="N",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="The same seed gives the same values.",
    ),
    "set": click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any other parameter of MACFMImputer, such as max_steps=500; may be "
        "repeated.",
    ),
}
_METHOD = {
    "method": click.option(
        "--method",
        type=click.Choice(METHODS),
        help="Value for a hole: mean (least squared error, the default), median (least "
        "absolute error) or sample (one plausible draw).",
    ),
}
_DRAWS = {
    "draws": click.option(
        "--draws",
        metavar="N",
        type=click.IntRange(1),
        help="Write N plausible tables: a folder with one file each, or one stacked "
        "file with the columns .imp and .id.",
    ),
    "with-original": click.option(
        "--with-original",
        is_flag=True,
        help="With --draws: put the table with its holes first, as number 0, which "
        "as.mids of R asks for.",
    ),
}
_DEVICE = {
    "device": click.option(
        "--device",
        metavar="DEVICE",
        help="Where to compute: auto (the default), cpu, cuda or cuda:N.",
    ),
}
_WRITING = {
    "to": click.option(
        "--to",
        metavar="FORMAT",
        callback=_format,
        help="Format of the output. Default: by the suffix; that of DATA for -.",
    ),
}
_FORCE = {
    "force": click.option("--force", is_flag=True, help="Replace existing files."),
}
_TALKING = {
    "config": click.option(
        "--config",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        is_eager=True,
        callback=read_config,
        help="TOML file whose keys are the long options; the command line goes first.",
    ),
    "quiet": click.option(
        "-q", "--quiet", is_flag=True, help="Say nothing but errors."
    ),
    "verbose": click.option("-v", "--verbose", is_flag=True, help="Say more."),
}

_GROUPS = (
    *(_READING, _COLUMNS, _MODEL, _METHOD, _DRAWS),
    *(_DEVICE, _WRITING, _FORCE, _TALKING),
)
_OWN = ("output", "model", "report", "json", "methods", "folds", "share")
ALL_NAMES = frozenset([*_OWN, *(name for group in _GROUPS for name in group)])
"""Long names of the options of all commands that read a table."""


def _group(*groups: dict[str, Decorator]) -> Decorator:
    """One decorator for several options, in their order."""

    def decorate(function: Any) -> Any:
        options = [option for group in groups for option in group.values()]
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


reading_options = _group(_READING)
column_options = _group(_COLUMNS)
model_options = _group(_COLUMNS, _MODEL, _DEVICE)
method_option = _group(_METHOD)
draws_options = _group(_DRAWS)
device_option = _group(_DEVICE)
writing_options = _group(_WRITING, _FORCE)
force_option = _group(_FORCE)
talking_options = _group(_TALKING)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


def check_draws(options: Mapping[str, Any]) -> None:
    """Refuse options that do not go with draws, or not without them."""
    if options["draws"] is None:
        if options["with_original"]:
            raise click.UsageError("--with-original goes with --draws")
    elif options["method"] is not None:
        raise click.UsageError(
            "--draws gives plausible values, not a mean or median; leave out --method"
        )
