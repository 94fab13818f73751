"""What is missing from a table, in which patterns, and what that depends on.

``profile`` describes a table column by column; ``little_test`` and
``missing_dependence`` ask whether cells are missing completely at random. Results are
frozen dataclasses whose ``to_json`` gives plain data.
"""

from ._columns import ColumnProfile
from ._dependence import CAVEAT, ColumnDependence, Dependence, missing_dependence
from ._drivers import Driver
from ._findings import Finding
from ._little import LittleTest, little_test
from ._patterns import Pattern, Patterns, missing_patterns
from ._plain import percent
from ._profile import TableProfile, profile

__all__ = [
    "CAVEAT",
    "ColumnDependence",
    "ColumnProfile",
    "Dependence",
    "Driver",
    "Finding",
    "LittleTest",
    "Pattern",
    "Patterns",
    "TableProfile",
    "little_test",
    "missing_dependence",
    "missing_patterns",
    "percent",
    "profile",
]
