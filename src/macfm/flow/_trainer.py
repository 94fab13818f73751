"""The only loop over training steps: batches, optimiser, averaging, stopping."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from macfm.flow._loss import LossConfig, LossTerms, flow_matching_loss
from macfm.flow._masks import Masks, sample_masks
from macfm.flow._path import Space, add_input_noise, end_point, sample_path
from macfm.flow._schedule import Schedule, TimeLaw

# Held-out rows hide few cells, so that what remains is close to what `transform` sees.
_VALIDATION_HIDE_RATE = 0.15
# Held-out rows are scored under several masks until about this many cells are hidden.
_VALIDATION_CELLS = 20_000
_VALIDATION_ROWS = 2_000


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
    """Peak learning rate of AdamW."""
    weight_decay: float
    """Decoupled weight decay of AdamW."""
    warmup_steps: int
    """Steps over which the learning rate rises linearly."""
    decay_share: float
    """Share of all steps spent bringing the learning rate down to 0."""
    ema_decay: float
    """Decay of the averaged weights that are kept and scored."""
    clip_norm: float
    """Gradient norm above which gradients are scaled down."""
    stopping: Literal["validation", "objective", "none"]
    """What must stop improving: error on hidden cells of held-out rows, or the loss."""
    patience: int
    """Evaluations without improvement before the decay begins."""
    evaluate_every: int
    """Steps between evaluations."""
    validation_share: float
    """Share of the rows held out for stopping."""
    hide_rate: tuple[float, float]
    """Range of the share of observed cells a training row hides."""


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
    interrupted: bool
    """Whether the user stopped it."""


@dataclass(frozen=True)
class Validation:
    """Held-out rows with cells hidden once and for all."""

    x: Tensor
    masks: Masks
    eps: Tensor
    t: Tensor
    n_cells: int

    def error(self, network: nn.Module, *, schedule: Schedule, space: Space) -> float:
        """Root mean square error of the end point of the path on hidden cells."""
        total = torch.zeros((), dtype=torch.float64)
        for rows in torch.arange(len(self.x)).split(4096):
            masks = Masks(cond=self.masks.cond[rows], tgt=self.masks.tgt[rows])
            path = sample_path(
                self.x[rows],
                eps=self.eps[rows],
                t=self.t[rows],
                masks=masks,
                schedule=schedule,
                space=space,
            )
            v_t = network(path.x_t, path.t, masks.cond, masks.tgt)
            v_s = v_t / path.ds_t if space == "t" else v_t
            miss = end_point(path.x_t, v_s, path.s_t) - self.x[rows]
            total += torch.where(masks.tgt, miss, 0.0).double().square().sum().cpu()
        return math.sqrt(total.item() / max(self.n_cells, 1))


def readout_time(schedule: Schedule, *, space: Space) -> float:
    """Return the earliest time at which the network's end point is defined.

    It is 0 unless the network speaks dx/dt and the schedule starts at rest, where the
    velocity at t = 0 is 0 and says nothing.
    """
    ds_0 = schedule(torch.zeros(1, dtype=torch.float64))[1].item()
    return 0.0 if space == "s" or ds_0 > 0 else 0.1


def _hold_out(
    x: Tensor,
    observed: Tensor,
    *,
    group: Tensor,
    config: TrainConfig,
    t: float,
    generator: torch.Generator,
) -> tuple[Tensor, Validation | None]:
    """Split the rows: indices to train on, and the held-out rows with hidden cells."""
    n = len(x)
    order = torch.randperm(n, generator=generator, device=x.device)
    n_held = max(round(config.validation_share * n), min(5, n // 4))
    n_held = min(n_held, _VALIDATION_ROWS)
    if config.stopping != "validation" or n_held < 2:
        return order, None
    held = order[:n_held]
    n_groups = int(group.max()) + 1
    per_pass = max(n_held * n_groups * _VALIDATION_HIDE_RATE, 1)
    held = held.repeat(min(max(round(_VALIDATION_CELLS / per_pass), 1), 16))
    rate = (_VALIDATION_HIDE_RATE, _VALIDATION_HIDE_RATE)
    masks = sample_masks(
        observed[held], group=group, hide_rate=rate, generator=generator
    )
    eps = torch.randn(
        len(held), x.shape[1], generator=generator, device=x.device, dtype=x.dtype
    )
    first = torch.zeros(n_groups, dtype=torch.int64, device=x.device)
    first[group.flip(0)] = torch.arange(len(group), device=x.device).flip(0)
    n_cells = int(masks.tgt[:, first].sum())
    if n_cells == 0:
        return order, None
    times = torch.full((len(held), 1), t, device=x.device, dtype=x.dtype)
    validation = Validation(x=x[held], masks=masks, eps=eps, t=times, n_cells=n_cells)
    return order[n_held:], validation


class _RowStream:
    """Rows in a new random order every epoch, cut into batches of one size."""

    def __init__(self, rows: Tensor, *, generator: torch.Generator) -> None:
        self._rows = rows
        self._generator = generator
        self._queue = rows[:0]

    def take(self, n: int) -> Tensor:
        while len(self._queue) < n:
            order = torch.randperm(
                len(self._rows), generator=self._generator, device=self._rows.device
            )
            self._queue = torch.cat([self._queue, self._rows[order]])
        batch, self._queue = self._queue[:n], self._queue[n:]
        return batch


class _LearningRate:
    """Linear warm-up, a constant phase of open length, then a decay to 0."""

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        self.decay_from: int | None = None
        self.end = config.max_steps

    def begin_decay(self, step: int) -> None:
        """Start the decay now, as long as the steps so far entitle it to."""
        share = self._config.decay_share
        length = math.ceil(step * share / (1 - share))
        self.decay_from = step
        self.end = min(step + length, self._config.max_steps)

    def must_decay(self, step: int) -> bool:
        """Whether the decay would no longer fit if it began later."""
        n_before_decay = self._config.max_steps * (1 - self._config.decay_share)
        return self.decay_from is None and step >= n_before_decay

    def at(self, step: int) -> float:
        """Return the learning rate of a step."""
        peak = self._config.learning_rate
        peak *= min((step + 1) / max(self._config.warmup_steps, 1), 1.0)
        if self.decay_from is None:
            return peak
        return peak * (self.end - step) / max(self.end - self.decay_from, 1)


class _Best:
    """The averaged weights, and a copy of them at the best evaluation."""

    def __init__(self, network: nn.Module, *, ema_decay: float) -> None:
        self._ema_decay = ema_decay
        self._n_updates = 0
        self.averaged = copy.deepcopy(network).eval().requires_grad_(False)
        self.weights = copy.deepcopy(self.averaged.state_dict())
        self.step = 0
        self.score = math.inf

    def update(self, network: nn.Module) -> None:
        """Move the average towards the network's weights."""
        self._n_updates += 1
        n = self._n_updates
        decay = min(self._ema_decay, (1 + n) / (10 + n))
        pairs = zip(self.averaged.parameters(), network.parameters(), strict=True)
        with torch.no_grad():
            for average, parameter in pairs:
                average.lerp_(parameter, 1 - decay)

    def offer(self, score: float, step: int) -> bool:
        """Keep the averaged weights if ``score`` is the lowest so far."""
        if not score < self.score:
            return False
        self.score, self.step = score, step
        self.weights = copy.deepcopy(self.averaged.state_dict())
        return True


