"""Networks trained on encoded rows: numpy in, a network on the CPU out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from macfm.flow import (
    N_KNOTS,
    Atoms,
    Ensemble,
    Evaluation,
    GuidedEnsemble,
    RowConfig,
    Scores,
    TrainingRows,
    TrainResult,
    as_records,
    cell_variances,
    cells_of,
    make_network,
    measure_balance,
    measure_trust,
    no_better_than_mean,
    parts_of,
    prepare_rows,
    train,
    training,
)
from macfm.imputer._begun import Begun, Guesses, is_cut_short
from macfm.imputer._budget import ran_out_of_time, within_budget
from macfm.imputer._device import reproducible
from macfm.imputer._hearing import Hearing
from macfm.imputer._progress import training_progress
from macfm.imputer._settings import Settings

# Share of what is left of a budget that all hidden cells of held-out rows may take to
# tell of trust; if it were more, those of one mask must do.
_TRUST_SHARE = 0.1
# Share of a budget that must be left after training for the rest to be done in full.
_LEISURE = 0.5


@dataclass(frozen=True)
class Trained:
    """What training leaves behind."""

    network: nn.Module
    """The trained network, or the ensemble of several, on the CPU."""
    history: list[dict[str, float]]
    """One record an evaluation."""
    n_steps: int
    """Steps taken by all networks together."""
    n_diverged: int
    """How often training had to step back from a loss that was not finite."""
    interrupted: bool
    """Whether the user stopped it."""
    unknowable: np.ndarray
    """Columns that held-out rows say are filled no better than by their mean."""
    starved: bool
    """Whether the time was up before the learning rate had risen."""
    out_of_time: bool
    """Whether any network would have been trained for longer with more time."""


def train_networks(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    weights: np.ndarray | None,
    group: np.ndarray,
    is_num: np.ndarray,
    atoms: Atoms,
    scores: Scores,
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
    weights : ndarray, shape (n,), or None
        How much each row counts; rows of weight 0 take no part.
    group, is_num : ndarray, shape (d,)
        Column of each coordinate, and whether it is numeric.
    atoms : Atoms
        Values that columns of numbers repeat, on the CPU.
    scores : Scores
        Normal scores that stand beside numbers, on the CPU.
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
    if weights is not None:
        useful &= weights > 0
        weights = weights[useful]
    with (
        reproducible(seed, device),
        training_progress(verbose=verbose, n_networks=settings.n_networks) as show,
    ):
        began, n_threads = time.perf_counter(), torch.get_num_threads()
        rows = prepare_rows(
            x[useful],
            observed[useful],
            weights=weights,
            group=group,
            is_num=is_num,
            atoms=atoms,
            scores=scores,
            path=settings.path,
            config=_row_config(settings),
            seed=seed,
            device=device,
        )
        course = _Course(
            rows=rows,
            settings=settings,
            group=torch.from_numpy(group).to(device),
            is_num=torch.from_numpy(is_num).to(device),
            seed=seed,
            n_threads=n_threads,
            began=began,
            show=show,
        )
        course.run()
        network = course.network()
        unknowable = course.unknowable(course.polish(network))
    if isinstance(network, GuidedEnsemble):
        assert rows.whole_guide is not None
        network.guide = rows.whole_guide
    return Trained(
        network=network.cpu().eval(),
        history=course.history,
        n_steps=course.n_steps,
        n_diverged=course.n_diverged,
        interrupted=course.interrupted,
        unknowable=unknowable,
        starved=course.starved,
        out_of_time=course.out_of_time,
    )


@dataclass
class _Course:
    """The training of some networks, and what is known of them so far."""

    rows: TrainingRows
    settings: Settings
    group: Tensor
    is_num: Tensor
    seed: int
    n_threads: int
    """Those worth using; a small network is trained with fewer."""
    began: float
    show: Callable[..., None]
    first_began: float = 0.0
    members: list[nn.Module] = field(default_factory=list)
    trust: list[Tensor] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)
    n_steps: int = 0
    n_diverged: int = 0
    interrupted: bool = False
    starved: bool = False
    out_of_time: bool = False

    def run(self) -> None:
        """Train until all are done, the time is up, or the user has had enough.

        On a GPU, which one network does not keep busy, all are trained side by side and
        share their guesses; on a CPU one after the other, each beginning with the
        guesses of the one before.
        """
        n_networks, fills = self.settings.n_networks, self.rows.fills
        n_at_once = _n_at_once(n_networks, self.group.device)
        for first in range(0, n_networks, n_at_once):
            n_turns = (n_networks - first) // n_at_once
            numbers, guesses = range(first, first + n_at_once), Guesses()
            begun = [self._begin(k, fills, guesses, n_turns=n_turns) for k in numbers]
            trainings = [one.training for one in begun]
            self._end(begun, train(trainings, device=self.group.device))
            is_kept = len(self.members) == first + n_at_once
            if self.interrupted or self.starved or n_turns == 1 or not is_kept:
                break
            if self.rows.has_guesses:
                try:  # the next network starts with these
                    fills = begun[-1].guess_again(begun[-1].velocity)
                except KeyboardInterrupt:
                    self.interrupted = True
                    break
        if not self.members:
            raise KeyboardInterrupt  # nothing was learned that could be kept

    def _begin(
        self, k: int, fills: Tensor | None, guesses: Guesses, *, n_turns: int
    ) -> Begun:
        """Make network k ready to be trained, in the first of the turns left."""
        rows, settings = self.rows, self.settings
        generator = torch.Generator(self.group.device).manual_seed(self.seed + k)
        guess_again = partial(rows.guess_again, path=settings.path, generator=generator)
        hints = rows.guide is not None and k % 2 == 0
        cell = cells_of(self.group, self.is_num)
        network = make_network(
            settings.network,
            group=self.group.cpu(),
            path=settings.path,
            hints=hints,
            variance=cell_variances(rows.x, rows.observed, cell=cell),
            waves=self.is_num.cpu(),
        ).to(self.group.device)
        velocity: nn.Module = network
        guide = rows.guide if hints else None
        if guide is not None:
            velocity = GuidedEnsemble.alone(guide, network, path=settings.path)
        now = time.perf_counter()
        self.first_began = self.first_began or now
        config = within_budget(settings, spent=now - self.began, n_turns=n_turns)
        by_validation = settings.train.stopping == "validation"
        return Begun(
            number=k,
            late=now - self.first_began,
            network=network,
            velocity=velocity,
            guess_again=guess_again,
            config=config,
            training=training(
                network,
                rows.x,
                rows.observed,
                weights=rows.weights,
                guide=guide,
                fills=fills,
                refill=guesses.drawn_by(guess_again) if rows.has_guesses else None,
                rules=rows.rules,
                validation=rows.validation if by_validation else None,
                group=self.group,
                is_num=self.is_num,
                path=settings.path,
                time_law=settings.time_law,
                config=config,
                loss_config=settings.loss,
                generator=generator,
                on_evaluation=partial(_shown, self.show, k),
            ),
        )

    def _end(
        self, begun: Sequence[Begun], results: Sequence[TrainResult | None]
    ) -> None:
        """Take note of what trainings leave behind, and keep networks worth it."""
        ended = []
        for one, result in zip(begun, results, strict=True):
            if result is None:
                self.interrupted = True
                continue
            ended.append((one, result))
            self.n_steps += result.n_steps
            self.history += [
                {"network": one.number, **line, "seconds": one.late + line["seconds"]}
                for line in as_records(result.history)
            ]
            self.n_diverged += result.n_diverged
            self.interrupted = self.interrupted or result.interrupted
            self.out_of_time = self.out_of_time or result.out_of_time
        done = [pair for pair in ended if not is_cut_short(*pair)]
        # One that was stopped half-way counts only if there is no finished one.
        if not done and not self.members:
            done = [pair for pair in ended if pair[1].history][:1]
            # A learning rate that was still rising when the time was up taught nothing.
            self.starved = any(ran_out_of_time(r, one.config) for one, r in done)
        for one, _ in done:
            self.members.append(one.network)
            if self.rows.guide is not None:
                self.trust.append(self._trust(one.velocity))

    def _trust(self, velocity: nn.Module) -> Tensor:
        """Measure how far a network is to be trusted; a starved one not at all."""
        rows, path = self.rows, self.settings.path
        if self.starved or rows.validation is None:
            return torch.zeros(N_KNOTS, len(self.group), device=self.group.device)
        assert rows.guide is not None
        # The mean reads a column's number alone, whatever its atoms and score do.
        part = parts_of(self.group, self.is_num)
        measure = partial(measure_trust, velocity, rows.guide, group=part, path=path)
        known, now, left = rows.validation, time.perf_counter(), self._seconds_left()
        if math.isinf(left):
            return measure(known)
        trust = measure(known.some(slice(0, known.n_rows)))
        trust.cpu()  # and wait
        n_masks = len(known.x) // known.n_rows
        in_full = (time.perf_counter() - now) * n_masks < _TRUST_SHARE * left
        return measure(known) if in_full and n_masks > 1 else trust

    def network(self) -> nn.Module:
        """Return the networks as one."""
        if self.rows.guide is not None:
            trust, path = torch.stack(self.trust), self.settings.path
            network = GuidedEnsemble(self.rows.guide, self.members, trust, path=path)
            known = self.rows.validation
            if known is not None and self._has_leisure():
                try:
                    network.trust *= measure_balance(network, known, path=path)
                except KeyboardInterrupt:  # they count alike
                    self.interrupted = True
            return network
        return self.members[0] if len(self.members) == 1 else Ensemble(self.members)

    def polish(self, network: nn.Module) -> Tensor | None:
        """Add to a network what held-out rows say, and return their mean with it.

        None if there are no such rows. Trees that were grown from them have no part in
        that mean.
        """
        known, path = self.rows.validation, self.settings.path
        if known is None:
            return None
        at_rest = path.readout_time > 0  # there is no mean at t = 0 to add to
        done = self.interrupted or self.starved or self._seconds_left() <= 0
        if isinstance(network, GuidedEnsemble) and not (at_rest or done):
            try:
                found = self._hearing().hear(network, known)
                network.polish = found.polish
                return found.mean
            except KeyboardInterrupt:
                self.interrupted = True
        return known.mean(network, path=path)

    def _hearing(self) -> Hearing:
        return Hearing(
            rows=self.rows,
            settings=self.settings,
            group=self.group,
            is_num=self.is_num,
            seed=self.seed,
            n_threads=self.n_threads,
            seconds_left=self._seconds_left,
            hurried=not self._has_leisure(),
        )

    def _seconds_left(self) -> float:
        """Return what is left of the time budget, infinitely much without one."""
        budget = self.settings.train.max_seconds or math.inf
        return budget - (time.perf_counter() - self.began)

    def _has_leisure(self) -> bool:
        """Whether there is no time budget, or enough of it is left after training.

        What follows, if nothing of it is cut short, takes about as long as training.
        """
        budget = self.settings.train.max_seconds or 0.0
        return self._seconds_left() >= _LEISURE * budget

    def unknowable(self, mean: Tensor | None) -> np.ndarray:
        """Return the columns that a mean of held-out rows finds no better."""
        known = self.rows.validation
        if known is None or mean is None:
            return np.zeros(0, dtype=np.intp)
        found = no_better_than_mean(mean, known, group=self.group, is_num=self.is_num)
        return np.flatnonzero(found.cpu().numpy())


def _shown(
    show: Callable[..., None], member: int, evaluation: Evaluation, end: int
) -> None:
    show(evaluation, end, member=member)


def _row_config(settings: Settings) -> RowConfig:
    """Say what the rows are made ready for."""
    network = settings.network
    guide = network.guide and network.precondition
    judged = guide or settings.train.stopping == "validation"
    return RowConfig(
        guide=guide,
        move_missing=network.n_masks > 0,
        validation_share=settings.values["validation_share"] if judged else 0.0,
    )


def _n_at_once(n_networks: int, device: torch.device) -> int:
    """Return how many networks are trained side by side."""
    return n_networks if device.type == "cuda" else 1
