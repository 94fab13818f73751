"""Filling missing coordinates: the mean at t = 0, trajectories for draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from macfm.flow._masks import Masks, inference_masks
from macfm.flow._middle import middle
from macfm.flow._noise import keyed_normal
from macfm.flow._path import Path, end_point
from macfm.flow._polish import Center, Polish
from macfm.flow._scores import Scores
from macfm.flow._solver import SolverConfig, integrate
from macfm.flow.network import GuidedEnsemble

ROW_STEP = 64
"""Batches have a multiple of so many rows."""

_BATCH = 4_096
# How far a median follows the mean that is known, of the way to it.
_TOWARDS_MEAN = 0.5
# How far it goes on to the networks' mean, of the share of the calm path in that.
_TOWARDS_CALM = 0.5


@dataclass(frozen=True)
class RowBatch:
    """Rows to fill, on the network's device."""

    n_rows: int
    """How many of them are asked for; the rest is padding."""
    x: Tensor
    """Encoded values, 0 where not observed, shape ``(n, d)``."""
    observed: Tensor
    """True where the table holds a value, shape ``(n, d)``."""
    keys: Tensor | None
    """One key a row for its noise, shape ``(n,)``; None where none is needed."""


@dataclass(frozen=True)
class TreesMedian:
    """What trees have to say of a median."""

    median: Tensor
    """What the middle one of them says, shape ``(n, d)``."""
    share: Tensor
    """How far it is believed, in [0, 1], shape ``(d,)``."""
    networks: Tensor
    """The mean that networks find without them, shape ``(n, d)``."""


@dataclass(frozen=True)
class Known:
    """The mean that draws should have."""

    mean: Tensor
    """That of the networks, with what the trees add, shape ``(n, d)``."""
    moves: Tensor
    """Coordinates that it counts for: numbers that repeat no value, shape ``(d,)``."""
    calm: Tensor | None
    """How far it is read along the calm path, shape ``(d,)``; None if it is not."""
    trees: TreesMedian | None
    """What trees say of the median, None where they were not asked."""
    scores: Scores
    """Those of these numbers that are read off their scores."""
    observed: Tensor
    """What is known of the rows themselves, shape ``(n, d)``."""


def conditional_mean(
    network: nn.Module,
    batch: RowBatch,
    *,
    path: Path,
    seed: int,
) -> Tensor:
    """Return E[X | observed], from one evaluation of the network at t = 0.

    The optimal velocity dx/ds at t = 0 is E[X | observed] − ε, so the straight line
    from ε along it ends at the conditional mean. Where held-out rows say that it pays,
    the mean goes on to the end of the path from no noise (`Calm`).

    Parameters
    ----------
    network : nn.Module
        A trained velocity network.
    batch : RowBatch
        The rows.
    path : Path
        As in training. A network that speaks dx/dt needs s'(0) > 0.
    seed : int
        Seeds the noise the network is started from (a preconditioned network does not
        see it).

    Returns
    -------
    Tensor, shape (n, d)
    """
    # NOTE[DIFF]: the paper fills by averaging trajectories, 1,000 evaluations a row.
    center = center_of(network, batch, path=path, seed=seed)
    if center is None:
        return _network_mean(network, batch, path=path, seed=seed)
    return center.polished


def _network_mean(
    network: nn.Module, batch: RowBatch, *, path: Path, seed: int
) -> Tensor:
    """Return the networks' conditional mean, ``(n, d)``."""
    masks = inference_masks(batch.observed)
    x_0 = batch.x
    # Where the noise at t = 0 is not seen, none gives the same without its rounding.
    if sees_noise_at_start(network):
        x_0 = _start(batch, masks=masks, seed=seed, draws=[0])
    t = torch.zeros(1, 1, dtype=x_0.dtype, device=x_0.device)
    s_t, ds_t = path.schedule(t)
    v_t = network(x_0, t, masks.cond)
    v_s = path.from_space(v_t, ds_t)
    mean = torch.where(masks.tgt, end_point(x_0, v_s, s_t), batch.x)
    calm = network.calm if isinstance(network, GuidedEnsemble) else None
    if calm is None:
        return mean
    return calm.move(network, batch.x, masks.cond, mean, path=path)


