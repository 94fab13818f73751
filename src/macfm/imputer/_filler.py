"""Encoded rows filled by a network: batches on a device, numpy in and out."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from macfm.flow import (
    Atoms,
    Path,
    RowBatch,
    aggregate,
    conditional_mean,
    row_batches,
    row_keys,
    trajectories,
)
from macfm.imputer._settings import ReadOut
from macfm.imputer._training import reproducible


@dataclass(frozen=True)
class Filler:
    """A trained network ready to fill encoded rows."""

    network: nn.Module
    """The velocity network."""
    is_num: np.ndarray
    """Whether each coordinate is numeric, shape ``(d,)``."""
    atoms: Atoms
    """Values that columns of numbers repeat, on the CPU."""
    path: Path
    """The path it was trained on."""
    seed: int
    """Seed of the noise."""
    read_out: ReadOut
    """How to read it."""
    device: torch.device
    """Where to compute."""

    def fill(self, x: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """Return one completed row for each encoded row, shape (n, d)."""
        n_trials = self.read_out.n_trials
        if self.read_out.method == "draw":
            return self.draw(x, observed, 1)[0]
        if not n_trials:
            return self._conditional_mean(x, observed)
        is_num = torch.from_numpy(self.is_num).to(self.device)
        draws = self._trajectories(x, observed, range(n_trials))
        centers = [
            aggregate(batch, is_num=is_num, center=self.read_out.method).cpu()
            for batch in draws
        ]
        return torch.cat(centers).numpy()

    def draw(self, x: np.ndarray, observed: np.ndarray, n_draws: int) -> np.ndarray:
        """Return several completed rows for each, shape (n_draws, n, d)."""
        draws = self._trajectories(x, observed, range(n_draws))
        return torch.cat([batch.cpu() for batch in draws], dim=1).numpy()

    def _conditional_mean(self, x: np.ndarray, observed: np.ndarray) -> np.ndarray:
        filled = []
        ready = self._ready(x, observed, batch_size=self.read_out.batch_size)
        with ready as (network, batches):
            for batch in batches:
                mean = conditional_mean(network, batch, path=self.path, seed=self.seed)
                filled.append(mean[: batch.n_rows].cpu())
        return torch.cat(filled).numpy()

    def _trajectories(
        self, x: np.ndarray, observed: np.ndarray, draws: Sequence[int]
    ) -> Iterator[Tensor]:
        """Yield ``(n_draws, n_batch, d)`` for one batch of rows after the other.

        The draws of a row are evaluated together, so many draws mean few rows at a
        time, down to the 64 to which batches are padded. Each is brought to the atoms
        that it speaks of.
        """
        atoms = self.atoms.to(self.device)
        n_rows = max(self.read_out.batch_size // len(draws), 1)
        with self._ready(x, observed, batch_size=n_rows) as (network, batches):
            for batch in batches:
                filled = trajectories(
                    network,
                    batch,
                    path=self.path,
                    config=self.read_out.solver,
                    seed=self.seed,
                    draws=draws,
                )
                yield atoms.snap(filled[:, : batch.n_rows])

    @contextmanager
    def _ready(
        self, x: np.ndarray, observed: np.ndarray, *, batch_size: int
    ) -> Iterator[tuple[nn.Module, Iterator[RowBatch]]]:
        """Put the network on the device and the rows into batches."""
        with reproducible(self.seed, self.device), torch.no_grad():
            network = copy.deepcopy(self.network).to(self.device).eval()
            keys = row_keys(x, observed)
            tensors = (
                torch.from_numpy(part).to(self.device) for part in (x, observed, keys)
            )
            yield network, row_batches(*tensors, batch_size=batch_size)
