"""What is missing from a table, in which patterns, and what that depends on.

``macfm.profile(df)`` describes a table column by column; ``little_test`` and
``missing_dependence`` ask whether cells are missing completely at random. Results are
frozen dataclasses whose ``to_json`` gives plain data.
"""

from macfm._callable import make_callable
from macfm._words import percent
from macfm.profile._columns import ColumnProfile
from macfm.profile._dependence import (
    CAVEAT,
    ColumnDependence,
    Dependence,
    missing_dependence,
)
from macfm.profile._drivers import Driver, holm
from macfm.profile._findings import Finding, Mark, missing_marks
from macfm.profile._little import LittleTest, little_test
from macfm.profile._patterns import Pattern, Patterns, missing_patterns
from macfm.profile._profile import TableProfile, profile
from macfm.profile._skips import Skip

__all__ = [
    "CAVEAT",
    "ColumnDependence",
    "ColumnProfile",
    "Dependence",
    "Driver",
    "Finding",
    "LittleTest",
    "Mark",
    "Pattern",
    "Patterns",
    "Skip",
    "TableProfile",
    "holm",
    "little_test",
    "missing_dependence",
    "missing_marks",
    "missing_patterns",
    "percent",
    "profile",
]

make_callable(__name__)
