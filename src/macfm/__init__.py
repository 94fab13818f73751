"""Fill the holes of a table by mask-aware conditional flow matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from macfm._imputer import MACFMImputer

__version__ = "0.1.0"

__all__ = ["MACFMImputer", "__version__"]


def __getattr__(name: str) -> Any:
    """Import the imputer, and torch with it, when it is first asked for."""
    if name == "MACFMImputer":
        from macfm._imputer import MACFMImputer

        return MACFMImputer
    raise AttributeError(f"module 'macfm' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
