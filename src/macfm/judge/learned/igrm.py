"""IGRM: GRAPE, and a graph among rows that is drawn anew from what it learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from macfm.judge.learned._base import Clock, MinMax, Model, Rows, by_chunks
from macfm.judge.learned._bipartite import Bipartite, Head, Task, tasks
from macfm.judge.learned._step import Step, descend, make_optimizer


class IGRM(Model):
    """GRAPE with one more layer, in which rows hear their friends.

    A graph auto-encoder gives every two rows a probability p of being friends. In
    training friends are drawn, weigh p, and stay for `redraw_every` steps; the
    auto-encoder learns from the error through p in the steps that draw. A row, new
    or not, is filled with all training rows as friends, each as likely as p says.
    """

    def fit(self, rows: Rows, clock: Clock) -> None:
        """Take the steps, then freeze columns and training rows."""
        settings, d = self.settings, rows.x.shape[1]
        self._scale = MinMax.fit(rows, self.columns)
        unit = self._scale.unit(rows.x)
        width = settings["width"]
        self._graph = Bipartite(d, width=width, n_layers=settings["n_layers"])
        self._friends = FriendLayer(width)
        self._head = Head(width)
        self._encoder = Encoder(width, settings["d_hidden"], settings["d_latent"])
        networks = nn.ModuleList([self._graph, self._friends, self._head])
        optimizers = [
            make_optimizer(
                network.to(self.device).parameters(),
                rate=settings["learning_rate"],
                fused=False,
            )
            for network in (networks, self._encoder)
        ]
        generator = self.generator()
        n_batch = min(settings["batch_size"] or len(rows), len(rows))
        random = random_graph(n_batch, generator)
        steps = _Steps.of(partial(self._loss, random), optimizers)
        shares = torch.empty(0)
        for number, task in enumerate(
            tasks(
                unit,
                rows.observed,
                self.columns.group,
                settings=settings,
                clock=clock,
                generator=generator,
            )
        ):
            batch = (task.unit, task.observed, task.shown)
            if number % settings["redraw_every"] == 0:
                shares = steps.learn_friends(*batch, draw_lot(n_batch, generator))
            elif n_batch < len(rows):
                # Rows that have not met before need a graph of their own.
                steps.among_strangers(*batch, draw_lot(n_batch, generator))
            else:
                steps.among_friends(*batch, shares)
        self._freeze(rows, unit)

    def _loss(
        self,
        random: Tensor,
        task: Task,
        *,
        lot: Tensor | None,
        shares: Tensor | None,
        learns: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return the loss, and friends' shares: those given, or drawn by a lot."""
        states, columns = self._graph(task.unit, task.shown)
        if shares is None:
            assert lot is not None
            with torch.set_grad_enabled(learns):
                likely = likelihoods(self._encoder(states, random))
                shares = drawn_shares(likely, lot)
        guess = self._head(self._friends(states, shares, states), columns)
        return task.loss(guess), shares

    def _freeze(self, rows: Rows, unit: Tensor) -> None:
        self._columns = self._graph.frozen_columns(unit, rows.observed)
        self._others = by_chunks(self._states, rows)
        with torch.no_grad():
            self._codes = self._encoder(self._others)

    def _states(self, part: Rows) -> Tensor:
        unit = self._scale.unit(part.x)
        return self._graph.rows(unit, part.observed, self._columns)

    def fill(self, rows: Rows) -> Tensor:
        """Fill from each row's cells, the frozen columns and the training rows."""

        def guess(part: Rows) -> Tensor:
            states = self._states(part)
            likely = likelihoods(self._codes, self._encoder(states))
            heard = self._friends(states, expected_shares(likely), self._others)
            return self._scale.back(self._head(heard, self._columns[-1]))

        return by_chunks(guess, rows)


