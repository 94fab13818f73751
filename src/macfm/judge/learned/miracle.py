"""MIRACLE: a network for every column, blind to it, refines what stands in holes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn import functional

from macfm.judge.learned._base import Clock, Columns, Model, Rows, by_chunks, epoch
from macfm.judge.learned._step import descent, make_optimizer

# Terms of the series in which the penalty on cycles is summed.
_N_TERMS = 24


class MIRACLE(Model):
    """Nodes f_j predict every value, and whether it is known, from the other columns.

    Holes begin at column means. After every epoch all values are predicted anew, and
    holes take the mean of the last `window` predictions. With R = M (x − f)² the loss
    of a batch is

        mean_i Σ_j R_ij + λ Σ_ij R_ij + mean_i Σ_k BCE(M_ik, π_ik) + β Σ_ij W_ij
        + γ (½ h² + h) + μ Σ_k (mean_i f_ik − m_k)²,

    where W_ij is the norm of what node j takes from value i, h = Σ_k tr((W∘W)ᵏ) / k!
    is 0 if and only if W has no cycle, π_ik is the predicted chance that a cell is
    known, and m_k the mean of column k's known cells weighted by 1 / π.
    """

    # NOTE[DIFF]: the authors fit again on new rows. Each network fits the fills of its
    # own epoch, so we keep one an epoch, and any rows, the training rows among them,
    # walk through all of them as the training rows did.
    networks: list[Nodes]

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Train for the epochs that serve the held-out cells best."""
        settings = self.settings
        generator = self.generator()
        self._start = _Start.fit(rows)
        held = self._held_out(rows.observed, generator)
        shown = replace(rows, observed=rows.observed & ~held)
        holes = _Holes(shown, self._start, settings["window"])
        known = Known.fit(shown.observed, self.columns)
        sees = _sees(self.columns, known)
        nodes = Nodes.make(sees, width=settings["width"], device=self.device)
        optimizer = make_optimizer(nodes.weights(), rate=settings["learning_rate"])
        step = descent(
            lambda x, observed: self._loss(nodes.masked(sees), x, observed, known),
            [optimizer],
        )
        self.networks, errors = [], []
        for _ in range(settings["n_epochs"]):
            x = holes.filled()
            for batch in epoch(len(rows), settings["batch_size"], generator):
                step(x[batch], shown.observed[batch])
                if clock.is_up():
                    break
            network = nodes.masked(sees).first_ones(x.shape[1])
            self.networks.append(network)
            holes.add(_predict(network, replace(rows, x=x)))
            errors.append((held * (holes.guess() - rows.x).square()).sum())
            if clock.is_up():
                break
        # NOTE[DIFF]: the authors take all epochs, though fills drift away with them.
        # Where no cell is held out all errors are 0, and the last epoch is the best.
        by_epoch = torch.stack(errors).nan_to_num(torch.inf).tolist()
        least = min(by_epoch)
        n_best = max(n for n, error in enumerate(by_epoch, 1) if error == least)
        del self.networks[n_best:]

    def _held_out(self, observed: Tensor, generator: torch.Generator) -> Tensor:
        """Return known cells that only tell when to stop, shape ``(n, d)``."""
        chances = torch.rand(
            (len(observed), len(self.columns.blocks)),
            generator=generator,
            device=self.device,
        )
        held = chances < self.settings["held_out"]
        return observed & held[:, self.columns.group]

    def _loss(self, nodes: Nodes, x: Tensor, observed: Tensor, known: Known) -> Tensor:
        settings, d = self.settings, x.shape[1]
        predicted = nodes(x)
        values, logits = predicted[:, :d], predicted[:, d:]
        errors = torch.where(observed, values - x, 0.0).square().sum()
        told = functional.binary_cross_entropy_with_logits(
            logits, observed[:, known.first].float(), reduction="sum"
        )
        strengths = nodes.strengths()
        cycles = acyclicity(strengths[:d].square())
        return (
            (errors + told) / len(x)
            + settings["reconstruction"] * errors
            + settings["sparsity"] * strengths.sum()
            + settings["acyclicity"] * (cycles.square() / 2 + cycles)
            + settings["moments"] * moment_gap(values, x, observed, logits, known)
        )

    def fill(self, rows: Rows) -> Tensor:
        """Take the rows through the networks of all epochs."""

        def replay(part: Rows) -> Tensor:
            holes = _Holes(part, self._start, self.settings["window"])
            for network in self.networks:
                holes.add(network(holes.filled()))
            return holes.guess()

        return by_chunks(replay, rows)


