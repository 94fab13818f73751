"""One step of training: a batch's loss, its gradients, the weights and their average.

On a CUDA device the step is recorded once as a graph and then replayed, because a step
is hundreds of small kernels and launching them one by one takes ten times as long as
they run. So nothing in a step may ask the device for a value, and what changes from
step to step (rows, learning rate, share of the average) is written into tensors that
stay where they are.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from macfm.flow._loss import LossTerms

# Steps taken one by one before the graph is recorded: libraries set themselves up.
_N_BEFORE_GRAPH = 3

LossOf = Callable[[Tensor], LossTerms]
"""The loss of the rows of these numbers."""


class TrainingStep:
    """Moves a network's weights, and an average of them, by one batch at a time.

    Parameters
    ----------
    network : nn.Module
        Trained in place.
    learning_rate, weight_decay : float
        Of AdamW.
    ema_decay : float
        Decay of the average.
    clip_norm : float
        Gradient norm above which gradients are scaled down.
    generator : torch.Generator
        What the losses are drawn with, on the device of the network.
    """

    def __init__(
        self,
        network: nn.Module,
        *,
        learning_rate: float,
        weight_decay: float,
        ema_decay: float,
        clip_norm: float,
        generator: torch.Generator,
    ) -> None:
        device = next(network.parameters()).device
        self.averaged = copy.deepcopy(network).eval().requires_grad_(False)
        self._network = network
        self._ema_decay = ema_decay
        self._clip_norm = clip_norm
        self._generator = generator
        self._on_gpu = device.type == "cuda"
        self._rate = torch.tensor(learning_rate, device=device)
        self._optimizer = torch.optim.AdamW(
            network.parameters(),
            lr=self._rate if self._on_gpu else learning_rate,
            weight_decay=weight_decay,
            fused=True,
            capturable=self._on_gpu,
        )
        self._share = torch.ones((), device=device)
        self._rows = torch.zeros(0, dtype=torch.int64, device=device)
        self._sums = torch.zeros(4, device=device)
        self._n_summed = 0
        self._n_steps = 0
        self._loss_of: LossOf | None = None
        self._graph: torch.cuda.CUDAGraph | None = None
        self._stream = torch.cuda.Stream(device) if self._on_gpu else None

    def begin(self, loss_of: LossOf) -> None:
        """Take losses from here on from ``loss_of``."""
        self._loss_of = loss_of
        self._graph = None

    def __call__(self, rows: Tensor, *, rate: float) -> None:
        """Take a step on the rows of these numbers."""
        self._n_steps += 1
        self._n_summed += 1
        n = self._n_steps
        share = 1 - min(self._ema_decay, (1 + n) / (10 + n))
        if not self._on_gpu:
            for parameters in self._optimizer.param_groups:
                parameters["lr"] = rate
            self._move(rows, share)
            return
        self._rate.fill_(rate)
        self._share.fill_(share)
        if len(self._rows) != len(rows):
            self._rows = rows.clone()
        self._rows.copy_(rows)
        if self._graph is not None:
            self._graph.replay()
        elif n <= _N_BEFORE_GRAPH:
            self._aside()
        else:
            self._record()

    def losses(self) -> list[float]:
        """Return the mean of every loss term since it was last asked for."""
        means = (self._sums / max(self._n_summed, 1)).tolist()
        self._sums.zero_()
        self._n_summed = 0
        return means

    def _aside(self) -> None:
        """Take a step outside of the default stream, as recording will."""
        assert self._stream is not None
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            self._move(self._rows, self._share)
        torch.cuda.current_stream().wait_stream(self._stream)

    def _record(self) -> None:
        """Record a step as a graph, and take it."""
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._generator)
        self._optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, stream=self._stream):
            self._move(self._rows, self._share)
        self._graph = graph
        graph.replay()

    def _move(self, rows: Tensor, share: float | Tensor) -> None:
        assert self._loss_of is not None
        terms = self._loss_of(rows)
        self._optimizer.zero_grad(set_to_none=True)
        terms.total.backward()
        clip_gradients(self._network, self._clip_norm)
        self._optimizer.step()
        self._average(share)
        parts = (terms.total, terms.fm, terms.stab, terms.cons)
        self._sums += torch.stack(parts).detach()

    def _average(self, share: float | Tensor) -> None:
        """Move the average towards the network's weights."""
        averages: list[Tensor] = list(self.averaged.parameters())
        weights: list[Tensor] = list(self._network.parameters())
        with torch.no_grad():
            if isinstance(share, float):
                torch._foreach_lerp_(averages, weights, share)
                return
            gaps = torch._foreach_sub(weights, averages)
            torch._foreach_mul_(gaps, share)
            torch._foreach_add_(averages, gaps)


def clip_gradients(network: nn.Module, clip_norm: float) -> None:
    """Scale the gradients down to a total norm of ``clip_norm``.

    The norm is summed in float64: in float32 its last bits, and with them the whole
    course of training, would depend on the number of threads.
    """
    gradients = [p.grad.flatten() for p in network.parameters() if p.grad is not None]
    norm = torch.cat(gradients).double().square().sum().sqrt()
    nn.utils.clip_grads_with_norm_(network.parameters(), clip_norm, norm)
