"""What the declarations of DiffPuter and MissDiff share."""

from __future__ import annotations

from typing import Any

from macfm.judge.methods._learned import DrawingMethod

#: Network, training and noise, as both authors have them.
AUTHORS: dict[str, Any] = {
    "width": 1024,
    "n_epochs": 10_001,
    "max_steps": None,
    "batch_size": 4096,
    "learning_rate": 1e-4,
    "cut": 0.9,
    "log_sigma": -1.2,
    "log_sigma_sd": 1.2,
    "n_levels": 50,
    "churn": 1.0,
    "sigma_max": 80.0,
    "sigma_min": 0.002,
    "rho": 7.0,
}
#: Few levels and more loops at each serve better than the reverse at equal cost; so
#: does a higher rate in few steps.
QUICK: dict[str, Any] = {
    "n_trials": 5,
    "n_inner": 12,
    "n_levels": 20,
    "width": 256,
    "batch_size": 256,
    "learning_rate": 1e-3,
}


class EDMMethod(DrawingMethod):
    """A diffusion of rows whose holes are filled by RePaint.

    `n_trials` samples are averaged, each with `n_levels` levels of noise and `n_inner`
    steps at a level. A network of `width` is trained for `n_epochs`, at most
    `max_steps` steps if that is a number; the learning rate is multiplied by `cut`
    after `cut_after` epochs without progress, and training stops after `stop_after`.
    """

    def network_evaluations_per_row(self) -> int:
        """Return two a Heun step, and one for the last step, of every trial."""
        n_heun = (self.settings["n_levels"] - 1) * self.settings["n_inner"]
        return int(self.settings["n_trials"] * (2 * n_heun + 1))
