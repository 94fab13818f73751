"""A native table checked against scikit-learn's contract, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from macfm._errors import ColumnError, Said
from macfm._warn import warn_user
from macfm.imputer._model import FittedModel
from macfm.table import Cells, Table, TableSchema, as_table, check_columns, retype_empty


def read_for_fit(estimator: Any, X: Any) -> tuple[Table, bool]:
    """Wrap the table of `fit`, and say whether it is a frame.

    The estimator takes note of the columns' names and number.
    """
    _refuse_strangers(X)
    if _is_frame(X):
        table = as_table(X)  # refuses duplicated names before scikit-learn stumbles
        validate_data(estimator, X, reset=True, skip_check_array=True)
        return table, True
    return as_table(_validated(estimator, X, reset=True)), False


def read_for_model(estimator: Any, X: Any, model: FittedModel) -> Table:
    """Wrap a table to be filled; its columns are those of `fit`."""
    _refuse_strangers(X)
    schema = model.schema
    if _is_frame(X) and model.on_frame:
        if _names(X) != schema.names:
            try:
                validate_data(estimator, X, reset=False, skip_check_array=True)
            except ValueError as error:
                expected = list(getattr(estimator, "feature_names_in_", ()))
                raise ValueError(f"{error}{_misplaced(X, expected)}") from None
        table = as_table(retype_empty(X, schema))
    else:
        # A frame after an array counts as an array, as scikit-learn warns.
        table = as_table(_validated(estimator, X, reset=False), columns=schema.names)
    check_columns(schema, table)
    return table


def _is_frame(X: Any) -> bool:
    """Whether a table has columns of their own types: pandas, polars or pyarrow."""
    typed = hasattr(X, "dtypes") or hasattr(X, "schema")
    return hasattr(X, "columns") and typed


def _names(X: Any) -> list[Any]:
    """Return the names of a frame's columns; those of a pyarrow table lie apart."""
    return list(getattr(X, "column_names", X.columns))


def _refuse_strangers(X: Any) -> None:
    if type(X) in (str, bytes, dict):
        raise TypeError(
            "expected a pandas or polars DataFrame or a 2-d array, got "
            f"{type(X).__name__}"
        )
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("masked arrays are not supported; use X.filled(np.nan) instead")


def _validated(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Return a float array; infinities are left to the table, which names a column."""
    if not reset and _as_in_fit(estimator, X):
        return X
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            ensure_min_samples=1 if reset else 0,
        )
    except ValueError:
        _refuse_texts(X)
        raise


def _refuse_texts(X: Any) -> None:
    """Name the column of a refused array that holds text; scikit-learn does not."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUST":
        return
    for j in range(X.shape[1]):
        for value in X[:, j]:
            if value is None or value is pd.NA:
                continue
            try:
                float(value)
            except ValueError:
                said = f"column {j} of the array holds {str(value)!r}; an array may "
                said += "hold numbers alone, so pass a DataFrame"
                raise ValueError(said) from None
            except TypeError:  # which scikit-learn has its own words for
                break


def _as_in_fit(estimator: Any, X: Any) -> bool:
    """Whether an array is one of which scikit-learn has nothing to say."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def _misplaced(X: Any, expected: list[Any]) -> str:
    """Name the first column out of place, if that is all that is wrong."""
    came = _names(X)
    if sorted(map(str, came)) != sorted(expected) or came == expected:
        return ""
    place = next(j for j, name in enumerate(expected) if came[j] != name)
    return f"Column {place} is {came[place]!r}, in fit it was {expected[place]!r}."


def index_of(X: Any, table: Table) -> pd.Index:
    """Return the labels of a table's rows."""
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(table.n_rows)


def write_cells(X: Any, table: Table, cells: Cells) -> Any:
    """Write filled cells into a copy of the native table."""
    completed = table.write(cells)
    if isinstance(completed, pd.DataFrame) and table.native is not X:
        # A type that was freed to hold texts holds none where all stays empty.
        for j in set(range(len(table.columns))).difference(cells):
            completed.isetitem(j, X.iloc[:, j])
    return completed


def check_weights(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Return the weights of the rows as float64, None if all count alike."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one number a row, {n_rows}, got an array of "
            f"shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        raise ValueError(
            "sample_weight must hold finite numbers, none below 0 and not all zero"
        )
    return None if (weights == weights[0]).all() else weights


def report_empty(schema: TableSchema, *, derived: Any, empty_columns: str) -> None:
    """Warn of columns without a value, or refuse them."""
    derived = derived or ()
    columns = schema.columns
    empty = [c.name for c in columns if c.kind == "empty" and c.name not in derived]
    if not empty:
        return
    message = f"no value was observed in {name_columns(empty)}"
    if empty_columns == "error":
        raise ColumnError(
            Said(
                f"{message}; drop them, list them in {{ignore}} or use "
                "{empty_columns}",
                ignore=...,
                empty_columns="keep",
            ),
            column=empty[0],
        )
    stays = "it stays" if len(empty) == 1 else "they stay"
    warn_user(f"{message}; {stays} empty")


def report_unknown(model: FittedModel, table: Table, *, handle_unknown: str) -> None:
    """Say which categories were not seen in `fit`, as loudly as asked."""
    if handle_unknown == "ignore":
        return
    unseen = model.encoder.unseen(table)
    if not unseen:
        return
    found = "; ".join(f"{name!r}: {values[:5]}" for name, values in unseen.items())
    message = f"categories that fit did not see in {found}"
    if handle_unknown == "error":
        raise ColumnError(
            Said(
                f"{message}; fit again or use {{handle_unknown}}",
                handle_unknown="ignore",
            ),
            column=next(iter(unseen)),
        )
    warn_user(f"{message}; they are kept and do not inform")


def name_columns(names: Sequence[Any]) -> str:
    """Name one or several columns in a sentence."""
    word = "column" if len(names) == 1 else "columns"
    return f"{word} {', '.join(map(repr, names))}"
