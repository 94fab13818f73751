"""What was missing, what was done, how good it is, what was filled: one page.

``make_report`` gives the page, which notebooks show; ``write_report`` writes it into
one file that needs nothing from outside. Both need ``pip install "macfm[report]"``.
"""

from macfm.report._report import Report, make_report, write_report

__all__ = ["Report", "make_report", "write_report"]
