"""How far trees are believed, and how wide draws are: what held-out rows say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from macfm.flow._atoms import Atoms
from macfm.flow._cells import is_first
from macfm.flow._forest import ColumnTrees
from macfm.flow._levels import Levels
from macfm.flow._margins import Margins, Number, bend_numbers, cut_atoms
from macfm.flow._path import Path
from macfm.flow._polish import Center, Polish
from macfm.flow._sampler import draw_rows
from macfm.flow._scores import Scores
from macfm.flow._solver import SolverConfig
from macfm.flow._stretch import Stretch, find_stretch
from macfm.flow._trust import by_column, of_each, weighed
from macfm.flow._validation import Validation
from macfm.flow.network import GuidedEnsemble

# Trees that are hardly believed are not worth keeping.
_LEAST_SHARE = 0.03
# What trees are believed before any row speaks, of numbers and of categories.
_BEFORE = 0.3, 0.5
# Where networks err by less than this, in standard deviations, trees that are further
# from them than on any held-out row flatten what a line continues.
_NEARLY_EXACT = 0.2
# How far draws of numbers with atoms go with the trees, before any row speaks.
_FOLLOWS_BEFORE = 0.5
# How far beyond their share trees may be believed in a median, of the way to 1, what is
# thought of it before held-out rows speak, and how sure these must be to object.
_FURTHER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
_FURTHER_BEFORE = 0.5
_STANDARD_ERRORS = 0.5
# Draws are judged by so many coordinates: a GPU has time for all.
_MAX_DRAWN_CELLS = {"cpu": 480_000, "cuda": 4_000_000}
# How many times fewer in a hurry.
_HURRIED = 4
# So many rows tell what the values of a column are.
_KNOWN_ROWS = 20_000
# Of each row, which is what a CRPS takes.
_N_DRAWS = 2


@dataclass(frozen=True)
class Calibration:
    """What held-out rows say of trees and draws."""

    polish: Polish
    """What to add to the networks' answers."""
    mean: Tensor
    """The held-out rows' mean with it, shape ``(n, d)``."""


@dataclass(frozen=True)
class Witness:
    """A network and trees, and rows that neither has seen."""

    network: GuidedEnsemble
    """What finds hidden cells."""
    trees: Sequence[ColumnTrees]
    """What changes the answer."""
    validation: Validation
    """The rows."""


@dataclass(frozen=True)
class _Testimony:
    """What a witness says of its rows, and trees as far as they are believed."""

    polish: Polish
    """Trees, and how far they are believed."""
    center: Center
    """Mean of the network, and with the trees."""
    validation: Validation
    """The rows."""

    @classmethod
    def of(cls, polish: Polish, mean: Tensor, validation: Validation) -> _Testimony:
        """Hear the trees of a polish about rows whose networks' mean is known."""
        x, m_cond = validation.x, validation.masks.cond
        center = polish.center(x, m_cond, mean, n_rows=len(x))
        return cls(polish=polish, center=center, validation=validation)

    def medians(self) -> Tensor:
        """Return what the middle one of the trees says, shape ``(n, d)``."""
        m_cond = self.validation.masks.cond
        return self.polish.medians(m_cond, self.center, n_rows=len(m_cond))

    def some(self, n: int) -> _Testimony:
        """Return what is said of the first rows only, of one at least."""
        rows = slice(0, max(n, 1))
        center = Center(self.center.networks[rows], self.center.polished[rows])
        return replace(self, center=center, validation=self.validation.some(rows))

    def drawn(
        self,
        network: GuidedEnsemble,
        *,
        n: int,
        path: Path,
        solver: SolverConfig,
        generator: torch.Generator,
    ) -> Tensor:
        """Draw the rows from noise of their own, shape ``(n_draws, n, d)``."""
        x, m_cond = self.validation.x, self.validation.masks.cond
        shape = (n, *x.shape)
        eps = torch.randn(shape, generator=generator, device=x.device)
        drawn = draw_rows(network, x, m_cond, eps=eps, path=path, config=solver)
        return drawn.view(shape)


