"""The only loop over training steps: batches, optimiser, averaging, stopping."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from macfm.flow._cells import cell_variances, cells_of, weigh_cells
from macfm.flow._guide import Gaussian
from macfm.flow._loss import LossConfig, flow_matching_loss
from macfm.flow._pace import Pace
from macfm.flow._path import Path
from macfm.flow._points import PointLaw, PointSource
from macfm.flow._rules import Rules
from macfm.flow._schedule import TimeLaw
from macfm.flow._step import Mover, StepConfig, TrainingStep
from macfm.flow._validation import Validation
from macfm.flow.network import GuidedEnsemble

# When the guesses of missing cells are drawn again, as shares of the most steps.
_REFILLS = (0.1, 0.25, 0.5)
# When more than this share of a time budget is spent, they stay as they are.
_LAST_REFILL = 0.5
# By how much the learning rate falls where training has diverged.
_CALMER = 10


@dataclass(frozen=True)
class TrainConfig:
    """How long and how fast to train."""

    batch_size: int
    """Rows a step."""
    max_steps: int
    """Most steps, decay included."""
    max_seconds: float | None
    """Time budget; the decay is fitted into it."""
    learning_rate: float
    """Peak learning rate."""
    warmup_steps: int
    """Steps over which the learning rate rises linearly."""
    decay_share: float
    """Share of all steps spent bringing the learning rate down to 0."""
    step: StepConfig
    """How a step moves the weights."""
    stopping: Literal["validation", "objective", "none"]
    """What must stop improving: error on hidden cells of held-out rows, or the loss."""
    patience: int
    """Evaluations without improvement before the decay begins."""
    least_fall: float
    """Share of its first value by which what is judged must fall to have improved."""
    evaluate_every: int
    """Steps between evaluations."""
    hide_rate: tuple[float, float]
    """Range of the share of observed cells a training row hides."""
    hide_one: bool
    """Whether a row that would hide nothing hides one cell."""


@dataclass(frozen=True)
class Evaluation:
    """One line of the training history."""

    step: int
    loss: float
    fm: float
    stab: float
    cons: float
    val_error: float
    learning_rate: float
    seconds: float


@dataclass(frozen=True)
class TrainResult:
    """What training leaves behind besides the weights."""

    history: list[Evaluation]
    """Evaluations in order."""
    best_step: int
    """Step whose averaged weights were kept."""
    n_steps: int
    """Steps taken."""
    n_diverged: int
    """How often the loss was no longer finite and training stepped back."""
    interrupted: bool
    """Whether the user stopped it."""
    out_of_time: bool
    """Whether it would have gone on if there had been more time."""


Training = Generator[TrainingStep, None, TrainResult]
"""A training under way: gives out steps, and at its end what it leaves behind."""


class _LearningRate:
    """Linear warm-up, a constant phase of open length, then a decay to 0."""

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        self.peak = config.learning_rate
        self.decay_from: int | None = None
        self.end = config.max_steps
        self.is_hurried = False

    def begin_decay(self, step: int) -> None:
        """Start the decay now, as long as the steps so far entitle it to."""
        share = self._config.decay_share
        length = math.ceil(step * share / (1 - share))
        self.decay_from = step
        self.end = min(step + length, self._config.max_steps)

    def must_decay(self, step: int, seconds: float) -> bool:
        """Whether the decay would no longer fit into the budgets if it began later."""
        if self.decay_from is not None or step == 0:
            return False
        before_decay = 1 - self._config.decay_share
        max_seconds = self._config.max_seconds or math.inf
        out_of_steps = step >= self._config.max_steps * before_decay
        out_of_time = seconds >= max_seconds * before_decay
        self.is_hurried = out_of_time and not out_of_steps
        return out_of_steps or out_of_time

    def stop(self, step: int) -> None:
        """End after this step, whatever was planned."""
        self.is_hurried = self.is_hurried or step < self.end
        self.end = step

    def at(self, step: int) -> float:
        """Return the learning rate of a step."""
        peak = self.peak * min((step + 1) / max(self._config.warmup_steps, 1), 1.0)
        if self.decay_from is None:
            return peak
        return peak * (self.end - step) / max(self.end - self.decay_from, 1)


class _Patience:
    """Counts evaluations since the score last fell.

    Until it has fallen by ``least_fall`` of where it began, no fall counts: a network
    that brings so little is not trained for long. From there on any does.
    """

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        self._to_beat = math.nan
        self._n_stale = 0

    def is_lost(self, score: float) -> bool:
        """Whether it is lost after one more score; without any stopping never."""
        config = self._config
        if math.isnan(self._to_beat):
            self._to_beat = score - config.least_fall * abs(score)
        elif score < self._to_beat:
            self._to_beat, self._n_stale = score, 0
        else:
            self._n_stale += 1
        return config.stopping != "none" and self._n_stale >= config.patience


class _Best:
    """A copy of the averaged weights worth keeping.

    While the learning rate is constant the lowest score is kept. While it decays, a
    later evaluation is kept unless it is worse than the lowest by more than a standard
    error: on a small table the errors of held-out rows cannot tell the two apart, and
    finished weights are the better guess.
    """

    def __init__(self, averaged: nn.Module) -> None:
        self._averaged = averaged
        self._lowest = math.inf
        self._lowest_rows: Tensor | None = None
        self.weights = averaged.state_dict()
        self.step = 0

    def offer(
        self, score: float, rows: Tensor | None, *, step: int, decaying: bool
    ) -> None:
        """Keep the averaged weights if they are worth it.

        ``rows`` are the errors of single held-out rows behind the score, if any.
        """
        is_lowest = score < self._lowest
        if is_lowest or (decaying and self._is_as_good(rows)):
            self.step = step
            self.weights = copy.deepcopy(self._averaged.state_dict())
        if is_lowest:
            self._lowest, self._lowest_rows = score, rows

    def _is_as_good(self, rows: Tensor | None) -> bool:
        if rows is None or self._lowest_rows is None:
            return False
        gap = rows - self._lowest_rows
        return bool(gap.mean() <= gap.std() / math.sqrt(len(gap)))


def train(
    trainings: Sequence[Training], *, device: torch.device
) -> list[TrainResult | None]:
    """Take trainings to their ends side by side, one step of each at a time.

    If the user interrupts one of them, all end; one that had not taken a step by then
    has no result.
    """
    mover = Mover(device)
    pace = Pace(torch.get_num_threads() if device.type == "cpu" else 1)
    results: list[TrainResult | None] = [None] * len(trainings)
    going = dict(enumerate(trainings))
    try:
        while going:
            steps = []
            for k, training in list(going.items()):
                try:
                    steps.append(next(training))
                except StopIteration as ended:
                    results[k] = ended.value
                    del going[k]
                    if ended.value.interrupted:
                        raise KeyboardInterrupt from None
            if steps:
                pace.run(partial(mover, steps))
    except KeyboardInterrupt:
        for k, training in going.items():
            results[k] = _interrupt(training)
    return results


def _interrupt(training: Training) -> TrainResult | None:
    """End a training as the user's interruption does; None if it had not begun."""
    try:
        training.throw(KeyboardInterrupt)
    except StopIteration as ended:
        return ended.value
    except KeyboardInterrupt:
        return None
    raise AssertionError("a training that is interrupted ends")


