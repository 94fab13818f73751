"""What is known about each column: kind, legal values, encoded width."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from macfm.table._io import Table
from macfm.table._stored import MAX_COLUMNS, check_column
from macfm.table._tagged import from_tagged, to_tagged

__all__ = ["ColumnSchema", "TableSchema", "check_columns", "retype_empty"]

FORMAT = 1
"""Version of the JSON layout."""


@dataclass(frozen=True)
class ColumnSchema:
    """One column as it was seen in fit.

    Attributes
    ----------
    name : hashable
        Name of the column.
    kind : str
        ``"numeric"``, ``"integer"``, ``"boolean"``, ``"categorical"``, ``"ordinal"``,
        ``"datetime"``, ``"timedelta"``; floats that are all whole numbers are
        ``"integer"``, two distinct numbers ``"categorical"``. Not modelled are
        ``"constant"`` (one distinct value, which also fills its holes), ``"empty"`` (no
        value) and ``"ignored"``.
    dtype : str
        Native type in words.
    transform : {"standard", "quantile"} or None
        How the numbers are scaled; "auto" is already resolved.
    bounds : tuple or None
        Smallest and largest imputed value, None for an open side. Datetimes and
        timedeltas count nanoseconds (since the epoch, in UTC) as Python ints.
    categories : tuple or None
        Categories seen in fit, or all levels of an ordinal column in their order, or
        the one value of a constant column. Plain Python values; points in time are
        ``np.datetime64`` (in UTC) and ``np.timedelta64``.
    encoding : {"scalar", "binary", "onehot", "bits"} or None
        How a value becomes coordinates.
    width : int
        Number of coordinates, 0 when not modelled.
    impute : bool
        Whether missing cells are filled.
    family : str
        Type of the values themselves, see ``ColumnData``.
    unit : str or None
        Coarsest unit of time which all observed values respect.
    tz : str or None
        Time zone in which they respect it.
    limits : tuple of int, or None
        Range of an integer dtype.
    """

    name: Hashable
    kind: str
    dtype: str
    transform: str | None = None
    bounds: tuple | None = None
    categories: tuple | None = None
    encoding: str | None = None
    width: int = 0
    impute: bool = False
    family: str = "unknown"
    unit: str | None = None
    tz: str | None = None
    limits: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a dict of JSON types."""
        plain = {field: getattr(self, field) for field in self.__dataclass_fields__}
        plain["name"] = to_tagged(self.name)
        for field in ("bounds", "categories", "limits"):
            if plain[field] is not None:
                plain[field] = [to_tagged(value) for value in plain[field]]
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ColumnSchema:
        """Undo ``to_json``; ValueError for what no fit gives."""
        if not isinstance(plain, Mapping) or set(plain) != set(
            cls.__dataclass_fields__
        ):
            raise ValueError("a stored column has other fields than it should have")
        fields = dict(plain)
        fields["name"] = from_tagged(fields["name"])
        for field in ("bounds", "categories", "limits"):
            if fields[field] is not None:
                fields[field] = tuple(from_tagged(value) for value in fields[field])
        column = cls(**fields)
        check_column(column)
        return column


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
        only : list of names, default=None
            Columns to fill; all when None.
        ignore : list of names, default=None
            Columns which are copied through and never looked at.
        """
        from macfm.table._infer import infer_columns

        columns = infer_columns(
            table,
            categorical=categorical,
            numeric=numeric,
            ordinal=ordinal,
            bounds=bounds,
            numeric_transform=numeric_transform,
            max_one_hot=max_one_hot,
            only=only,
            ignore=ignore,
        )
        return cls(columns)

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
        raise ValueError(f"the table differs from that of fit: {', '.join(parts)}")
    raise ValueError(f"same columns, other order: expected {expected}, got {came}")


def retype_empty(native: Any, schema: TableSchema) -> Any:
    """Free empty columns of the type pandas gives them for want of a value.

    A column of text or dates without any value is often float64. Such a column comes
    back as ``object``, which can hold what is filled in; everything else, and every
    table that is no pandas DataFrame, comes back as it is.
    """
    if not isinstance(native, pd.DataFrame) or len(native.columns) != len(schema.names):
        return native
    empty = {
        name: object
        for name, column in zip(native.columns, schema.columns, strict=True)
        if column.impute
        and column.family not in ("float", "integer")
        and pd.api.types.is_float_dtype(native[name].dtype)
        and native[name].isna().all()
    }
    return native.astype(empty) if empty else native
