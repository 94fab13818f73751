"""MIWAE."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import DrawingMethod


class MIWAE(DrawingMethod):
    """A variational auto-encoder trained on an importance-weighted bound.

    Settings are those of the authors' notebooks, which differ among themselves. Numbers
    are Student t given the latent point, categories have a softmax.
    """

    name: ClassVar[str] = "miwae"
    title: ClassVar[str] = "MIWAE"
    about: ClassVar[str] = (
        "Importance-weighted auto-encoder, after Mattei and Frellsen (2019)."
    )
    source: ClassVar[str] = (
        "Mattei, Frellsen: MIWAE: Deep Generative Modelling and Imputation of "
        "Incomplete Data Sets. ICML 2019"
    )
    model: ClassVar[tuple[str, str]] = ("miwae", "MIWAE")
    # NOTE[DIFF]: the authors train 600 epochs of 500 rows, 4,800 steps. Fewer epochs of
    # thousands of rows are more steps.
    authors: ClassVar[dict[str, Any]] = {
        "n_epochs": 200,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "width": 128,
        "n_latents": 10,
        "n_importance": 20,
        "n_samples": 1_000,
    }
    quick: ClassVar[dict[str, Any]] = {"n_epochs": 60, "n_samples": 200}

    def network_evaluations_per_row(self) -> int:
        """Return the encoder's pass and one of the decoder a latent point."""
        return 1 + self.settings["n_samples"]
