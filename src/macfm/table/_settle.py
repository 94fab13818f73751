"""The user's rules and formulas, applied to what the model fills in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from macfm.table._deduce import deduce
from macfm.table._derive import Formula, check_formulas, keep_formulas, read_formulas
from macfm.table._io import Cells, Table
from macfm.table._leave import LeaveRule, check_rules, read_mask, read_rules
from macfm.table._schema import TableSchema
from macfm.table._view import View


def is_mask(leave: Any) -> bool:
    """Whether ``leave`` is a mask of one table rather than rules by column."""
    return leave is not None and not isinstance(leave, Mapping)


@dataclass(frozen=True)
class Wishes:
    """What the parameters `leave` and `derive` ask for."""

    #: The columns they speak of.
    schema: TableSchema
    #: Columns that follow from others.
    formulas: list[Formula]
    #: Holes that stay empty, by rules.
    rules: list[LeaveRule]
    #: Holes that stay empty, one by one; shape (n_rows, n_columns).
    mask: np.ndarray | None

    def check(self, table: Table) -> None:
        """Evaluate everything on the observed cells of fit, and warn of what is odd."""
        check_formulas(self.formulas, table, self.schema)
        check_rules(self.rules, table, self.schema)

    def known(self, table: Table) -> Cells:
        """Return missing cells that the rules tell from what is observed."""
        return deduce(self.rules, table, self.schema)

    def settle(self, table: Table, cells: Cells) -> Cells:
        """Return the cells that are to be written.

        Formulas come first, so that rules see what they give. A cell that was computed
        from one that is then left empty is left empty too.
        """
        view = View(table, self.schema, cells)
        solved = keep_formulas(self.formulas, view)
        if self.mask is not None:
            for j in list(view.cells):
                self._leave(view, solved, j, self.mask[:, j])
        for rule in self.rules:
            j = view.position[rule.column]
            if j in view.cells:
                self._leave(view, solved, j, rule.holds(view))
        return {j: cells for j, cells in view.cells.items() if len(cells[0])}

    def _leave(
        self, view: View, solved: list[dict[int, np.ndarray]], j: int, where: np.ndarray
    ) -> None:
        left = view.filled(j) & where
        if not left.any():
            return
        view.drop(j, left)
        for formula, own in zip(self.formulas, solved, strict=True):
            if j in formula.positions:
                for k, rows in own.items():
                    if k != j:
                        self._leave(view, solved, k, rows & left)


def read_wishes(
    schema: TableSchema,
    *,
    leave: Any,
    derive: Mapping[Hashable, str] | None,
    table: Table | None,
) -> Wishes | None:
    """Read the parameters `leave` and `derive`; None if they ask for nothing.

    ``table`` is the one a mask belongs to; None if there is none yet.
    """
    if isinstance(leave, str | bytes):
        raise TypeError(
            "leave must be a dict of column name to rule, such as "
            f"{{'age_dx': \"diabetes == 'No'\"}}, or a mask, got {leave!r}"
        )
    if derive is not None and not isinstance(derive, Mapping):
        raise TypeError(
            "derive must be a dict of column name to formula, such as "
            f"{{'bmi': 'weight / height**2'}}, got {derive!r}"
        )
    formulas = read_formulas(schema, derive or {})
    mask = read_mask(leave, table) if is_mask(leave) and table is not None else None
    by_name = {} if is_mask(leave) else leave or {}
    together = [set(formula.names) for formula in formulas]
    rules = read_rules(schema, by_name, together)
    if not formulas and not rules and mask is None:
        return None
    return Wishes(schema, formulas, rules, mask)
