"""One step of training: a batch's loss, its gradients, the weights and their average.

On a CUDA device the step is recorded once as a graph and then replayed, because a step
is hundreds of small kernels and launching them one by one takes ten times as long as
they run. So nothing in a step may ask the device for a value, and what changes from
step to step (points, learning rate, share of the average) is written into tensors that
stay where they are. Steps of several networks are branches of one graph: a kernel is
too small to keep the device busy alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from macfm.flow._adamw import AdamW
from macfm.flow._loss import LossTerms
from macfm.flow._muon import Muon
from macfm.flow._points import Points

# Steps taken one by one before the graph is recorded: libraries set themselves up.
_N_BEFORE_GRAPH = 3


@dataclass(frozen=True)
class StepConfig:
    """How a step moves the weights."""

    optimizer: Literal["adamw", "muon"]
    """AdamW for all weights, or for those that are no matrices of hidden layers."""
    weight_decay: float
    """Decoupled weight decay of the matrices."""
    ema_decay: float
    """Decay of the averaged weights that are kept and scored."""
    clip_norm: float
    """Gradient norm above which gradients are scaled down."""


class TrainingStep:
    """Moves a network's weights, and an average of them, by one batch at a time.

    Parameters
    ----------
    network : nn.Module
        Trained in place.
    loss_of : callable
        The loss of a batch of points; draws nothing but dropout.
    config : StepConfig
        The settings.
    """

    def __init__(
        self,
        network: nn.Module,
        loss_of: Callable[[Points], LossTerms],
        *,
        config: StepConfig,
    ) -> None:
        device = next(network.parameters()).device
        self.averaged = copy.deepcopy(network).eval().requires_grad_(False)
        self._network = network
        self._weights: list[Tensor] = list(network.parameters())
        self._averages: list[Tensor] = list(self.averaged.parameters())
        self._loss_of = loss_of
        self._config = config
        self._on_gpu = device.type == "cuda"
        self._rate_and_share = torch.ones(2, device=device)
        self._rate: float | Tensor = self._rate_and_share[0]
        self._share: float | Tensor = self._rate_and_share[1]
        self._make_optimizers()
        self._sums = torch.zeros(4, device=device)
        self._n_summed = 0
        self._n_steps = 0
        self._points: Points | None = None

    def _make_optimizers(self) -> None:
        """Give hidden layers to Muon, if it is asked for, and the rest to AdamW."""
        config = self._config
        hidden = hidden_matrices(self._network) if config.optimizer == "muon" else []
        self._muon = Muon(hidden, weight_decay=config.weight_decay)
        taken = {id(weight) for weight in hidden}
        # Biases, frequencies and gains are no weights to be kept small.
        layers = [m for m in self._network.modules() if isinstance(m, nn.Linear)]
        matrices = {id(layer.weight) for layer in layers}
        groups: dict[float, list[Tensor]] = {config.weight_decay: [], 0.0: []}
        for weight in self._network.parameters():
            if id(weight) not in taken:
                decay = config.weight_decay if id(weight) in matrices else 0.0
                groups[decay].append(weight)
        self._adamw = AdamW(groups)

    def load(self, points: Points, *, rate: float) -> None:
        """Make ready to step on a batch."""
        self._n_steps += 1
        self._n_summed += 1
        n = self._n_steps
        share = 1 - min(self._config.ema_decay, (1 + n) / (10 + n))
        if not self._on_gpu:
            self._points, self._rate, self._share = points, rate, share
            return
        self._rate_and_share[0].fill_(rate)
        self._rate_and_share[1].fill_(share)
        if self._points is None:
            self._points = points.map(torch.clone)
            return
        mine, given = self._points.tensors(), points.tensors()
        for kind in {tensor.dtype for tensor in mine}:
            torch._foreach_copy_(
                [tensor for tensor in mine if tensor.dtype == kind],
                [tensor for tensor in given if tensor.dtype == kind],
            )

    def move(self) -> None:
        """Move the weights and their average by the batch that is loaded."""
        assert self._points is not None
        terms = self._loss_of(self._points)
        self.drop_gradients()
        terms.total.backward()
        clip_gradients(self._weights, self._config.clip_norm)
        self._muon.step(self._rate)
        self._adamw.step(self._rate)
        self._average(self._share)
        parts = (terms.total, terms.fm, terms.stab, terms.cons)
        self._sums += torch.stack(parts).detach()

    def drop_gradients(self) -> None:
        """Forget the gradients, and free their memory."""
        for weight in self._weights:
            weight.grad = None

    def losses(self) -> list[float]:
        """Return the mean of every loss term since it was last asked for."""
        means = (self._sums / max(self._n_summed, 1)).tolist()
        self._sums.zero_()
        self._n_summed = 0
        return means

    def step_back(self, weights: dict[str, Tensor]) -> None:
        """Start again from some weights, without momentum."""
        self._network.load_state_dict(weights)
        self.averaged.load_state_dict(weights)
        self._muon.reset()
        self._adamw.reset()

    def _average(self, share: float | Tensor) -> None:
        """Move the average towards the network's weights."""
        averages, weights = self._averages, self._weights
        with torch.no_grad():
            if isinstance(share, float):
                torch._foreach_lerp_(averages, weights, share)
                return
            gaps = torch._foreach_sub(weights, averages)
            torch._foreach_mul_(gaps, share)
            torch._foreach_add_(averages, gaps)


