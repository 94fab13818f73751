"""What a user needs to judge an imputation.

`mechanisms` hides cells of any table, `metrics` scores any completed one, `methods`
holds the imputers behind one interface, and `compare` puts them side by side on cells
hidden in a user's own table.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from macfm.judge._advice import Advice
from macfm.judge._compare import compare, usual_methods
from macfm.judge._comparison import Comparison
from macfm.judge._coverage import expected_coverage

if TYPE_CHECKING:
    from macfm.judge import mechanisms, methods, metrics

__all__ = [
    "Advice",
    "Comparison",
    "compare",
    "expected_coverage",
    "mechanisms",
    "methods",
    "metrics",
    "usual_methods",
]


def __getattr__(name: str) -> Any:
    """Import a module when it is first asked for; mechanisms bring scipy."""
    if name in __all__:
        return importlib.import_module(f"macfm.judge.{name}")
    raise AttributeError(f"module 'macfm.judge' has no attribute {name!r}")
