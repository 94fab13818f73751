"""Encoded rows made ready for training: held out, guided, their holes guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from macfm.flow._atoms import Atoms
from macfm.flow._gaussian import Moments, fit_gaussian
from macfm.flow._guide import MAX_COORDINATES, Gaussian
from macfm.flow._levels import nearest, number_rows
from macfm.flow._pace import in_threads, one_thread
from macfm.flow._path import Path
from macfm.flow._rules import Rules, find_rules
from macfm.flow._sampler import draw_rows
from macfm.flow._scores import Scores
from macfm.flow._solver import SolverConfig
from macfm.flow._validation import Validation, hold_out, make_validation

# A ridge counts like so many rows of independent numbers. The least one is taken whose
# squared error on hidden cells of left-out rows is within a quarter of a standard error
# of the best, or within this share of it: a larger one would bend the slopes between
# columns. In few rows the standard error is so large that anything would pass, so it
# counts in proportion.
_ROWS_FOR_SLACK = 200
_STANDARD_ERRORS = 0.25
_SLACK = 0.01
_PSEUDO_ROWS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
_LEAST_RIDGE = 1e-4
_N_FOLDS = 4
# With more coordinates two folds of fewer rows must do.
_FEW_COORDINATES = 40
_MAX_WIDE_ROWS = 500
# Left-out rows hide so many of their columns, so many times over: a guide that is right
# of whole rows alone is of no use.
_HIDE_RATE = 0.4
_N_HIDINGS = 3
_MAX_ITER, _TRIAL_ITER = 50, 15
# From the moments of the ridge before, which are near.
_NEXT_ITER = 6
_TOL = 1e-4
# A covariance is nearly as good from so many rows and cells, and EM much faster; a few
# rounds with more then mend the rest, which rare categories have most of.
_MAX_FIT_ROWS, _MAX_FIT_CELLS = 10_000, 400_000
_MAX_LAST_ROWS, _MAX_LAST_CELLS = 50_000, 2_500_000
_LAST_ITER = 4
# Moments of most of the rows are nearly those of all.
_WHOLE_ITER = 2
_MAX_TRIAL_ROWS = 1_500
# Guesses of the holes: as many as fit into this many cells, at most eight.
_MAX_FILL_CELLS = 2**24
_N_REFILLS = 2
# So many rows, chosen by lot, have theirs drawn by a network; the others the guide's.
_MAX_REFILLED = {"cpu": 8_192, "cuda": 131_072}
# Good enough for guesses that a network is only shown, never scored on.
_QUICK = SolverConfig(solver="euler", n_steps=6, grid="uniform", grid_beta=1.0)
_BATCH = 4_096


@dataclass(frozen=True)
class RowConfig:
    """What the rows are made ready for."""

    guide: bool
    """Whether to fit a Gaussian to them."""
    move_missing: bool
    """Whether missing coordinates are transported, which takes guesses of them."""
    validation_share: float
    """Share of the rows held out to judge by."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows to train on, and what was found out about them."""

    x: Tensor
    """Rows to train on, 0 where not observed, shape ``(n, d)``."""
    observed: Tensor
    """True where they hold a value, shape ``(n, d)``."""
    weights: Tensor | None
    """How much each of them counts, shape ``(n,)``; None if all count alike."""
    held_weights: Tensor | None
    """The same of the held-out rows."""
    fills: Tensor | None
    """Their guesses, shape ``(n_fills, n, d)``."""
    rules: Rules | None
    """Rules that their holes follow."""
    validation: Validation | None
    """Held-out rows with cells hidden."""
    levels: list[tuple[Tensor, Tensor]]
    """Coordinates and encoded categories of each column of categories."""
    atoms: Atoms
    """Values that columns of numbers repeat."""
    scores: Scores
    """Normal scores that stand beside numbers."""
    guide: Gaussian | None
    """The Gaussian of the rows to train on."""
    whole_guide: Gaussian | None
    """The Gaussian of all rows, for use after training."""
    ridge: float | None
    """How many rows of independent numbers both Gaussians count besides."""

    @property
    def has_guesses(self) -> bool:
        """Whether there are holes that were guessed."""
        return self.fills is not None and not bool(self.observed.all())

    @property
    def n_rows(self) -> int:
        """How many rows there are, held-out ones included."""
        n_held = 0 if self.validation is None else self.validation.n_rows
        return len(self.x) + n_held

    def with_held_out(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return rows, flags and weights with those of the held-out rows."""
        known = self.validation
        if known is None:
            return self.x, self.observed, self.weights
        first = slice(0, known.n_rows)
        observed = (known.masks.cond | known.masks.tgt)[first]
        x = torch.where(observed, known.x[first], 0.0)
        weights = self.weights
        if weights is not None and self.held_weights is not None:
            weights = torch.cat([weights, self.held_weights])
        return torch.cat([self.x, x]), torch.cat([self.observed, observed]), weights

    def guide_of(
        self, x: Tensor, observed: Tensor, *, weights: Tensor | None
    ) -> Gaussian:
        """Return the Gaussian of some of the rows, with the same ridge."""
        assert self.ridge is not None
        with one_thread() as n_threads:
            moments = _fit(
                x.cpu().numpy(),
                observed.cpu().numpy(),
                self.ridge,
                weights=None if weights is None else weights.cpu().numpy(),
                device=x.device,
                n_threads=n_threads,
            )
        return _gaussian(*moments).to(x.device)

    def guess_again(
        self,
        network: nn.Module,
        *,
        path: Path,
        generator: torch.Generator,
    ) -> Tensor:
        """Draw the holes from the network as it is by now, as `fills`."""
        assert self.fills is not None
        fills = self.fills[:_N_REFILLS].clone()
        holes = torch.nonzero(~self.observed.all(dim=1)).squeeze(1)
        most = _MAX_REFILLED[holes.device.type]
        if len(holes) > most:
            lot = torch.randperm(
                len(holes), generator=generator, device=generator.device
            )
            holes = holes[lot[:most]]
        for rows in holes.split(_BATCH):
            m_cond, x = self.observed[rows], self.x[rows]
            shape = len(fills), *x.shape
            eps = torch.randn(shape, generator=generator, device=x.device)
            drawn = draw_rows(network, x, m_cond, eps=eps, path=path, config=_QUICK)
            for place, levels in self.levels:
                drawn[:, place] = levels[nearest(drawn[:, place], levels)]
            drawn = self.atoms.snap(self.scores.settle(drawn)).view(shape)
            fills[:, rows] = torch.where(m_cond, x, drawn)
        return fills


def prepare_rows(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    weights: np.ndarray | None,
    group: np.ndarray,
    is_num: np.ndarray,
    atoms: Atoms,
    scores: Scores,
    path: Path,
    config: RowConfig,
    seed: int,
    device: torch.device,
) -> TrainingRows:
    """Hold rows out, fit the guide and the rules, guess the holes.

    Parameters
    ----------
    x, observed : ndarray, shape (n, d)
        Encoded rows and where they hold a value; every row holds one.
    weights : ndarray, shape (n,), or None
        How much each row counts; None counts all alike.
    group, is_num : ndarray, shape (d,)
        Column of each coordinate, and whether it is numeric.
    atoms : Atoms
        Values that columns of numbers repeat, on the CPU.
    scores : Scores
        Normal scores that stand beside numbers, on the CPU.
    path : Path
        As in training.
    config : RowConfig
        What is wanted.
    seed : int
        Seed of the split, the guesses and the held-out rows' masks.
    device : torch.device
        Where the tensors go.
    """
    generator = torch.Generator().manual_seed(seed)
    rng = np.random.default_rng(seed)
    trained, held = (
        part.numpy()
        for part in hold_out(len(x), share=config.validation_share, generator=generator)
    )
    known = x[trained], observed[trained]
    rules = None
    if config.move_missing:
        rules = find_rules(*known, group=group, is_num=is_num)

    guide = whole_guide = ridge = None
    if config.guide and x.shape[1] <= MAX_COORDINATES:
        with one_thread() as n_threads:
            ridge = _choose_ridge(
                *known, group=group, rng=rng, device=device, n_threads=n_threads
            )
            fit = partial(_fit, ridge=ridge, device=device, n_threads=n_threads)
            some = None if weights is None else weights[trained]
            moments = fit(*known, weights=some)
            whole = fit(x, observed, start=moments, weights=weights)
            guide = _gaussian(*moments).to(device)
            whole_guide = _gaussian(*whole).to(device)

    def tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(device)

    fills = None
    levels = [
        (tensor(place), tensor(codes))
        for place, codes in _levels(x, observed, group=group, is_num=is_num)
    ]
    atoms, scores = atoms.to(device), scores.to(device)
    if config.move_missing:
        fills = _guesses(
            x,
            observed,
            group=group,
            levels=levels,
            atoms=atoms,
            scores=scores,
            guide=guide,
            rng=rng,
            device=device,
        )
    validation = make_validation(
        torch.from_numpy(x[held]) if fills is None else fills[0, held].cpu(),
        torch.from_numpy(observed[held]),
        group=torch.from_numpy(group),
        rules=rules,
        move_missing=config.move_missing,
        t=path.readout_time,
        generator=generator,
    )
    return TrainingRows(
        x=tensor(x[trained]),
        observed=tensor(observed[trained]),
        weights=None if weights is None else tensor(weights[trained]),
        held_weights=None if weights is None else tensor(weights[held]),
        fills=None if fills is None else fills[:, trained],
        rules=None if rules is None else rules.to(device),
        validation=None if validation is None else validation.to(device),
        levels=levels,
        atoms=atoms,
        scores=scores,
        guide=guide,
        whole_guide=whole_guide,
        ridge=ridge,
    )


def _fit(
    x: np.ndarray,
    observed: np.ndarray,
    ridge: float,
    *,
    device: torch.device | None,
    start: Moments | None = None,
    weights: np.ndarray | None = None,
    max_iter: int = _MAX_ITER,
    n_threads: int = 1,
) -> Moments:
    """Fit to evenly spaced rows, at most so many, and a few rounds to more of them.

    The ridge counts like so many rows. What it adds goes with the root of a variance:
    a rare category has a small one, which a number's ridge would drown.
    """

    def fit(step: int, start: Moments | None, max_iter: int) -> Moments:
        some = slice(None, None, step)
        rows, known = x[some], observed[some]
        square = np.square(rows, dtype=float).sum(axis=0, where=known)
        spread = np.sqrt(square / np.maximum(known.sum(axis=0), 1))
        return fit_gaussian(
            rows,
            known,
            ridge=np.maximum(ridge / len(rows) * spread, _LEAST_RIDGE),
            max_iter=max_iter,
            tol=_TOL,
            start=start,
            weights=None if weights is None else weights[some],
            device=device,
            n_threads=n_threads,
        )

    first = _step(x, _MAX_FIT_ROWS, _MAX_FIT_CELLS)
    last = _step(x, _MAX_LAST_ROWS, _MAX_LAST_CELLS)
    if first == last:
        return fit(first, start, max_iter)
    if start is not None:
        return fit(last, start, _WHOLE_ITER)
    return fit(last, fit(first, start, max_iter), _LAST_ITER)


def _step(x: np.ndarray, most_rows: int, most_cells: int) -> int:
    """Return which of the rows are looked at: every so many-th."""
    n, d = x.shape
    return -(-n // min(most_rows, max(most_cells // d, 1)))


def _gaussian(mean: np.ndarray, covariance: np.ndarray) -> Gaussian:
    precision = np.linalg.inv(covariance)
    return Gaussian(
        torch.from_numpy(mean), torch.from_numpy((precision + precision.T) / 2)
    )


def _choose_ridge(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    group: np.ndarray,
    rng: np.random.Generator,
    device: torch.device,
    n_threads: int,
) -> float:
    """Return the ridge whose guide finds hidden cells of left-out rows best.

    It is tried on some of the rows, and counts like as many of those that the guide is
    fitted to.
    """
    is_wide = x.shape[1] > _FEW_COORDINATES
    rows = rng.permutation(len(x))[: _MAX_WIDE_ROWS if is_wide else _MAX_TRIAL_ROWS]
    n_folds = min(2 if is_wide else _N_FOLDS, len(rows))
    if n_folds < 2:
        return max(_PSEUDO_ROWS)
    folds = []
    for k in range(n_folds):
        left_out = np.arange(len(rows)) % n_folds == k
        n_left_out = _N_HIDINGS * np.count_nonzero(left_out)
        hidden = rng.random((n_left_out, int(group.max()) + 1)) < _HIDE_RATE
        folds.append((left_out, hidden[:, group]))
    errors = np.zeros((len(_PSEUDO_ROWS), len(rows)))

    def judge(fold: tuple[np.ndarray, np.ndarray]) -> None:
        left_out, hidden = fold
        here, there = rows[~left_out], np.tile(rows[left_out], _N_HIDINGS)
        hidden = hidden & observed[there]
        true = torch.from_numpy(x[there]).to(device)
        shown = torch.from_numpy(observed[there] & ~hidden).to(device)
        scored = torch.from_numpy(hidden).to(device)
        moments = None
        for place, ridge in enumerate(_PSEUDO_ROWS):
            moments = _fit(
                x[here],
                observed[here],
                ridge,
                start=moments,
                device=device,
                max_iter=_TRIAL_ITER if moments is None else _NEXT_ITER,
            )
            found = _gaussian(*moments).to(device).fill(true, shown)
            miss = torch.where(scored, true - found, 0.0).double().square()
            by_row = miss.sum(dim=1).view(_N_HIDINGS, -1).sum(dim=0)
            errors[place, left_out] = by_row.cpu().numpy()

    in_threads(judge, folds, n_threads=n_threads if device.type == "cpu" else 1)
    best = errors[errors.sum(axis=1).argmin()]
    gap = errors - best
    share = _STANDARD_ERRORS * min(len(rows) / _ROWS_FOR_SLACK, 1.0)
    slack = share * gap.std(axis=1) / np.sqrt(len(rows))
    good = gap.mean(axis=1) <= np.maximum(slack, _SLACK * best.mean())
    return float(np.array(_PSEUDO_ROWS)[good].min())


def _levels(
    x: np.ndarray, observed: np.ndarray, *, group: np.ndarray, is_num: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return coordinates and encoded categories of every column of categories."""
    levels = []
    for k in np.setdiff1d(group[~is_num], group[is_num]):
        place = np.flatnonzero(group == k)
        seen = x[observed[:, place[0]]][:, place]
        if len(seen):
            levels.append((place, number_rows(seen)[0]))
    return levels


def _guesses(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    group: np.ndarray,
    levels: list[tuple[Tensor, Tensor]],
    atoms: Atoms,
    scores: Scores,
    guide: Gaussian | None,
    rng: np.random.Generator,
    device: torch.device,
) -> Tensor:
    """Fill the holes several times over, shape (n_fills, n, d), float32.

    By draws of the Gaussian, categories moved to the nearest that occurs and numbers
    to those of their scores and to the atom they say; without a Gaussian by values of
    other rows.
    """
    if observed.all():
        return torch.from_numpy(x[None]).to(device)
    n_fills = int(np.clip(_MAX_FILL_CELLS // x.size, 1, 8))
    if guide is None:
        fills = np.repeat(x[None], n_fills, axis=0)
        for fill in fills:
            _from_other_rows(fill, observed, group=group, rng=rng)
        return torch.from_numpy(fills).to(device)
    parts, noise = [], _noise(rng, device)
    for rows in np.array_split(np.arange(len(x)), -(-len(x) // _BATCH)):
        here, shown = (torch.from_numpy(p[rows]).to(device) for p in (x, observed))
        drawn = guide.draw(here, shown, eps=noise((n_fills, *here.shape)))
        for place, codes in levels:
            drawn[..., place] = codes[nearest(drawn[..., place], codes)]
        drawn = atoms.snap(scores.settle(drawn))
        parts.append(torch.where(shown, here, drawn))
    return torch.cat(parts, dim=1)


def _noise(
    rng: np.random.Generator, device: torch.device
) -> Callable[[tuple[int, ...]], Tensor]:
    """Return a source of normal noise in float64 on a device, a GPU's being its own."""
    if device.type == "cpu":
        return lambda shape: torch.from_numpy(rng.standard_normal(shape))
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))
    return lambda shape: torch.randn(
        shape, generator=generator, device=device, dtype=torch.float64
    )


def _from_other_rows(
    fill: np.ndarray,
    observed: np.ndarray,
    *,
    group: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Fill each column's holes with values of other rows, in place."""
    for k in range(int(group.max()) + 1):
        place = np.flatnonzero(group == k)
        known = observed[:, place[0]]
        holes, donors = np.flatnonzero(~known), np.flatnonzero(known)
        if len(donors):
            chosen = rng.choice(donors, size=len(holes))
            fill[np.ix_(holes, place)] = fill[np.ix_(chosen, place)]
