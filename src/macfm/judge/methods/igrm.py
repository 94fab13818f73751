"""IGRM."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import LearnedMethod


class IGRM(LearnedMethod):
    """GRAPE, and a graph of alike rows that is learned beside it.

    Settings are those of the authors' program; `batch_size=None` is every row in each
    step, which needs memory for all pairs of rows.
    """

    name: ClassVar[str] = "igrm"
    title: ClassVar[str] = "IGRM"
    about: ClassVar[str] = (
        "GRAPE with a learned graph among rows, after Zhong et al. (2023)."
    )
    source: ClassVar[str] = (
        "Zhong, Gui, Ye: Data Imputation with Iterative Graph Reconstruction. AAAI 2023"
    )
    model: ClassVar[tuple[str, str]] = ("igrm", "IGRM")
    authors: ClassVar[dict[str, Any]] = {
        "n_steps": 20_000,
        "batch_size": None,
        "learning_rate": 1e-3,
        "shown_share": 0.7,
        "width": 64,
        "n_layers": 3,
        "redraw_every": 100,
        "d_hidden": 128,
        "d_latent": 32,
    }
    quick: ClassVar[dict[str, Any]] = {"n_steps": 8_000, "batch_size": 128}

    def network_evaluations_per_row(self) -> int:
        """Return 1, a pass of the row past the frozen columns and training rows."""
        return 1
