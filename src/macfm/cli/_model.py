"""From options to an imputer, and from an imputer to completed tables."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from macfm.cli import _parse
from macfm.cli._manners import (
    UNFIT,
    USAGE,
    Failure,
    Voice,
    counted,
    seconds_text,
)
from macfm.cli._tables import Source

if TYPE_CHECKING:
    import pandas as pd

    from macfm import MACFMImputer

# `--method` by the parameters of the imputer; None is the preset's own.
_READ_OUT = {
    None: {},
    "mean": {"method": "mean"},
    "median": {"method": "median"},
    "sample": {},
}
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
            f"{counted(n_networks, 'network')}, {counted(imputer.n_steps_, 'step')}, "
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
        "ignore": source.ignore,
        "verbose": not options["quiet"],
    }
    wishes = {name: None if v in ([], {}) else v for name, v in wishes.items()}
    wishes |= _READ_OUT[options.get("method")]

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
            imputer.fit(source.frame)
    except (ValueError, TypeError) as error:
        # A parameter out of range was typed wrongly; the table is not at fault.
        about = re.split("[ =]", str(error), maxsplit=1)[0]
        wrong = about in imputer.get_params()
        said = str(error) if wrong else f"{source.file.source}: {error}"
        raise Failure(said, USAGE if wrong else 1) from error
    return Fitted(imputer, time.perf_counter() - began)


def load(path: str, options: Mapping[str, Any]) -> MACFMImputer:
    """Read a model and set how it is to be read out."""
    from macfm import MACFMImputer

    imputer = MACFMImputer.load(path, device=options["device"])
    imputer.set_params(verbose=False, **_READ_OUT[options.get("method")])
    if imputer.handle_unknown == "ignore":
        imputer.set_params(handle_unknown="warn")
    return imputer


def text_kinds(imputer: MACFMImputer) -> dict[str, str]:
    """Columns that must be read as text, whatever a new file's cells look like."""
    return {
        column.name: "text"
        for column in imputer.schema_.columns
        if column.family == "string"
    }


def number_bounds(imputer: MACFMImputer) -> dict[str, Any]:
    """What the numbers that fill a column lie within, also when they are written."""
    return {
        column.name: column.bounds
        for column in imputer.schema_.columns
        if column.bounds is not None and column.family == "float"
    }


def align(imputer: MACFMImputer, source: Source, model: str) -> pd.DataFrame:
    """Return the table with the columns of a model in its order, or say what differs.

    Columns that the model ignores may be absent; others that it does not know must be
    ignored by the user.
    """
    import pandas as pd

    frame, where = source.frame, source.file.source
    columns = imputer.schema_.columns
    known = {column.name for column in columns}
    for name in frame.columns:
        if name not in known and name not in source.ignore:
            raise Failure(
                f"{where}: column {name!r} is not in the model {model}; leave it out, "
                f"or pass it through with --ignore {name!r}",
                UNFIT,
            )
    cells = {}
    for column in columns:
        if column.name in frame.columns:
            cells[column.name] = frame[column.name]
        elif column.kind == "ignored":
            cells[column.name] = pd.Series(pd.NA, index=frame.index, dtype=object)
        else:
            raise Failure(
                f"{where}: column {column.name!r} is missing, which the model {model} "
                f"needs ({column.kind}); add it, empty if nothing is known",
                UNFIT,
            )
    for name in source.ignore:
        if name in known:
            _check_ignored(imputer, name, model)
    return pd.DataFrame(cells)


def _check_ignored(imputer: MACFMImputer, name: str, model: str) -> None:
    kinds = {column.name: column.kind for column in imputer.schema_.columns}
    if kinds[name] != "ignored":
        raise Failure(
            f"--ignore {name!r}: the model {model} uses this column; fit a model that "
            "ignores it",
            UNFIT,
        )


def complete(
    imputer: MACFMImputer, source: Source, frame: pd.DataFrame, method: str | None
) -> pd.DataFrame:
    """Return one completed table with the columns of the file."""
    with _unfit(source):
        filled = (
            imputer.sample(frame, n_draws=1)[0]
            if method == "sample"
            else imputer.transform(frame)
        )
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
        said = " ".join(str(error).split())
        raise Failure(f"{source.file.source}: {said}", UNFIT) from error


def filled_sentence(source: Source, completed: pd.DataFrame) -> str:
    """Say how many cells were filled and how many are still empty."""
    left = completed.isna()
    n_left = int(left.to_numpy().sum())
    said = f"filled {counted(source.n_missing - n_left, 'cell')}"
    if not n_left:
        return said
    where = ", ".join(map(str, completed.columns[left.any()][:6]))
    more = int(left.any().sum()) - 6
    where += f" and {more} more" if more > 0 else ""
    return f"{said}, left {n_left:,} empty ({where})"
