"""Tables, figures and a page: pure functions of records."""

from macfm.bench.report._report import write_report
from macfm.bench.report._statistics import expected_coverage

__all__ = ["expected_coverage", "write_report"]
