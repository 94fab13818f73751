"""What a recorded value says of the columns that its rule looks at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from macfm.table._categories import values_for
from macfm.table._column import categories_of
from macfm.table._encoder import adopt
from macfm.table._io import Cells, Table
from macfm.table._leave import LeaveRule, names_in
from macfm.table._schema import TableSchema
from macfm.table._view import View


def deduce(rules: Sequence[LeaveRule], table: Table, schema: TableSchema) -> Cells:
    """Return missing categories of which rules leave one alone.

    Where a column holds a value its rule does not hold. So a category for which it
    would is not the missing one; if all but one are excluded so, that one is known. All
    else that the rule looks at must be observed.
    """
    view = View(table, schema, {})
    excluded: dict[int, np.ndarray] = {}
    for rule in rules:
        positions = [view.position[name] for name in names_in(rule.node)]
        for k in positions:
            column = schema.columns[k]
            if column.categories is None or not column.impute or not column.width:
                continue
            here = table.observed[:, view.position[rule.column]] & ~table.observed[:, k]
            for other in positions:
                here &= table.observed[:, other] | (other == k)
            rows = np.flatnonzero(here)
            if not len(rows):
                continue
            target = adopt(column, table.column(k))
            values = values_for(categories_of(column), target)
            flags = excluded.setdefault(
                k, np.zeros((table.n_rows, len(values)), dtype=bool)
            )
            for c in range(len(values)):
                trial = {k: (rows, values[np.full(len(rows), c)], target)}
                flags[rows, c] |= rule.holds(View(table, schema, trial))[rows]
    cells = {}
    for k, flags in excluded.items():
        rows = np.flatnonzero((~flags).sum(axis=1) == 1)
        if len(rows):
            target = adopt(schema.columns[k], table.column(k))
            values = values_for(categories_of(schema.columns[k]), target)
            cells[k] = (rows, values[(~flags[rows]).argmax(axis=1)], target)
    return cells