def sees_noise_at_start(network: nn.Module) -> bool:
    """Whether a network's conditional mean depends on the noise at t = 0."""
    return getattr(network, "sees_noise_at_start", True)


def trajectories(
    network: nn.Module,
    batch: RowBatch,
    *,
    path: Path,
    config: SolverConfig,
    seed: int,
    draws: Sequence[int],
    stretched: bool,
    center: Center | None = None,
) -> Tensor:
    """Carry noise to data with the observed coordinates held (alg:inference).

    Parameters are those of `conditional_mean`, with the solver's settings in `config`
    and the numbers of the draws, each of which selects its own noise. They are
    `stretched` to the width of errors, as held-out rows told, where they are asked for
    themselves. What `center_of` makes of the rows is worked out unless it is given.

    Returns
    -------
    Tensor, shape (n_draws, n, d)
        Observed coordinates are those of ``batch.x``, exactly.
    """
    masks = inference_masks(batch.observed)
    x_0 = _start(batch, masks=masks, seed=seed, draws=draws)
    x_1 = _carry(
        network,
        x_0,
        batch.x,
        batch.observed,
        config=config,
        path=path,
    )
    drawn = x_1.view(len(draws), *batch.x.shape)
    polish = _polish_of(network)
    if polish is None:
        return drawn
    if center is None:
        center = center_of(network, batch, path=path, seed=seed)
    assert center is not None
    assert batch.keys is not None
    return polish.move(
        drawn,
        center,
        batch.observed,
        keys=batch.keys,
        seed=seed,
        draws=draws,
        stretched=stretched,
    )


def center_of(
    network: nn.Module, batch: RowBatch, *, path: Path, seed: int
) -> Center | None:
    """Return the mean that draws are moved to, None where they stay."""
    polish = _polish_of(network)
    if polish is None:
        return None
    mean = _network_mean(network, batch, path=path, seed=seed)
    return polish.center(batch.x, batch.observed, mean, n_rows=batch.n_rows)


def known_mean(
    network: nn.Module, batch: RowBatch, center: Center | None
) -> Known | None:
    """Return what is known of the draws of a batch's rows beside them."""
    polish, some = _polish_of(network), slice(0, batch.n_rows)
    if polish is None or center is None:
        return None
    trees = None
    if polish.in_median is not None:
        median = polish.medians(batch.observed, center, n_rows=batch.n_rows)
        trees = TreesMedian(median[some], polish.in_median, center.networks[some])
    calm = network.calm if isinstance(network, GuidedEnsemble) else None
    return Known(
        mean=center.polished[some],
        moves=polish.moves,
        calm=None if calm is None else calm.share,
        trees=trees,
        scores=polish.scores.take(polish.moves[polish.scores.number]),
        observed=batch.observed[some],
    )


def _polish_of(network: nn.Module) -> Polish | None:
    """Return what held-out rows add to a network's answers, if anything."""
    return network.polish if isinstance(network, GuidedEnsemble) else None


@torch.no_grad()
def draw_rows(
    network: nn.Module,
    x: Tensor,
    observed: Tensor,
    *,
    eps: Tensor,
    path: Path,
    config: SolverConfig,
) -> Tensor:
    """Draw rows from given noise, without polish.

    The noise is ``(n, d)``, or ``(n_draws, n, d)`` for several draws of each row; they
    come one after the other, shape ``(n_draws * n, d)``.
    """
    return _carry(
        network,
        torch.where(observed, x, eps).view(-1, x.shape[1]),
        x,
        observed,
        config=config,
        path=path,
    )


@torch.no_grad()
def mean_rows(network: nn.Module, x: Tensor, observed: Tensor, *, path: Path) -> Tensor:
    """Return the networks' conditional mean of rows, without polish, ``(n, d)``."""
    means = [
        _network_mean(network, batch, path=path, seed=0)[: batch.n_rows]
        for batch in row_batches(x, observed, None, batch_size=_BATCH)
    ]
    return torch.cat(means)


