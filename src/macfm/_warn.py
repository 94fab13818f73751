"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]

# scikit-learn wraps `transform`, so that its frames lie between as well.
_PASSED = ("macfm", "sklearn")


def warn_user(message: str) -> None:
    """Warn at the innermost line outside macfm and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in _PASSED:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