def train(
    network: nn.Module,
    x: Tensor,
    observed: Tensor,
    *,
    group: Tensor,
    is_num: Tensor,
    schedule: Schedule,
    space: Space,
    time_law: TimeLaw,
    config: TrainConfig,
    loss_config: LossConfig,
    generator: torch.Generator,
    on_evaluation: Callable[[Evaluation, int], None],
) -> TrainResult:
    """Fit a velocity network by mask-aware flow matching (alg:train), in place.

    Parameters
    ----------
    network : nn.Module
        Trained in place; holds the best averaged weights at the end.
    x : Tensor, shape (n, d)
        Encoded training rows, 0 where not observed.
    observed : Tensor of bool, shape (n, d)
        True where the table holds a value.
    group, is_num : Tensor, shape (d,)
        Column of each coordinate, and whether it is numeric.
    schedule, space, time_law
        Path, space of the velocity and law of the times.
    config, loss_config : TrainConfig, LossConfig
        The settings.
    generator : torch.Generator
        Source of all randomness but dropout, on the device of `x`.
    on_evaluation : callable
        Called with each `Evaluation` and the step at which training will end.

    Returns
    -------
    TrainResult

    Notes
    -----
    The learning rate stays constant until the error on hidden cells of held-out rows
    has not improved for ``patience`` evaluations (or three quarters of a budget are
    used up), then decays to 0 from the best weights so far: the length is found by
    validation, and the decay is always finished.
    """
    # NOTE[DIFF]: the paper stops on the training objective (stopping="objective").
    began = time.perf_counter()
    t_readout = readout_time(schedule, space=space)
    rows, validation = _hold_out(
        x, observed, group=group, config=config, t=t_readout, generator=generator
    )
    stream = _RowStream(rows, generator=generator)
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        fused=True,
    )
    rate = _LearningRate(config)
    best = _Best(network, ema_decay=config.ema_decay)
    history: list[Evaluation] = []
    running: list[LossTerms] = []
    n_stale, step, interrupted = 0, 0, False
    network.train()
    try:
        while step < rate.end:
            if rate.must_decay(step):
                rate.begin_decay(step)
            for parameters in optimizer.param_groups:
                parameters["lr"] = rate.at(step)
            batch = stream.take(config.batch_size)
            terms = _loss_of_batch(
                network,
                x[batch],
                observed[batch],
                group=group,
                is_num=is_num,
                schedule=schedule,
                space=space,
                time_law=time_law,
                hide_rate=config.hide_rate,
                loss_config=loss_config,
                generator=generator,
            )
            optimizer.zero_grad(set_to_none=True)
            terms.total.backward()
            _clip_gradients(network, config.clip_norm)
            optimizer.step()
            best.update(network)
            running.append(terms)
            step += 1

            if step % config.evaluate_every and step != rate.end:
                continue
            evaluation = _evaluate(
                best.averaged,
                running,
                validation=validation,
                schedule=schedule,
                space=space,
                step=step,
                learning_rate=rate.at(step - 1),
                seconds=time.perf_counter() - began,
            )
            running = []
            history.append(evaluation)
            score = _score(evaluation, config=config, validation=validation)
            improved = best.offer(score, step)
            n_stale = 0 if improved else n_stale + 1
            if rate.decay_from is None:
                stale = config.stopping != "none" and n_stale >= config.patience
                spent = _time_is_spent(evaluation.seconds, config=config)
                if stale or spent:
                    rate.begin_decay(step)
            on_evaluation(evaluation, rate.end)
    except KeyboardInterrupt:
        interrupted = True
    if history:
        network.load_state_dict(best.weights)
    network.eval()
    return TrainResult(
        history=history, best_step=best.step, n_steps=step, interrupted=interrupted
    )


