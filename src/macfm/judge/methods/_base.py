"""What the benchmark asks of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, Self

import pandas as pd

from macfm._errors import ParameterError


class Method(ABC):
    """An imputer as the benchmark sees it.

    A table is a DataFrame whose numeric columns are float64 and whose other columns
    hold text; missing cells are NaN or None. A method is given tables with holes and
    nothing else: what was hidden is gone before it is called.

    Parameters
    ----------
    seed : int
        Seed of everything random in the method.
    device : str
        Where to compute, ``"cpu"``, ``"cuda"`` or ``"auto"``, a GPU if there is one;
        methods without networks ignore it.
    n_threads : int
        Threads the method may use.
    **settings
        The method's own settings, over its class attribute `defaults`. An unknown name
        is an error.
    """

    #: Name in the registry, in specs and in records.
    name: ClassVar[str]
    #: Name in tables and figures.
    title: ClassVar[str]
    #: One line on what it is and where it comes from.
    about: ClassVar[str]
    #: False if `impute` fits again on the rows it is given.
    inductive: ClassVar[bool] = True
    #: True if a filled value depends on the row's other cells.
    learned: ClassVar[bool] = True
    #: Distributions it needs beside macfm's own, as requirement strings.
    requires: ClassVar[tuple[str, ...]] = ()
    #: Environment of `make peers` that has them, if the present one has not.
    environment: ClassVar[str | None] = None
    #: Modules it imports late, which the benchmark imports before it takes the time.
    imports: ClassVar[tuple[str, ...]] = ()
    #: Settings and their defaults.
    defaults: ClassVar[dict[str, Any]] = {}
    #: What `compare` changes in them on a user's own machine.
    modest: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, *, seed: int = 0, device: str = "cpu", n_threads: int = 1, **settings: Any
    ) -> None:
        names = self.setting_names()
        unknown = sorted(set(settings) - names)
        if unknown:
            known = ", ".join(sorted(names)) or "none"
            raise ParameterError(
                f"{self.name} has no setting {unknown[0]!r}; its settings are: {known}",
                parameter=unknown[0],
            )
        self.seed = seed
        self.device = device
        self.n_threads = n_threads
        self.settings = self.defaults | settings

    @classmethod
    def setting_names(cls) -> set[str]:
        """Return the settings there are; those of `defaults` unless there are more."""
        return set(cls.defaults)

    @abstractmethod
    def fit(self, train: pd.DataFrame) -> Self:
        """Learn from the training rows."""

    @abstractmethod
    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with every hole filled and nothing else changed."""

    @property
    def draws(self) -> bool:
        """Whether the method gives several plausible tables."""
        return type(self).draw is not Method.draw

    def draw(self, table: pd.DataFrame, n: int) -> list[pd.DataFrame]:
        """Return `n` plausible completed tables."""
        raise TypeError(f"{self.name} does not draw")

    def probabilities(self, table: pd.DataFrame) -> dict[str, pd.DataFrame] | None:
        """Return category probabilities by column, or None if it has none."""
        return None

    def fit_key(self) -> Hashable | None:
        """Return what tells two fits apart, or None if a fit is never shared.

        Methods of equal keys learn the same model and differ in how they read it, so
        that one fit serves them all.
        """
        return None

    def adopt(self, fitted: Method) -> None:
        """Take over the model of another method of the same `fit_key`."""
        raise TypeError(f"{self.name} does not share its fit")

    def resolved(self) -> dict[str, Any]:
        """Return the settings as they were used, for the record."""
        return dict(self.settings)

    def network_evaluations_per_row(self) -> int | None:
        """Return evaluations of a network for one imputed row, if it has one."""
        return None
