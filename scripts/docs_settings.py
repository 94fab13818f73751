"""Hook of the documentation: the table of expert settings, from their declarations."""

from __future__ import annotations

from typing import Any

from macfm.imputer import EXPERT

HERE = "<!-- settings -->"
PRESETS = ("default", "fast", "best", "paper")


def settings_table() -> str:
    """Return every expert setting: what it is, must be, and is in the presets."""
    lines = [
        f"| setting | meaning | must be | {' | '.join(PRESETS)} |",
        "|---|---|---|" + "---|" * len(PRESETS),
    ]
    for parameter in EXPERT.values():
        default = parameter.preset("default")
        values = [str(default)]
        for preset in PRESETS[1:]:
            value = parameter.preset(preset)
            values.append("" if value == default else str(value))
        words = parameter.words.replace("``", "`")
        when = "" if parameter.of == "fit" else " May be set after `fit`."
        cells = (f"`{parameter.name}`", words + when, parameter.rule.needed, *values)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table where a page asks for it."""
    return markdown.replace(HERE, settings_table()) if HERE in markdown else markdown
