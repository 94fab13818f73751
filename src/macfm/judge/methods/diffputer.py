"""DiffPuter."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._edm import NOISE, EDMMethod


class DiffPuter(EDMMethod):
    """EM: a diffusion learns the filled table, then fills it anew.

    Settings are those of the authors' program, whose paper says 10 trials. With
    `warm_start` a round goes on from the weights of the last.
    """

    name: ClassVar[str] = "diffputer"
    title: ClassVar[str] = "DiffPuter"
    about: ClassVar[str] = "EM with a diffusion model, after Zhang et al. (2025)."
    source: ClassVar[str] = (
        "Zhang, Fang, Wu, Yu: DiffPuter: Empowering Diffusion Models for Missing Data "
        "Imputation. ICLR 2025"
    )
    model: ClassVar[tuple[str, str]] = ("diffputer", "DiffPuter")
    authors: ClassVar[dict[str, Any]] = {
        "n_rounds": 10,
        "n_trials": 20,
        "n_inner": 20,
        "width": 1024,
        "n_epochs": 10_001,
        "max_steps": None,
        "batch_size": 4096,
        "learning_rate": 1e-4,
        "cut": 0.9,
        "cut_after": 50,
        "stop_after": 500,
        "warm_start": False,
        **NOISE,
    }
    # Few levels and more loops at each serve better than the reverse at equal cost; so
    # does a higher rate in few steps.
    quick: ClassVar[dict[str, Any]] = {
        "n_rounds": 3,
        "n_trials": 5,
        "n_inner": 12,
        "n_levels": 20,
        "width": 256,
        "max_steps": 2_000,
        "batch_size": 256,
        "learning_rate": 1e-3,
    }
