"""Is it any good on my table? Errors on observed cells hidden for the purpose."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd

from macfm._errors import ParameterError
from macfm._renamed import renamed
from macfm._words import read_seconds
from macfm.judge._comparison import Comparison
from macfm.judge._folds import Run, SetUp
from macfm.judge._threads import usual_threads
from macfm.judge.frames import plain_frame
from macfm.judge.methods import make_method
from macfm.table import TableSchema, as_table, read_wishes, seldom_repeats

if TYPE_CHECKING:
    from macfm.imputer import MACFMImputer

LEAST_CELLS = 10  # observed cells a column needs to be scored
LEAST_LEFT = 5  # observed cells a fold leaves to a column
MOST_CATEGORIES = 200
USUAL = ("mean", "knn", "mice")
# Up to these, and to rows x columns^2, extra-trees take about ten seconds a fold.
TREE_COLUMNS, TREE_WORK, TREE_SECONDS = 30, 300_000, 60.0


@renamed(n_folds="repeats", time_limit="budget")
def compare(
    df: Any,
    *,
    imputer: MACFMImputer | None = None,
    methods: Sequence[str] | None = None,
    repeats: int = 5,
    share: float = 0.1,
    max_rows: int = 5000,
    n_draws: int = 20,
    seed: int = 0,
    n_threads: int | None = None,
    budget: float | str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Compare macfm with other methods on hidden observed cells of a user's table.

    Each fold hides some observed cells of every column, by lot; all methods are fitted
    to the rest and asked for what was hidden. Cells that are missing in the table stay
    missing and are never scored.

    Parameters
    ----------
    df : DataFrame (pandas or polars) or float array
        The table, with its holes.
    imputer : MACFMImputer, default=None
        The settings to compare; it is cloned, never changed. The default imputer when
        None. Columns it ignores or does not fill are not scored.
    methods : sequence of str, default=None
        Names in ``macfm.judge.methods.METHODS``; "mean" is always run, as the unit.
        When None "mean", "knn", "mice", and "extra-trees" if they take some seconds a
        fold: up to 30 columns, rows times columns squared up to 300,000, and no
        budget of less than a minute.
    repeats : int, default=5
        Folds; the cells they hide are disjoint.
    share : float, default=0.1
        Share of a column's observed cells that each fold hides.
    max_rows : int, default=5000
        Rows to look at; larger tables are sampled.
    n_draws : int, default=20
        Draws behind the intervals, for at most 500 rows a fold.
    seed : int, default=0
        Seed of everything random.
    n_threads : int, default=None
        Threads of every method, ours and the others'; those of torch when None.
    budget : float or str, default=None
        Most seconds, about, or text such as "5m" or "1h30m". macfm trains for its share
        of them at most, and folds that would take too long are left out; the outcome
        then depends on the machine.
    progress : callable, default=None
        Called with the number of fits done, their total and the one that comes.

    Returns
    -------
    Comparison

    Notes
    -----
    Hidden cells are missing completely at random, which real holes seldom are; the
    errors are those on cells like the observed ones. A hidden number that ties with an
    end of its interval counts in part, so that columns of few distinct values can be
    calibrated too.

    Standard errors are the larger of two: over rows, drawn 400 times with replacement,
    and over folds. Differences are those of two methods on the same cells; one that
    does not exceed two of its standard errors is no clear difference. ``advice`` of the
    result says what to use.

    Examples
    --------
    >>> import numpy as np
    >>> from macfm import MACFMImputer
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> x = np.hstack([x, 2 * x + 0.1])
    >>> imputer = MACFMImputer(max_steps=20, d_model=16, n_steps=2)
    >>> found = compare(x, imputer=imputer, repeats=1)
    >>> found.methods
    ['macfm', 'mean', 'knn', 'mice', 'extra-trees']
    >>> float(found.table("rmse_ratio", "number").loc["x1", "mice"].round(2))
    0.0
    """
    if n_threads is None:
        n_threads = usual_threads()
    least = {"repeats": repeats, "max_rows": max_rows, "n_threads": n_threads}
    _check(least, n_draws=n_draws, share=share)
    time_limit = _seconds(budget)
    others = [make_method(name) for name in _in_order(methods or ())]
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        # Columns the imputer would warn of are named in the result.
        warnings.simplefilter("ignore", UserWarning)
        setup = _set_up(df, imputer, rng, max_rows=max_rows)
        if methods is None:
            usual = usual_methods(*setup.frame.shape, budget=time_limit)
            others = [make_method(name) for name in usual]
        masks = _masks(setup, rng, n_folds=repeats, share=share)
        run = Run(
            setup,
            others,
            n_draws=n_draws,
            seed=seed,
            time_limit=time_limit,
            n_wanted=len(masks),
            n_threads=n_threads,
        )
        for fold, hidden in enumerate(masks):
            if run.may_go_on(fold):
                run.fold(fold, hidden, n_left=len(masks) - fold, progress=progress)
    return run.result(share=share)


def usual_methods(
    n_rows: int, n_columns: int, *, budget: float | str | None = None
) -> list[str]:
    """Return the methods that a table of that size is compared with in that time.

    Examples
    --------
    >>> usual_methods(200, 10), usual_methods(5000, 40)
    (['mean', 'knn', 'mice', 'extra-trees'], ['mean', 'knn', 'mice'])
    """
    few = n_columns <= TREE_COLUMNS and n_rows * n_columns**2 <= TREE_WORK
    few = few and (budget is None or read_seconds(budget) >= TREE_SECONDS)
    return [*USUAL, "extra-trees"] if few else [*USUAL]


