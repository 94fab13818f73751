"""From facts to one HTML page."""

from __future__ import annotations

from macfm import page
from macfm._version import __version__
from macfm._words import percent, seconds_words
from macfm.report._done import done_section
from macfm.report._facts import Facts
from macfm.report._filled import filled_section
from macfm.report._missing import missing_section
from macfm.report._paragraph import methods_paragraphs, references
from macfm.report._quality import quality_section

SECTIONS = (
    ("missing", "What was missing"),
    ("done", "What was done"),
    ("quality", "How good it is"),
    ("filled", "What was filled"),
    ("methods", "For a methods section"),
)


def render(facts: Facts) -> str:
    """Return the page."""
    return page.render(
        __package__,
        contents=SECTIONS,
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
    return seconds_words(seconds) if seconds < 90 else f"{seconds / 60:.0f} min"
