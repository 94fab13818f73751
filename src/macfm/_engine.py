"""Training and filling of encoded rows: numpy in, numpy out, torch in between."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from macfm._progress import training_progress
from macfm._settings import Settings
from macfm.flow import (
    Ensemble,
    Evaluation,
    RowBatch,
    aggregate,
    as_records,
    conditional_mean,
    make_network,
    row_batches,
    row_keys,
    train,
    trajectories,
)


@dataclass(frozen=True)
class Trained:
    """What training leaves behind."""

    network: nn.Module
    """The trained network, or the ensemble of several, on the CPU."""
    history: list[dict[str, float]]
    """One record an evaluation."""
    n_steps: int
    """Steps taken by all networks together."""
    interrupted: bool
    """Whether the user stopped it."""


def resolve_device(device: str) -> torch.device:
    """Turn the user's word for a device into one that is there."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r} was asked for, but torch finds no CUDA device; use "
            f"device='auto' or device='cpu'"
        )
    index = device.partition(":")[2]
    return torch.device("cuda", int(index) if index else torch.cuda.current_device())


@contextmanager
def reproducible(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for layers and dropout, and put everything back afterwards.

    Elementwise functions on the CPU cut their work by the number of threads, and the
    last bits of a cut that is no multiple of the vector length differ. Powers of two
    always give whole vectors, so others are rounded down to one.
    """
    n_threads = torch.get_num_threads()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        torch.set_num_threads(1 << (n_threads.bit_length() - 1))
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)


def train_networks(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    group: np.ndarray,
    is_num: np.ndarray,
    settings: Settings,
    seed: int,
    device: torch.device,
    verbose: bool,
) -> Trained:
    """Train the networks of an ensemble, each with its own start and held-out rows.

    Parameters
    ----------
    x, observed : ndarray, shape (n, d)
        Encoded rows and where they hold a value.
    group, is_num : ndarray, shape (d,)
        Column of each coordinate, and whether it is numeric.
    settings : Settings
        The resolved settings.
    seed : int
        Seed of weights, masks, noise and dropout.
    device : torch.device
        Where to compute.
    verbose : bool
        Whether to show progress.

    Returns
    -------
    Trained
    """
    useful = observed.any(axis=1)
    rows = torch.from_numpy(x[useful]).to(device)
    shown = torch.from_numpy(observed[useful]).to(device)
    columns = torch.from_numpy(group)
    config = settings.train
    if config.max_seconds is not None:
        share = config.max_seconds / settings.n_networks
        config = replace(config, max_seconds=share)
    members: list[nn.Module] = []
    history: list[dict[str, float]] = []
    n_steps, interrupted = 0, False
    with (
        reproducible(seed, device),
        training_progress(verbose=verbose, n_networks=settings.n_networks) as show,
    ):
        for k in range(settings.n_networks):

            def on_evaluation(
                evaluation: Evaluation, end: int, *, member: int = k
            ) -> None:
                show(evaluation, end, member=member)

            network = make_network(
                settings.network,
                group=columns,
                schedule=settings.schedule,
                space=settings.space,
            ).to(device)
            result = train(
                network,
                rows,
                shown,
                group=columns.to(device),
                is_num=torch.from_numpy(is_num).to(device),
                schedule=settings.schedule,
                space=settings.space,
                time_law=settings.time_law,
                config=config,
                loss_config=settings.loss,
                generator=torch.Generator(device).manual_seed(seed + k),
                on_evaluation=on_evaluation,
            )
            n_steps += result.n_steps
            history += [{"network": k, **line} for line in as_records(result.history)]
            interrupted = result.interrupted
            # One that was stopped half-way counts only if there is no finished one.
            if not interrupted or (result.history and not members):
                members.append(network.cpu())
            if interrupted:
                break
    if not members:
        raise KeyboardInterrupt  # nothing was learned that could be kept
    return Trained(
        network=members[0] if len(members) == 1 else Ensemble(members),
        history=history,
        n_steps=n_steps,
        interrupted=interrupted,
    )


@dataclass(frozen=True)
class Filler:
    """A trained network ready to fill encoded rows."""

    network: nn.Module
    """The velocity network."""
    is_num: np.ndarray
    """Whether each coordinate is numeric, shape ``(d,)``."""
    settings: Settings
    """How to read the network."""
    seed: int
    """Seed of the noise."""
    device: torch.device
    """Where to compute."""
    batch_size: int
    """Rows evaluated at a time."""

    def fill(self, x: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """Return one completed row for each encoded row, shape (n, d)."""
        if self.settings.method == "mean":
            return self._conditional_mean(x, observed)
        is_num = torch.from_numpy(self.is_num).to(self.device)
        draws = self._trajectories(x, observed, range(self.settings.n_trials))
        centers = [
            aggregate(batch, is_num=is_num, center=self.settings.aggregate).cpu()
            for batch in draws
        ]
        return torch.cat(centers).numpy()

    def draw(self, x: np.ndarray, observed: np.ndarray, n_draws: int) -> np.ndarray:
        """Return several completed rows for each, shape (n_draws, n, d)."""
        draws = self._trajectories(x, observed, range(n_draws))
        return torch.cat([batch.cpu() for batch in draws], dim=1).numpy()

    def _conditional_mean(self, x: np.ndarray, observed: np.ndarray) -> np.ndarray:
        settings, filled = self.settings, []
        ready = self._ready(x, observed, batch_size=self.batch_size)
        with ready as (network, batches):
            for batch in batches:
                mean = conditional_mean(
                    network,
                    batch,
                    schedule=settings.schedule,
                    space=settings.space,
                    seed=self.seed,
                )
                filled.append(mean[: batch.n_rows].cpu())
        return torch.cat(filled).numpy()

    def _trajectories(
        self, x: np.ndarray, observed: np.ndarray, draws: Sequence[int]
    ) -> Iterator[Tensor]:
        """Yield ``(n_draws, n_batch, d)`` for one batch of rows after the other.

        The draws of a row are evaluated together, so many draws mean few rows at a
        time, down to the 64 to which batches are padded.
        """
        settings = self.settings
        n_rows = max(self.batch_size // len(draws), 1)
        with self._ready(x, observed, batch_size=n_rows) as (network, batches):
            for batch in batches:
                filled = trajectories(
                    network,
                    batch,
                    schedule=settings.schedule,
                    space=settings.space,
                    config=settings.solver,
                    seed=self.seed,
                    draws=draws,
                )
                yield filled[:, : batch.n_rows]

    @contextmanager
    def _ready(
        self, x: np.ndarray, observed: np.ndarray, *, batch_size: int
    ) -> Iterator[tuple[nn.Module, Iterator[RowBatch]]]:
        """Put the network on the device and the rows into batches."""
        network = copy.deepcopy(self.network).to(self.device).eval()
        keys = row_keys(x, observed)
        tensors = (
            torch.from_numpy(part).to(self.device) for part in (x, observed, keys)
        )
        batches = row_batches(*tensors, batch_size=batch_size)
        with reproducible(self.seed, self.device), torch.no_grad():
            yield network, batches
