"""MACFMImputer in three forms."""

from __future__ import annotations

import copy
import json
from collections.abc import Hashable
from typing import Any, ClassVar, Self

import pandas as pd
from pandas.api.types import is_float_dtype

from macfm.judge.methods._base import Method

# Parameters that the benchmark itself sets.
_TAKEN = ("device", "random_state", "verbose", "settings")


class MACFM(Method):
    """The conditional mean, the imputer's default.

    Any parameter of `MACFMImputer` is a setting, save those the benchmark sets itself.
    Columns of floats are plain numbers unless the settings speak of them: the benchmark
    has said which columns are categories, and it scores fractions.
    """

    name: ClassVar[str] = "macfm"
    title: ClassVar[str] = "MACFM"
    about: ClassVar[str] = "Impute-MACFM, conditional mean."
    defaults: ClassVar[dict[str, Any]] = {"empty_columns": "error"}

    @classmethod
    def setting_names(cls) -> set[str]:
        """Return the parameters of the imputer."""
        from macfm.imputer import MACFMImputer

        return set(MACFMImputer().get_params()).difference(_TAKEN)

    def fit(self, train: pd.DataFrame) -> Self:
        """Train the imputer."""
        imputer = self._imputer()
        if imputer.numeric is None:
            named = {*(imputer.categorical or ()), *(imputer.ordinal or ())}
            floats = [name for name in train if is_float_dtype(train[name])]
            imputer.set_params(numeric=[n for n in floats if n not in named])
        self.imputer_ = imputer.fit(train)
        return self

    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Fill with the imputer's `transform`."""
        return self.imputer_.transform(table)

    def draw(self, table: pd.DataFrame, n: int) -> list[pd.DataFrame]:
        """Draw with the imputer's `sample`."""
        return self.imputer_.sample(table, n)

    def probabilities(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return the probabilities of the imputer; an observed cell is certain."""
        numbered = table.reset_index(drop=True)
        found = {}
        for name, shares in self.imputer_.category_probabilities(numbered).items():
            known = pd.get_dummies(numbered[name], dtype=float)
            known = known.reindex(columns=shares.columns, fill_value=0.0)
            known.loc[shares.index] = shares
            found[name] = known.set_axis(table.index)
        for column in self.imputer_.schema_.columns:
            if column.kind == "constant" and not is_float_dtype(table[column.name]):
                found[column.name] = pd.DataFrame(
                    1.0, index=table.index, columns=list(column.categories)
                )
        return {name: found[name] for name in table if name in found}

    def fit_key(self) -> Hashable:
        """Return the training parameters, in one string."""
        from macfm.imputer import READ_OUT

        parameters = self._imputer().get_params()
        trained = {
            name: value
            for name, value in parameters.items()
            if name not in READ_OUT and name != "settings"
        }
        return json.dumps(trained, sort_keys=True, default=repr)

    def adopt(self, fitted: Method) -> None:
        """Read another form's model in this one's way."""
        from macfm.imputer import READ_OUT

        if fitted.fit_key() != self.fit_key():
            raise ValueError(
                f"{self.name} cannot adopt the fit of {fitted.name}: they do not train "
                "the same"
            )
        assert isinstance(fitted, MACFM)
        own = self._imputer().get_params()
        self.imputer_ = copy.copy(fitted.imputer_)
        self.imputer_.set_params(**{name: own[name] for name in READ_OUT})

    def resolved(self) -> dict[str, Any]:
        """Return the imputer's parameters with the preset's values filled in."""
        given = {k: v for k, v in self.settings.items() if v is not None}
        return given | self.imputer_.settings_

    def network_evaluations_per_row(self) -> int:
        """Count evaluations: trajectories, steps, stages of a step, and networks.

        Trajectories that are moved to a better mean need that of the networks too.
        """
        used = self.imputer_.settings_
        network = self.imputer_.network_
        if network is None:
            return 0
        calm = getattr(network, "calm", None)
        n_mean = 1 if calm is None else calm.n_steps
        if not used["n_trials"]:
            return n_mean * used["n_networks"]
        stages = {"euler": 1, "heun": 2}[used["solver"]]
        moved = getattr(network, "polish", None) is not None
        n_evaluations = used["n_trials"] * used["n_steps"] * stages + moved * n_mean
        return n_evaluations * used["n_networks"]

    def _imputer(self) -> Any:
        from macfm.imputer import MACFMImputer

        return MACFMImputer(
            **self.settings, device=self.device, random_state=self.seed, verbose=False
        )


class MACFMMedian(MACFM):
    """The median of sampled trajectories, the least absolute error."""

    name: ClassVar[str] = "macfm-median"
    title: ClassVar[str] = "MACFM (median)"
    about: ClassVar[str] = "Impute-MACFM, median of 100 trajectories."
    defaults: ClassVar[dict[str, Any]] = {
        "method": "median",
        "empty_columns": "error",
    }


class MACFMPaper(MACFM):
    """The method as published: the mean of 50 trajectories of a plain network."""

    name: ClassVar[str] = "macfm-paper"
    title: ClassVar[str] = "MACFM (paper)"
    about: ClassVar[str] = "Impute-MACFM as published, mean of 50 trajectories."
    defaults: ClassVar[dict[str, Any]] = {"preset": "paper", "empty_columns": "error"}
