"""The kind of a column from its texts, and which of them mean that a value misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from macfm.files._errors import FileError
from macfm.files._styles import (
    BooleanStyle,
    EmptyStyle,
    FloatStyle,
    IntegerStyle,
    Style,
    TextStyle,
    number_style,
    why_no_number,
)
from macfm.files._times import TimeStyle, has_odd_zone


@dataclass
class TextColumn:
    """What was found out about a column of texts."""

    #: How its values are written.
    style: Style
    #: The value of each distinct text, None where it stands for a missing one.
    value_of: dict
    #: The marks of missing values that occur, and how often.
    marks: dict[str, int]
    #: What a person should know.
    notes: list[str] = field(default_factory=list)

    def value(self, text: str) -> Any:
        """Return the value of a text, whose surrounding spaces only text columns keep.

        In `value_of` the texts stand without them.
        """
        value = self.value_of[text.strip()]
        return text if value is not None and self.style.kind == "text" else value


def check_kinds(kinds: Mapping[str, str], columns: Collection[str], name: str) -> None:
    """Refuse kinds that do not exist or are given for columns that are not there."""
    for column, kind in kinds.items():
        if column not in columns:
            raise FileError(
                f"{name}: a kind is given for column {column!r}, which the file does "
                "not have"
            )
        if kind not in _STYLES:
            raise FileError(
                f"{name}: kind {kind!r} of column {column!r} is not one of "
                f"{', '.join(_STYLES)}"
            )


def infer(
    counts: Counter[str],
    always: frozenset[str],
    outside_text: frozenset[str],
    *,
    comma_first: bool = False,
    wished: str | None = None,
    only_times: bool = False,
) -> TextColumn:
    """Find the kind of a column.

    Parameters
    ----------
    counts : Counter of str
        The distinct texts, without surrounding spaces, and how often each occurs.
    always : frozenset of str
        Texts that stand for a missing value.
    outside_text : frozenset of str
        Texts that do so if the column is not text.
    comma_first : bool, default=False
        Whether ``1,234`` has decimals rather than thousands.
    wished : str, optional
        The kind the column must have.
    only_times : bool, default=False
        Whether only text and times are looked for, where numbers have a notation of
        their own.

    Raises
    ------
    FileError
        If a text is not of the kind wished; the text is the error's second argument.
    """
    texts = [text for text in counts if text not in always]
    clear = [text for text in texts if text not in outside_text]
    style: Style = TextStyle()
    if wished is not None:
        style = _wished(wished, clear, comma_first)
    elif not texts:
        style = EmptyStyle()
    elif clear:
        style = _first(clear, comma_first, only_times) or style
    is_text = style.kind == "text"
    kept = texts if is_text else clear
    value_of: dict = dict.fromkeys(counts)
    value_of.update(zip(kept, style.values(kept), strict=True))
    marks = {text: n for text, n in counts.items() if value_of[text] is None}
    notes = _notes(counts, texts, outside_text, comma_first) if is_text else []
    return TextColumn(style, value_of, marks, notes if wished is None else [])


def _first(texts: Collection[str], comma_first: bool, only_times: bool) -> Style | None:
    if not only_times:
        style: Style | None = BooleanStyle.of(texts)
        style = style or number_style(texts, comma_first=comma_first)
        if style is not None:
            return style
    return TimeStyle.of(texts)


def _times(texts: Collection[str], *, dates: bool) -> Style | None:
    if not texts:
        return TimeStyle(gap="", most=0) if dates else TimeStyle()
    style = TimeStyle.of(texts)
    return style if style is not None and dates != bool(style.gap) else None


# The style of texts of a wished kind, None if they are not all of it.
_STYLES: dict[str, Callable[..., Style | None]] = {
    "integer": lambda texts, _: IntegerStyle.of(texts),
    "float": lambda texts, comma: FloatStyle.of(texts, comma_first=comma),
    "boolean": lambda texts, _: BooleanStyle.of(texts) if texts else BooleanStyle(),
    "date": lambda texts, _: _times(texts, dates=True),
    "datetime": lambda texts, _: _times(texts, dates=False),
    "text": lambda texts, _: TextStyle(),
}


def _wished(kind: str, texts: Collection[str], comma_first: bool) -> Style:
    """The style of a given kind; raises for the first text that is not of it."""
    of = _STYLES[kind]
    style = of(texts, comma_first)
    if style is None:
        odd = (text for text in texts if of([text], comma_first) is None)
        raise FileError("not of the kind", next(odd, next(iter(texts))))
    return style


def _notes(
    counts: Counter[str],
    texts: Collection[str],
    outside_text: frozenset[str],
    comma_first: bool,
) -> list[str]:
    """What may surprise about a column that stays text."""
    notes = []
    kept = [text for text in texts if text in outside_text]
    if kept:
        words = ", ".join(f"{text!r} ({counts[text]} times)" for text in kept[:3])
        notes.append(
            f"{words} is taken for a value; list it among the missing-value marks if "
            "it is none"
        )
    clear = [text for text in texts if text not in outside_text]
    numbers = {text for text in clear if FloatStyle.of([text], comma_first=comma_first)}
    others = [text for text in clear if text not in numbers]
    n_numbers = sum(counts[text] for text in numbers)
    n_others = sum(counts[text] for text in others)
    lossy = None if others else why_no_number(clear)
    odd = next((text for text in clear if has_odd_zone(text)), None)
    if lossy:
        notes.append(f"kept as text: {lossy}")
    elif odd is not None:
        notes.append(f"kept as text: {odd!r} has a time zone that does not exist")
    elif others and all(_is_grouped(text) or text in numbers for text in clear):
        notes.append(
            f"kept as text: {others[0]!r} may have thousands separators; take them out "
            "to have it read as a number"
        )
    elif n_numbers > n_others > 0:
        notes.append(
            f"kept as text: {n_numbers} cells are numbers, but {n_others} are not, "
            f"such as {others[0]!r}"
        )
    return notes


def _is_grouped(text: str) -> bool:
    """Whether digits stand in groups of three, as in 1,234.5 or 1.234."""
    head, *groups = text.lstrip("+-").replace(".", ",").split(",")
    if not groups or not 0 < len(head) < 4 or head[0] == "0":
        return False
    middle = groups if len(groups) == 1 else groups[:-1]
    digits = "".join([head, *groups])
    return digits.isdigit() and all(len(group) == 3 for group in middle)
