"""What a user needs to judge an imputation.

`mechanisms` hides cells of any table, `metrics` scores any completed one, `methods`
holds the imputers behind one interface, and `compare` puts them side by side on cells
hidden in a user's own table.
"""

from macfm.judge import mechanisms, methods, metrics
from macfm.judge._advice import Advice
from macfm.judge._compare import compare, usual_methods
from macfm.judge._comparison import Comparison
from macfm.judge._coverage import expected_coverage

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