class Mover:
    """Moves what steps have loaded: one after the other, or on a GPU all at once.

    Parameters
    ----------
    device : torch.device
        Where the steps compute.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._stream = _urgent_stream(device) if self._on_gpu else None
        self._branches: list[torch.cuda.Stream] = []
        self._device = device
        self._n_moves = 0
        self._recorded: list[TrainingStep] = []
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, steps: Sequence[TrainingStep]) -> None:
        """Move the weights of every step that is given."""
        self._n_moves += 1
        if not self._on_gpu:
            for step in steps:
                step.move()
        elif self._n_moves <= _N_BEFORE_GRAPH:
            self._aside(steps)
        elif self._graph is not None and self._recorded == list(steps):
            self._graph.replay()
        else:
            self._record(steps)

    def _aside(self, steps: Sequence[TrainingStep]) -> None:
        """Move outside of the default stream, as recording will."""
        assert self._stream is not None
        used_on = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(used_on)
        with torch.cuda.stream(self._stream):
            for step in steps:
                step.move()
        used_on.wait_stream(self._stream)

    def _record(self, steps: Sequence[TrainingStep]) -> None:
        """Record the moves as branches of one graph, and make them."""
        self._graph = None
        for step in steps:
            step.drop_gradients()
        while len(self._branches) < len(steps):
            self._branches.append(_urgent_stream(self._device))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            trunk = torch.cuda.current_stream()
            branches = self._branches[: len(steps)]
            for branch in branches:
                branch.wait_stream(trunk)
            try:
                for step, branch in zip(steps, branches, strict=True):
                    with torch.cuda.stream(branch):
                        step.move()
            finally:  # a graph whose branches do not come back cannot be ended
                for branch in branches:
                    trunk.wait_stream(branch)
        self._graph, self._recorded = graph, list(steps)
        graph.replay()


def _urgent_stream(device: torch.device) -> torch.cuda.Stream:
    """Return a stream that goes before those on which points are drawn ahead."""
    return torch.cuda.Stream(device, priority=-1)


def hidden_matrices(network: nn.Module) -> list[Tensor]:
    """Return the weights of layers between hidden units, `blocks` and `head.0`."""
    return [
        weight
        for name, weight in network.named_parameters()
        if weight.dim() == 2 and (".blocks." in f".{name}" or "head.0" in name)
    ]


def clip_gradients(weights: Sequence[Tensor], clip_norm: float) -> None:
    """Scale the gradients down to a total norm of ``clip_norm``.

    On a CPU the norm is summed in float64: in float32 its last bits, and with them the
    whole course of training, would depend on the number of threads.
    """
    gradients = [w.grad.flatten() for w in weights if w.grad is not None]
    if gradients[0].is_cuda:
        norm = nn.utils.get_total_norm(gradients)
    else:
        norm = torch.cat(gradients).double().square().sum().sqrt()
    nn.utils.clip_grads_with_norm_(weights, clip_norm, norm)
