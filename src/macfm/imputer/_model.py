"""A fitted model as a value: what was learned, and how it fills a table."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from macfm.flow import Path
from macfm.imputer._beside import atoms_of
from macfm.imputer._filler import Copies, Filler
from macfm.imputer._settings import ReadOut
from macfm.table import Cells, Encoded, Table, TableEncoder, TableSchema, Wishes


@dataclass(frozen=True)
class FittedModel:
    """What `fit` learned from a table."""

    encoder: TableEncoder
    """The table's translation to numbers and back."""
    network: nn.Module | None
    """The trained velocity network, on the CPU; None if nothing varied."""
    path: Path
    """The path it was trained on."""
    seed: int
    """The seed drawn in `fit`."""
    settings: dict[str, Any]
    """The values in force in `fit`, by name, and the preset they came from."""
    history: pd.DataFrame
    """One row an evaluation."""
    n_steps: int
    """Training steps of all networks together."""
    had_holes: np.ndarray
    """Positions of the columns that had holes."""
    n_rows: int | None
    """Rows it learned from; None in files that do not tell."""
    on_frame: bool
    """Whether it learned from a frame."""

    @property
    def schema(self) -> TableSchema:
        """The columns as they were understood."""
        return self.encoder.schema

    @cached_property
    def copies(self) -> Copies | None:
        """The network where it is asked for; None if nothing varied."""
        return None if self.network is None else Copies(self.network)

    def filler(self, read_out: ReadOut, device: torch.device) -> Filler | None:
        """Ready the network for reading; None if there is nothing to read."""
        if self.copies is None:
            return None
        return Filler(
            copies=self.copies,
            is_num=self.encoder.is_num,
            atoms=atoms_of(self.encoder),
            path=self.path,
            seed=self.seed,
            read_out=read_out,
            device=device,
        )

    def encode(self, table: Table) -> Encoded:
        """Encode the rows of a table, with as many threads as torch takes."""
        return self.encoder.encode(table, n_threads=torch.get_num_threads())

    def fill(
        self,
        table: Table,
        *,
        read_out: ReadOut,
        device: torch.device,
        wishes: Wishes | None,
        encoded: Encoded | None = None,
    ) -> Cells:
        """Return what goes into the holes of a table.

        Parameters
        ----------
        table : Table
            The table, with the columns of `schema`.
        read_out, device
            How and where to read the network.
        wishes : Wishes or None
            Holes that stay, and columns that follow from others.
        encoded : Encoded or None
            The table's rows, if they are encoded already.
        """
        encoded = self._encoded(table, wishes, encoded)
        x = self._filled(self.filler(read_out, device), encoded)
        return self._cells(table, x, wishes, drawn=read_out.method == "draw")

    def draw(
        self,
        table: Table,
        n_draws: int,
        *,
        read_out: ReadOut,
        device: torch.device,
        wishes: Wishes | None,
        encoded: Encoded | None = None,
    ) -> Iterator[Cells]:
        """Yield what goes into the holes, once for each draw; parameters as in `fill`.

        The rows of all draws are computed first.
        """
        encoded = self._encoded(table, wishes, encoded)
        rows = np.flatnonzero(~encoded.observed.all(axis=1))
        filler = self.filler(read_out, device)
        x = np.repeat(encoded.x[None], n_draws, axis=0)
        if filler is not None and len(rows):
            x[:, rows] = filler.draw(encoded.x[rows], encoded.observed[rows], n_draws)
        for one in x:
            yield self._cells(table, one, wishes, drawn=True)

    def probabilities(
        self,
        table: Table,
        *,
        read_out: ReadOut,
        device: torch.device,
        wishes: Wishes | None,
    ) -> dict[Hashable, tuple[np.ndarray, np.ndarray]]:
        """Return rows filled and the probabilities of their categories, by column.

        Columns of one category, of ordinal ones and of numbers are left out.
        """
        known: Cells = {} if wishes is None else wishes.known(table)
        encoded = self.encoder.with_cells(self.encode(table), table, known)
        x = self._filled(self.filler(read_out, device), encoded)
        cells = self._cells(table, x, wishes, drawn=False)
        found = {}
        for j, column in enumerate(self.schema.columns):
            if column.encoding in (None, "scalar") or not column.impute:
                continue
            rows = cells[j][0] if j in cells else np.zeros(0, dtype=np.intp)
            shares = self.encoder.category_probabilities(x[rows], column.name)
            if j in known:
                sure = np.isin(rows, known[j][0])
                shares[sure] = shares[sure] == shares[sure].max(axis=1, keepdims=True)
            found[column.name] = (rows, shares)
        return found

    def _encoded(
        self, table: Table, wishes: Wishes | None, encoded: Encoded | None
    ) -> Encoded:
        """Encode a table unless it is, and what rules tell of its holes."""
        encoded = self.encode(table) if encoded is None else encoded
        if wishes is None:
            return encoded
        return self.encoder.with_cells(encoded, table, wishes.known(table))

    def _filled(self, filler: Filler | None, encoded: Encoded) -> np.ndarray:
        """Fill encoded rows."""
        x, observed = encoded.x, encoded.observed
        rows = np.flatnonzero(~observed.all(axis=1))
        if filler is not None and len(rows):
            x = x.copy()
            x[rows] = filler.fill(x[rows], observed[rows])
        return x

    def _cells(
        self, table: Table, x: np.ndarray, wishes: Wishes | None, *, drawn: bool
    ) -> Cells:
        """Decode filled rows and settle which cells are written with what."""
        cells = self.encoder.decode(table, x, drawn=drawn)
        return cells if wishes is None else wishes.settle(table, cells)