def _clip_gradients(network: nn.Module, clip_norm: float) -> None:
    """Scale the gradients down to a total norm of ``clip_norm``.

    The norm is summed in float64: in float32 its last bits, and with them the whole
    course of training, would depend on the number of threads.
    """
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    squares = [gradient.double().square().sum() for gradient in gradients]
    norm = torch.stack(squares).sum().sqrt()
    scale = (clip_norm / (norm + 1e-6)).clamp(max=1.0).float()
    for gradient in gradients:
        gradient.mul_(scale)


def _loss_of_batch(
    network: nn.Module,
    x: Tensor,
    observed: Tensor,
    *,
    group: Tensor,
    is_num: Tensor,
    schedule: Schedule,
    space: Space,
    time_law: TimeLaw,
    hide_rate: tuple[float, float],
    loss_config: LossConfig,
    generator: torch.Generator,
) -> LossTerms:
    """Draw masks, times and noise for a batch and score the network on it."""

    def noise() -> Tensor:
        return torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)

    masks = sample_masks(
        observed, group=group, hide_rate=hide_rate, generator=generator
    )
    t = time_law.sample(len(x), generator=generator, device=x.device)
    if loss_config.sigma_in > 0:
        x = add_input_noise(
            x,
            xi=noise(),
            s_t=schedule(t)[0],
            observed=observed,
            is_num=is_num,
            sigma_in=loss_config.sigma_in,
        )
    path = sample_path(x, eps=noise(), t=t, masks=masks, schedule=schedule, space=space)
    xi = noise() if loss_config.lambda_cons > 0 else None
    return flow_matching_loss(network, path, masks=masks, xi=xi, config=loss_config)


@torch.no_grad()
def _evaluate(
    network: nn.Module,
    running: list[LossTerms],
    *,
    validation: Validation | None,
    schedule: Schedule,
    space: Space,
    step: int,
    learning_rate: float,
    seconds: float,
) -> Evaluation:
    """Average the loss terms since the last evaluation and score the weights."""
    means = {
        name: torch.stack([getattr(terms, name).detach() for terms in running])
        .mean()
        .item()
        for name in ("total", "fm", "stab", "cons")
    }
    val_error = math.nan
    if validation is not None:
        val_error = validation.error(network, schedule=schedule, space=space)
    return Evaluation(
        step=step,
        loss=means["total"],
        fm=means["fm"],
        stab=means["stab"],
        cons=means["cons"],
        val_error=val_error,
        learning_rate=learning_rate,
        seconds=seconds,
    )


def _score(
    evaluation: Evaluation, *, config: TrainConfig, validation: Validation | None
) -> float:
    """Return what must fall for training to go on."""
    if validation is not None:
        return evaluation.val_error
    if config.stopping == "objective":
        return evaluation.loss
    return -evaluation.step  # nothing to judge by: the last weights are kept


def _time_is_spent(seconds: float, *, config: TrainConfig) -> bool:
    """Whether the decay must begin now to end within the time budget."""
    if config.max_seconds is None:
        return False
    return seconds >= config.max_seconds * (1 - config.decay_share)


def as_records(history: list[Evaluation]) -> list[dict[str, float]]:
    """Return the history as one dictionary an evaluation."""
    return [asdict(evaluation) for evaluation in history]
