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
    ROW_STEP,
    Atoms,
    Known,
    Path,
    RowBatch,
    aggregate,
    center_of,
    coarse,
    conditional_mean,
    known_mean,
    multiplies_bfloat16,
    row_batches,
    row_keys,
    sees_noise_at_start,
    trajectories,
)
from macfm.imputer._device import alone
from macfm.imputer._settings import ReadOut

# A GPU evaluates so many times more points at a time.
_GPU_TIMES = 32
# So few points are evaluated sooner by one thread than shared out.
_FEW_POINTS = 256


class Copies:
    """A network and its copies for other devices, and in bfloat16, made when asked for.

    Copied or pickled it goes without them.

    Parameters
    ----------
    network : nn.Module
        The network, on the CPU.
    """

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self._whole: dict[torch.device, nn.Module] = {}
        self._coarse: dict[torch.device, nn.Module] = {}

    def __reduce__(self) -> tuple[type[Copies], tuple[nn.Module]]:
        return Copies, (self.network,)

    def whole(self, device: torch.device) -> nn.Module:
        """Return the network on a device, itself on the CPU."""
        if device.type == "cpu":
            return self.network
        if device not in self._whole:
            self._whole[device] = copy.deepcopy(self.network).to(device)
        return self._whole[device]

    def for_draws(self, device: torch.device) -> nn.Module:
        """Return the network as trajectories need it, in bfloat16 if that is fast."""
        if not multiplies_bfloat16(device):
            return self.whole(device)
        if device not in self._coarse:
            self._coarse[device] = coarse(self.whole(device))
        return self._coarse[device]


@dataclass(frozen=True)
class Filler:
    """A trained network ready to fill encoded rows."""

    copies: Copies
    """The velocity network, where it is asked for."""
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
        center = self.read_out.method
        centers = [
            aggregate(drawn, is_num=is_num, center=center, known=known).cpu()
            for drawn, known in self._trajectories(
                x,
                observed,
                range(n_trials),
                stretched=False,
                with_known=center == "median",
            )
        ]
        return torch.cat(centers).numpy()

    def draw(self, x: np.ndarray, observed: np.ndarray, n_draws: int) -> np.ndarray:
        """Return several completed rows for each, shape (n_draws, n, d)."""
        draws = self._trajectories(
            x, observed, range(n_draws), stretched=True, with_known=False
        )
        return torch.cat([drawn.cpu() for drawn, _ in draws], dim=1).numpy()

    def _conditional_mean(self, x: np.ndarray, observed: np.ndarray) -> np.ndarray:
        filled = []
        noise = sees_noise_at_start(self.copies.network)
        ready = self._ready(x, observed, n_draws=1, noise=noise)
        with ready as (network, batches):
            for batch in batches:
                mean = conditional_mean(network, batch, path=self.path, seed=self.seed)
                filled.append(mean[: batch.n_rows].cpu())
        return torch.cat(filled).numpy()

    def _trajectories(
        self,
        x: np.ndarray,
        observed: np.ndarray,
        draws: Sequence[int],
        *,
        stretched: bool,
        with_known: bool,
    ) -> Iterator[tuple[Tensor, Known | None]]:
        """Yield draws ``(n_draws, n_batch, d)`` of one batch of rows after the other.

        What is known of them besides comes with them, if it is wanted. The draws of a
        row are evaluated together, so many draws mean few rows at a time, down to 64,
        and beyond that some draws after the others. Each is brought to the atoms that
        it speaks of.
        """
        atoms = self.atoms.to(self.device)
        n_points = self._batch_size
        n_together = max(n_points // ROW_STEP, 1)
        pieces = [
            draws[start : start + n_together]
            for start in range(0, len(draws), n_together)
        ]
        ready = self._ready(x, observed, n_draws=len(draws), noise=True)
        with ready as (network, batches):
            drawing = self.copies.for_draws(self.device)
            for batch in batches:
                center = center_of(network, batch, path=self.path, seed=self.seed)
                filled = [
                    trajectories(
                        drawing,
                        batch,
                        path=self.path,
                        config=self.read_out.solver,
                        seed=self.seed,
                        draws=piece,
                        stretched=stretched,
                        center=center,
                    )[:, : batch.n_rows]
                    for piece in pieces
                ]
                known = known_mean(network, batch, center) if with_known else None
                yield atoms.snap(torch.cat(filled)), known

    @property
    def _batch_size(self) -> int:
        """Points evaluated at a time; a GPU is idle with less."""
        n_points = self.read_out.batch_size
        return n_points * _GPU_TIMES if self.device.type == "cuda" else n_points

    @contextmanager
    def _ready(
        self, x: np.ndarray, observed: np.ndarray, *, n_draws: int, noise: bool
    ) -> Iterator[tuple[nn.Module, Iterator[RowBatch]]]:
        """Put the network on the device and the rows into batches."""
        few = max(len(x), ROW_STEP) * n_draws <= _FEW_POINTS
        with alone(self.device, few=few), torch.no_grad():
            network = self.copies.whole(self.device)
            keys = None
            if noise:
                keys = torch.from_numpy(row_keys(x, observed)).to(self.device)
            yield (
                network,
                row_batches(
                    torch.from_numpy(x).to(self.device),
                    torch.from_numpy(observed).to(self.device),
                    keys,
                    batch_size=max(self._batch_size // n_draws, ROW_STEP),
                ),
            )
