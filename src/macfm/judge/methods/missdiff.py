"""MissDiff."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._edm import NOISE, EDMMethod


class MissDiff(EDMMethod):
    """A diffusion of rows that learns from the errors of observed cells only.

    Its authors generate tables; settings are those by which DiffPuter's authors made
    an imputer of it.
    """

    name: ClassVar[str] = "missdiff"
    title: ClassVar[str] = "MissDiff"
    about: ClassVar[str] = "Diffusion with a masked loss, after Ouyang et al. (2023)."
    source: ClassVar[str] = (
        "Ouyang, Xie, Li, Cheng: MissDiff: Training Diffusion Models on Tabular Data "
        "with Missing Values. ICML 2023 workshop"
    )
    model: ClassVar[tuple[str, str]] = ("missdiff", "MissDiff")
    authors: ClassVar[dict[str, Any]] = {
        "n_trials": 10,
        "n_inner": 10,
        "width": 1024,
        "n_epochs": 10_001,
        "max_steps": None,
        "batch_size": 4096,
        "learning_rate": 1e-4,
        "cut": 0.9,
        "cut_after": 20,
        "stop_after": 1_000,
        **NOISE,
    }
    # Few levels and more loops at each serve better than the reverse at equal cost; so
    # does a higher rate in few steps.
    quick: ClassVar[dict[str, Any]] = {
        "n_trials": 5,
        "n_inner": 12,
        "n_levels": 20,
        "width": 256,
        "max_steps": 4_000,
        "batch_size": 256,
        "learning_rate": 1e-3,
    }
