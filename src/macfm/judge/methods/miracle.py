"""MIRACLE."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import LearnedMethod


class MIRACLE(LearnedMethod):
    """Column means, refined epoch by epoch by networks blind to their own column.

    Settings are those of the program behind the published tables; `held_out`, the share
    of known training cells that chooses the number of epochs, is ours, and 0 takes all
    `n_epochs`. Categories are one-hot blocks.
    """

    name: ClassVar[str] = "miracle"
    title: ClassVar[str] = "MIRACLE"
    about: ClassVar[str] = (
        "A network a column under causal penalties, after Kyono et al. (2021)."
    )
    source: ClassVar[str] = (
        "Kyono, Zhang, Bellot, van der Schaar: MIRACLE: Causally-Aware Imputation via "
        "Learning Missing Data Mechanisms. NeurIPS 2021"
    )
    model: ClassVar[tuple[str, str]] = ("miracle", "MIRACLE")
    authors: ClassVar[dict[str, Any]] = {
        "n_epochs": 399,
        "batch_size": 1024,
        "learning_rate": 1e-3,
        "width": 32,
        "window": 10,
        "reconstruction": 1.0,
        "sparsity": 1.0,
        "acyclicity": 1.0,
        "moments": 1.0,
        "held_out": 0.1,
    }
    quick: ClassVar[dict[str, Any]] = {"n_epochs": 100, "batch_size": 256}

    def network_evaluations_per_row(self) -> int:
        """Return the number of epochs, after fitting that of those kept."""
        model = getattr(self, "model_", None)
        return self.settings["n_epochs"] if model is None else len(model.networks)
