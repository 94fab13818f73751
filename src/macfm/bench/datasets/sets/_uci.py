"""What the sets of the UCI Machine Learning Repository have in common."""

from __future__ import annotations

LICENCE = "CC BY 4.0, as the UCI repository lists it"


def uci_file(number: int, slug: str) -> str:
    """Return the address of a set's archive.

    Examples
    --------
    >>> uci_file(2, "adult")
    'https://archive.ics.uci.edu/static/public/2/adult.zip'
    """
    return f"https://archive.ics.uci.edu/static/public/{number}/{slug}.zip"