@dataclass(frozen=True)
class Nodes:
    """Networks of two hidden layers side by side, the second one common to all."""

    enter: Tensor
    """What a node takes from each value, shape ``(n_nodes, d, width)``."""
    enter_bias: Tensor
    """Shape ``(n_nodes, width)``."""
    common: Tensor
    """Shape ``(width, width)``."""
    common_bias: Tensor
    """Shape ``(width,)``."""
    leave: Tensor
    """Shape ``(n_nodes, width)``."""
    leave_bias: Tensor
    """Shape ``(n_nodes,)``."""

    @classmethod
    def make(cls, sees: Tensor, *, width: int, device: torch.device) -> Nodes:
        """Draw weights: standard normal, a hundredth of it in the first layer."""
        n, d = sees.shape
        small = (torch.randn(shape) / 100 for shape in [(n, d, width), (n, width)])
        large = (
            torch.randn(shape) for shape in [(width, width), (width,), (n, width), (n,)]
        )
        return cls(*(w.to(device).requires_grad_() for w in (*small, *large)))

    def weights(self) -> list[Tensor]:
        """Return all weights, not copies of them."""
        return [getattr(self, field.name) for field in fields(self)]

    def masked(self, sees: Tensor) -> Nodes:
        """Return the nodes blind to what they may not see; `sees` is (n_nodes, d)."""
        return replace(self, enter=torch.where(sees[..., None], self.enter, 0.0))

    def first_ones(self, n: int) -> Nodes:
        """Return a copy of the first nodes that learns no more."""
        layers = (self.enter[:n], self.enter_bias[:n], self.common, self.common_bias)
        weights = (*layers, self.leave[:n], self.leave_bias[:n])
        return Nodes(*(weight.detach().clone() for weight in weights))

    def __call__(self, x: Tensor) -> Tensor:
        """Predict every node from filled rows, shape ``(n, n_nodes)``."""
        n_nodes, d, width = self.enter.shape
        enter = self.enter.transpose(0, 1).reshape(d, n_nodes * width)
        hidden = torch.addmm(self.enter_bias.flatten(), x, enter)
        hidden = functional.elu(hidden).view(-1, width)
        hidden = functional.elu(torch.addmm(self.common_bias, hidden, self.common))
        hidden = hidden.view(len(x), n_nodes, width)
        return (hidden * self.leave).sum(dim=2) + self.leave_bias

    def strengths(self) -> Tensor:
        """Return the norm of what each node takes from each value, (n_nodes, d)."""
        return torch.linalg.vector_norm(self.enter, dim=2)


def _predict(nodes: Nodes, rows: Rows) -> Tensor:
    return by_chunks(lambda part: nodes(part.x), rows)


@dataclass(frozen=True)
class _Start:
    """What is known of every value by itself, from the training rows."""

    mean: Tensor
    low: Tensor
    high: Tensor

    @classmethod
    def fit(cls, rows: Rows) -> _Start:
        n_known = rows.observed.sum(dim=0).clamp(min=1)
        hidden = ~rows.observed
        return cls(
            mean=torch.where(hidden, 0.0, rows.x).sum(dim=0) / n_known,
            low=rows.x.masked_fill(hidden, torch.inf).amin(dim=0),
            high=rows.x.masked_fill(hidden, -torch.inf).amax(dim=0),
        )


