"""GRAPE."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import LearnedMethod


class GRAPE(LearnedMethod):
    """Rows and columns are nodes of a graph, observed cells its edges.

    Settings are those of the authors' program; `batch_size=None` is every row in each
    step. Numbers are scaled by observed cells alone.
    """

    name: ClassVar[str] = "grape"
    title: ClassVar[str] = "GRAPE"
    about: ClassVar[str] = (
        "A network on the graph of rows and columns, after You et al. (2020)."
    )
    source: ClassVar[str] = (
        "You, Ma, Ding, Kochenderfer, Leskovec: Handling Missing Data with Graph "
        "Representation Learning. NeurIPS 2020"
    )
    model: ClassVar[tuple[str, str]] = ("grape", "GRAPE")
    authors: ClassVar[dict[str, Any]] = {
        "n_steps": 20_000,
        "batch_size": None,
        "learning_rate": 1e-3,
        "shown_share": 0.7,
        "width": 64,
        "n_layers": 3,
    }
    quick: ClassVar[dict[str, Any]] = {"n_steps": 8_000, "batch_size": 128}

    def network_evaluations_per_row(self) -> int:
        """Return 1, a pass of the row past the frozen columns."""
        return 1