def calibrate(
    held_out: Witness,
    folds: Sequence[Witness],
    *,
    levels: Sequence[tuple[Tensor, Tensor]],
    atoms: Atoms,
    scores: Scores,
    margins: bool,
    hurried: bool,
    x: Tensor,
    observed: Tensor,
    group: Tensor,
    is_num: Tensor,
    path: Path,
    solver: SolverConfig,
    generator: torch.Generator,
) -> Calibration:
    """Find how far trees are believed and may go, and how wide draws must be.

    Parameters
    ----------
    held_out : Witness
        The trained networks, the trees, and the held-out rows.
    folds : sequence of Witness
        Of few rows, all that were left out in turn, by guides and trees of the others;
        empty where held-out rows alone are asked.
    levels : sequence of tuple of Tensor
        Coordinates and encoded categories of each column of categories.
    atoms : Atoms
        Values that numbers repeat.
    scores : Scores
        Normal scores beside numbers, from which draws may be read.
    margins : bool
        Whether all draws of a column are made to look like its values.
    hurried : bool
        Whether fewer rows are drawn, since time is short.
    x, observed : Tensor, shape (n, d)
        All rows, and what is observed of them, which tells what columns are like.
    group, is_num : Tensor, shape (d,)
        Column of each coordinate, and whether it is numeric.
    path, solver : Path, SolverConfig
        How draws are made.
    generator : torch.Generator
        Source of their noise.

    Notes
    -----
    With e = x − m the networks' error on a hidden cell and f − m what the trees change,
    the share that minimises Σ (e − b (f − m))² is A / B, A = Σ e (f − m),
    B = Σ (f − m)². With v its variance when rows are left out one by one, what counts
    is that of all columns of numbers, or of categories, drawn towards 0.3 or 0.5 by
    v / (0.15² + v), and a column's own, drawn likewise towards that of all. With folds
    this comes from them, and what held-out rows say of a column is drawn likewise
    towards what its folds said. In numbers that networks find to 0.2 standard
    deviations, |f − m| is cut to the largest of held-out rows: trees flatten what a
    line continues. Where a median is asked for, that of the trees counts for
    b + k (1 − b), k the nearest to 0.5 of those whose absolute error, on held-out rows
    and in folds, is within half a standard error of the lowest; in numbers that
    networks find to 0.2 standard deviations, for b. Draws of numbers with atoms go a
    share of the way that trees move the mean of those that are none, found like b from
    true values that are none, and drawn towards 0.5. `find_stretch` says how wide draws
    are. A number is read off its normal score where the CRPS of two draws so read,
    ½ (|X − x| + |X′ − x| − |X − X′|), is lower than if they are drawn as they are.
    `Margins` and `Levels` say what becomes of all draws of a column.
    """
    known = [
        Levels(place, codes)
        for place, codes in levels
        if 1 < len(codes) <= len(place) + 1
    ]
    trees = held_out.trees
    ones = torch.ones(len(group), device=group.device)
    numbers = is_num.to(ones.dtype)
    none = Stretch.none(ones)

    def heard(witness: Witness) -> _Testimony:
        half = Polish(
            witness.trees,
            0.5 * ones,
            numbers,
            atoms=atoms,
            stretch=none,
            levels=(),
            scores=Scores.none(),
            margins=Margins.none(),
            reach=None,
            in_median=None,
        )
        mean = witness.validation.mean(witness.network, path=path)
        return _Testimony.of(half, mean, witness.validation)

    first, others = heard(held_out), [heard(one) for one in folds]
    share = _share(first, others, group=group, is_num=is_num)
    reach = _reach(first, is_num=is_num)
    # Categories in bits cannot be drawn again, so trees have no say in them.
    spoken, grown = is_num.clone(), torch.zeros_like(is_num)
    for one in known:
        spoken[one.place] = True
    for column in trees:
        grown[column.place] = True
    spoken &= grown
    share = torch.where(spoken & (share >= _LEAST_SHARE), share, 0.0)
    kept = [one for one in trees if share[one.place[0]] > 0]
    polish = Polish(
        kept,
        share,
        numbers,
        atoms=atoms,
        stretch=none,
        levels=(),
        scores=Scores.none(),
        margins=Margins.none(),
        reach=reach,
        in_median=None,
    )
    polish = polish.to(group.device)
    last = _Testimony.of(polish, first.center.networks, held_out.validation)
    if kept:
        # Where networks are nearly exact, so is their median.
        loose = polish.moves & torch.isinf(reach)
        asked = loose & is_first(group)
        further = _further([last, *others], share=share, numbers=asked)
        polish.in_median = share + further * (1 - share) * ((share > 0) & loose)
        polish.follows = _follows(last, is_num=is_num)
    n_cells = _MAX_DRAWN_CELLS[group.device.type] // (_HURRIED if hurried else 1)
    few = last.some(n_cells // len(group))

    drawn = few.drawn(
        held_out.network, n=_N_DRAWS, path=path, solver=solver, generator=generator
    )
    polish.stretch = _stretch(few, drawn, atoms=atoms, is_num=is_num)
    if len(scores):
        better = _better_by_score(few, drawn, atoms=atoms, scores=scores)
        polish.scores = scores.take(better)
    if margins:
        polish.margins = _margins(
            few,
            drawn,
            x=x,
            observed=observed,
            atoms=atoms,
            group=group,
            is_num=is_num,
        )
        hidden = ~few.validation.masks.cond
        known = [
            one.learn(few.center.networks, drawn, hidden[:, one.place[0]])
            for one in known
        ]
    else:  # only what trees change is drawn again
        known = [one for one in known if share[one.place[0]] > 0]
    polish.levels = nn.ModuleList(known)
    return Calibration(polish=polish, mean=last.center.polished)


def _share(
    held_out: _Testimony,
    folds: Sequence[_Testimony],
    *,
    group: Tensor,
    is_num: Tensor,
) -> Tensor:
    """Return the share of trees by coordinate, from what is said by half of them."""
    n_columns = int(group.max()) + 1
    numeric = torch.zeros(n_columns, dtype=torch.bool, device=group.device)
    numeric[group[is_num]] = True
    read = is_first(group) | ~is_num  # the mean is not read off scores
    product, square = _said(held_out, group, read)
    told = [_said(one, group, read) for one in folds]
    left_out = [torch.cat(parts) for parts in zip(*told, strict=True)]
    share = product.new_zeros(n_columns)
    for kind, believed in zip((numeric, ~numeric), _BEFORE, strict=True):
        before = product.new_full((1,), believed)
        a, b = product[:, kind], square[:, kind]
        if folds:
            before = of_each(*(part[:, kind] for part in left_out), before=before)
            share[kind] = weighed(a, b, before=before.clamp(0.0, 1.0))
        else:
            share[kind] = of_each(a, b, before=before)
    return share.clamp(0.0, 1.0)[group].to(held_out.center.networks.dtype)


def _said(
    testimony: _Testimony, group: Tensor, counted: Tensor
) -> tuple[Tensor, Tensor]:
    """Return e (f − m) and (f − m)² by row and column, ``(n_rows, n_columns)``.

    What is said must be half-way to the trees; coordinates are `counted` or not, (d,).
    """
    validation, center = testimony.validation, testimony.center
    scored = validation.masks.tgt & counted
    e = torch.where(scored, validation.x - center.networks, 0.0).double()
    change = 2 * (center.polished - center.networks)
    change = torch.where(scored, change, 0.0).double()
    n_columns = int(group.max()) + 1
    product, square = (
        by_column(part, group, n_columns, validation.n_rows)
        for part in (e * change, change.square())
    )
    return product, square


def _follows(held_out: _Testimony, *, is_num: Tensor) -> Tensor:
    """Return how far draws of numbers go with the trees, shape ``(d,)``.

    All the way, but for those with atoms, of which true values that are none tell.
    """
    known, center, atoms = held_out.validation, held_out.center, held_out.polish.atoms
    first, last = (atoms.beside(mean) for mean in (center.networks, center.polished))
    moves = held_out.polish.moves
    scored = known.masks.tgt & ~atoms.spoken(known.x) & is_num & ~moves
    e, change = (
        torch.where(scored, part, 0.0).double()
        for part in (known.x - first, last - first)
    )
    product, square = (
        part.view(-1, known.n_rows, part.shape[1]).sum(dim=0)
        for part in (e * change, change.square())
    )
    share = of_each(product, square, before=product.new_full((1,), _FOLLOWS_BEFORE))
    share = share.clamp(0.0, 1.0).to(first.dtype)
    return torch.where(moves, 1.0, share * is_num)


def _reach(held_out: _Testimony, *, is_num: Tensor) -> Tensor:
    """Return how far trees may be from the mean, from what half of them says."""
    validation, center = held_out.validation, held_out.center
    scored = validation.masks.tgt & is_num
    change = torch.where(scored, 2 * (center.polished - center.networks), 0.0)
    error = _rms(validation.x - center.networks, scored)
    exact = scored.any(dim=0) & (error < _NEARLY_EXACT)
    return torch.where(exact, change.abs().amax(dim=0), torch.inf)


def _further(
    testimonies: Sequence[_Testimony], *, share: Tensor, numbers: Tensor
) -> float:
    """Return how far beyond their share the trees' median lowers absolute errors.

    The networks' mean stands for their median, which draws alone would tell.
    """
    by_row = torch.cat(
        [_misses(one, share=share, numbers=numbers) for one in testimonies], dim=1
    )
    beyond = by_row - by_row[by_row.sum(dim=1).argmin()]
    error = beyond.square().sum(dim=1).sqrt()
    near = beyond.sum(dim=1) <= _STANDARD_ERRORS * error
    good = [k for k, is_near in zip(_FURTHER, near.tolist(), strict=True) if is_near]
    return min(good, key=lambda k: abs(k - _FURTHER_BEFORE))


def _misses(testimony: _Testimony, *, share: Tensor, numbers: Tensor) -> Tensor:
    """Return absolute errors of rows, each way of `_FURTHER`, ``(n_ways, n_rows)``."""
    validation, networks = testimony.validation, testimony.center.networks
    medians = testimony.medians()
    scored = validation.masks.tgt & numbers & (share > 0)
    errors = []
    for further in _FURTHER:
        found = torch.lerp(networks, medians, share + further * (1 - share))
        miss = torch.where(scored, found - validation.x, 0.0).double().abs()
        errors.append(miss.sum(dim=1).view(-1, validation.n_rows).sum(dim=0))
    return torch.stack(errors)


def _stretch(
    held_out: _Testimony, drawn: Tensor, *, atoms: Atoms, is_num: Tensor
) -> Stretch:
    """Return what the draws' distances from the mean are to become.

    Of numbers that repeat a value, those count that are another, drawn or true.
    """
    validation, center = held_out.validation, held_out.center
    scored = validation.masks.tgt & is_num
    n = len(drawn)
    return find_stretch(
        (drawn - center.networks).flatten(0, 1),
        (validation.x - held_out.polish.middle(center)).repeat(n, 1),
        drawn=(scored & ~atoms.spoken(drawn)).flatten(0, 1),
        missed=(scored & ~atoms.spoken(validation.x)).repeat(n, 1),
        row=_held_out_rows(validation).repeat(n),
        centred=held_out.polish.moves,
    )


def _better_by_score(
    held_out: _Testimony, drawn: Tensor, *, atoms: Atoms, scores: Scores
) -> Tensor:
    """Tell of which numbers draws are better read off their scores, shape ``(k,)``."""
    moved = held_out.polish.moved(drawn, held_out.center, stretched=True)
    x = held_out.validation.x[:, scores.number].double()
    scored = held_out.validation.masks.tgt[:, scores.number]
    low, high = scores.value[:, 0], scores.value[:, -1]

    def crps(draws: Tensor) -> Tensor:
        # What is drawn beyond the values seen will be bent back to them.
        numbers = atoms.snap(draws)[..., scores.number].clamp(low, high)
        one, other = numbers.double()
        far = (one - x).abs() + (other - x).abs() - (one - other).abs()
        return torch.where(scored, far / 2, 0.0).sum(dim=0)

    return crps(scores.settle(moved)) < crps(moved)


def _margins(
    held_out: _Testimony,
    drawn: Tensor,
    *,
    x: Tensor,
    observed: Tensor,
    atoms: Atoms,
    group: Tensor,
    is_num: Tensor,
) -> Margins:
    """Return what makes all draws of a column look like its values."""
    polish, center, known = held_out.polish, held_out.center, held_out.validation
    moved = polish.moved(drawn, center, stretched=True)
    margins = cut_atoms(moved, center.networks, ~known.masks.cond, atoms=atoms)
    cut = margins.to(drawn.device)(moved, center.networks)
    rows, truth = cut.flatten(0, 1), known.x.repeat(len(drawn), 1)
    scored = known.masks.tgt.repeat(len(drawn), 1)
    said, true = scored & ~atoms.spoken(rows), scored & ~atoms.spoken(truth)
    scores = polish.scores.number.tolist(), polish.scores.score.tolist()
    numbers = torch.nonzero(is_num & is_first(group))[:, 0].tolist()
    place = dict(zip(numbers, numbers, strict=True)) | dict(zip(*scores, strict=True))
    some = slice(None, None, -(-len(x) // _KNOWN_ROWS))
    x, other = x[some], observed[some] & ~atoms.spoken(x[some])
    bent = bend_numbers(
        margins,
        rows,
        truth,
        numbers={
            place[j]: Number.of(
                x[other[:, j], place[j]], atoms.value[atoms.number == place[j]]
            )
            for j in numbers
        },
        counted={place[j]: (said[:, j], true[:, j]) for j in numbers},
        miss=_rms(known.x - center.polished, known.masks.tgt),
        row=_held_out_rows(known).repeat(len(drawn)),
    )
    return bent.to(drawn.device)


def _held_out_rows(validation: Validation) -> Tensor:
    """Return which held-out row each is, which comes back under several masks."""
    x = validation.x
    return torch.arange(len(x), device=x.device) % validation.n_rows


def _rms(miss: Tensor, counted: Tensor) -> Tensor:
    """Return the root mean square of what is counted, ``(n, d)``, by coordinate."""
    square = torch.where(counted, miss, 0.0).double().square().sum(dim=0)
    return (square / counted.sum(dim=0).clamp(min=1)).sqrt()
