"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from macfm._words import read_seconds
from macfm.cli._command import (
    Choice,
    column_option,
    columns_option,
    file_option,
    option,
    output_option,
    training_option,
    value_option,
)
from macfm.cli._config import read_config

Decorator = Callable[[Any], Any]

PRESETS = ("fast", "default", "best", "paper")
METHODS = ("mean", "median", "draw")
_OLD_METHODS = {"sample": "draw"}
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}

data_argument = click.argument("data", metavar="DATA", type=click.Path())


def _seconds(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> float | None:
    try:
        return None if value is None else read_seconds(value)
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


def _group(*decorators: Decorator) -> Decorator:
    """One decorator for several options, in their order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def budget_option(help: str) -> Decorator:
    """`--budget` for the time that the help speaks of."""
    return training_option("--budget", metavar="TIME", callback=_seconds, help=help)


reading_options = _group(
    file_option(
        "--from",
        "from_",
        metavar="FORMAT",
        callback=_format,
        help="Format of DATA: csv, tsv, parquet, feather, jsonl, excel, also csv.gz "
        "and so on. Default: by the suffix.",
    ),
    file_option(
        "--delimiter",
        metavar="CHAR",
        callback=_delimiter,
        help="Between fields of a CSV file, or the word tab. Default: found out.",
    ),
    file_option("--encoding", help="Encoding of a text file. Default: found out."),
    file_option("--sheet", help="Sheet of an Excel file. Default: the first."),
    file_option(
        "--na-values",
        multiple=True,
        metavar="MARKS",
        help="Further texts that mean missing, such as -999,none; or age=-999 for one "
        "column.",
    ),
    file_option(
        "--no-default-na",
        is_flag=True,
        help="NA, NaN, null, ? and so on are values; only an empty cell and "
        "--na-values mean missing.",
    ),
)
column_options = _group(
    columns_option(
        "--categorical",
        help="Numbers that are codes, such as ward,plan.",
    ),
    columns_option(
        "--numeric",
        help="Numbers that are amounts although they are whole, or only two.",
    ),
    column_option(
        "--ordinal",
        multiple=True,
        metavar="COLUMN=LEVELS",
        help="Levels from low to high, such as 'stage=I<II<III'; may be repeated.",
    ),
    columns_option(
        "--ignore",
        help="Columns that neither inform nor are filled.",
    ),
    columns_option(
        "--id",
        "id_",
        help="Columns that name the rows: ignored by the model, shown in the report.",
    ),
)
seed_option = training_option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same values.",
)
method_option = value_option(
    "--method",
    type=Choice(METHODS, old=_OLD_METHODS),
    help="Value for a hole: mean (least squared error, the default), median (least "
    "absolute error) or draw (one plausible value).",
)
device_option = training_option(
    "--device",
    metavar="DEVICE",
    help="Where to compute: auto (the default), cpu, cuda or cuda:N.",
)
force_option = output_option("--force", is_flag=True, help="Replace existing files.")
model_options = _group(
    column_options,
    value_option(
        "--bounds",
        multiple=True,
        metavar="COLUMN=LOW:HIGH",
        help="Limits of filled values, such as age=0:120,weight=0: (LOW..HIGH for "
        "times with a colon), dose=none or dose=observed; observed or none alone is "
        "for all columns. Default: limits that all observed values respect.",
    ),
    value_option(
        "--leave",
        multiple=True,
        metavar="COLUMN:RULE",
        help='Holes that mean “does not apply” and stay empty, such as "age_dx: '
        "diabetes == 'No'\"; may be repeated.",
    ),
    value_option(
        "--derive",
        multiple=True,
        metavar="COLUMN=FORMULA",
        help='Columns that follow from others, such as "bmi = weight / height**2"; '
        "may be repeated.",
    ),
    columns_option(
        "--only",
        help="Columns to fill; the others inform but keep their holes.",
    ),
    training_option(
        "--preset",
        metavar="PRESET",
        type=click.Choice(PRESETS),
        default="default",
        help="How much to train: fast, default, best, or paper, the published method.",
    ),
    budget_option(
        "Most time for training, such as 90s, 5m or 1h; results then depend on the "
        "machine's speed."
    ),
    seed_option,
    training_option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any other parameter of MACFMImputer, such as max_steps=500; may be "
        "repeated.",
    ),
    device_option,
)
draws_options = _group(
    value_option(
        "--draws",
        metavar="N",
        type=click.IntRange(1),
        help="Write N plausible tables: a folder with one file each, or one stacked "
        "file with the columns .imp and .id.",
    ),
    value_option(
        "--with-original",
        is_flag=True,
        help="With --draws: put the table with its holes first, as number 0, which "
        "as.mids of R asks for.",
    ),
)
writing_options = _group(
    output_option(
        "--to",
        metavar="FORMAT",
        callback=_format,
        help="Format of the output. Default: by the suffix; that of DATA for -.",
    ),
    force_option,
)
voice_options = _group(
    option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    option("-v", "--verbose", is_flag=True, help="Say more."),
)
talking_options = _group(
    option(
        "--config",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        is_eager=True,
        callback=read_config,
        help="TOML file whose keys are the long options; the command line goes first.",
    ),
    voice_options,
)
data_dir_option = file_option(
    "--data-dir",
    metavar="FOLDER",
    type=click.Path(),
    help="Folder of tables. Default: the environment variable MACFM_DATA.",
)
json_option = output_option("--json", "as_json", is_flag=True, help="Write JSON.")


def check_draws(options: Mapping[str, Any]) -> None:
    """Refuse options that do not go with draws, or not without them."""
    if options["draws"] is None:
        if options["with_original"]:
            raise click.UsageError("--with-original goes with --draws")
    elif options["method"] is not None:
        raise click.UsageError(
            "--draws gives plausible values, not a mean or median; leave out --method"
        )
