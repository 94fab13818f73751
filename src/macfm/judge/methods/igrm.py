"""IGRM."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import LearnedMethod
from macfm.judge.methods.grape import GRAPE


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
        **GRAPE.authors,
        "redraw_every": 100,
        "d_hidden": 128,
        "d_latent": 32,
    }
    quick: ClassVar[dict[str, Any]] = GRAPE.quick

    def network_evaluations_per_row(self) -> int:
        """Return 1, a pass of the row past the frozen columns and training rows."""
        return 1
