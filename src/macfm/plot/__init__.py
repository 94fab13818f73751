"""Pictures of what is missing and what was filled in.

Every function returns matplotlib Axes, draws into ``ax`` if given, and leaves
matplotlib's settings alone. matplotlib comes with ``pip install "macfm[plot]"``.
"""

from macfm.plot._convergence import convergence
from macfm.plot._distributions import distributions
from macfm.plot._intervals import intervals
from macfm.plot._missing import missing
from macfm.plot._patterns import patterns
from macfm.plot._scatter import scatter
from macfm.plot._style import PALETTE, THEMES, Theme, short_names

__all__ = [
    "PALETTE",
    "THEMES",
    "Theme",
    "convergence",
    "distributions",
    "intervals",
    "missing",
    "patterns",
    "scatter",
    "short_names",
]
