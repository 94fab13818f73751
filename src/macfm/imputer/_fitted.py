"""What a fitted imputer tells of itself, and how its model is read by now."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from macfm.imputer._adjustable import Adjustable
from macfm.imputer._device import resolve_device
from macfm.imputer._model import FittedModel
from macfm.imputer._repr import fitted_html
from macfm.imputer._settings import Settings, resolve_read_out
from macfm.table import TableEncoder, TableSchema


class FittedAttributes(TransformerMixin, Adjustable):
    """The attributes of an estimator whose `model_` is a `FittedModel`."""

    model_: FittedModel
    device: str

    def _repr_html_inner(self) -> str:
        """Show a fitted imputer with what it learned."""
        html = super()._repr_html_inner()
        return html + fitted_html(self.model_) if hasattr(self, "model_") else html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the same in notebooks that ask for all they could show."""
        found = super()._repr_mimebundle_(**kwargs)
        if "text/html" in found and hasattr(self, "model_"):
            found["text/html"] += fitted_html(self.model_)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def schema_(self) -> TableSchema:
        """The columns as they were understood."""
        return self._model().schema

    @property
    def encoder_(self) -> TableEncoder:
        """The table's translation to numbers and back."""
        return self._model().encoder

    @property
    def network_(self) -> nn.Module | None:
        """The trained velocity network, on the CPU; None if nothing varied."""
        return self._model().network

    @property
    def history_(self) -> pd.DataFrame:
        """One row an evaluation."""
        return self._model().history

    @property
    def n_steps_(self) -> int:
        """Training steps taken by all networks."""
        return self._model().n_steps

    @property
    def n_iter_(self) -> int:
        """Training steps taken, at least 1."""
        return max(self.n_steps_, 1)

    @property
    def seed_(self) -> int:
        """The seed drawn from `random_state`."""
        return self._model().seed

    @property
    def indicator_features_(self) -> np.ndarray:
        """Positions of the columns that had holes in `fit`."""
        return self._model().had_holes

    @property
    def settings_(self) -> dict[str, Any]:
        """The values in force, the preset's included."""
        return self._settings().values

    def _model(self) -> FittedModel:
        check_is_fitted(self)
        return self.model_

    def _settings(self) -> Settings:
        """Return the settings in force: those of `fit`, the read-out's of now."""
        trained = dict(self._model().settings)
        parameters = self.get_params(deep=False) | {"preset": trained.pop("preset")}
        return resolve_read_out(parameters, trained=trained)

    def _reading(self) -> dict[str, Any]:
        """Say how and where the network is read, by the parameters of now."""
        return {
            "read_out": self._settings().read_out,
            "device": resolve_device(self.device),
        }
