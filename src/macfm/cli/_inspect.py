"""`macfm inspect`: what a table holds and what it lacks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from macfm._words import count
from macfm.cli import _parse
from macfm.cli._command import Polite, output_option
from macfm.cli._failures import failure
from macfm.cli._flags import flag
from macfm.cli._layout import console, item, plain_table
from macfm.cli._options import (
    column_options,
    data_argument,
    json_option,
    reading_options,
    talking_options,
)
from macfm.cli._tables import Source, read_source

if TYPE_CHECKING:
    from rich.console import Console

    from macfm.profile import TableProfile

MOST_COLUMNS = 60
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_REMEDIES = {
    "all_missing": "ignore",
    "identifier": "ignore",
    "few_values": "categorical",
    "many_categories": "ignore",
}
_FORMATS = {"csv": "CSV", "tsv": "TSV", "jsonl": "JSON Lines"}


@click.command(cls=Polite)
@data_argument
@json_option
@output_option("--quick", is_flag=True, help="Leave out the tests of dependence.")
@column_options
@reading_options
@talking_options
def inspect(data: str, as_json: bool, quick: bool, **options: Any) -> None:
    """Show what a table holds, what is missing, and what that depends on.

    \b
    Examples:
      macfm inspect patients.csv
      macfm inspect patients.parquet --quick
      macfm inspect patients.csv --json | jq '.profile.missing_rate'
    """
    from macfm.profile import profile

    source = read_source(data, options)
    kinds = source.file.kinds
    try:
        found = profile(
            source.frame,
            categorical=_parse.names("--categorical", options["categorical"], kinds),
            numeric=_parse.names("--numeric", options["numeric"], kinds),
            ordinal=_parse.ordinals(options["ordinal"], kinds),
            ignore=source.ignore,
            quick=quick,
        )
    except ValueError as error:
        raise failure(error, where=source.file.source) from error
    if as_json:
        told = {"file": source.file.describe(), "profile": found.to_json()}
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    screen = console()
    _show_file(screen, source)
    _show_columns(screen, found, every=options["verbose"])
    _show_patterns(screen, found, n_listed=10 if options["verbose"] else 5)
    _show_dependence(screen, found, n_listed=99 if options["verbose"] else 5)
    _show_findings(screen, source, found, n_skips=99 if options["verbose"] else 5)
    _show_next(screen, source, found)


def _heading(screen: Console, text: str) -> None:
    screen.print()
    screen.print(text, style="bold")


def _show_file(screen: Console, source: Source) -> None:
    from macfm.profile import percent

    told = source.file.describe()
    screen.print(source.headline(), style="bold")
    how = [_FORMATS.get(told["format"], told["format"].capitalize())]
    how += [f"compressed ({told['compression']})"] if told["compression"] else []
    how += [told["encoding"].replace("utf", "UTF")] if "encoding" in told else []
    how += [f"sheet {told['sheet']}"] if "sheet" in told else []
    if "delimiter" in told:
        how.append(_DELIMITERS.get(told["delimiter"], repr(told["delimiter"])))
    marks: dict[str, int] = {}
    for column in told["column"].values():
        for mark, n in column["marks"].items():
            marks[mark] = marks.get(mark, 0) + n
    said = f"Read as {', '.join(how)}."
    if marks:
        named = [f"{repr(m) if m else 'empty'} ({n:,})" for m, n in marks.items()]
        share = percent(source.n_missing / source.frame.size)
        said += f" {share} of the cells are missing, written {', '.join(named)}."
    screen.print(said)


def _show_columns(screen: Console, found: TableProfile, *, every: bool) -> None:
    from macfm.profile import percent

    columns = list(found.columns)
    if len(columns) > MOST_COLUMNS and not every:
        columns = [c for c in columns if c.n_missing][:MOST_COLUMNS]
    length = 10 if screen.width >= 100 else 5
    _heading(screen, "Columns")
    rows = [
        (
            str(column.name),
            column.kind,
            f"{column.n_missing:,}" if column.n_missing else "",
            percent(column.missing_rate) if column.n_missing else "",
            _bar(column.missing_rate, length),
            column.words or ("no value" if column.kind == "empty" else ""),
        )
        for column in columns
    ]
    headings = ("column", "kind", ">missing", ">", "", "values (median)")
    screen.print(plain_table(headings, rows, width=screen.width))
    n_hidden = len(found.columns) - len(columns)
    if n_hidden:
        screen.print(f"and {count(n_hidden, 'column')} more; --verbose shows all")


def _bar(share: float, length: int) -> str:
    """Draw a share in eighths of a character; something is never drawn as nothing."""
    eighths = max(round(share * length * 8), 1) if share else 0
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(length)


def _show_patterns(screen: Console, found: TableProfile, *, n_listed: int) -> None:
    patterns = found.patterns
    if not found.n_missing:
        return
    heading, rows = patterns.told(n_listed)
    _heading(screen, heading)
    headings = (">rows", ">", "missing")
    screen.print(plain_table(headings, rows, width=screen.width, wrap=True))
    if patterns.monotone:
        screen.print(
            "The patterns are monotone: columns can be ordered so that a hole in one "
            "means holes in all later ones."
        )


def _show_dependence(screen: Console, found: TableProfile, *, n_listed: int) -> None:
    from macfm.profile import CAVEAT

    if found.little is None or found.dependence is None or not found.n_missing:
        return
    _heading(screen, "What the holes depend on")
    for said in (found.little.sentence(), *found.dependence.sentences(n_listed)):
        item(screen, said)
    screen.print(CAVEAT, style="dim")


def _show_findings(
    screen: Console, source: Source, found: TableProfile, *, n_skips: int
) -> None:
    if source.notes or found.findings:
        _heading(screen, "Worth acting on")
    for note in source.notes:
        item(screen, note, "!")
    for skip in found.skips[:n_skips]:
        said = "If that means “does not apply”, keep those holes:"
        item(screen, f"{skip.sentence()} {said}", "!")
        screen.print(f"  {skip.option()}", soft_wrap=True)
    if len(found.skips) > n_skips:
        rest = count(len(found.skips) - n_skips, "more rule")
        item(screen, f"{rest} of this kind; --verbose shows all", "!")
    for finding in found.findings:
        if finding.code == "does_not_apply":
            continue
        item(screen, finding.message, "!")
        if finding.code in _REMEDIES:
            advice = flag(_REMEDIES[finding.code], finding.columns)
            screen.print(f"  {advice}", soft_wrap=True)


def _show_next(screen: Console, source: Source, found: TableProfile) -> None:
    """Suggest the command that follows."""
    import shlex

    path = source.file.source
    if not found.n_missing or path == "standard input":
        return
    ignored = [str(c.name) for c in found.columns if c.identifier_like]
    words = ["macfm", "impute", path, "-o", f"completed{source.file.format.suffix}"]
    names = list(dict.fromkeys([*source.ignore, *ignored]))
    ignore = f" {flag('ignore', names)}" if names else ""
    _heading(screen, "Next")
    screen.print(f"  {shlex.join(words)}{ignore}", soft_wrap=True)
