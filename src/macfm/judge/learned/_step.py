"""One step of training, which a GPU records once and then replays.

A step of these small networks is a hundred kernels and more, and launching them one by
one takes many times as long as they run. So on a CUDA device a step is recorded as a
graph. Nothing in it may ask the device for a value or choose by a mask, and what is
random but for dropout is drawn before, from the method's own generator. A CPU takes the
steps as they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Steps taken one by one before the graph is recorded: libraries set themselves up.
_N_BEFORE_GRAPH = 3


@dataclass
class _Recording:
    """A graph, and the tensors that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, ...]
    output: Tensor

    def replay(self, batch: Sequence[Tensor]) -> Tensor:
        """Take the recorded step on a batch."""
        for mine, given in zip(self.inputs, batch, strict=True):
            mine.copy_(given)
        self.graph.replay()
        return self.output


class Step:
    """A function of a batch that moves weights.

    There is a graph for each size of a batch, of which an epoch has two.

    Parameters
    ----------
    move : callable
        From the tensors of a batch to a tensor without gradient, such as its loss. On
        a GPU that tensor is written over by the next step.
    optimizers : sequence of Optimizer
        Those that it uses, from `make_optimizer`.
    """

    def __init__(
        self,
        move: Callable[..., Tensor],
        optimizers: Sequence[torch.optim.Optimizer],
    ) -> None:
        self._move = move
        self._optimizers = optimizers
        device = optimizers[0].param_groups[0]["params"][0].device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._n_aside: Counter[tuple[torch.Size, ...]] = Counter()
        self._recordings: dict[tuple[torch.Size, ...], _Recording] = {}

    def __call__(self, *batch: Tensor) -> Tensor:
        """Take a step on a batch."""
        if self._stream is None:
            return self._move(*batch)
        shapes = tuple(part.shape for part in batch)
        if shapes not in self._recordings:
            self._n_aside[shapes] += 1
            if self._n_aside[shapes] <= _N_BEFORE_GRAPH:
                return self._aside(batch)
            self._recordings[shapes] = self._record(batch)
        return self._recordings[shapes].replay(batch)

    def _aside(self, batch: Sequence[Tensor]) -> Tensor:
        """Take a step outside of the default stream, as recording will."""
        assert self._stream is not None
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            output = self._move(*batch)
        torch.cuda.current_stream().wait_stream(self._stream)
        return output

    def _record(self, batch: Sequence[Tensor]) -> _Recording:
        """Record a step, without taking it."""
        inputs = tuple(part.clone() for part in batch)
        graph = torch.cuda.CUDAGraph()
        for optimizer in self._optimizers:
            optimizer.zero_grad()
        with torch.cuda.graph(graph, stream=self._stream):
            output = self._move(*inputs)
        return _Recording(graph, inputs, output)


def descent(
    loss_of: Callable[..., Tensor], optimizers: Sequence[torch.optim.Optimizer]
) -> Step:
    """Return a step down the gradient of a loss, which it returns."""

    def move(*batch: Tensor) -> Tensor:
        loss = loss_of(*batch)
        descend(loss, optimizers)
        return loss.detach()

    return Step(move, optimizers)


def descend(loss: Tensor, optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Move the weights of all optimisers down the gradient of a loss."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()


def make_optimizer(
    weights: Iterable[Tensor],
    *,
    rate: float,
    fused: bool = True,
    decoupled: bool = False,
    **settings: Any,
) -> torch.optim.Optimizer:
    """Return an optimiser whose steps can be recorded if its weights are on a GPU.

    Parameters
    ----------
    weights : iterable of Tensor
        What it moves.
    rate : float
        Learning rate, which `set_rate` changes.
    fused : bool, default=True
        Whether a CPU takes all weights in one call; a GPU always does.
    decoupled : bool, default=False
        AdamW, not Adam.
    **settings
        Further settings of torch's optimiser.
    """
    weights = list(weights)
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    device = weights[0].device
    if device.type == "cuda":
        # A graph reads the rate where it lay when it was recorded.
        lr = torch.tensor(rate, device=device)
        return kind(weights, lr=lr, fused=True, capturable=True, **settings)
    return kind(weights, lr=rate, fused=fused or None, **settings)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate
