"""Pictures of what is missing and what was filled in.

Every function returns matplotlib Axes, draws into ``ax`` if given, and leaves
matplotlib's settings alone. matplotlib comes with ``pip install "macfm[plot]"``.
"""

from ._convergence import convergence
from ._distributions import distributions
from ._intervals import intervals
from ._missing import missing
from ._patterns import patterns
from ._scatter import scatter
from ._style import PALETTE, THEMES, Theme

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
]