def _carry(
    network: nn.Module,
    x_0: Tensor,
    x: Tensor,
    observed: Tensor,
    *,
    config: SolverConfig,
    path: Path,
) -> Tensor:
    """Carry starting points of rows, several of each, with what was observed held."""
    n_points = len(x_0) // max(len(x), 1)
    x_keep, m_keep = x.repeat(n_points, 1), observed.repeat(n_points, 1)
    # A guide works out a row once for all its points.
    m_cond = observed if isinstance(network, GuidedEnsemble) else m_keep

    def velocity(x: Tensor, t: float) -> Tensor:
        return network(x, torch.full((1, 1), t, dtype=x.dtype, device=x.device), m_cond)

    def project(x: Tensor) -> Tensor:
        return torch.where(m_keep, x_keep, x)

    return integrate(velocity, x_0, config=config, path=path, project=project)


def aggregate(
    draws: Tensor,
    *,
    is_num: Tensor,
    center: Literal["mean", "median"],
    known: Known | None = None,
) -> Tensor:
    """Reduce trajectories to one value a coordinate.

    Parameters
    ----------
    draws : Tensor, shape (n_trials, n, d)
        Trajectories of the same rows.
    is_num : Tensor of bool, shape (d,)
        Numeric coordinates take the `center`. The others are category codes, whose
        mean is the averaged category probability.
    center : {"mean", "median"}
        The mean has the least squared error, the median the least absolute error.
    known : Known or None
        What is known of their mean. A median goes half of the way by which the draws'
        mean misses it: draws are few, and their mean and the one known err apart. Where
        that is read along the calm path, whose end is a middle too, the median goes on
        to it by half of that share. Where trees have a say it is taken around the
        networks' own mean, and goes to the trees' median by their share. A number that
        is read off its score has the median of that: of a long tail a mean of few draws
        says little. Of a number that repeats a value the median is one of the draws.

    Returns
    -------
    Tensor, shape (n, d)
    """
    # Draws are added one by one: a reduction over them takes another order, with other
    # last bits, at the edges of a batch.
    total = torch.zeros_like(draws[0], dtype=torch.float64)
    for draw in draws:
        total += draw
    mean = (total / len(draws)).to(draws.dtype)
    if center == "mean":
        return mean
    median = middle(draws, dim=0)
    if known is not None:
        moved = median + _TOWARDS_MEAN * (known.mean - mean)
        trees = known.trees
        networks = known.mean if trees is None else trees.networks
        moved = moved + (networks - known.mean)
        if known.calm is not None:
            moved = torch.lerp(moved, networks, _TOWARDS_CALM * known.calm)
        if trees is not None:
            moved = torch.lerp(moved, trees.median, trees.share)
        # Half-way between an atom and another number there is nothing.
        median = torch.where(known.moves, moved, draws.median(dim=0).values)
        read = known.scores.settle(median)
        median = torch.where(known.observed, median, read)
    return torch.where(is_num, median, mean)


def row_batches(
    x: Tensor, observed: Tensor, keys: Tensor | None, *, batch_size: int
) -> Iterator[RowBatch]:
    """Cut rows into batches of whole multiples of 64, at least one.

    Small matrix products take other code paths than large ones, with other last bits;
    padded with its own rows, a batch gives a row's result whatever came with it.
    ``n_rows`` says how many results to keep.
    """
    batch_size = max(batch_size // ROW_STEP, 1) * ROW_STEP
    for start in range(0, len(x), batch_size):
        stop = min(start + batch_size, len(x))
        n_padded = -(-(stop - start) // ROW_STEP) * ROW_STEP
        if n_padded == stop - start:
            some: slice | Tensor = slice(start, stop)
        else:
            some = torch.arange(n_padded, device=x.device) % (stop - start) + start
        yield RowBatch(
            n_rows=stop - start,
            x=x[some],
            observed=observed[some],
            keys=None if keys is None else keys[some],
        )


def _start(batch: RowBatch, *, masks: Masks, seed: int, draws: Sequence[int]) -> Tensor:
    """Return noise on the targets and the observed values elsewhere.

    One draw after the other, shape ``(n_draws * n, d)``.
    """
    assert batch.keys is not None
    d = batch.x.shape[1]
    eps = keyed_normal(batch.keys, seed=seed, draws=draws, d=d).to(batch.x.dtype)
    return torch.where(masks.tgt, eps, batch.x).view(-1, d)