def training(
    network: nn.Module,
    x: Tensor,
    observed: Tensor,
    *,
    weights: Tensor | None,
    guide: Gaussian | None,
    fills: Tensor | None,
    refill: Callable[[nn.Module], Tensor] | None,
    rules: Rules | None,
    validation: Validation | None,
    group: Tensor,
    is_num: Tensor,
    path: Path,
    time_law: TimeLaw,
    config: TrainConfig,
    loss_config: LossConfig,
    generator: torch.Generator,
    on_evaluation: Callable[[Evaluation, int], None],
) -> Training:
    """Fit a velocity network by mask-aware flow matching (alg:train), in place.

    Gives out one step after the other, loaded and yet to be moved, for `train`.

    Parameters
    ----------
    network : nn.Module
        Trained in place; holds the best averaged weights at the end.
    x : Tensor, shape (n, d)
        Encoded training rows, 0 where not observed.
    observed : Tensor of bool, shape (n, d)
        True where the table holds a value.
    weights : Tensor, shape (n,), or None
        How much each row counts; None counts all alike.
    guide : Gaussian or None
        The guide that the network stands around, if it reads one.
    fills : Tensor, shape (n_fills, n, d), or None
        Guesses of the rows' missing coordinates, one of which is transported in each
        batch and never scored; None leaves them where they are, as the paper does.
    refill : callable or None
        Gives better `fills`, drawn from the averaged velocity; called a few times.
    rules : Rules or None
        Rules that the table's holes follow, and the hidden cells with them.
    validation : Validation or None
        Held-out rows to judge by.
    group, is_num : Tensor, shape (d,)
        Column of each coordinate, and whether it is numeric.
    path, time_law : Path, TimeLaw
        The path and the law of the times.
    config, loss_config : TrainConfig, LossConfig
        The settings.
    generator : torch.Generator
        Source of all randomness but dropout, on the device of `x`.
    on_evaluation : callable
        Called with each `Evaluation` and the step at which training will end.

    Yields
    ------
    TrainingStep
        The next step; it is moved before the training goes on.

    Returns
    -------
    TrainResult

    Notes
    -----
    The learning rate stays constant until the error on hidden cells of held-out rows
    has not improved for ``patience`` evaluations, or the budget says so, then decays
    to 0 over ``decay_share`` of all steps: the length is found by validation, and the
    decay is always finished. Where the loss or that error is no longer finite, training
    goes on from the weights kept so far at a tenth of the learning rate.
    """
    # NOTE[DIFF]: the paper stops on the training objective (stopping="objective"), and
    # does not speak of weight averaging, warm-up, decay or clipping.
    began = time.perf_counter()
    law = PointLaw(
        group=group,
        is_num=is_num,
        path=path,
        time_law=time_law,
        hide_rate=config.hide_rate,
        hide_one=config.hide_one,
        rules=rules,
        guide=guide,
        sigma_in=loss_config.sigma_in,
        perturbed=loss_config.lambda_cons > 0,
    )
    source = PointSource(
        x,
        observed,
        weights=weights,
        law=law,
        batch_size=config.batch_size,
        generator=generator,
    )
    source.begin(fills)
    weights_of_cells = None
    if loss_config.weigh_cells:
        cell = cells_of(group, is_num)
        variance = cell_variances(x, observed, cell=cell)
        weights_of_cells = weigh_cells(variance, cell=cell)
    step_on = TrainingStep(
        network,
        partial(
            flow_matching_loss, network, config=loss_config, weights=weights_of_cells
        ),
        config=config.step,
    )
    averaged: nn.Module = step_on.averaged
    guess = None
    if guide is not None:
        averaged = GuidedEnsemble.alone(guide, averaged, path=path)
        if validation is not None:
            guess = validation.guess_of(guide, path=path)
    rate = _LearningRate(config)
    best = _Best(step_on.averaged)
    patience = _Patience(config)
    history: list[Evaluation] = []
    refills = {round(share * config.max_steps) for share in _REFILLS}
    step, interrupted, n_diverged = 0, False, 0
    network.train()
    try:
        while step < rate.end:
            if rate.must_decay(step, time.perf_counter() - began):
                rate.begin_decay(step)
            step_on.load(source.take(), rate=rate.at(step))
            yield step_on
            step += 1
            spent = (time.perf_counter() - began) / (config.max_seconds or math.inf)
            if spent >= 1:
                rate.stop(step)

            if refill is not None and step in refills and spent < _LAST_REFILL:
                source.begin(refill(averaged))
            if step % config.evaluate_every and step != rate.end:
                continue
            row_errors, val_error = None, math.nan
            if validation is not None:
                row_errors = validation.row_errors(
                    step_on.averaged, path=path, guess=guess
                )
                total = row_errors.sum().item()
                is_finite = math.isfinite(total)
                val_error = (
                    math.sqrt(total / validation.n_cells) if is_finite else math.inf
                )
            loss, fm, stab, cons = step_on.losses()
            evaluation = Evaluation(
                step=step,
                loss=loss,
                fm=fm,
                stab=stab,
                cons=cons,
                val_error=val_error,
                learning_rate=rate.at(step - 1),
                seconds=time.perf_counter() - began,
            )
            history.append(evaluation)
            score = _score(evaluation, stopping=config.stopping)
            best.offer(
                score, row_errors, step=step, decaying=rate.decay_from is not None
            )
            if patience.is_lost(score) and rate.decay_from is None:
                rate.begin_decay(step)
            on_evaluation(evaluation, rate.end)
            if not math.isfinite(score):
                if best.step == 0:
                    break
                n_diverged += 1
                step_on.step_back(best.weights)
                rate.peak /= _CALMER
    except KeyboardInterrupt:
        interrupted = True
    finally:
        source.end()
    if history and best.step == 0:
        raise ValueError(
            f"training diverged: the loss was not finite by step {history[0].step}; "
            f"lower learning_rate={config.learning_rate:g} or "
            f"clip_norm={config.step.clip_norm:g}"
        )
    if history:
        network.load_state_dict(best.weights)
    network.eval()
    return TrainResult(
        history=history,
        best_step=best.step,
        n_steps=step,
        n_diverged=n_diverged,
        interrupted=interrupted,
        out_of_time=rate.is_hurried,
    )


def _score(evaluation: Evaluation, *, stopping: str) -> float:
    """Return what must fall for training to go on."""
    if not math.isfinite(evaluation.loss):
        return math.inf
    if not math.isnan(evaluation.val_error):
        return evaluation.val_error
    if stopping == "objective":
        return evaluation.loss
    return -evaluation.step  # nothing to judge by: the last weights are kept


def as_records(history: list[Evaluation]) -> list[dict[str, float]]:
    """Return the history as one dictionary an evaluation."""
    return [asdict(evaluation) for evaluation in history]
