"""Tables, figures and a page: pure functions of records."""

from macfm.bench.report._report import write_pages

__all__ = ["write_pages"]
