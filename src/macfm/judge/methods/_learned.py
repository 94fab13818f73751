"""Methods whose networks lie in `macfm.judge.learned`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from macfm._errors import ParameterError
from macfm.judge.methods._one_hot import OneHotMethod

if TYPE_CHECKING:
    from torch import Tensor

    from macfm.judge.learned._base import DrawingModel, Model, Rows


class LearnedMethod(OneHotMethod):
    """A learned baseline: what the registry knows of it; its `Model` does the work.

    Every one has the settings `budget`, seconds after which training ends its schedule
    early (None for as long as it takes), and `quick`, which takes the settings in the
    class attribute of that name where nothing else is said: sizes for two CPU cores.
    """

    imports: ClassVar[tuple[str, ...]] = ("torch",)
    modest: ClassVar[dict[str, Any]] = {"quick": True}
    #: Module of `macfm.judge.learned` and its class.
    model: ClassVar[tuple[str, str]]
    #: The method's own settings, those of its authors.
    authors: ClassVar[dict[str, Any]] = {}
    #: What `quick` changes in them.
    quick: ClassVar[dict[str, Any]] = {}
    #: Paper, venue and year.
    source: ClassVar[str]

    model_: Model

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.defaults = {"budget": None, "quick": False, **cls.authors}

    def __init__(
        self, *, seed: int = 0, device: str = "cpu", n_threads: int = 1, **settings: Any
    ) -> None:
        super().__init__(seed=seed, device=device, n_threads=n_threads, **settings)
        if self.settings["quick"]:
            self.settings = self.defaults | self.quick | settings
        budget = self.settings["budget"]
        if budget is not None and not budget > 0:
            raise ParameterError(
                f"{self.name}: budget must be a number of seconds above 0, "
                f"got {budget!r}",
                parameter="budget",
            )

    def learn(self, x: np.ndarray) -> None:
        """Train the model."""
        import torch

        from macfm.flow import tf32
        from macfm.imputer import resolve_device
        from macfm.judge.learned._base import Clock, Columns

        # A network only comes near to a constant, so those are known without it.
        lowest, highest = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
        self.constants_ = np.where(lowest == highest, lowest, np.nan)
        device = resolve_device(self.device)
        numbers = [column.is_numeric for column in self.code_.columns]
        widths = [column.width for column in self.code_.columns]
        columns = Columns(
            blocks=tuple(self.code_.blocks),
            is_number=torch.tensor(np.repeat(numbers, widths), device=device),
        )
        module, name = self.model
        make = getattr(import_module(f"macfm.judge.learned.{module}"), name)
        devices = [device] if device.type == "cuda" else []
        with tf32(device), torch.random.fork_rng(devices=devices):
            torch.manual_seed(self.seed)
            self.model_ = make(columns, self.settings, seed=self.seed, device=device)
            self.model_.fit(self._rows(x), Clock(self.settings["budget"], device))

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Fill with the model's best guess."""
        from macfm.flow import tf32

        with tf32(self.model_.device):
            filled = self.model_.fill(self._rows(x))
        return self._among_known(x, filled)

    def _among_known(self, x: np.ndarray, filled: Tensor) -> np.ndarray:
        """Put a model's values where `x` and the training rows leave a choice."""
        values = filled.double().cpu().numpy()
        values = np.where(np.isnan(self.constants_), values, self.constants_)
        return np.where(np.isnan(x), values, x)

    def _rows(self, x: np.ndarray) -> Rows:
        import torch

        from macfm.flow import row_keys
        from macfm.imputer import resolve_device
        from macfm.judge.learned._base import Rows

        observed = ~np.isnan(x)
        known = np.where(observed, x, 0.0).astype(np.float32)
        keys = row_keys(known, observed)
        parts = (torch.from_numpy(part) for part in (known, observed, keys))
        device = resolve_device(self.device)
        return Rows(*(part.to(device) for part in parts))


class DrawingMethod(LearnedMethod):
    """A learned baseline that gives several plausible tables."""

    model_: DrawingModel

    def draw(self, table: pd.DataFrame, n: int) -> list[pd.DataFrame]:
        """Draw every coordinate; of a block the largest is the category."""
        from macfm.flow import tf32

        x = self.code_.one_hot(table)
        with tf32(self.model_.device):
            draws = self.model_.draw(self._rows(x), n)
        return [
            self.code_.complete(
                table, self.code_.from_one_hot(self._among_known(x, drawn))
            )
            for drawn in draws
        ]
