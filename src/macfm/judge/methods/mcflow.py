"""MCFlow."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import LearnedMethod


class MCFlow(LearnedMethod):
    """A normalising flow and a move in its latent space, trained in turns.

    Settings are those of the authors' program. Categories are one-hot blocks.
    """

    name: ClassVar[str] = "mcflow"
    title: ClassVar[str] = "MCFlow"
    about: ClassVar[str] = "Normalising flows, after Richardson et al. (2020)."
    source: ClassVar[str] = (
        "Richardson, Wu, Lin, Xu, Bernal: MCFlow: Monte Carlo Flow Models for Data "
        "Imputation. CVPR 2020"
    )
    model: ClassVar[tuple[str, str]] = ("mcflow", "MCFlow")
    # NOTE[DIFF]: the authors train 500 epochs; with 512 the last flow has its full 256.
    authors: ClassVar[dict[str, Any]] = {
        "n_epochs": 512,
        "batch_size": 64,
        "learning_rate": 1e-4,
        "reconstruction": 64.0,
    }
    quick: ClassVar[dict[str, Any]] = {
        "n_epochs": 256,
        "batch_size": 128,
        "learning_rate": 3e-3,
    }

    def network_evaluations_per_row(self) -> int:
        """Return two passes of a flow and one of the mover for every stage."""
        n_stages = max(1, (self.settings["n_epochs"] * 2 // 3).bit_length())
        return 3 * n_stages
