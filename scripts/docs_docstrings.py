"""Extension of the documentation: two things that docstrings say, shown as they mean.

The reader of docstrings takes the first of ``{"mean", "draw"}, default="mean"`` to be
the default; written ``"mean" | "draw", default="mean"`` it takes the one that is said.
And it takes the examples of a module for quotations, unless they are fenced.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

CHOICES = re.compile(r"^(\s*\w[\w, ]* : )\{([^{}]+)\}", re.MULTILINE)
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


def with_bars(found: re.Match[str]) -> str:
    """Turn the braces of one parameter into bars."""
    return found[1] + re.sub(r",\s*", " | ", found[2])


class Docstrings(griffe.Extension):
    """Rewrite docstrings before they are read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is None:
            return
        text = CHOICES.sub(with_bars, obj.docstring.value)
        if obj.is_module:
            text = EXAMPLE.sub(r"```pycon\n\g<0>\n```", text)
        obj.docstring.value = text
