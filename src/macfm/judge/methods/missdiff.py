"""MissDiff."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._edm import AUTHORS, QUICK, EDMMethod


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
        **AUTHORS,
        "n_trials": 10,
        "n_inner": 10,
        "cut_after": 20,
        "stop_after": 1_000,
    }
    quick: ClassVar[dict[str, Any]] = {**QUICK, "max_steps": 4_000}