class _Holes:
    """What stands in the holes of some rows while the epochs go by."""

    def __init__(self, rows: Rows, start: _Start, window: int) -> None:
        self._rows = rows
        self._start = start
        self._recent: deque[Tensor] = deque(maxlen=window)

    def add(self, predicted: Tensor) -> None:
        """Note an epoch's prediction of every value, shape ``(n, d)``."""
        self._recent.append(predicted)

    def guess(self) -> Tensor:
        """Return the mean of the recent predictions."""
        mean = torch.stack(tuple(self._recent)).mean(dim=0)
        # NOTE[DIFF]: the authors bound nothing, and fills leave the range of the data.
        return mean.clamp(self._start.low, self._start.high)

    def filled(self) -> Tensor:
        """Return the rows, their holes at the mean until the window is full."""
        is_full = len(self._recent) == self._recent.maxlen
        guess = self.guess() if is_full else self._start.mean
        return torch.where(self._rows.observed, self._rows.x, guess)


@dataclass(frozen=True)
class Known:
    """Which columns have a node that predicts whether a cell is known."""

    first: Tensor
    """First coordinate of each of these columns, shape ``(n_columns,)``."""
    coordinates: Tensor
    """All their coordinates, shape ``(n_coordinates,)``."""
    node: Tensor
    """Place in `first` of each of these coordinates, shape ``(n_coordinates,)``."""

    @classmethod
    def fit(cls, observed: Tensor, columns: Columns) -> Known:
        """Choose the columns with holes."""
        starts = torch.tensor([b.start for b in columns.blocks], device=observed.device)
        holed = (~observed).any(dim=0)
        place = holed[starts].cumsum(dim=0) - 1
        return cls(
            first=starts[holed[starts]],
            coordinates=holed.nonzero().squeeze(1),
            node=place[columns.group][holed],
        )


def _sees(columns: Columns, known: Known) -> Tensor:
    """Which values a node may use: not those of its own column, (n_nodes, d).

    Nodes are the values first, then the chances of the columns with holes. The latter
    are never used in turn, so that no cycle leads through them.
    """
    # NOTE[DIFF]: the authors have no one-hot blocks. Shown the rest of its block, a
    # node would say 1 minus the rest and learn nothing of the other columns.
    group = columns.group
    apart = group[:, None] != group
    # A chance may use all values, its own column's too: only nodes of values are blind.
    return torch.cat([apart, torch.ones_like(apart[known.first])])


def acyclicity(squares: Tensor) -> Tensor:
    """Return Σ_k tr(Aᵏ) / k! of a matrix A ≥ 0, which is 0 without cycles."""
    with torch.no_grad():
        power = total = squares
        for k in range(2, _N_TERMS + 1):
            power = torch.addmm(power, power, squares, beta=0, alpha=1 / k)
            total = total + power
        # The derivative of tr(Aᵏ) / k! is Aᵏ⁻¹ / (k − 1)!, transposed: the same sum
        # one term earlier, so that autograd need not walk back through the products.
        slope = (total - power).T + torch.eye(len(squares), device=squares.device)
    return total.trace() + (slope * (squares - squares.detach())).sum()


def moment_gap(
    values: Tensor, x: Tensor, observed: Tensor, logits: Tensor, known: Known
) -> Tensor:
    """Return the squared gaps of mean predictions from means of known cells, summed.

    A known cell counts by the inverse of its chance to be known.
    """
    # NOTE[DIFF]: the authors add 1.01, not 0.01, to the chance, which makes weights
    # almost equal, and divide by the weights of all cells instead of those known.
    chances = (logits.detach().sigmoid() + 0.01) / 1.02
    flags = observed[:, known.coordinates]
    weights = flags / chances[:, known.node]
    total = weights.sum(dim=0)
    means = (weights * x[:, known.coordinates]).sum(dim=0) / total.clamp(min=1e-9)
    gaps = values[:, known.coordinates].mean(dim=0) - means
    return torch.where(total > 0, gaps, 0.0).square().sum()
