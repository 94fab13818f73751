"""DiffPuter."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._edm import AUTHORS, QUICK, EDMMethod


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
        **AUTHORS,
        "n_rounds": 10,
        "n_trials": 20,
        "n_inner": 20,
        "cut_after": 50,
        "stop_after": 500,
        "warm_start": False,
    }
    quick: ClassVar[dict[str, Any]] = {**QUICK, "n_rounds": 3, "max_steps": 2_000}
