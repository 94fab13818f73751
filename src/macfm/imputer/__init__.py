"""The imputer: scikit-learn's contract around a fitted model, and its file.

Model files are described without torch, which comes with the imputer itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from macfm.imputer._model_file import ModelFileError, describe_model
from macfm.imputer._parameters import EXPERT, READ_OUT, Parameter

if TYPE_CHECKING:
    from macfm.imputer._device import resolve_device
    from macfm.imputer._estimator import MACFMImputer

__all__ = [
    "EXPERT",
    "READ_OUT",
    "MACFMImputer",
    "ModelFileError",
    "Parameter",
    "describe_model",
    "resolve_device",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch, and torch with it, when it is first asked for."""
    if name == "MACFMImputer":
        from macfm.imputer._estimator import MACFMImputer

        return MACFMImputer
    if name == "resolve_device":
        from macfm.imputer._device import resolve_device

        return resolve_device
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
