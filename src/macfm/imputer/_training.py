"""Training and filling of encoded rows: numpy in, numpy out, torch in between."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from macfm.flow import (
    N_KNOTS,
    Ensemble,
    Evaluation,
    GuidedEnsemble,
    Path,
    RowBatch,
    RowConfig,
    TrainConfig,
    TrainingRows,
    TrainResult,
    Validation,
    aggregate,
    as_records,
    conditional_mean,
    make_network,
    measure_trust,
    no_better_than_mean,
    prepare_rows,
    row_batches,
    row_keys,
    train,
    trajectories,
)
from macfm.imputer._parameters import Settings
from macfm.imputer._progress import training_progress
from macfm.imputer._threads import worthwhile_threads

# Left to a network whose budget the guide has used up.
_LEAST_SECONDS = 1e-3


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
    unknowable: np.ndarray
    """Columns that held-out rows say are filled no better than by their mean."""
    starved: bool
    """Whether the time was up before the learning rate had risen."""


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
    always give whole vectors, so as many threads are used, and no more than pay.
    """
    n_threads = torch.get_num_threads()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        torch.set_num_threads(worthwhile_threads(n_threads))
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
    """Train the networks of an ensemble, each from its own start.

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
    columns = torch.from_numpy(group)
    path = settings.path
    with (
        reproducible(seed, device),
        training_progress(verbose=verbose, n_networks=settings.n_networks) as show,
    ):
        began = time.perf_counter()
        rows = prepare_rows(
            x[useful],
            observed[useful],
            group=group,
            is_num=is_num,
            config=_row_config(settings),
            seed=seed,
            device=device,
            path=path,
        )
        members: list[nn.Module] = []
        trust: list[Tensor] = []
        history: list[dict[str, float]] = []
        n_steps, interrupted, starved, fills = 0, False, False, rows.fills
        for k in range(settings.n_networks):

            def on_evaluation(
                evaluation: Evaluation, end: int, *, member: int = k
            ) -> None:
                show(evaluation, end, member=member)

            hints = rows.guide is not None and k % 2 == 0
            network = make_network(
                settings.network, group=columns, hints=hints, path=path
            ).to(device)
            generator = torch.Generator(device).manual_seed(seed + k)
            guess_again = partial(rows.guess_again, generator=generator, path=path)
            velocity = network
            if hints:
                velocity = GuidedEnsemble.alone(rows.guide, network, path=path)
            config = _within_budget(settings, spent=time.perf_counter() - began, k=k)
            result = train(
                velocity,
                rows.x,
                rows.observed,
                fills=fills,
                refill=guess_again if rows.has_guesses else None,
                rules=rows.rules,
                validation=_judged_by(rows, settings),
                group=columns.to(device),
                is_num=torch.from_numpy(is_num).to(device),
                time_law=settings.time_law,
                config=config,
                loss_config=settings.loss,
                generator=generator,
                on_evaluation=on_evaluation,
                path=path,
            )
            n_steps += result.n_steps
            history += [{"network": k, **line} for line in as_records(result.history)]
            interrupted = result.interrupted
            # A learning rate that was still rising when the time was up taught nothing.
            is_starved = not interrupted and _ran_out_of_time(result, config)
            # One that was stopped half-way counts only if there is no finished one.
            if (interrupted or is_starved) and (members or not result.history):
                break
            starved = is_starved
            members.append(network)
            if rows.guide is not None:
                judge = None if starved else rows.validation
                trust.append(_trust(velocity, rows, judge, columns.to(device), path))
            if interrupted or starved:
                break
            if rows.has_guesses and k + 1 < settings.n_networks:
                try:
                    fills = guess_again(velocity)  # the next network starts with these
                except KeyboardInterrupt:
                    interrupted = True
                    break
        if not members:
            raise KeyboardInterrupt  # nothing was learned that could be kept
        network = members[0] if len(members) == 1 else Ensemble(members)
        if rows.guide is not None:
            network = GuidedEnsemble(rows.guide, members, torch.stack(trust), path=path)
        unknowable = torch.zeros(0, dtype=torch.bool)
        if rows.validation is not None:
            unknowable = no_better_than_mean(
                network,
                rows.validation,
                group=columns.to(device),
                is_num=torch.from_numpy(is_num).to(device),
                path=path,
            )
    if rows.guide is not None:
        network.guide = rows.whole_guide
    return Trained(
        network=network.cpu(),
        history=history,
        n_steps=n_steps,
        interrupted=interrupted,
        unknowable=np.flatnonzero(unknowable.cpu().numpy()),
        starved=starved,
    )


def _row_config(settings: Settings) -> RowConfig:
    """Say what the rows are made ready for."""
    network = settings.network
    guide = network.guide and network.precondition
    judged = guide or settings.train.stopping == "validation"
    return RowConfig(
        guide=guide,
        move_missing=network.n_masks > 0,
        validation_share=settings.validation_share if judged else 0.0,
    )


def _judged_by(rows: TrainingRows, settings: Settings) -> Validation | None:
    """Return the held-out rows if they decide when to stop."""
    return rows.validation if settings.train.stopping == "validation" else None


def _within_budget(settings: Settings, *, spent: float, k: int) -> TrainConfig:
    """Give network k its share of what is left of the time budget."""
    budget = settings.train.max_seconds
    if budget is None:
        return settings.train
    left = max((budget - spent) / (settings.n_networks - k), _LEAST_SECONDS)
    return replace(settings.train, max_seconds=left)


def _ran_out_of_time(result: TrainResult, config: TrainConfig) -> bool:
    """Whether the time was up while the learning rate was still rising."""
    if config.max_seconds is None or not result.history:
        return False
    spent = result.history[-1].seconds
    return result.n_steps < config.warmup_steps and spent >= config.max_seconds


def _trust(
    velocity: nn.Module,
    rows: TrainingRows,
    judge: Validation | None,
    group: Tensor,
    path: Path,
) -> Tensor:
    """Measure how far a network is to be trusted; without a judge, not at all."""
    if judge is None:
        return torch.zeros(N_KNOTS, len(group), device=group.device)
    alone = GuidedEnsemble.alone(rows.guide, path=path)
    return measure_trust(velocity, alone, judge, group=group, path=path)


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
                    path=settings.path,
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
                    path=settings.path,
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
        with reproducible(self.seed, self.device), torch.no_grad():
            network = copy.deepcopy(self.network).to(self.device).eval()
            keys = row_keys(x, observed)
            tensors = (
                torch.from_numpy(part).to(self.device) for part in (x, observed, keys)
            )
            yield network, row_batches(*tensors, batch_size=batch_size)
