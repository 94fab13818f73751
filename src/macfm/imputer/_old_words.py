"""Spellings of earlier versions, which go on working for a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from macfm._warn import warn_old
from macfm.imputer._parameters import N_TRIALS, OLD_NAMES


def is_old_word(name: str) -> bool:
    """Whether a parameter had this name once."""
    return name in OLD_NAMES or name == "aggregate"


def in_new_words(given: Mapping[str, Any], *, quiet: bool = False) -> dict[str, Any]:
    """Return parameters under their present names, with a warning for each change.

    Examples
    --------
    >>> old = {"method": "sample", "aggregate": "median", "n_trials": 50}
    >>> in_new_words(old, quiet=True)
    {'method': 'median', 'n_trials': 50}
    """
    told, notes = dict(given), []
    for old, new in OLD_NAMES.items():
        if old in told:
            told[new] = told.pop(old)
            notes.append(f"{old} is now called {new}")
    center = told.pop("aggregate", None)
    if told.get("method") == "sample":
        told["method"] = center or "mean"
        # The paper's preset has a number of its own.
        if told.get("n_trials") is None and told.get("preset") != "paper":
            told["n_trials"] = N_TRIALS
        notes.append(
            f"method='sample' is now method={told['method']!r} with the number of "
            "trajectories in n_trials"
        )
    elif center is not None:
        told["method"] = center
        notes.append(f"aggregate={center!r} is now method={center!r}")
    for note in notes if not quiet else ():
        warn_old(note)
    return told
