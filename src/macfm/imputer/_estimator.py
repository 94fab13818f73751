"""MACFMImputer: the scikit-learn contract around a fitted model."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from macfm.imputer._device import resolve_device
from macfm.imputer._fit import Fit, fit_model, wishes_of
from macfm.imputer._fitted import FittedAttributes
from macfm.imputer._input import (
    check_weights,
    index_of,
    read_for_fit,
    read_for_model,
    report_unknown,
    write_cells,
)
from macfm.imputer._intervals import check_level, intervals_of, probability_frames
from macfm.imputer._old_words import is_old_word
from macfm.imputer._parameters import EXPERT, unknown_parameter
from macfm.imputer._rules import integer
from macfm.imputer._saved import load_imputer, save_imputer
from macfm.imputer._settings import resolve
from macfm.table import Cells, Table, Wishes, append_flags


class MACFMImputer(FittedAttributes):
    """Fill the holes of a table by mask-aware conditional flow matching.

    Takes a DataFrame of pandas or polars or a Table of pyarrow, with numbers, text,
    booleans, categories and dates, or a float array, and gives back the same kind of
    table with its missing cells filled. Observed cells are copied, never altered.
    Arrays of other types are turned into float64 first, as everywhere in scikit-learn.

    Parameters
    ----------
    preset : {"default", "fast", "best", "paper"}, default="default"
        Where every setting that is not given takes its value. ``"fast"`` trains for a
        shorter time, ``"best"`` several larger networks; ``"paper"`` is the published
        method: a plain MLP that does not see the mask, stopped on the training
        objective, the mean of 50 Heun trajectories of 10 steps.
    method : {"mean", "median", "draw"}, default="mean"
        How `transform` fills a number: with the mean, which has the least squared
        error, the median, which has the least absolute error, or one plausible draw.
        Categories take the most likely one, or a draw.
    n_trials : int, default=None
        Trajectories a row behind a mean or median; with 0 the mean is read from one
        evaluation of the network, or a few. None is 50 in the preset ``"paper"``, else
        0 for a mean and 100 for a median.
    categorical : list of column names, default=None
        Columns to treat as categories although their type is numeric.
    numeric : list of column names, default=None
        Columns of plain numbers, whatever they look like. Without it a column of whole
        numbers is filled with whole numbers, also if its type is float, and one of two
        distinct numbers with one of the two.
    ordinal : dict of column name to list, default=None
        Columns whose categories have an order, lowest first.
    bounds : "auto", "observed", dict or None, default="auto"
        Limits of filled values. ``"auto"`` keeps limits that all observed values
        respect: the sign, 0 to 1, 0 to 100 where 100 occurs, a value at which many are
        capped, the range of whole numbers with few distinct values. ``"observed"``
        takes the range seen in `fit`, None no limits. A dict gives
        ``(low, high)``, None for an open side, or one of the three by column name;
        columns it does not name are ``"auto"``.
    numeric_transform : {"standard", "quantile", "auto"} or dict, default="standard"
        Scale of numeric columns inside the model, for all columns or by name.
        ``"quantile"`` maps to normal scores, ``"auto"`` does so for heavy tails only.
        On the quantile scale ``method="mean"`` gives a central value close to the
        median, not the mean.
    only : list of column names, default=None
        Columns to fill; the others inform but keep their holes. None fills all.
    id : list of column names, default=None
        Columns that name the rows: ignored by the model, shown by the report.
    ignore : list of column names, default=None
        Columns that neither inform nor are filled.
    leave : dict of column name to rule, or mask, default=None
        Holes that mean “does not apply” and stay empty. A rule such as
        ``{"age_dx": "diabetes == 'No'"}`` is judged on the completed row, in each draw
        of `sample` by its own values; a comparison with an empty cell does not hold. A
        mask, a boolean DataFrame or array of the table's shape, is True where a hole is
        left; it belongs to one table and is not saved. Observed cells are never
        touched. Columns of arrays are called ``x0``, ``x1`` and so on.
    derive : dict of column name to formula, default=None
        Columns that follow from others, such as ``{"bmi": "weight / height**2"}``. The
        formula holds in every row in which a cell was filled: a missing BMI is computed
        from weight and height, a missing weight from BMI and height. Of several missing
        cells the model fills all but the last, which is the derived one if it is
        missing.
    empty_columns : {"keep", "error"}, default="keep"
        What to do with a column without any observed value: keep it empty with a
        warning, or raise an error.
    handle_unknown : {"ignore", "warn", "error"}, default="ignore"
        What `transform` does with a category that `fit` did not see. The cell is kept
        as it is and does not inform; this only says how loudly.
    add_indicator : bool, default=False
        Append a column that says where a value was missing, for each column that had
        holes in `fit`.
    budget : float or str, default=None
        Most time for training, in seconds or as text such as ``"5m"``; results then
        depend on the machine's speed. With too little to learn from, the guide fills
        alone and a warning says so.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Where to compute; ``"auto"`` takes a GPU if there is one.
    verbose : bool or int, default=True
        Show a progress bar when a terminal is attached.
    random_state : int, RandomState or None, default=None
        Seed of everything random. With an int, `fit` on the same table gives the same
        model again on the same CPU, whatever the number of threads, and `transform`
        gives a row the same values in any order, subset and batch of rows.
    settings : dict, default=None
        Expert settings by name, such as ``{"max_steps": 500}``: network, path,
        training, solver. Each may also be given as a keyword of its own and set with
        `set_params`. `macfm.imputer.EXPERT` lists them with their meaning and their
        values in every preset, and so does the reference.
    **more
        Expert settings as keywords.

    Attributes
    ----------
    model_ : FittedModel
        What was learned, as a value; the attributes down to `seed_` are its parts.
    schema_ : TableSchema
        The columns as they were understood: kinds, categories, bounds.
    encoder_ : TableEncoder
        The table's translation to numbers and back.
    network_ : torch.nn.Module or None
        The trained velocity network, on the CPU; None if nothing varied.
    history_ : pandas.DataFrame
        One row an evaluation: network, step, loss and its terms, validation error,
        learning rate, seconds.
    n_steps_ : int
        Training steps taken by all networks.
    n_iter_ : int
        The same, at least 1, under scikit-learn's name.
    seed_ : int
        The seed drawn from `random_state`.
    settings_ : dict
        The values in force, the preset's included. Those of the read-out (`method`,
        `n_trials`, `solver`, ...) follow `set_params`, the others are those of `fit`.
    imputed_mask_ : ndarray of bool, (n_samples, n_features)
        True where `fit_transform` fills a cell. Not part of a saved model. After `fit`
        alone, holes that a rule of `leave` may keep count as filled.
    out_of_time_ : bool
        Whether `budget` ended a training that would have gone on. Not part of a saved
        model.
    indicator_features_ : ndarray of int
        Positions of the columns that had holes in `fit`.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, if all are strings.

    Notes
    -----
    The method is Impute-MACFM. Noise belongs to a row's content, not to its place, so
    a row is filled with the same draws in any company; rows with the same content are
    told apart by their order.

    Examples
    --------
    >>> import pandas as pd
    >>> from macfm import MACFMImputer
    >>> df = pd.DataFrame({
    ...     "height": [1.62, 1.80, None, 1.75, 1.68, 1.90, 1.71, None],
    ...     "team": ["red", "blue", "red", None, "red", "blue", "red", "blue"],
    ... })
    >>> completed = MACFMImputer(random_state=0, max_steps=50).fit_transform(df)
    >>> int(completed.isna().sum().sum())
    0
    >>> bool((completed["height"][:2] == df["height"][:2]).all())
    True
    """

    def __init__(
        self,
        *,
        preset: str = "default",
        method: str = "mean",
        n_trials: int | None = None,
        categorical: Sequence[Any] | None = None,
        numeric: Sequence[Any] | None = None,
        ordinal: Mapping[Any, Sequence[Any]] | None = None,
        bounds: Mapping[Any, Any] | str | None = "auto",
        numeric_transform: str | Mapping[Any, str] = "standard",
        only: Sequence[Any] | None = None,
        id: Sequence[Any] | None = None,
        ignore: Sequence[Any] | None = None,
        leave: Any = None,
        derive: Mapping[Any, str] | None = None,
        empty_columns: str = "keep",
        handle_unknown: str = "ignore",
        add_indicator: bool = False,
        budget: float | str | None = None,
        device: str = "auto",
        verbose: bool = True,
        random_state: int | np.random.RandomState | None = None,
        settings: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.preset = preset
        self.method = method
        self.n_trials = n_trials
        self.categorical = categorical
        self.numeric = numeric
        self.ordinal = ordinal
        self.bounds = bounds
        self.numeric_transform = numeric_transform
        self.only = only
        self.id = id
        self.ignore = ignore
        self.leave = leave
        self.derive = derive
        self.empty_columns = empty_columns
        self.handle_unknown = handle_unknown
        self.add_indicator = add_indicator
        self.budget = budget
        self.device = device
        self.verbose = verbose
        self.random_state = random_state
        self.settings = settings
        for name in more:
            if name not in EXPERT and not is_old_word(name):
                raise TypeError(unknown_parameter(name))
        if more or method == "sample":
            old = {"method": method, "n_trials": n_trials, "preset": preset}
            self.set_params(**({} if method != "sample" else old), **more)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MACFMImputer:
        """Learn how the columns of a table depend on each other.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n_samples, n_features)
            The table; missing cells are NaN, None, NA, NaT or null.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts in what is learned; rows of weight 0 only tell
            which values occur. None counts all alike.

        Returns
        -------
        MACFMImputer
            The imputer itself.

        Notes
        -----
        Ctrl-C ends training early: the best weights so far are kept, with a warning,
        and the program goes on. Before the first evaluation nothing could be kept, and
        KeyboardInterrupt goes through.
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from a table and fill its missing cells.

        The parameters are those of `fit`.

        Returns
        -------
        DataFrame or ndarray
            A completed copy: same type, index, columns and dtypes.
        """
        fit = self._fit(X, sample_weight)
        cells = fit.fill()
        self.imputed_mask_ = np.zeros(fit.table.observed.shape, dtype=bool)
        for j, (rows, _, _) in cells.items():
            self.imputed_mask_[rows, j] = True
        return self._written(X, fit.table, cells)

    def transform(self, X: Any) -> Any:
        """Fill the missing cells of a table with the columns of `fit`.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n_samples, n_features)
            The table to complete; it may hold rows `fit` did not see.

        Returns
        -------
        DataFrame or ndarray
            A completed copy: same type, index, columns and dtypes.
        """
        model, reading = self._model(), self._reading()
        table = self._read(X)
        cells = model.fill(table, **reading, wishes=self._wishes(table))
        return self._written(X, table, cells)

    def category_probabilities(self, X: Any) -> dict[Hashable, pd.DataFrame]:
        """Say how likely each category is in the missing cells of a table.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n_samples, n_features)
            The table, as for `transform`.

        Returns
        -------
        dict of DataFrame
            One for each boolean or categorical column that is filled and holds more
            than one category: a row for each cell that `transform` fills, under the
            index of `X` or the number of the row, and a column for each category. Rows
            sum to 1, and `transform` fills with the most likely category. How sure
            numbers and ordinal categories are is told by `sample`.
        """
        model, reading = self._model(), self._reading()
        table = self._read(X)
        index = index_of(X, table)
        if reading["read_out"].method == "draw":
            reading["read_out"] = replace(reading["read_out"], method="mean")
        found = model.probabilities(table, **reading, wishes=self._wishes(table))
        return probability_frames(found, schema=model.schema, index=index)

    def sample(self, X: Any, n_draws: int = 20) -> list[Any]:
        """Draw several plausible completed tables.

        Each draw fills every hole with one value from its predicted distribution given
        what was observed in the row; the spread over draws says how sure a value is.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n_samples, n_features)
            The table to complete.
        n_draws : int, default=20
            Number of tables. The first draws are the same however many are asked for.

        Returns
        -------
        list of DataFrame or ndarray
            `n_draws` completed copies.
        """
        model, reading = self._model(), self._reading()
        integer(1).check("n_draws", n_draws)
        table = self._read(X)
        draws = model.draw(table, n_draws, **reading, wishes=self._wishes(table))
        return [self._written(X, table, cells) for cells in draws]

    def intervals(self, X: Any, level: float = 0.9, n_draws: int = 100) -> pd.DataFrame:
        """Say how sure each filled cell is, one row a cell.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n_samples, n_features)
            The table, as for `transform`.
        level : float, default=0.9
            Probability that a range is to hold the true value.
        n_draws : int, default=100
            Draws behind a range; 2 / (1 − level) − 1 at least, or ranges hold less.

        Returns
        -------
        DataFrame
            ``row`` (the index of `X`, or the number of the row), ``column``, ``value``
            as `transform` fills it; ``low`` and ``high`` of numbers, dates and ordinal
            categories; ``certainty`` of other categories, the share of the draws that
            agree with the value. What a cell does not have is missing.

        Notes
        -----
        Ranges are those of the draws that fill a cell. A value that is a mean may lie
        outside, where nearly all draws hold one that the column often repeats, as 0.
        """
        check_level(level, n_draws)
        model, reading = self._model(), self._reading()
        table = self._read(X)
        reading |= {
            "wishes": self._wishes(table),
            "encoded": model.encode(table),
        }
        draws = model.draw(table, n_draws, **reading)
        return intervals_of(
            table,
            write_cells(X, table, model.fill(table, **reading)),
            [write_cells(X, table, cells) for cells in draws],
            schema=model.schema,
            level=level,
            index=index_of(X, table),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted imputer into one file, without pickle.

        Parameters
        ----------
        path : path-like
            Where to, ``model.macfm`` for instance. A file that is there is replaced,
            in one step once the new one is complete. A `random_state` that is a
            generator is saved as the seed drawn from it.
        """
        save_imputer(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, device: str | None = None
    ) -> MACFMImputer:
        """Read an imputer from a file written by `save`.

        It gives the same values, bit for bit on the same platform. A file cannot run
        code, and one that is damaged is refused.

        Parameters
        ----------
        path : path-like
            The file.
        device : str or None, default=None
            Where to compute from now on; None keeps what was set when it was saved,
            or takes ``"auto"`` if that was a GPU and here is none.

        Returns
        -------
        MACFMImputer
            Fitted.

        Raises
        ------
        ModelFileError
            If the file is no macfm model, damaged, or of a newer format.
        """
        return load_imputer(cls, path, device=device)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the column names of what `transform` gives back.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names for the columns of an array; those of `fit` must be repeated exactly.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        if not self.add_indicator:
            return names
        added = [f"missingindicator_{names[j]}" for j in self.indicator_features_]
        return np.concatenate([names, np.asarray(added, dtype=object)])

    def _fit(self, X: Any, sample_weight: Any) -> Fit:
        """Fit to a table and keep the model."""
        parameters = self.get_params(deep=False)
        resolve(parameters)  # wrong settings come before a wrong table
        device = resolve_device(self.device)
        self.__dict__.pop("model_", None)  # until this fit succeeds there is none
        table, on_frame = read_for_fit(self, X)
        if table.n_rows == 0:
            raise ValueError("the table has 0 rows; at least 1 is needed to fit")
        fit = fit_model(
            table,
            parameters=parameters,
            settings=resolve(
                parameters,
                n_rows=table.n_rows,
                n_columns=len(table.columns),
                on_gpu=device.type == "cuda",
            ),
            weights=check_weights(sample_weight, table.n_rows),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            device=device,
            on_frame=on_frame,
        )
        self.model_, self.imputed_mask_ = fit.model, fit.to_fill
        self.out_of_time_ = fit.out_of_time
        return fit

    def _read(self, X: Any) -> Table:
        """Check a table against the model."""
        model = self._model()
        table = read_for_model(self, X, model)
        report_unknown(model, table, handle_unknown=self.handle_unknown)
        return table

    def _wishes(self, table: Table) -> Wishes | None:
        wanted = {"leave": self.leave, "derive": self.derive}
        return wishes_of(self.schema_, table, wanted)

    def _written(self, X: Any, table: Table, cells: Cells) -> Any:
        """Write filled cells into a copy of the table, with indicators if asked."""
        completed = write_cells(X, table, cells)
        if not self.add_indicator:
            return completed
        missing = {
            f"missingindicator_{table.columns[j]}": ~table.observed[:, j]
            for j in self.indicator_features_
        }
        return append_flags(completed, missing)
