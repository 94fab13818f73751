"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

# scikit-learn wraps `transform`, so that its frames lie between as well.
_PASSED = ("macfm", "sklearn")


def outside() -> int:
    """Return the level of the innermost line outside macfm and scikit-learn.

    It is the ``stacklevel`` of a warning that the caller gives.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in _PASSED:
        frame, level = frame.f_back, level + 1
    return level


def warn_user(message: str) -> None:
    """Warn at the innermost line outside macfm and scikit-learn."""
    warnings.warn(message, UserWarning, stacklevel=outside())
