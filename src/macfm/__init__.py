"""Fill the holes of a table by mask-aware conditional flow matching."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from macfm import plot, profile
    from macfm._imputer import MACFMImputer
    from macfm._model_file import ModelFileError, describe_model

__version__ = "0.1.0"

__all__ = [
    "MACFMImputer",
    "ModelFileError",
    "__version__",
    "describe_model",
    "plot",
    "profile",
]


def __getattr__(name: str) -> Any:
    """Import the imputer, and torch with it, when it is first asked for.

    Model files are described without torch.
    """
    if name == "MACFMImputer":
        from macfm._imputer import MACFMImputer

        return MACFMImputer
    if name in ("ModelFileError", "describe_model"):
        from macfm import _model_file

        return getattr(_model_file, name)
    if name in ("plot", "profile"):
        return importlib.import_module(f"macfm.{name}")
    raise AttributeError(f"module 'macfm' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
