"""Few rows, left out in turn: what trees of the others say of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from macfm.flow._path import Path
from macfm.flow._rows import TrainingRows
from macfm.flow._validation import Validation, make_validation
from macfm.flow.network import GuidedEnsemble


@dataclass(frozen=True)
class Fold:
    """Rows that are left out, and the others."""

    x: Tensor
    """The others, 0 where not observed, shape ``(n, d)``."""
    observed: Tensor
    """True where they hold a value, shape ``(n, d)``."""
    weights: Tensor | None
    """How much each of them counts, shape ``(n,)``; None if all count alike."""
    guide: GuidedEnsemble
    """Their Gaussian, without networks."""
    validation: Validation
    """Those left out, with cells hidden."""


def leave_out(
    rows: TrainingRows,
    *,
    n_folds: int,
    group: Tensor,
    path: Path,
    seed: int,
) -> Iterator[Fold]:
    """Leave out every row once, held-out ones included.

    Parameters
    ----------
    rows : TrainingRows
        Rows that have a guide.
    n_folds : int
        How many parts they are dealt to, by lot.
    group : Tensor of int64, shape (d,)
        Column of each coordinate.
    path : Path
        As in training.
    seed : int
        Seed of the lot, of the masks and of the noise.

    Yields
    ------
    Fold
        One for each part that has a cell to judge by.
    """
    x, observed, weights = rows.with_held_out()
    lot = np.random.default_rng(seed).permutation(len(x)) % n_folds
    generator = torch.Generator(x.device).manual_seed(seed)
    assert path.readout_time == 0  # there the holes of a row need no guess
    for k in range(n_folds):
        left_out = torch.from_numpy(lot == k).to(x.device)
        validation = make_validation(
            x[left_out],
            observed[left_out],
            group=group,
            rules=rows.rules,
            move_missing=rows.fills is not None,
            t=path.readout_time,
            generator=generator,
        )
        if validation is None or bool(left_out.all()):
            continue
        others = ~left_out
        some = None if weights is None else weights[others]
        guide = rows.guide_of(x[others], observed[others], weights=some)
        yield Fold(
            x=x[others],
            observed=observed[others],
            weights=some,
            guide=GuidedEnsemble.alone(guide, path=path),
            validation=validation,
        )
