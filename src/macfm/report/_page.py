"""From facts to one HTML page."""

from __future__ import annotations

from macfm._version import __version__
from macfm.profile import percent
from macfm.report._done import done_section
from macfm.report._facts import Facts
from macfm.report._filled import filled_section
from macfm.report._missing import missing_section
from macfm.report._paragraph import methods_paragraphs, references
from macfm.report._quality import quality_section
from macfm.report._words import count, listed

__all__ = ["render"]


def render(facts: Facts) -> str:
    """Return the page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["percent"] = percent
    environment.filters["count"] = count
    environment.filters["listed"] = listed
    environment.filters["thousands"] = lambda n: f"{n:,}"
    return environment.get_template("report.html.jinja").render(
        title=facts.title,
        name=facts.name,
        header=_header(facts),
        missing=missing_section(facts),
        done=done_section(facts),
        quality=quality_section(facts),
        filled=filled_section(facts),
        paragraphs=methods_paragraphs(facts),
        references=references(facts),
        flags=facts.flags,
        version=__version__,
    )


def _header(facts: Facts) -> list[tuple[str, str]]:
    """The facts at the top."""
    n_rows, n_columns = facts.frame.shape
    seed = facts.imputer.random_state
    entries = [
        ("Table", f"{n_rows:,} × {n_columns:,}"),
        ("Missing", percent(facts.profile.missing_rate)),
        ("Cells filled", f"{int(facts.n_filled.sum()):,}"),
        ("Preset", str(facts.imputer.preset)),
        ("Seed", str(seed) if isinstance(seed, int) else "not fixed"),
        ("Fitted in", _duration(facts.seconds)),
        ("macfm", __version__),
        ("Date", facts.date.isoformat()),
    ]
    return [(term, text) for term, text in entries if text]


def _duration(seconds: float | None) -> str:
    """Write a duration; nothing if it is not known."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"
