"""JSON Lines: one object per line, of which only the missing values change."""

from __future__ import annotations

import json
import re
from collections import Counter
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it

import pandas as pd

from macfm.files._encoding import Text
from macfm.files._errors import FileError
from macfm.files._formats import Format
from macfm.files._infer import TextColumn, infer
from macfm.files._marks import Marks, spellings
from macfm.files._styles import (
    BooleanStyle,
    EmptyStyle,
    Style,
    TextStyle,
    number_style,
    why_no_number,
)
from macfm.files._table_file import Fill, Filled, StyledFile

_space = re.compile(r"[ \t\r]*").match
# Numbers are read from their text, whatever their length.
_value = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
_surrogate = re.compile("[\ud800-\udfff]").search

Spans = dict[str, tuple[int, int]]


class JsonLinesFile(StyledFile):
    """A table of JSON objects.

    `lines` have no endings; those that are not of `data` are blank. `spans` tell where
    the value of each key stands in the line of each row, `tokens` how each text of a
    column of text is written in JSON.
    """

    def __init__(
        self,
        source: str,
        form: Format,
        frame: pd.DataFrame,
        *,
        text: Text,
        lines: list[str],
        data: list[int],
        spans: list[Spans],
        columns: dict[str, TextColumn],
        tokens: dict[str, dict[str, str]],
        notes: list[str],
    ) -> None:
        super().__init__(source, form, frame, columns=columns, notes=notes)
        self._text = text
        self._lines = lines
        self._data = data
        self._spans = spans
        self._tokens = tokens

    @property
    def places(self) -> pd.Index:
        """Line of the file that holds each row."""
        return pd.Index([i + 1 for i in self._data], name="line")

    def _facts(self) -> dict:
        return {"encoding": self._text.encoding}

    def _is_native(self, form: Format) -> bool:
        return form.name == "jsonl"

    def _encode(self, fill: Fill, form: Format) -> bytes:
        return self._text.encode("\n".join(self._filled_lines(fill)), self.source)

    def _stack(
        self, fills: list[tuple[int, Fill]], names: tuple[str, str], form: Format
    ) -> tuple[bytes, list[str]]:
        out = []
        keys = [json.dumps(name, ensure_ascii=False) for name in names]
        for number, fill in fills:
            lines = self._filled_lines(fill)
            for row, i in enumerate(self._data):
                line, brace = lines[i], lines[i].index("{") + 1
                comma, colon = _separators(self._lines[i], self._spans[row])
                pairs = [f"{keys[0]}{colon}{number}", f"{keys[1]}{colon}{row + 1}"]
                rest = line[brace:].lstrip()
                if not rest.startswith("}"):
                    pairs.append("")
                out.append(line[:brace] + comma.join(pairs) + rest)
        return self._text.encode("\n".join([*out, ""]), self.source), []

    def _filled_lines(self, fill: Fill) -> list[str]:
        lines = list(self._lines)
        # Per row the pieces to put in, from the right, so that spans stay true.
        pieces: dict[int, list[tuple[str, str]]] = {}
        for name, filled in fill.items():
            for row, token in zip(
                filled.rows.tolist(), self._render(name, filled), strict=True
            ):
                pieces.setdefault(row, []).append((name, token))
        for row, put in pieces.items():
            line, spans = lines[self._data[row]], self._spans[row]
            there = sorted((spans[n], token) for n, token in put if n in spans)
            for (start, end), token in reversed(there):
                line = line[:start] + token + line[end:]
            absent = [(n, token) for n, token in put if n not in spans]
            if absent:
                comma, colon = _separators(lines[self._data[row]], spans)
                pairs = [
                    json.dumps(n, ensure_ascii=False) + colon + t for n, t in absent
                ]
                brace = line.rindex("}")
                body = line[:brace].rstrip()
                gap = line[len(body) : brace]
                lead = comma if spans else ""
                line = body + lead + comma.join(pairs) + gap + line[brace:]
            lines[self._data[row]] = line
        return lines

    def _render(self, name: str, filled: Filled) -> list[str]:
        """What fills a column as JSON."""
        style, tokens = self._styles[name], self._tokens.get(name, {})
        if style.kind in ("integer", "float", "boolean"):
            return style.render(filled.values, filled.bounds)
        if style.kind == "empty":
            written = style.render(filled.values)
            plain = (
                text if isinstance(value, pd.Timestamp) else value
                for text, value in zip(written, filled.values, strict=True)
            )
            return [json.dumps(value, ensure_ascii=False) for value in plain]
        return [
            tokens.get(text) or json.dumps(text, ensure_ascii=False)
            for text in style.render(filled.values, filled.bounds)
        ]


def _separators(line: str, spans: Spans) -> tuple[str, str]:
    """What stands between two pairs and between a key and its value in a line."""
    if not spans:
        return ", ", ": "
    start, end = next(iter(spans.values()))
    before = line[:start].rstrip()[:-1].rstrip()  # up to the key
    colon = line[len(before) : start]
    after = line[end:].lstrip()
    if not after.startswith(","):
        return ("," if colon == ":" else ", "), colon
    return "," + " " * (len(after[1:]) - len(after[1:].lstrip())), colon