@dataclass(frozen=True)
class _Steps:
    """Steps of training, three that each have a graph of their own on a GPU."""

    learn_friends: Step
    """Of a batch and a lot, by which it draws friends and learns to; gives shares."""
    among_strangers: Step
    """Of a batch and a lot, by which it draws friends."""
    among_friends: Step
    """Of a batch and the shares of its friends."""

    @classmethod
    def of(
        cls,
        loss_of: Callable[..., tuple[Tensor, Tensor]],
        optimizers: Sequence[torch.optim.Optimizer],
    ) -> _Steps:
        """Make them of a loss; the last optimiser is the encoder's."""

        def learn(*batch: Tensor) -> Tensor:
            *cells, lot = batch
            loss, shares = loss_of(Task(*cells), lot=lot, shares=None, learns=True)
            descend(loss, optimizers)
            return shares.detach()

        def draw(*batch: Tensor) -> Tensor:
            *cells, lot = batch
            loss, shares = loss_of(Task(*cells), lot=lot, shares=None, learns=False)
            descend(loss, optimizers[:-1])
            return shares

        def keep(*batch: Tensor) -> Tensor:
            *cells, shares = batch
            loss, _ = loss_of(Task(*cells), lot=None, shares=shares, learns=False)
            descend(loss, optimizers[:-1])
            return shares

        return cls(*(Step(move, optimizers) for move in (learn, draw, keep)))


class FriendLayer(nn.Module):
    """Rows hear the mean of W_f w h over friends and become ReLU(W_g [mean, h])."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(width, width)
        self.node = nn.Linear(2 * width, width)

    def forward(self, rows: Tensor, shares: Tensor, friends: Tensor) -> Tensor:
        """Return new states of rows, of length 1, shape ``(n, width)``.

        `shares` has the weight of each friend over the number of friends, shape
        ``(n, n_friends)``.
        """
        has_friends = (shares > 0).any(dim=1, keepdim=True)
        mean = torch.where(has_friends, self.message(shares @ friends), 0.0)
        new = self.node(torch.cat([mean, rows], dim=1)).relu()
        return functional.normalize(new, dim=1)


class Encoder(nn.Module):
    """Graph auto-encoder, Z = ReLU(Â (Â H W₁) W₂)."""

    def __init__(self, width: int, d_hidden: int, d_latent: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, d_hidden, bias=False)
        self.second = nn.Linear(d_hidden, d_latent, bias=False)

    def forward(self, rows: Tensor, graph: Tensor | None = None) -> Tensor:
        """Return codes of rows, in a graph among them or each by itself."""
        if graph is None:
            return self.second(self.first(rows)).relu()
        return (graph @ self.second(graph @ self.first(rows))).relu()


def random_graph(n: int, generator: torch.Generator) -> Tensor:
    """Return D^-½ (A + I) D^-½ of n random undirected edges, shape ``(n, n)``."""
    device = generator.device
    ends = torch.randint(n, (2, n), generator=generator, device=device)
    graph = torch.eye(n, device=device)
    graph[ends[0], ends[1]] = 1.0
    graph[ends[1], ends[0]] = 1.0
    root = graph.sum(dim=1).rsqrt()
    return root[:, None] * graph * root


def likelihoods(codes: Tensor, of: Tensor | None = None) -> Tensor:
    """Return how likely rows with codes `of` and `codes` are friends, (n_of, n).

    Products of codes, none of which is below 0, over the largest of `codes`, which
    is that of a row with itself.
    """
    largest = codes.square().sum(dim=1).amax().clamp(min=1e-12)
    of = codes if of is None else of
    return (of @ codes.T / largest).clamp(max=1.0)


def draw_lot(n: int, generator: torch.Generator) -> Tensor:
    """Draw what `drawn_shares` goes by, uniform in [0, 1], shape ``(n, n)``."""
    return torch.rand((n, n), generator=generator, device=generator.device)


def drawn_shares(likely: Tensor, lot: Tensor) -> Tensor:
    """Choose friends by lot, return p of each over their number, 0 for others; (n, n).

    Gradients reach p, not the draw: the reference draws a relaxed Bernoulli variable
    and rounds it, which makes a Bernoulli variable, and reads edges off it.
    """
    # NOTE[DIFF]: in the reference a row hears only rows before it; friendship is
    # mutual here, so that the order of rows does not matter.
    earlier = (lot < likely.detach()).tril(diagonal=-1)
    friends = earlier | earlier.T
    n_friends = friends.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.where(friends, likely, 0.0) / n_friends


def expected_shares(likely: Tensor) -> Tensor:
    """Return the mean of friends' weights over the mean of their number, (n_of, n).

    NOTE[DIFF]: the reference uses the graph it drew last and has no answer for new
    rows. With a weight p that is there with probability p, these are p² / Σ p.
    """
    n_friends = likely.sum(dim=1, keepdim=True)
    return likely.square() / n_friends.clamp(min=1e-12)
