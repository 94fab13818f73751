"""What an encoder puts beside numbers, as `flow` needs it: tensors on the CPU."""

from __future__ import annotations

import torch

from macfm.flow import Atoms, Scores
from macfm.table import TableEncoder


def atoms_of(encoder: TableEncoder) -> Atoms:
    """Return the values that columns of numbers repeat, as tensors on the CPU."""
    atoms = encoder.atoms
    fields = Atoms.__dataclass_fields__
    return Atoms(**{name: torch.from_numpy(getattr(atoms, name)) for name in fields})


def scores_of(encoder: TableEncoder) -> Scores:
    """Return the normal scores that stand beside numbers, as tensors on the CPU."""
    scores = encoder.scores
    parts = {name: getattr(scores, name).copy() for name in Scores.PARTS}
    return Scores({name: torch.from_numpy(part) for name, part in parts.items()})
