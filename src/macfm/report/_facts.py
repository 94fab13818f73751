"""Everything the page is made from, gathered once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from macfm import judge
from macfm._errors import ParameterError, UnfitError
from macfm.judge import Comparison
from macfm.judge.frames import number_text, plain_frame, row_names
from macfm.plot import short_names
from macfm.profile import TableProfile, profile
from macfm.table import ColumnSchema, TableSchema, is_mask

N_DRAWS = 20
WORK = 1e11  # multiplications that drawing for the page may take
QUICK = {"max_rows": 2000, "budget": "2m"}
"""The comparison of a page for which none was given."""
SLOW = 15.0  # seconds of a fit above which one fold must do


@dataclass(frozen=True)
class Facts:
    """A fitted imputer, a table, and what came of them."""

    #: The fitted imputer.
    imputer: Any
    #: The table before and after, in plain pandas types.
    frame: pd.DataFrame
    completed: pd.DataFrame
    #: Positions of the rows that were drawn.
    drawn: np.ndarray
    #: Draws of those rows.
    draws: list[pd.DataFrame]
    #: Whether the user made the draws, rather than the page for its pictures.
    draws_given: bool
    #: What was missing.
    profile: TableProfile
    #: How good it is.
    comparison: Comparison | None
    #: Heading of the page, and name of the table or "".
    title: str
    name: str
    #: Seed of what the page itself draws by lot.
    seed: int
    #: How long fitting took.
    seconds: float | None
    #: Day of the report.
    date: dt.date
    #: Whether the reader types commands rather than Python.
    flags: bool

    @property
    def schema(self) -> TableSchema:
        """The columns as the imputer understood them."""
        return self.imputer.schema_

    def column(self, name: Hashable) -> ColumnSchema:
        """One column as the imputer understood it."""
        return self.schema.columns[self.schema.names.index(name)]

    def is_number(self, name: Hashable) -> bool:
        """Whether a column holds numbers or times."""
        return self.column(name).is_numeric

    @cached_property
    def before(self) -> pd.DataFrame:
        """The table as floats and text."""
        return number_text(self.frame, self.schema)

    @cached_property
    def after(self) -> pd.DataFrame:
        """The completed table as floats and text."""
        return number_text(self.completed, self.schema)

    @cached_property
    def drawn_values(self) -> list[pd.DataFrame]:
        """The draws as floats and text."""
        return [number_text(draw, self.schema) for draw in self.draws]

    @cached_property
    def labels(self) -> dict[Hashable, str]:
        """The columns' names as pictures show them, short and different."""
        names = self.frame.columns.tolist()
        return dict(zip(names, short_names(names, most=26), strict=True))

    @cached_property
    def filled(self) -> pd.DataFrame:
        """True where a hole was filled."""
        return self.frame.isna() & self.completed.notna()

    @cached_property
    def n_filled(self) -> pd.Series:
        """Cells filled, by column."""
        return self.filled.sum()

    @cached_property
    def filled_columns(self) -> list[Hashable]:
        """Columns with filled cells, the most first."""
        counts = self.n_filled[self.n_filled > 0]
        return counts.sort_values(ascending=False, kind="stable").index.tolist()


def gather(
    frame: Any,
    imputer: Any,
    *,
    completed: Any,
    draws: Sequence[Any] | None,
    compare: bool | Comparison,
    seed: int,
    seconds: float | None,
    **said: Any,
) -> Facts:
    """Complete the table, draw, look at what was missing, and compare."""
    settings = imputer.settings_  # raises if it was not fitted
    if not isinstance(compare, bool | Comparison):
        raise ParameterError(
            f"compare must be True, False or a Comparison, got compare={compare!r}",
            parameter="compare",
        )
    if completed is None:
        completed = imputer.transform(frame)
    plain = plain_frame(frame)
    if plain.columns.tolist() != imputer.schema_.names:
        raise UnfitError(
            f"the table's columns differ from those of fit: expected "
            f"{imputer.schema_.names}, got {plain.columns.tolist()}"
        )
    after = _same_rows(plain_frame(completed), plain)
    rows = np.flatnonzero((plain.isna() & after.notna()).any(axis=1))
    given = bool(draws)
    if draws:
        drawn = [_same_rows(plain_frame(draw), plain).iloc[rows] for draw in draws]
    else:
        rows = _choose(rows, settings, seed)
        drawn = _draw(imputer, frame, plain, rows)
    kinds = ("categorical", "numeric", "ordinal")
    wishes = {name: getattr(imputer, name) for name in kinds}
    if seconds is None:
        seconds = _training_seconds(imputer)
    if compare is True:
        compare = judge.compare(frame, imputer=imputer, seed=seed, **_quick(seconds))
    ids = list(imputer.id or ())
    names = row_names(plain, ids)
    return Facts(
        imputer=imputer,
        frame=plain.set_axis(names),
        completed=after.set_axis(names),
        drawn=rows,
        draws=[draw.set_axis(names[rows]) for draw in drawn],
        draws_given=given,
        profile=profile(
            plain, **wishes, ignore=[*(imputer.ignore or ()), *ids] or None, seed=seed
        ),
        comparison=compare or None,
        seed=seed,
        seconds=seconds,
        **said,
    )


def _quick(seconds: float | None) -> dict[str, Any]:
    """As many cells in two folds, or in one where a fit takes long."""
    slow = seconds is not None and seconds > SLOW
    return QUICK | ({"repeats": 1, "share": 0.2} if slow else {"repeats": 2})


def _same_rows(completed: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """A completed table without indicators, if its rows are those of the table."""
    if len(completed) != len(frame):
        raise ParameterError(
            f"the table has {len(frame)} rows and the completed one {len(completed)}; "
            "they must be the same rows",
            parameter="completed",
        )
    return completed[frame.columns.tolist()]


def _choose(rows: np.ndarray, settings: dict[str, Any], seed: int) -> np.ndarray:
    """As many of the rows as can be drawn in a moment."""
    stages = {"euler": 1, "heun": 2}[settings["solver"]]
    one = 2 * settings["n_blocks"] * settings["d_model"] ** 2 * settings["n_networks"]
    a_row = N_DRAWS * settings["n_steps"] * stages * one
    most = int(np.clip(WORK / a_row, 200, 5000))
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(seed).permutation(rows)[:most])


def _draw(
    imputer: Any, frame: Any, plain: pd.DataFrame, rows: np.ndarray
) -> list[pd.DataFrame]:
    """Draw the chosen rows."""
    if not len(rows):
        return []
    part = _rows_of(frame, rows)
    if is_mask(imputer.leave):
        imputer = copy(imputer).set_params(leave=_rows_of(imputer.leave, rows))
    draws = [plain_frame(draw) for draw in imputer.sample(part, n_draws=N_DRAWS)]
    return [draw[plain.columns.tolist()] for draw in draws]


def _rows_of(table: Any, rows: np.ndarray) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]


def _training_seconds(imputer: Any) -> float | None:
    """How long training took, if the imputer knows it."""
    history = getattr(imputer, "history_", None)
    if history is None or "seconds" not in history or not len(history):
        return None
    return float(history["seconds"].max())