def read_json_lines(
    text: Text, source: str, form: Format, *, marks: Marks
) -> JsonLinesFile:
    """Read a table of JSON objects; null and absent keys are missing cells."""
    lines = text.text.split("\n")
    data, spans = [], []
    for i, line in enumerate(lines):
        if line.strip():
            data.append(i)
            spans.append(_spans(line, i + 1, source))
    if not data:
        raise FileError(f"{source}: is empty")
    names = list(dict.fromkeys(name for row in spans for name in row))
    if not names:
        raise FileError(f"{source}: the objects have no keys")
    if "" in names:
        raise FileError(f"{source}: a key is empty; every column needs a name")
    marks.check_columns(names, source)
    columns, tokens, arrays = {}, {}, {}
    for name in names:
        raws = [
            lines[i][slice(*row[name])] if name in row else "null"
            for i, row in zip(data, spans, strict=True)
        ]
        column, tokens[name] = _column(Counter(raws), marks.of(name)[0])
        columns[name] = column
        arrays[name] = column.style.array([column.value_of[raw] for raw in raws])
    notes = [f"column {n!r}: {note}" for n, c in columns.items() for note in c.notes]
    return JsonLinesFile(
        source,
        form,
        pd.DataFrame(arrays),
        text=text,
        lines=lines,
        data=data,
        spans=spans,
        columns=columns,
        tokens=tokens,
        notes=[*text.notes, *notes],
    )


def _past_space(line: str, at: int) -> int:
    """Where what is no white space begins, from ``at`` on."""
    found = _space(line, at)
    assert found is not None  # it matches nothing as well
    return found.end()


def _spans(line: str, number: int, source: str) -> Spans:
    """Where the values of an object stand in its line."""

    def wrong(at: int, what: str) -> FileError:
        return FileError(f"{source}, line {number}, character {at + 1}: {what}")

    spans: Spans = {}
    at = _past_space(line, 0)
    if not line.startswith("{", at):
        raise wrong(at, "a JSON object {...} is needed on each line")
    at = _past_space(line, at + 1)
    more = not line.startswith("}", at)
    while more:
        if not line.startswith('"', at):
            raise wrong(at, "a key in quotes is needed")
        try:
            key, end = scanstring(line, at + 1)
            colon = _past_space(line, end)
            if not line.startswith(":", colon):
                raise wrong(colon, "a colon is needed after a key")
            start = _past_space(line, colon + 1)
            value, end = _value(line, start)
        except json.JSONDecodeError as error:
            raise wrong(error.pos, f"not JSON ({error.msg})") from None
        except RecursionError:
            raise wrong(start, "the value is nested too deeply") from None
        if key in spans:
            raise wrong(at, f"key {key!r} occurs twice")
        for place, text in ((at, key), (start, value)):
            if isinstance(text, str) and (half := _surrogate(text)):
                raise wrong(
                    place,
                    f"the {'key' if place == at else f'value of {key!r}'} holds half a "
                    f"character, \\u{ord(half[0]):04x} (a lone surrogate); replace it, "
                    "for instance with \\ufffd",
                )
        spans[key] = (start, end)
        at = _past_space(line, end)
        more = line.startswith(",", at)
        if more:
            at = _past_space(line, at + 1)
        elif not line.startswith("}", at):
            raise wrong(at, "a comma or a closing brace is needed")
    at = _past_space(line, at + 1)
    if at != len(line):
        raise wrong(at, "there is more text after the object")
    return spans


def _column(
    counts: Counter[str], marks: frozenset[str]
) -> tuple[TextColumn, dict[str, str]]:
    """Infer a column from its JSON values; also how its texts are written."""
    text_of = {raw: json.loads(raw) if raw[0] == '"' else raw for raw in counts}
    marks = spellings(marks, text_of.values())
    missing = {
        raw
        for raw, text in text_of.items()
        if raw in ("null", "NaN") or text.strip() in marks
    }
    kept = [raw for raw in counts if raw not in missing]
    texts = {raw: text_of[raw] for raw in kept}
    found = {raw: n for raw, n in counts.items() if raw in missing}
    value_of: dict = dict.fromkeys(counts)
    if not kept:
        return TextColumn(EmptyStyle(), value_of, found), {}
    forms = {_form(raw) for raw in kept}
    notes: list[str] = []
    style: Style | None = None
    if forms == {"number"}:
        style = number_style([raw.replace("Infinity", "inf") for raw in kept])
        if style is None:
            notes.append(f"kept as text: {why_no_number(kept)}")
    elif forms == {"boolean"}:
        style = BooleanStyle()
    elif forms == {"string"}:
        inner = Counter({texts[raw]: counts[raw] for raw in kept})
        style = infer(inner, frozenset(), frozenset(), only_times=True).style
    else:
        words = " and ".join(sorted(forms))
        notes.append(f"kept as text: it holds {words} values")
    style = style or TextStyle()
    value_of.update(zip(kept, style.values([texts[raw] for raw in kept]), strict=True))
    tokens = {texts[raw]: raw for raw in reversed(kept)}
    return TextColumn(style, value_of, found, notes), tokens


def _form(raw: str) -> str:
    if raw[0] == '"':
        return "string"
    if raw in ("true", "false"):
        return "boolean"
    return "nested" if raw[0] in "{[" else "number"
