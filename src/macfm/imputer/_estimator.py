"""MACFMImputer: the scikit-learn contract around `table` and `flow`."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from macfm._warn import warn_user
from macfm.flow import GuidedEnsemble
from macfm.imputer._parameters import READ_OUT, Settings, resolve, resolved_values
from macfm.imputer._saved import load_imputer, save_imputer
from macfm.imputer._training import Filler, resolve_device, train_networks
from macfm.table import (
    Cells,
    Encoded,
    Table,
    TableEncoder,
    TableSchema,
    Wishes,
    append_flags,
    as_table,
    check_columns,
    read_wishes,
    retype_empty,
)


class MACFMImputer(TransformerMixin, BaseEstimator):
    """Fill the holes of a table by mask-aware conditional flow matching.

    Takes a pandas or polars DataFrame with numbers, text, booleans, categories and
    dates, or a float array, and gives back the same kind of table with its missing
    cells filled. Observed cells are copied, never altered. Arrays of other types are
    turned into float64 first, as everywhere in scikit-learn.

    Parameters
    ----------
    preset : {"default", "fast", "best", "paper"}, default="default"
        Where every parameter left at None takes its value. ``"fast"`` trains one small
        network, ``"best"`` five large ones; ``"paper"`` is the published method: a
        plain MLP that does not see the mask, stopped on the training objective, the
        mean of 50 Heun trajectories of 10 steps.
    method : {"mean", "sample"}, default=None
        How `transform` fills a cell. ``"mean"``: the conditional mean from one
        evaluation of the network; ``"sample"``: `n_trials` trajectories, aggregated.
    aggregate : {"mean", "median"}, default=None
        Center of the trajectories for numeric columns: the mean for the least squared
        error, the median for the least absolute error. Categories always take the
        highest averaged probability.
    n_trials : int, default=None
        Trajectories a row with ``method="sample"``.
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
    max_one_hot : int, default=None
        Columns of up to this many categories are encoded one-hot, those of more as
        analog bits.
    impute : list of column names, default=None
        Columns to fill; the others inform but keep their holes. None fills all.
    ignore : list of column names, default=None
        Columns that neither inform nor are filled, such as identifiers.
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
    n_networks : int, default=None
        Networks trained, each from its own start; their velocities are averaged.
    backbone : {"mlp", "transformer"}, default=None
        The velocity network: an MLP over the row or attention between columns.
    d_model, n_blocks : int, default=None
        Width and depth of the network.
    n_heads : int, default=None
        Attention heads of the transformer.
    dropout : float, default=None
        Share of hidden units dropped in training.
    mask_input : bool, default=None
        Whether the network is told which cells are shown to it.
    residual : bool, default=None
        Residual blocks in the MLP instead of a plain stack.
    n_frequencies : int, default=None
        Learned sinusoids of each value that the MLP sees beside it; they resolve steps
        and spikes, such as a value that most rows share.
    precondition : bool, default=None
        Whether the network predicts a quantity of unit variance at every t, which at
        t = 0 is the conditional mean and does not see the noise.
    guide : bool, default=None
        Whether a normal distribution fitted to the table guides the networks: they
        learn what it leaves, and count only where that helps on held-out rows. Every
        second network of several is trained without it. Needs `precondition`.
    schedule : {"linear", "power", "cosine"}, default=None
        s(t) of the path.
    gamma : float, default=None
        Exponent of the power schedule, in [1, 3].
    velocity_space : {"t", "s"}, default=None
        Whether the network predicts dx/dt or dx/ds.
    time_law : "uniform" or (a, b), default=None
        Law of the training times, uniform or Beta(a, b).
    share_t0 : float, default=None
        Share of training rows held at t = 0, where the conditional mean is read.
    hide_rate : (low, high), default=None
        Range from which each training row draws the share of its cells to hide.
    lambda_stab, lambda_cons : float, default=None
        Weights of the stability and the consistency term.
    eta_cons : float, default=None
        Size of the perturbation in the consistency term.
    sigma_in : float, default=None
        Input noise on observed numeric values in training.
    batch_size : int, default=None
        Rows a training step.
    max_steps : int, default=None
        Most training steps.
    max_seconds : float, default=None
        Most seconds of training; results then depend on the machine's speed. With too
        few to learn from, the guide fills alone and a warning says so.
    learning_rate, weight_decay : float, default=None
        Settings of AdamW.
    warmup_steps : int, default=None
        Steps over which the learning rate rises.
    decay_share : float, default=None
        Share of the steps over which it falls to 0 at the end.
    ema_decay : float, default=None
        Decay of the weight average that is kept.
    clip_norm : float, default=None
        Largest gradient norm.
    stopping : {"validation", "objective", "none"}, default=None
        What must stop improving for training to end: the error on hidden cells of
        held-out rows, the training objective, or nothing (all of `max_steps`).
    patience : int, default=None
        Evaluations without improvement that end the constant phase of training.
    evaluate_every : int, default=None
        Steps between evaluations.
    validation_share : float, default=None
        Share of rows held out, the same for all networks: to stop by with
        ``stopping="validation"``, and to tell how far networks count beside a guide.
    solver : {"euler", "heun"}, default=None
        Solver of the trajectories.
    n_steps : int, default=None
        Its number of steps.
    grid : {"uniform", "schedule", "beta"}, default=None
        Where the steps lie: evenly in t, evenly in s, or denser near the data.
    grid_beta : float, default=None
        Concentration of the ``"beta"`` grid.
    transform_batch_size : int, default=4096
        Rows the network evaluates at a time; bounds memory, never changes a value.
    device : {"auto", "cpu", "cuda", "cuda:N"}, default="auto"
        Where to compute; ``"auto"`` takes a GPU if there is one.
    verbose : bool or int, default=True
        Show a progress bar when a terminal is attached.
    random_state : int, RandomState or None, default=None
        Seed of everything random. With an int, `fit` on the same table gives the same
        model again on the same CPU, whatever the number of threads, and `transform`
        gives a row the same values in any order, subset and batch of rows.

    Attributes
    ----------
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
        The parameters in force, with the preset's values for those left at None. Those
        of the read-out (`method`, `n_trials`, `solver`, ...) follow `set_params`, the
        others are those of `fit`.
    imputed_mask_ : ndarray of bool, (n_samples, n_features)
        True where `fit_transform` fills a cell. Not part of a saved model. After `fit`
        alone, holes that a rule of `leave` may keep count as filled.
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
        method: str | None = None,
        aggregate: str | None = None,
        n_trials: int | None = None,
        categorical: Sequence[Any] | None = None,
        numeric: Sequence[Any] | None = None,
        ordinal: Mapping[Any, Sequence[Any]] | None = None,
        bounds: Mapping[Any, Any] | str | None = "auto",
        numeric_transform: str | Mapping[Any, str] = "standard",
        max_one_hot: int | None = None,
        impute: Sequence[Any] | None = None,
        ignore: Sequence[Any] | None = None,
        leave: Any = None,
        derive: Mapping[Any, str] | None = None,
        empty_columns: str = "keep",
        handle_unknown: str = "ignore",
        add_indicator: bool = False,
        n_networks: int | None = None,
        backbone: str | None = None,
        d_model: int | None = None,
        n_blocks: int | None = None,
        n_heads: int | None = None,
        dropout: float | None = None,
        mask_input: bool | None = None,
        residual: bool | None = None,
        n_frequencies: int | None = None,
        precondition: bool | None = None,
        guide: bool | None = None,
        schedule: str | None = None,
        gamma: float | None = None,
        velocity_space: str | None = None,
        time_law: str | tuple[float, float] | None = None,
        share_t0: float | None = None,
        hide_rate: tuple[float, float] | None = None,
        lambda_stab: float | None = None,
        lambda_cons: float | None = None,
        eta_cons: float | None = None,
        sigma_in: float | None = None,
        batch_size: int | None = None,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        warmup_steps: int | None = None,
        decay_share: float | None = None,
        ema_decay: float | None = None,
        clip_norm: float | None = None,
        stopping: str | None = None,
        patience: int | None = None,
        evaluate_every: int | None = None,
        validation_share: float | None = None,
        solver: str | None = None,
        n_steps: int | None = None,
        grid: str | None = None,
        grid_beta: float | None = None,
        transform_batch_size: int = 4096,
        device: str = "auto",
        verbose: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.preset = preset
        self.method = method
        self.aggregate = aggregate
        self.n_trials = n_trials
        self.categorical = categorical
        self.numeric = numeric
        self.ordinal = ordinal
        self.bounds = bounds
        self.numeric_transform = numeric_transform
        self.max_one_hot = max_one_hot
        self.impute = impute
        self.ignore = ignore
        self.leave = leave
        self.derive = derive
        self.empty_columns = empty_columns
        self.handle_unknown = handle_unknown
        self.add_indicator = add_indicator
        self.n_networks = n_networks
        self.backbone = backbone
        self.d_model = d_model
        self.n_blocks = n_blocks
        self.n_heads = n_heads
        self.dropout = dropout
        self.mask_input = mask_input
        self.residual = residual
        self.n_frequencies = n_frequencies
        self.precondition = precondition
        self.guide = guide
        self.schedule = schedule
        self.gamma = gamma
        self.velocity_space = velocity_space
        self.time_law = time_law
        self.share_t0 = share_t0
        self.hide_rate = hide_rate
        self.lambda_stab = lambda_stab
        self.lambda_cons = lambda_cons
        self.eta_cons = eta_cons
        self.sigma_in = sigma_in
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.max_seconds = max_seconds
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.warmup_steps = warmup_steps
        self.decay_share = decay_share
        self.ema_decay = ema_decay
        self.clip_norm = clip_norm
        self.stopping = stopping
        self.patience = patience
        self.evaluate_every = evaluate_every
        self.validation_share = validation_share
        self.solver = solver
        self.n_steps = n_steps
        self.grid = grid
        self.grid_beta = grid_beta
        self.transform_batch_size = transform_batch_size
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> MACFMImputer:
        """Learn how the columns of a table depend on each other.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n_samples, n_features)
            The table; missing cells are NaN, None, NA, NaT or null.
        y : None
            Not used.

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
        parameters = self.get_params(deep=False)
        resolve(parameters, n_rows=1)  # wrong settings come before a wrong table
        device = resolve_device(self.device)
        vars(self).pop("network_", None)  # until this fit succeeds there is none
        table = self._read(X, reset=True)
        if table.n_rows == 0:
            raise ValueError("the table has 0 rows; at least 1 is needed to fit")
        size = {"n_rows": table.n_rows, "n_columns": len(table.columns)}
        settings = resolve(parameters, **size)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.schema_ = TableSchema.infer(
            table,
            categorical=self.categorical,
            numeric=self.numeric,
            ordinal=self.ordinal,
            bounds=self.bounds,
            numeric_transform=self.numeric_transform,
            max_one_hot=settings.max_one_hot,
            impute=self.impute,
            ignore=self.ignore,
        )
        wishes = self._wishes(table)
        self._report_empty_columns()
        if wishes is not None:
            wishes.check(table)
        self.encoder_ = TableEncoder.fit(table, self.schema_)
        self.indicator_features_ = np.flatnonzero(~table.observed.all(axis=0))
        wanted = np.array([c.impute for c in self.schema_.columns], dtype=bool)
        self.imputed_mask_ = ~table.observed & wanted
        if wishes is not None and wishes.mask is not None:
            self.imputed_mask_ &= ~wishes.mask
        fixed = ("preset", "schedule", "gamma", "velocity_space")
        self._path = {name: parameters[name] for name in fixed}
        self._trained_with = resolved_values(parameters, **size)
        self._train(self.encoder_.encode(table), settings=settings, device=device)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from a table and fill its missing cells.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n_samples, n_features)
            The table; missing cells are NaN, None, NA, NaT or null.
        y : None
            Not used.

        Returns
        -------
        DataFrame or ndarray
            A completed copy: same type, index, columns and dtypes.
        """
        self.fit(X, y)
        filler = self._filler()
        table = self._read(X, reset=False)
        wishes = self._wishes(table)
        cells = self._cells(table, self._fill(table, filler), wishes, drawn=False)
        self.imputed_mask_ = np.zeros(table.observed.shape, dtype=bool)
        for j, (rows, _, _) in cells.items():
            self.imputed_mask_[rows, j] = True
        return self._write(X, table, cells)

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
        check_is_fitted(self)
        filler = self._filler()
        table = self._read(X, reset=False)
        wishes = self._wishes(table)
        cells = self._cells(table, self._fill(table, filler), wishes, drawn=False)
        return self._write(X, table, cells)

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
        check_is_fitted(self)
        filler = self._filler()
        table = self._read(X, reset=False)
        wishes = self._wishes(table)
        x = self._fill(table, filler)
        cells = self._cells(table, x, wishes, drawn=False)
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(table.n_rows)
        found = {}
        for j, column in enumerate(self.schema_.columns):
            if column.encoding in (None, "scalar") or not column.impute:
                continue
            rows = cells[j][0] if j in cells else np.zeros(0, dtype=np.intp)
            found[column.name] = pd.DataFrame(
                self.encoder_.category_probabilities(x[rows], column.name),
                index=index[rows],
                columns=pd.Index(column.categories, tupleize_cols=False),
            )
        return found

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
        check_is_fitted(self)
        is_count = isinstance(n_draws, Integral) and not isinstance(n_draws, bool)
        if not is_count or n_draws < 1:
            raise ValueError(
                f"n_draws must be an integer of at least 1, got n_draws={n_draws!r}"
            )
        filler = self._filler()
        table = self._read(X, reset=False)
        wishes = self._wishes(table)
        encoded, rows = self._encode(table)
        x = np.repeat(encoded.x[None], n_draws, axis=0)
        if filler is not None and len(rows):
            x[:, rows] = filler.draw(encoded.x[rows], encoded.observed[rows], n_draws)
        return [
            self._write(X, table, self._cells(table, one, wishes, drawn=True))
            for one in x
        ]

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def n_iter_(self) -> int:
        """Training steps taken."""
        return max(self.n_steps_, 1)

    @property
    def settings_(self) -> dict[str, Any]:
        """The parameters in force, with the preset's values for those left at None."""
        check_is_fitted(self)
        now = resolved_values(self.get_params(deep=False) | self._path, n_rows=1)
        return self._trained_with | {name: now[name] for name in READ_OUT}

    def _read(self, X: Any, *, reset: bool) -> Table:
        """Check a native table against scikit-learn's contract and wrap it."""
        if type(X) in (str, bytes, dict):
            raise TypeError(
                "expected a pandas or polars DataFrame or a 2-d array, got "
                f"{type(X).__name__}"
            )
        if isinstance(X, np.ma.MaskedArray):
            raise TypeError(
                "masked arrays are not supported; use X.filled(np.nan) instead"
            )
        is_frame = hasattr(X, "columns") and hasattr(X, "dtypes")
        if reset:
            self._fitted_on_frame = is_frame
        if is_frame and self._fitted_on_frame:
            if reset:
                as_table(X)  # refuses duplicated names before scikit-learn stumbles
            try:
                validate_data(self, X, reset=reset, skip_check_array=True)
            except ValueError as error:
                raise ValueError(f"{error}{self._misplaced(X)}") from None
            table = as_table(X if reset else retype_empty(X, self.schema_))
        else:
            # A frame after an array counts as an array, as scikit-learn warns.
            # Infinities are left to the table, which names their column.
            X = validate_data(
                self,
                X,
                reset=reset,
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,
                ensure_min_samples=1 if reset else 0,
            )
            table = as_table(X, columns=None if reset else self.schema_.names)
        if not reset:
            check_columns(self.schema_, table)
            self._report_unknown(table)
        return table

    def _misplaced(self, X: Any) -> str:
        """Name the first column out of place, if that is all that is wrong."""
        expected = list(getattr(self, "feature_names_in_", ()))
        came = list(X.columns)
        if sorted(map(str, came)) != sorted(expected) or came == expected:
            return ""
        place = next(j for j, name in enumerate(expected) if came[j] != name)
        return f"Column {place} is {came[place]!r}, in fit it was {expected[place]!r}."

    def _report_empty_columns(self) -> None:
        """Warn of columns without a value, or refuse them."""
        derived = self.derive or ()
        columns = self.schema_.columns
        empty = [c.name for c in columns if c.kind == "empty" and c.name not in derived]
        if not empty:
            return
        message = f"no value was observed in {_columns(empty)}"
        if self.empty_columns == "error":
            raise ValueError(
                f"{message}; drop them, list them in ignore=[...] or use "
                f"empty_columns='keep'"
            )
        stays = "it stays" if len(empty) == 1 else "they stay"
        warn_user(f"{message}; {stays} empty")

    def _report_unknown(self, table: Table) -> None:
        """Say which categories were not seen in `fit`, as loudly as asked."""
        if self.handle_unknown == "ignore":
            return
        unseen = self.encoder_.unseen(table)
        if not unseen:
            return
        found = "; ".join(f"{name!r}: {values[:5]}" for name, values in unseen.items())
        message = f"categories that fit did not see in {found}"
        if self.handle_unknown == "error":
            raise ValueError(f"{message}; fit again or use handle_unknown='ignore'")
        warn_user(f"{message}; they are kept and do not inform")

    def _train(
        self, encoded: Encoded, *, settings: Settings, device: torch.device
    ) -> None:
        """Train on encoded rows and set what training leaves behind."""
        self.n_steps_ = 0
        self.history_ = pd.DataFrame()
        if not encoded.observed.any():
            self.network_ = None
            return
        trained = train_networks(
            encoded.x,
            encoded.observed,
            group=self.encoder_.group,
            is_num=self.encoder_.is_num,
            settings=settings,
            seed=self.seed_,
            device=device,
            verbose=self.verbose,
        )
        self.network_ = trained.network
        self.n_steps_ = trained.n_steps
        self.history_ = pd.DataFrame(trained.history)
        if trained.interrupted:
            warn_user(
                f"training was interrupted after {trained.n_steps} steps; the best "
                "weights so far are kept"
            )
        if trained.starved:
            guided = isinstance(trained.network, GuidedEnsemble)
            warn_user(
                f"max_seconds={settings.train.max_seconds:g} left time for "
                f"{trained.n_steps} training steps, too few to learn from; cells are "
                f"filled {'by the linear guide alone' if guided else 'almost blindly'}"
            )
        holed = dict(
            zip(self.schema_.names, self.imputed_mask_.any(axis=0), strict=True)
        )
        names = [self.schema_.modelled[k].name for k in trained.unknowable]
        names = [name for name in names if holed[name]]
        if names:
            warn_user(
                f"on held-out rows {_columns(names)} "
                f"{'is' if len(names) == 1 else 'are'} filled no better than by the "
                "mean, so the other columns hardly tell; look at the spread of "
                "sample() before relying on these cells"
            )

    def _filler(self) -> Filler | None:
        """Ready the network for reading; None if there is nothing to read."""
        # The path is the network's own, whatever was set since.
        parameters = self.get_params(deep=False) | self._path
        settings = resolve(parameters, n_rows=1)
        if self.network_ is None:
            return None
        return Filler(
            network=self.network_,
            is_num=self.encoder_.is_num,
            settings=settings,
            seed=self.seed_,
            device=resolve_device(self.device),
            batch_size=self.transform_batch_size,
        )

    def _fill(self, table: Table, filler: Filler | None) -> np.ndarray:
        """Encode the rows of a table and fill them."""
        encoded, rows = self._encode(table)
        x = encoded.x
        if filler is not None and len(rows):
            x[rows] = filler.fill(encoded.x[rows], encoded.observed[rows])
        return x

    def _encode(self, table: Table) -> tuple[Encoded, np.ndarray]:
        """Encode a table and find its rows with holes."""
        encoded = self.encoder_.encode(table)
        return encoded, np.flatnonzero(~encoded.observed.all(axis=1))

    def _wishes(self, table: Table) -> Wishes | None:
        """Read `leave` and `derive` for a table; None if they are not used."""
        if self.leave is None and self.derive is None:
            return None
        return read_wishes(
            self.schema_, leave=self.leave, derive=self.derive, table=table
        )

    def _cells(
        self, table: Table, x: np.ndarray, wishes: Wishes | None, *, drawn: bool
    ) -> Cells:
        """Decode filled rows and settle which cells are written with what."""
        cells = self.encoder_.decode(table, x, drawn=drawn)
        return cells if wishes is None else wishes.settle(table, cells)

    def _write(self, X: Any, table: Table, cells: Cells) -> Any:
        """Write filled cells into a copy of the table, with indicators if asked."""
        completed = table.write(cells)
        if isinstance(completed, pd.DataFrame) and table.native is not X:
            # A type that was freed to hold texts holds none where all stays empty.
            for j in set(range(len(table.columns))).difference(cells):
                completed.isetitem(j, X.iloc[:, j])
        if not self.add_indicator:
            return completed
        missing = {
            f"missingindicator_{table.columns[j]}": ~table.observed[:, j]
            for j in self.indicator_features_
        }
        return append_flags(completed, missing)


def _columns(names: Sequence[Any]) -> str:
    """Name one or several columns in a sentence."""
    word = "column" if len(names) == 1 else "columns"
    return f"{word} {', '.join(map(repr, names))}"