def _in_order(methods: Sequence[str]) -> list[str]:
    """The methods beside macfm as they were named, with the mean among them."""
    names = dict.fromkeys([*methods, "mean"])
    return [name for name in names if name != "macfm"]


def _check(least: dict[str, int], *, n_draws: int, share: float) -> None:
    """Refuse numbers out of range."""
    for name, value in (least | {"n_draws": n_draws}).items():
        low = 2 if name == "n_draws" else 1
        if value < low:
            _refuse(name, f"{name} must be at least {low}, got {name}={value!r}")
    if not 0 < share < 1:
        _refuse("share", f"share must lie between 0 and 1, got share={share!r}")
    repeats = least["repeats"]
    if repeats * share > 1 + 1e-9:
        _refuse(
            "repeats",
            f"repeats * share must not exceed 1, since no cell is hidden twice; got "
            f"{repeats} * {share:g}",
        )


def _refuse(parameter: str, why: str) -> NoReturn:
    raise ParameterError(why, parameter=parameter)


def _seconds(budget: float | str | None) -> float | None:
    """The budget in seconds."""
    try:
        return None if budget is None else read_seconds(budget)
    except ValueError as error:
        _refuse("budget", f"budget: {error}")


def _set_up(
    frame: Any, imputer: Any, rng: np.random.Generator, *, max_rows: int
) -> SetUp:
    """Sample the rows, and leave out columns from which nothing can be learnt."""
    from sklearn.base import clone

    from macfm.imputer import MACFMImputer

    imputer = MACFMImputer() if imputer is None else clone(imputer)
    parameters = imputer.get_params(deep=False)
    table = plain_frame(frame)
    n_rows = len(table)
    ignored = [*(parameters["ignore"] or ()), *(parameters["id"] or ())]
    table = table.drop(columns=[name for name in ignored if name in table])
    left_out: dict[Hashable, str] = dict.fromkeys(ignored, "ignored")
    notes = []
    if n_rows > max_rows:
        rows = np.sort(rng.permutation(n_rows)[:max_rows])
        table = table.iloc[rows]
        notes.append(f"{max_rows:,} of {n_rows:,} rows were looked at.")
    table = table.reset_index(drop=True)
    kinds = ("categorical", "numeric", "ordinal", "bounds", "numeric_transform", "only")
    schema = _infer(table, {name: parameters[name] for name in kinds})
    for column in schema.columns:
        why = _useless(column, table[column.name])
        if why:
            left_out[column.name] = why
    table = table.drop(columns=[name for name in left_out if name in table])
    kept = {name: _only(parameters[name], table) for name in kinds}
    schema = _infer(table, kept)
    imputer.set_params(**kept, ignore=None, id=None, add_indicator=False, verbose=False)
    # Every hidden cell held a value, so that none of them may be left.
    imputer.set_params(leave=None, derive=_possible(parameters["derive"], schema))
    scored = [column.name for column in schema.columns if column.impute]
    enough = table[scored].notna().sum() >= LEAST_CELLS
    for name in [name for name in scored if not enough[name]]:
        left_out[name] = f"fewer than {LEAST_CELLS} observed cells"
    return SetUp(
        n_rows=n_rows,
        frame=table,
        schema=schema,
        scored=[name for name in scored if enough[name]],
        imputer=imputer,
        left_out=left_out,
        notes=tuple(notes),
    )


def _infer(table: pd.DataFrame, wishes: Mapping[str, Any]) -> TableSchema:
    return TableSchema.infer(as_table(table), **wishes)


def _possible(derive: Mapping[Hashable, str] | None, schema: TableSchema) -> Any:
    """The formulas all of whose columns take part."""
    kept = {}
    for name, formula in (derive or {}).items():
        with suppress(ValueError):
            read_wishes(schema, leave=None, derive={name: formula}, table=None)
            kept[name] = formula
    return kept or None


def _useless(column: Any, values: pd.Series) -> str | None:
    """Why a column takes no part, or None if it does."""
    if column.kind in ("empty", "constant"):
        return {"empty": "no value", "constant": "one value only"}[column.kind]
    if column.kind != "categorical":
        return None
    n_categories, n_observed = len(column.categories), int(values.notna().sum())
    if seldom_repeats(n_categories, n_observed):
        return "looks like an identifier"
    if n_categories > MOST_CATEGORIES:
        return f"more than {MOST_CATEGORIES} categories"
    return None


def _only(wish: Any, table: pd.DataFrame) -> Any:
    """A parameter that names columns, less those that are not in the table."""
    if isinstance(wish, Mapping):
        return {name: value for name, value in wish.items() if name in table}
    if wish is None or isinstance(wish, str):
        return wish
    return [name for name in wish if name in table]


def _masks(
    setup: SetUp, rng: np.random.Generator, *, n_folds: int, share: float
) -> list[pd.DataFrame]:
    """Flags of the cells each fold hides, disjoint and by lot within columns."""
    observed = setup.frame.notna()
    flags = np.zeros((n_folds, *setup.frame.shape), dtype=bool)
    for j, name in enumerate(setup.frame.columns):
        if name not in setup.scored:
            continue
        rows = rng.permutation(np.flatnonzero(observed[name]))
        k = min(max(round(share * len(rows)), 1), len(rows) - LEAST_LEFT)
        for fold in range(min(n_folds, len(rows) // k)):
            flags[fold, rows[fold * k : (fold + 1) * k], j] = True
    like = {"index": setup.frame.index, "columns": setup.frame.columns}
    return [pd.DataFrame(fold, **like) for fold in flags if fold.any()]
