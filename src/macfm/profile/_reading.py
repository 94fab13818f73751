"""A table read once for everything that is said about it."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from macfm.profile._plain import plain_name
from macfm.table import ColumnSchema, Table, TableSchema, as_table


@dataclass(frozen=True)
class Reading:
    """A table with the schema the imputer would infer."""

    #: The table behind macfm's own interface.
    table: Table
    #: One entry a column.
    schema: list[ColumnSchema]
    #: Positions of columns that cannot be modelled, and why.
    faults: dict[int, str]

    @property
    def names(self) -> list[str | int]:
        """Names of the columns, as JSON can hold them."""
        return [plain_name(name) for name in self.table.columns]

    @property
    def observed(self) -> np.ndarray:
        """True where a cell holds a value, shape (n_rows, n_columns)."""
        return self.table.observed

    def kind(self, j: int) -> str:
        """Return the kind of a column, "unsupported" if it cannot be modelled."""
        return "unsupported" if j in self.faults else self.schema[j].kind

    def tells(self, j: int) -> str | None:
        """Return the role of a column, None if its values say nothing of others."""
        return (
            None if j in self.faults or j in self.identifiers else self.schema[j].role
        )

    @cached_property
    def codes(self) -> np.ndarray:
        """Equal values of a column as equal integers, -1 where there is none.

        Shape (n_rows, n_columns); columns that cannot be read are -1 throughout.
        """
        codes = np.full(self.observed.shape, -1, dtype=np.int64)
        for j in range(len(self.schema)):
            if j not in self.faults:
                codes[:, j] = self.table.column(j).codes
        return codes

    @cached_property
    def n_distinct(self) -> list[int]:
        """Number of distinct values of each column, 0 if it cannot be read."""
        return [int(top) + 1 for top in self.codes.max(axis=0, initial=-1)]

    @cached_property
    def identifiers(self) -> frozenset[int]:
        """Positions of the columns that look like identifiers or free text."""
        readable = (j for j in range(len(self.schema)) if j not in self.faults)
        return frozenset(j for j in readable if self.table.column(j).names_rows)


def read(
    frame: Any,
    *,
    categorical: Sequence[Hashable] | None = None,
    numeric: Sequence[Hashable] | None = None,
    ordinal: Mapping[Hashable, Sequence] | None = None,
    ignore: Sequence[Hashable] | None = None,
) -> Reading:
    """Read a table; a column that cannot be modelled is noted, not refused."""
    table = as_table(frame)
    faults = {}
    for j in range(len(table.columns)):
        try:
            table.column(j)
        except (TypeError, ValueError) as error:
            faults[j] = str(error)
    unread = [table.columns[j] for j in faults]
    with warnings.catch_warnings():
        # What infer would warn of stands among the findings.
        warnings.simplefilter("ignore", UserWarning)
        schema = TableSchema.infer(
            table,
            categorical=categorical,
            numeric=numeric,
            ordinal=ordinal,
            ignore=[*(ignore or ()), *unread] or None,
        )
    return Reading(table, schema.columns, faults)
