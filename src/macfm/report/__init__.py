"""What was missing, what was done, how good it is, what was filled: one page.

``macfm.report(df, imputer)`` gives the page, which notebooks show and whose ``save``
writes one file that needs nothing from outside. It needs
``pip install "macfm[report]"``.
"""

from macfm._callable import make_callable
from macfm.report._report import Report, report

__all__ = ["Report", "report"]

make_callable(__name__)
