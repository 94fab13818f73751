"""Fill the holes of a table by mask-aware conditional flow matching."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from macfm._version import __version__

if TYPE_CHECKING:
    from macfm import plot, profile
    from macfm.imputer import MACFMImputer, ModelFileError, describe_model

__all__ = [
    "MACFMImputer",
    "ModelFileError",
    "__version__",
    "describe_model",
    "plot",
    "profile",
]

# Public names by the package they come from; torch comes with the imputer alone.
_FROM = {
    "MACFMImputer": "imputer",
    "ModelFileError": "imputer",
    "describe_model": "imputer",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for."""
    if name in _FROM:
        return getattr(importlib.import_module(f"macfm.{_FROM[name]}"), name)
    if name in ("plot", "profile"):
        return importlib.import_module(f"macfm.{name}")
    raise AttributeError(f"module 'macfm' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
