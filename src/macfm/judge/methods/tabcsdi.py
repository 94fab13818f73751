"""TabCSDI."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._learned import DrawingMethod


class TabCSDI(DrawingMethod):
    """A diffusion model draws the missing cells of a row given the known ones.

    Network, noise and reading are those of the authors' program; steps, cuts of the
    learning rate (shares of the training) and the share of cells that training hides
    (None: by lot, row by row) are ours, as theirs end before the network has learned
    to use the known cells. `columns_first` gives each column a learned vector
    before the first attention; theirs tells columns apart only after it, which is
    learned many times slower. Filling takes the median of `n_samples` draws. Categories
    are one-hot blocks.
    """

    name: ClassVar[str] = "tabcsdi"
    title: ClassVar[str] = "TabCSDI"
    about: ClassVar[str] = (
        "A conditional diffusion over columns, after Zheng and Charoenphakdee (2022)."
    )
    source: ClassVar[str] = (
        "Zheng, Charoenphakdee: Diffusion models for missing value imputation in "
        "tabular data. NeurIPS 2022 Table Representation Learning workshop"
    )
    model: ClassVar[tuple[str, str]] = ("tabcsdi", "TabCSDI")
    authors: ClassVar[dict[str, Any]] = {
        "n_steps": 20_000,
        "batch_size": 256,
        "learning_rate": 5e-4,
        "weight_decay": 1e-6,
        "cuts": (0.8, 0.95),
        "target_share": None,
        "n_levels": 100,
        "beta_first": 1e-4,
        "beta_last": 0.5,
        "n_samples": 100,
        "d_model": 128,
        "n_heads": 4,
        "n_layers": 4,
        "columns_first": False,
    }
    quick: ClassVar[dict[str, Any]] = {
        "n_steps": 5_000,
        "batch_size": 64,
        "d_model": 64,
        "n_samples": 10,
    }

    def network_evaluations_per_row(self) -> int:
        """Return the steps of all draws."""
        return int(self.settings["n_levels"] * self.settings["n_samples"])
