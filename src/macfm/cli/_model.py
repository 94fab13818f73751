"""From options to an imputer, and from an imputer to completed tables."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from macfm._words import count
from macfm.cli import _parse
from macfm.cli._failures import UNFIT, Failure, failure
from macfm.cli._flags import flag
from macfm.cli._layout import seconds_text
from macfm.cli._signals import heed
from macfm.cli._tables import Source, read_source, repeatable
from macfm.cli._voice import Voice

if TYPE_CHECKING:
    import pandas as pd

    from macfm import MACFMImputer

# They add columns to the table, or say what `--quiet` says.
# --seed sets the last.
_NOT_SET = ("settings", "add_indicator", "verbose", "random_state")


@dataclass(frozen=True)
class Fitted:
    """A fitted imputer and how long it took."""

    imputer: MACFMImputer
    seconds: float

    def sentence(self) -> str:
        """Say what was trained."""
        imputer = self.imputer
        if imputer.network_ is None:
            return "nothing to learn: no column varies"
        n_networks = imputer.history_["network"].nunique()
        return (
            f"fitted in {seconds_text(self.seconds)}: preset {imputer.preset}, "
            f"{count(n_networks, 'network')}, {count(imputer.n_steps_, 'step')}, "
            f"seed {imputer.random_state}"
        )


def make_imputer(source: Source, options: Mapping[str, Any]) -> MACFMImputer:
    """Build an imputer from the options of a command, for the columns of a table."""
    kinds = source.file.kinds
    wishes: dict[str, Any] = {
        "preset": options["preset"],
        "random_state": options["seed"],
        "device": options["device"] or "auto",
        "budget": options["budget"],
        "categorical": _parse.names("--categorical", options["categorical"], kinds),
        "numeric": _parse.names("--numeric", options["numeric"], kinds),
        "ordinal": _parse.ordinals(options["ordinal"], kinds),
        "bounds": _parse.bounds(options["bounds"], kinds),
        "leave": _parse.rules(options["leave"], kinds),
        "derive": _parse.formulas(options["derive"], kinds),
        "only": _parse.names("--only", options["only"], kinds),
        "id": source.ids,
        "ignore": [name for name in source.ignore if name not in source.ids],
        "verbose": not options["quiet"],
    }
    wishes = {name: None if v in ([], {}) else v for name, v in wishes.items()}
    if options.get("method"):
        wishes["method"] = options["method"]

    from macfm import MACFMImputer

    allowed = [name for name in MACFMImputer().get_params() if name not in _NOT_SET]
    return MACFMImputer(**wishes | _parse.settings(options["settings"], allowed))


def fit(imputer: MACFMImputer, source: Source, voice: Voice) -> Fitted:
    """Fit an imputer to a table."""
    began = time.perf_counter()
    try:
        with voice.log(), warnings.catch_warnings():
            # The notes on the file have told of these, with the option that helps.
            warnings.filterwarnings("ignore", message=".*mark for a missing value")
            warnings.filterwarnings("ignore", message="column .* its cells are numbers")
            imputer.fit(source.frame)
    except (ValueError, TypeError) as error:
        raise failure(error, where=source.file.source) from error
    heed()
    return Fitted(imputer, time.perf_counter() - began)


def load(path: str, options: Mapping[str, Any]) -> MACFMImputer:
    """Read a model and set how it is to be read out."""
    from macfm import MACFMImputer

    imputer = MACFMImputer.load(path, device=options["device"])
    imputer.set_params(verbose=False)
    if options.get("method"):
        imputer.set_params(method=options["method"])
    if imputer.handle_unknown == "ignore":
        imputer.set_params(handle_unknown="warn")
    return imputer


def read_for_model(
    data: str, options: Mapping[str, Any]
) -> tuple[Source, MACFMImputer]:
    """Read a table and the model that is to fill it.

    The table goes first: its faults are told without loading torch. It is read again if
    a text of the model looks like something else in it.
    """
    with repeatable(data) as again:
        source = read_source(data, options)
        imputer = load(options["model"], options)
        kinds = {
            column.name: "text"
            for column in imputer.schema_.columns
            if isinstance(column.name, str)
            and column.family == "string"
            and source.file.kinds.get(column.name, "text") not in ("text", "empty")
        }
        if kinds and source.file.format.name in ("csv", "tsv"):
            again()
            source = read_source(data, options, kinds=kinds)
    return source, imputer


def number_bounds(imputer: MACFMImputer) -> dict[str, Any]:
    """What the numbers that fill a column lie within, also when they are written."""
    return {
        column.name: column.bounds
        for column in imputer.schema_.columns
        if isinstance(column.name, str)
        and column.bounds is not None
        and column.family == "float"
    }


def align(imputer: MACFMImputer, source: Source, model: str) -> pd.DataFrame:
    """Return the table with the columns of a model in its order, or say what differs.

    Columns that the model ignores may be absent; others that it does not know must be
    ignored by the user. All that differ are named at once.
    """
    import pandas as pd

    frame, columns = source.frame, imputer.schema_.columns
    kinds = {column.name: column.kind for column in columns}
    absent = [
        f"{name!r} ({kind})"
        for name, kind in kinds.items()
        if name not in frame and kind != "ignored"
    ]
    unknown = [n for n in frame if n not in kinds and n not in source.ignore]
    faults = []
    if absent:
        faults.append(
            f"{_are(absent)} missing, which the model {model} needs; add "
            f"{_it(absent)}, empty if nothing is known"
        )
    if unknown:
        faults.append(
            f"{_are(map(repr, unknown))} not in the model {model}; leave "
            f"{_it(unknown)} out, or pass {_it(unknown)} through with "
            f"{flag('ignore', unknown)}"
        )
    if faults:
        raise Failure(f"{source.file.source}: {'; '.join(faults)}", UNFIT)
    used = [name for name in source.ignore if kinds.get(name, "ignored") != "ignored"]
    if used:
        raise Failure(
            f"{flag('ignore', used)}: the model {model} uses "
            f"{'this column' if len(used) == 1 else 'these columns'}; fit a model that "
            f"ignores {_it(used)}",
            UNFIT,
        )
    nothing = pd.Series(pd.NA, index=frame.index, dtype=object)
    return pd.DataFrame({n: frame.get(n, nothing) for n in kinds})


def _are(names: Iterable[str]) -> str:
    """Begin to say something of one column or of several."""
    *others, last = names
    if not others:
        return f"column {last} is"
    return f"columns {', '.join(others)} and {last} are"


def _it(names: Collection[str]) -> str:
    return "it" if len(names) == 1 else "them"


def complete(
    imputer: MACFMImputer, source: Source, frame: pd.DataFrame
) -> pd.DataFrame:
    """Return one completed table with the columns of the file."""
    with _unfit(source):
        filled = imputer.transform(frame)
    return as_in_file(filled, source)


def draw(
    imputer: MACFMImputer, source: Source, frame: pd.DataFrame, n_draws: int
) -> list[pd.DataFrame]:
    """Return several completed tables with the columns of the file."""
    with _unfit(source):
        draws = imputer.sample(frame, n_draws=n_draws)
    return [as_in_file(one, source) for one in draws]


def as_in_file(filled: pd.DataFrame, source: Source) -> pd.DataFrame:
    """Return a table with the columns of the file, in its order."""
    import pandas as pd

    names = source.frame.columns
    cells = {n: filled[n] if n in filled.columns else source.frame[n] for n in names}
    return pd.DataFrame(cells)


@contextmanager
def _unfit(source: Source) -> Iterator[None]:
    """Turn what a model cannot read into a sentence about the file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise failure(error, where=source.file.source, exit_code=UNFIT) from error


def filled_sentence(source: Source, completed: pd.DataFrame) -> str:
    """Say how many cells were filled and how many are still empty."""
    left = completed.isna()
    n_left = int(left.to_numpy().sum())
    said = f"filled {count(source.n_missing - n_left, 'cell')}"
    if not n_left:
        return said
    where = ", ".join(map(str, completed.columns[left.any()][:6]))
    more = int(left.any().sum()) - 6
    where += f" and {more} more" if more > 0 else ""
    return f"{said}, left {n_left:,} empty ({where})"
