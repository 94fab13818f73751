"""Columns of flags beside a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from macfm._errors import ColumnError


def append_flags(native: Any, flags: Mapping[str, np.ndarray]) -> Any:
    """Return a native table with one more column a flag, each of shape (n_rows,).

    Frames get boolean columns of these names, arrays get 0.0 and 1.0.
    """
    names = getattr(native, "column_names", ()) or getattr(native, "columns", ())
    twice = [name for name in flags if name in names]
    if twice:
        raise ColumnError(
            f"cannot add the columns {twice}: the table has columns of these names; "
            "rename them",
            column=twice[0],
        )
    if isinstance(native, np.ndarray):
        added = [flag.astype(native.dtype)[:, None] for flag in flags.values()]
        return np.concatenate([native, *added], axis=1)
    if isinstance(native, pd.DataFrame):
        added = pd.DataFrame(dict(flags), index=native.index)
        return pd.concat([native, added], axis=1)
    if hasattr(native, "column_names"):  # a pyarrow Table
        for name, flag in flags.items():
            native = native.append_column(name, [flag])
        return native
    import polars as pl

    return native.with_columns(pl.Series(name, flag) for name, flag in flags.items())
