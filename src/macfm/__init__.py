"""Fill the holes of a table by mask-aware conditional flow matching."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from macfm._version import __version__

if TYPE_CHECKING:
    from macfm import plot
    from macfm.imputer import MACFMImputer, ModelFileError, describe_model
    from macfm.judge import compare
    from macfm.profile import profile
    from macfm.report import report

__all__ = [
    "MACFMImputer",
    "ModelFileError",
    "__version__",
    "compare",
    "describe_model",
    "plot",
    "profile",
    "report",
]

# Public names by the package they come from; torch comes with the imputer alone.
# The packages `profile` and `report` can be called.
_FROM = {
    "MACFMImputer": "imputer",
    "ModelFileError": "imputer",
    "compare": "judge",
    "describe_model": "imputer",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for."""
    if name in _FROM:
        return getattr(importlib.import_module(f"macfm.{_FROM[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"macfm.{name}")
    raise AttributeError(f"module 'macfm' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return list(__all__)
