"""GAIN."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import LearnedMethod


class GAIN(LearnedMethod):
    """A generator fills; a discriminator, given hints, tells filled cells from known.

    Settings are those of the authors' program. Categories are one-hot blocks.
    """

    name: ClassVar[str] = "gain"
    title: ClassVar[str] = "GAIN"
    about: ClassVar[str] = "Adversarial networks with hints, after Yoon et al. (2018)."
    source: ClassVar[str] = (
        "Yoon, Jordon, van der Schaar: GAIN: Missing Data Imputation using Generative "
        "Adversarial Nets. ICML 2018"
    )
    model: ClassVar[tuple[str, str]] = ("gain", "GAIN")
    authors: ClassVar[dict[str, Any]] = {
        "n_steps": 10_000,
        "batch_size": 128,
        "learning_rate": 1e-3,
        "alpha": 100.0,
        "hint_rate": 0.9,
    }
    quick: ClassVar[dict[str, Any]] = {"n_steps": 3_000}

    def network_evaluations_per_row(self) -> int:
        """Return 1, the generator's pass."""
        return 1
