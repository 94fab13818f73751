"""Parameters that are got and set: the constructor's own and the expert settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Self

from sklearn.base import BaseEstimator

from macfm._warn import warn_user
from macfm.imputer._old_words import in_new_words
from macfm.imputer._parameters import EXPERT, READ_OUT, same_value

# Beside the read-out's, parameters that count after `fit` as well.
_OF_ALL_TIMES = (
    *("leave", "derive", "handle_unknown", "add_indicator", "device", "verbose"),
    *READ_OUT,
)


class Adjustable(BaseEstimator):
    """An estimator whose expert settings lie together and are reached one by one."""

    settings: Mapping[str, Any] | None

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Read the constructor's signature once; every call of a model asks for it."""
        return super()._get_param_names()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list each expert setting as well, None where it is not given.

        Returns
        -------
        dict
        """
        found = super().get_params(deep=False)
        if deep:
            settings = found["settings"]
            given = settings if isinstance(settings, Mapping) else {}
            found |= {name: given.get(name) for name in EXPERT}
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters and expert settings by name.

        Parameters
        ----------
        **parameters
            Names and values; None takes an expert setting back to the preset's value.
            After `fit`, those that only `fit` reads wait for the next one, and a
            warning says so.

        Returns
        -------
        Self
            The imputer itself.
        """
        parameters = in_new_words(parameters)
        before = self.get_params() if hasattr(self, "model_") else None
        expert = {name: parameters.pop(name) for name in EXPERT if name in parameters}
        super().set_params(**parameters)
        if expert:
            settings = {**(self.settings or {}), **expert}
            settings = {n: value for n, value in settings.items() if value is not None}
            self.settings = settings or None
        if before is not None:
            self._say_what_waits(before)
        return self

    def _say_what_waits(self, before: Mapping[str, Any]) -> None:
        """Warn of changed parameters that have no effect on a fitted model."""
        now = self.get_params()
        now.pop("settings")
        waits = [
            name
            for name, value in now.items()
            if name not in _OF_ALL_TIMES and not same_value(value, before[name])
        ]
        if waits:
            words = "takes" if len(waits) == 1 else "take"
            warn_user(f"{', '.join(waits)} {words} effect with the next fit")
