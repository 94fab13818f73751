"""Trees and spreads as the arrays of a model file, each checked when read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from macfm.flow import (
    MAX_COORDINATES,
    MAX_STEP,
    Atoms,
    ColumnTrees,
    Levels,
    Margins,
    Polish,
    Scores,
    Stretch,
)

_KINDS = {
    "place": np.int64,
    "roots": np.int64,
    "feature": np.int32,
    "right": np.int32,
    "threshold": np.float32,
    "value": np.float32,
    "depth": np.int64,
}
_LEVELS = ("place", "codes", "power", "offset")
# Those of atoms and those of numbers, either of which may not be there.
_MARGINS = ("flag", "low", "high", "cut"), ("place", "at", "value")
_MAX_DEPTH = 4_096
_MAX_BEND = 10.0


def to_arrays(polish: Polish) -> dict[str, np.ndarray]:
    """Return every array of a `Polish`, by name."""
    arrays = {"share": polish.share.cpu().numpy()}
    for name in Stretch.PARTS:
        arrays[name] = getattr(polish.stretch, name).cpu().numpy()
    arrays["follows"] = polish.follows.cpu().numpy()
    arrays["reach"] = polish.reach.cpu().numpy()
    if polish.in_median is not None:
        arrays["in_median"] = polish.in_median.cpu().numpy()
    for k, trees in enumerate(polish.trees):
        for name in ColumnTrees.PARTS:
            arrays[f"tree.{k}.{name}"] = getattr(trees, name).cpu().numpy()
        arrays[f"tree.{k}.depth"] = np.array([trees.depth])
    for k, levels in enumerate(polish.levels):
        for name in _LEVELS:
            part = getattr(levels, name)
            if part is not None:
                arrays[f"levels.{k}.{name}"] = np.atleast_1d(part.cpu().numpy())
    if len(polish.scores):
        for name in Scores.PARTS:
            arrays[f"scores.{name}"] = getattr(polish.scores, name).cpu().numpy()
    for names, some in zip(_MARGINS, ("flag", "place"), strict=True):
        if len(getattr(polish.margins, some)):
            for name in names:
                part = getattr(polish.margins, name)
                arrays[f"margins.{name}"] = part.cpu().numpy()
    return arrays


def from_arrays(
    arrays: Mapping[str, np.ndarray], *, group: np.ndarray, atoms: Atoms
) -> Polish:
    """Undo `to_arrays`; ValueError for anything that it does not give.

    ``group`` is the column of each coordinate, shape ``(d,)``, and ``atoms`` are the
    values that numbers repeat.
    """
    d, left = len(group), dict(arrays)
    share, stretch = _numbers(left, "share", (d,)), _stretch(left, d)
    follows = _follows(left, d)
    for part in (share, follows):
        if not ((part >= 0) & (part <= 1)).all():
            raise ValueError("a share is out of its range")
    # files of before have neither
    in_median = _numbers(left, "in_median", (d,)) if "in_median" in left else None
    if in_median is not None and not ((in_median >= 0) & (in_median <= 1)).all():
        raise ValueError("a share of a median is out of its range")
    reach = left.pop("reach", np.full(d, np.inf, dtype=np.float32))
    if reach.shape != (d,) or reach.dtype != np.float32 or not (reach >= 0).all():
        raise ValueError("reach must hold a distance for each coordinate")
    trees: list[ColumnTrees] = []
    while f"tree.{len(trees)}.place" in left:
        trees.append(_trees(left, f"tree.{len(trees)}.", group))
    levels: list[Levels] = []
    while f"levels.{len(levels)}.place" in left:
        levels.append(_levels(left, f"levels.{len(levels)}.", group))
    scores = _scores(left, group) if "scores.number" in left else Scores.none()
    margins = _margins(left, d)
    if left:
        raise ValueError(f"{sorted(left)[0]!r} belongs to no trees")
    tensors = (torch.from_numpy(part.copy()) for part in (share, follows))
    return Polish(
        trees,
        *tensors,
        atoms=atoms,
        stretch=stretch,
        levels=levels,
        scores=scores,
        margins=margins,
        reach=torch.from_numpy(reach.copy()),
        in_median=None if in_median is None else torch.from_numpy(in_median.copy()),
    )


def _follows(left: dict[str, np.ndarray], d: int) -> np.ndarray:
    """Read how far draws go with the trees; files of before have flags."""
    if "moves" not in left:
        return _numbers(left, "follows", (d,))
    moves = left.pop("moves")
    if moves.shape != (d,) or moves.dtype != np.uint8:
        raise ValueError("moves must be a flag for each coordinate")
    return (moves > 0).astype(np.float32)


def _stretch(left: dict[str, np.ndarray], d: int) -> Stretch:
    """Build the stretch of draws; files of before have a spread alone."""
    known = {"spread": _numbers(left, "spread", (d,))}
    if any(name in left for name in Stretch.PARTS):
        known |= {name: _numbers(left, name, (d,)) for name in Stretch.PARTS[1:]}
    stretch = Stretch.none(torch.ones(d))
    for name, array in known.items():
        getattr(stretch, name).copy_(torch.from_numpy(array))
    sound = (
        bool((torch.stack([stretch.spread, stretch.bend, stretch.unit]) > 0).all())
        and bool((stretch.bend <= _MAX_BEND).all())
        and bool((stretch.lean.abs() < 1).all())
    )
    if not sound:
        raise ValueError("a spread, bend, unit or lean is out of its range")
    return stretch


def _numbers(
    left: dict[str, np.ndarray], name: str, shape: tuple[int, ...]
) -> np.ndarray:
    array = left.pop(name, None)
    if array is None or array.shape != shape or array.dtype != np.float32:
        raise ValueError(f"{name} must hold {shape[0]} numbers")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array


def _trees(left: dict[str, np.ndarray], prefix: str, group: np.ndarray) -> ColumnTrees:
    """Build the trees of a column from arrays in which every way ends in a leaf."""
    parts: dict[str, np.ndarray] = {}
    for name, kind in _KINDS.items():
        array = left.pop(prefix + name, None)
        if array is None or array.dtype != kind or array.ndim != 1 + (name == "value"):
            raise ValueError(f"{name} of the trees is missing or of another kind")
        parts[name] = array
    place, roots, right = parts["place"], parts["roots"], parts["right"]
    n, (depth,) = len(right), parts["depth"]
    own = np.arange(n)
    leaf = right == own
    _check_place(place, group)
    sound = (
        n > 0
        and parts["feature"].shape == parts["threshold"].shape == (n,)
        and parts["value"].shape == (n, len(place))
        and np.isfinite(parts["value"]).all()
        and ((parts["feature"] >= 0) & (parts["feature"] < len(group))).all()
        and ((leaf & (parts["threshold"] == -np.inf)) | (right > own + 1)).all()
        and (right < n).all()
        and (right - own).max() <= MAX_STEP
        and len(group) <= MAX_COORDINATES
        and not np.isnan(parts["threshold"]).any()
        and len(roots) > 0
        and ((roots >= 0) & (roots < n)).all()
        and 0 <= depth <= _MAX_DEPTH
    )
    if not sound:
        raise ValueError("the trees are not sound")
    tensors = {name: torch.from_numpy(parts[name].copy()) for name in ColumnTrees.PARTS}
    return ColumnTrees(tensors, depth=int(depth))


def _levels(left: dict[str, np.ndarray], prefix: str, group: np.ndarray) -> Levels:
    place, codes = (left.pop(prefix + name, None) for name in ("place", "codes"))
    if place is None or codes is None or place.dtype != np.int64:
        raise ValueError("levels of a column are missing")
    _check_place(place, group)
    if codes.ndim != 2 or codes.shape[1] != len(place) or codes.dtype != np.float32:
        raise ValueError("the levels do not fit their column")
    if not np.isfinite(codes).all() or not 1 < len(codes) <= len(place) + 1:
        raise ValueError("the levels do not fit their column")
    tensors = [torch.from_numpy(part.copy()) for part in (place, codes)]
    if not any(prefix + name in left for name in ("power", "offset")):
        return Levels(*tensors)  # as in files of before
    law = []
    for name, n in (("power", 1), ("offset", len(codes))):
        part = left.pop(prefix + name, None)
        if part is None or part.shape != (n,) or part.dtype != np.float64:
            raise ValueError("what draws make of levels does not fit them")
        if not np.isfinite(part).all():
            raise ValueError("what draws make of levels must be finite")
        law.append(torch.from_numpy(part.copy()))
    return Levels(*tensors, power=law[0][0], offset=law[1])


def _scores(left: dict[str, np.ndarray], group: np.ndarray) -> Scores:
    """Build the numbers that draws read off their scores, which rise with them."""
    parts: dict[str, np.ndarray] = {}
    for name in Scores.PARTS:
        array = left.pop(f"scores.{name}", None)
        kind, ndim = (np.float32, 2) if name in ("at", "value") else (np.int64, 1)
        if array is None or array.dtype != kind or array.ndim != ndim:
            raise ValueError(f"{name} of the scores is missing or of another kind")
        parts[name] = array
    number, score, at, value = parts.values()
    sound = (
        len(number) == len(score) == len(at)
        and at.shape == value.shape
        and at.shape[1] >= 2
        and ((number >= 0) & (number < score) & (score < len(group))).all()
        and (np.diff(number) > 0).all()
        and (np.searchsorted(group, group[number]) == number).all()
        and (np.searchsorted(group, group[number], side="right") == score + 1).all()
        and np.isfinite(at).all()
        and np.isfinite(value).all()
        and (np.diff(at) >= 0).all()
        and (np.diff(value) >= 0).all()
    )
    if not sound:
        raise ValueError("the scores are not sound")
    return Scores({name: torch.from_numpy(a.copy()) for name, a in parts.items()})


def _margins(left: dict[str, np.ndarray], d: int) -> Margins:
    """Build what makes draws look like values; files of before have nothing of it."""
    none = Margins.none()
    parts = {name: getattr(none, name).numpy() for name in Margins.PARTS}
    for names in _MARGINS:
        if any(f"margins.{name}" in left for name in names):
            parts |= {name: left.pop(f"margins.{name}", None) for name in names}
    for name, like in ((name, getattr(none, name).numpy()) for name in Margins.PARTS):
        part = parts[name]
        if part is None or part.dtype != like.dtype or part.ndim != like.ndim:
            raise ValueError(f"{name} of the margins is missing or of another kind")
    flag, low, high, cut, place, at, value = parts.values()
    sound = (
        low.shape == high.shape == flag.shape
        and cut.shape == (len(flag), 2)
        and len(at) == len(value) == len(place)
        and at.shape == value.shape
        and at.shape[1] >= 2
        and all(np.isfinite(part).all() for part in (low, high, cut, at, value))
        and (high > low).all()
        and all(((one >= 0) & (one < d)).all() for one in (flag, place))
        and all(len(np.unique(one)) == len(one) for one in (flag, place))
        and (np.diff(at) >= 0).all()
        and (np.diff(value) >= 0).all()
    )
    if not sound:
        raise ValueError("the margins are not sound")
    return Margins({name: torch.from_numpy(a.copy()) for name, a in parts.items()})


def _check_place(place: np.ndarray, group: np.ndarray) -> None:
    """Refuse anything but the coordinates of one column."""
    inside = place.ndim == 1 and len(place) > 0
    inside = inside and bool(((place >= 0) & (place < len(group))).all())
    if not inside or list(place) != np.flatnonzero(group == group[place[0]]).tolist():
        raise ValueError("place must be the coordinates of a column")
