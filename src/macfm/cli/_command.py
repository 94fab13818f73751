"""A command with manners: errors of one sentence, help in sections, old spellings."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from macfm.cli._failures import Failure, failure
from macfm.cli._signals import heed
from macfm.cli._streams import let_go_of_stdout
from macfm.cli._voice import spoken_warnings

_GENERAL = "General"
_ORDER = ["Columns", "Values", "Training", "Comparison", "Files", "Output", "General"]
_WIDTH = 28
_NOTES = "macfm.notes"


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *args: Any, section: str = _GENERAL, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


option = partial(click.option, cls=Option)
column_option = partial(option, section="Columns")
columns_option = partial(column_option, multiple=True, metavar="COLUMNS")
value_option = partial(option, section="Values")
training_option = partial(option, section="Training")
comparison_option = partial(option, section="Comparison")
file_option = partial(option, section="Files")
output_option = partial(option, section="Output")


class Polite(click.Command):
    """A command whose errors are one sentence; `--verbose` adds where they arose.

    Parameters
    ----------
    old : mapping of str to str, default=None
        Former spellings of options, ``{"--folds": "--repeats"}``.
    """

    def __init__(
        self, *args: Any, old: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.old = dict(old or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words, old spellings as new ones."""
        end = args.index("--") if "--" in args else len(args)
        new = [self._renamed(ctx, word) for word in args[:end]]
        return super().parse_args(ctx, [*new, *args[end:]])

    def _renamed(self, ctx: click.Context, word: str) -> str:
        name, equals, value = word.partition("=")
        if name not in self.old:
            return word
        note(ctx, f"{name} is now {self.old[name]}")
        return f"{self.old[name]}{equals}{value}"

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        quiet = bool(ctx.params.get("quiet"))
        if not quiet:
            for text in ctx.meta.pop(_NOTES, ()):
                click.echo(f"note: {text}", err=True)
        try:
            with spoken_warnings(quiet=quiet):
                result = super().invoke(ctx)
                heed()
                return result
        except BrokenPipeError:
            # The reader, such as head, has seen enough; click would call it a failure.
            let_go_of_stdout()
            return None
        except Failure as error:
            if ctx.params.get("verbose") and error.__cause__ is not None:
                traceback.print_exception(error.__cause__)
            raise
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if ctx.params.get("verbose"):
                traceback.print_exc()
            raise failure(error) from error

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options in sections, all of them in the same two columns."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                section = getattr(param, "section", _GENERAL)
                rows.setdefault(section, []).append(record)
        names = [record[0] for records in rows.values() for record in records]
        width = max((len(n) for n in names if len(n) <= _WIDTH), default=0)
        for section in sorted(rows, key=_ORDER.index):
            with formatter.section(section if len(rows) > 1 else "Options"):
                formatter.write_dl(
                    [(n.ljust(width), text) for n, text in rows[section]]
                )


class Choice(click.Choice):
    """One of several words, of which some had another, an `old` spelling."""

    def __init__(self, choices: Sequence[str], old: Mapping[str, str]) -> None:
        super().__init__(choices)
        self.old = old

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the word as it is spelt now."""
        if value in self.old:
            if ctx is not None and param is not None:
                name = max(param.opts, key=len)
                note(ctx, f"{name} {value} is now {name} {self.old[value]}")
            value = self.old[value]
        return super().convert(value, param, ctx)


def note(ctx: click.Context, text: str) -> None:
    """Have a sentence said when the command begins, unless it is to be quiet."""
    ctx.meta.setdefault(_NOTES, {})[text] = None
