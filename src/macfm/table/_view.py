"""A table with what its holes are to be filled with, before it is written."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from macfm.table._column import ColumnData
from macfm.table._evaluate import Vector, vector_of
from macfm.table._io import Cells, Table
from macfm.table._schema import TableSchema


class View:
    """The completed rows, and the right to change or give up a filled cell.

    ``cells`` are what the holes are to be filled with, see `Table.write`.
    """

    def __init__(self, table: Table, schema: TableSchema, cells: Cells) -> None:
        self.table, self.schema = table, schema
        self.position = {name: j for j, name in enumerate(schema.names)}
        self._cells = dict(cells)
        self._vectors: dict[int, Vector] = {}

    @property
    def cells(self) -> Cells:
        """What is left to write."""
        return self._cells

    def filled(self, j: int) -> np.ndarray:
        """Tell which cells of column ``j`` are filled, shape (n_rows,)."""
        flags = np.zeros(self.table.n_rows, dtype=bool)
        if j in self._cells:
            flags[self._cells[j][0]] = True
        return flags

    def vector(self, name: Hashable) -> Vector:
        """Return the cells of a column, observed and filled."""
        j = self.position[name]
        if j not in self._vectors:
            column = self.schema.columns[j]
            levels = column.categories if column.kind == "ordinal" else None
            self._vectors[j] = vector_of(self.data(j), levels)
        return self._vectors[j]

    def data(self, j: int) -> ColumnData:
        """Return column ``j`` with what its holes are to be filled with."""
        data = self.table.column(j)
        if j not in self._cells:
            return data
        rows, values, target = self._cells[j]
        merged = target.values.copy()
        if values.dtype == object:
            merged = merged.astype(object)
        merged[rows] = values
        observed = data.observed | self.filled(j)
        return replace(target, values=merged, observed=observed)

    def put(self, j: int, rows: np.ndarray, values: np.ndarray) -> None:
        """Set missing cells of column ``j`` to canonical values."""
        if j in self._cells:
            before, old, target = self._cells[j]
        else:
            before = np.zeros(0, dtype=rows.dtype)
            old, target = values[:0], self.table.column(j)
        kept = ~np.isin(before, rows)
        both = np.concatenate([before[kept], rows])
        every = np.concatenate([old[kept], values])
        order = np.argsort(both, kind="stable")
        self._cells[j] = (both[order], every[order], target)
        self._vectors.pop(j, None)

    def drop(self, j: int, where: np.ndarray) -> None:
        """Leave the cells of column ``j`` empty in the flagged rows."""
        if j in self._cells:
            rows, values, target = self._cells[j]
            kept = ~where[rows]
            self._cells[j] = (rows[kept], values[kept], target)
            self._vectors.pop(j, None)
