"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

# scikit-learn wraps `transform`, so that its frames lie between as well.
_PASSED = ("macfm", "sklearn")


def _outside() -> int:
    """Return the level of the innermost line outside macfm and scikit-learn.

    It is the ``stacklevel`` of a warning that the caller gives.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in _PASSED:
        frame, level = frame.f_back, level + 1
    return level


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside macfm and scikit-learn."""
    warnings.warn(message, category, stacklevel=_outside())


def warn_old(what: str) -> None:
    """Warn of a spelling of earlier versions, which works for one release more."""
    message = f"{what}; the old spelling will go with the next release"
    warn_user(message, FutureWarning)
