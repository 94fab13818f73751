"""The columns of a table: inferred, stored, and held against another table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from macfm._errors import UnfitError
from macfm.table._column import ColumnSchema
from macfm.table._infer import infer_columns
from macfm.table._io import Table
from macfm.table._stored import MAX_COLUMNS, check_column

FORMAT = 1
"""Version of the JSON layout."""


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table, in order.

    Examples
    --------
    >>> import pandas as pd
    >>> from macfm.table import TableSchema, as_table
    >>> table = as_table(pd.DataFrame({"age": [31, 42], "sex": ["f", "m"]}))
    >>> schema = TableSchema.infer(table)
    >>> [(column.name, column.kind, column.encoding) for column in schema.columns]
    [('age', 'integer', 'scalar'), ('sex', 'categorical', 'binary')]
    """

    columns: list[ColumnSchema]

    @classmethod
    def infer(
        cls,
        table: Table,
        *,
        categorical: Sequence[Hashable] | None = None,
        numeric: Sequence[Hashable] | None = None,
        ordinal: Mapping[Hashable, Sequence] | None = None,
        bounds: Mapping[Hashable, Any] | str | None = "auto",
        numeric_transform: str | Mapping[Hashable, str] = "standard",
        max_one_hot: int = 64,
        atoms: bool = True,
        scores: bool = True,
        only: Sequence[Hashable] | None = None,
        ignore: Sequence[Hashable] | None = None,
    ) -> TableSchema:
        """Read the schema from the observed cells of a table.

        Parameters
        ----------
        table : Table
            The rows of fit.
        categorical : list of names, default=None
            Columns whose distinct values are categories, whatever their type.
        numeric : list of names, default=None
            Columns of plain numbers, whatever they look like: floats are neither
            rounded nor, where they are two, taken for categories.
        ordinal : dict of name to list of levels, default=None
            Columns whose values have the given order.
        bounds : "auto", "observed", dict or None, default="auto"
            Range of imputed values: limits that all observed values respect, the
            observed range, or none. A dict gives (lo, hi), None for an open side, or
            one of the three by name; columns it does not name are "auto".
        numeric_transform : {"standard", "quantile", "auto"} or dict, \
                default="standard"
            Scaling of numbers and times; columns a dict leaves out are "standard".
        max_one_hot : int, default=64
            Columns of up to this many categories get one coordinate a category, those
            of more get analog bits.
        atoms : bool, default=True
            Whether values that a column of numbers often repeats get coordinates of
            their own.
        scores : bool, default=True
            Whether numbers that lean far to one side get their normal scores as well.
        only : list of names, default=None
            Columns to fill; all when None.
        ignore : list of names, default=None
            Columns which are copied through and never looked at.
        """
        columns = infer_columns(
            table,
            categorical=categorical,
            numeric=numeric,
            ordinal=ordinal,
            bounds=bounds,
            numeric_transform=numeric_transform,
            max_one_hot=max_one_hot,
            atoms=atoms,
            scores=scores,
            only=only,
            ignore=ignore,
        )
        return cls(columns)

    def without_atoms(self) -> TableSchema:
        """Return the same columns, their repeated values numbers like all others."""
        return TableSchema(
            [
                replace(c, atoms=None, width=c.width - len(c.atoms)) if c.atoms else c
                for c in self.columns
            ]
        )

    def without_scores(self) -> TableSchema:
        """Return the same columns, without normal scores."""
        return TableSchema(
            [
                replace(c, scores=False, width=c.width - 1) if c.scores else c
                for c in self.columns
            ]
        )

    @property
    def names(self) -> list[Hashable]:
        """Column names, in order."""
        return [column.name for column in self.columns]

    @property
    def modelled(self) -> list[ColumnSchema]:
        """Columns with at least one coordinate; their position is their group."""
        return [column for column in self.columns if column.width]

    def to_json(self) -> dict[str, Any]:
        """Return a dict of JSON types from which the same schema can be built."""
        columns = [column.to_json() for column in self.columns]
        return {"format": FORMAT, "columns": columns}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> TableSchema:
        """Undo ``to_json``; ValueError for what no fit gives."""
        if plain.get("format") != FORMAT:
            raise ValueError(
                f"expected a schema of format {FORMAT}, got {plain.get('format')!r}"
            )
        columns = plain.get("columns")
        if len(plain) != 2 or not isinstance(columns, list):
            raise ValueError("a stored schema must hold a list of columns")
        if len(columns) > MAX_COLUMNS:
            raise ValueError(f"a stored schema has more than {MAX_COLUMNS} columns")
        schema = cls([ColumnSchema.from_json(column) for column in columns])
        for column in schema.columns:
            check_column(column)
        if len(set(schema.names)) != len(columns):
            raise ValueError("a stored schema names a column twice")
        return schema


def check_columns(schema: TableSchema, table: Table) -> None:
    """Refuse a table whose columns are not those of the schema, in its order."""
    expected, came = schema.names, table.columns
    if expected == came:
        return
    missing = [name for name in expected if name not in set(came)]
    unexpected = [name for name in came if name not in set(expected)]
    if missing or unexpected:
        parts = [f"missing columns {missing}"] if missing else []
        parts += [f"unexpected columns {unexpected}"] if unexpected else []
        raise UnfitError(f"the table differs from that of fit: {', '.join(parts)}")
    raise UnfitError(f"same columns, other order: expected {expected}, got {came}")


def retype_empty(native: Any, schema: TableSchema) -> Any:
    """Free empty columns of the type pandas gives them for want of a value.

    A column of text or dates without any value is often float64. Such a column comes
    back as ``object``, which can hold what is filled in; everything else, and every
    table that is no pandas DataFrame, comes back as it is.
    """
    if not isinstance(native, pd.DataFrame) or len(native.columns) != len(schema.names):
        return native
    columns = zip(native.columns, native.dtypes, schema.columns, strict=True)
    empty = {
        name: object
        for name, dtype, column in columns
        if column.impute
        and column.family not in ("float", "integer")
        and pd.api.types.is_float_dtype(dtype)
        and native[name].isna().all()
    }
    return native.astype(empty) if empty else native
