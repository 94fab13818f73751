"""The page: gathered, rendered, kept."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from macfm._replace import replace_file
from macfm.judge import Comparison
from macfm.page import require
from macfm.report._facts import gather
from macfm.report._page import render

if TYPE_CHECKING:
    from macfm.imputer import MACFMImputer


@dataclass(frozen=True, repr=False)
class Report:
    """A page about an imputation, complete in itself.

    Attributes
    ----------
    title : str
        Its heading.
    html : str
        The whole page.
    comparison : Comparison or None
        The errors it shows.
    """

    title: str
    html: str
    comparison: Comparison | None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page into a file, replaced in one step if it is there."""
        target = Path(path)
        replace_file(target, self.html.encode("utf-8"))
        return target

    def __repr__(self) -> str:
        size = len(self.html.encode("utf-8")) / 1e6
        return f"Report({self.title!r}, {size:.1f} MB)"

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
            'style="width:100%;height:50rem;border:0" loading="lazy"></iframe>'
        )


def report(
    df: Any,
    imputer: MACFMImputer,
    *,
    completed: Any = None,
    draws: Sequence[Any] | None = None,
    compare: bool | Comparison = True,
    title: str | None = None,
    name: str | None = None,
    seed: int = 0,
    seconds: float | None = None,
    date: dt.date | None = None,
    flags: bool = False,
) -> Report:
    """Make a page about what an imputer did to a table.

    Parameters
    ----------
    df : DataFrame (pandas or polars) or float array
        The table with holes, with the columns of `fit`.
    imputer : MACFMImputer
        A fitted imputer.
    completed : table, default=None
        The completed table; ``imputer.transform(df)`` when None.
    draws : list of tables, default=None
        Draws of ``imputer.sample(df)`` that the analysis uses. When None the page
        draws some rows for its own pictures, and says that imputation was single.
    compare : bool or Comparison, default=True
        Errors on hidden observed cells: those of ``macfm.compare(df)``. True makes a
        small comparison in at most 2,000 rows and about two minutes, of two folds, or
        of one where fitting took more than 15 seconds; False leaves the section out.
    title : str, default=None
        Heading of the page, “Imputation report” when None.
    name : str, default=None
        Name of the table or file.
    seed : int, default=0
        Seed of the rows the page samples.
    seconds : float, default=None
        How long it took; the time of training when None.
    date : date, default=None
        The day to print; today when None.
    flags : bool, default=False
        Give advice as flags of the command line rather than as parameters.

    Returns
    -------
    Report
        The page, which a notebook shows and ``save`` writes into one file.

    Examples
    --------
    >>> import macfm
    >>> page = macfm.report(df, imputer)  # doctest: +SKIP
    >>> page.save("report.html")  # doctest: +SKIP
    """
    require("jinja2")
    require("matplotlib")
    facts = gather(
        df,
        imputer,
        completed=completed,
        draws=draws,
        compare=compare,
        title=title or "Imputation report",
        name=name or "",
        seed=seed,
        seconds=seconds,
        date=date or dt.date.today(),
        flags=flags,
    )
    return Report(title=facts.title, html=render(facts), comparison=facts.comparison)
