"""What options mean, once the columns they speak of are known."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import click


def names(option: str, given: Iterable[str], columns: Collection[str]) -> list[str]:
    """Return the columns an option names, separated by commas or given repeatedly.

    A name that holds a comma itself is recognised.
    """
    found: list[str] = []
    for text in given:
        parts = [text] if text in columns else text.split(",")
        for part in parts:
            name = part if part in columns else part.strip()
            if name:
                found.append(known(option, name, columns))
    return list(dict.fromkeys(found))


def known(option: str, name: str, columns: Collection[str]) -> str:
    """Return a name that is a column's, or say which ones are like it."""
    if name in columns:
        return name
    close = get_close_matches(name, columns, n=3)
    folded = [c for c in columns if c.lower() == name.lower()]
    like = ", ".join(map(repr, dict.fromkeys([*folded, *close])))
    hint = f"did you mean {like}?" if like else f"columns are {_few(columns)}"
    raise click.UsageError(f"{option}: there is no column {name!r}; {hint}")


def _few(columns: Collection[str]) -> str:
    shown = [repr(name) for name in list(columns)[:12]]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _assigned(option: str, text: str, columns: Collection[str]) -> tuple[str, str]:
    """Split ``column=value``; a column's name may hold an equals sign itself."""
    places = [match.start() for match in re.finditer("=", text)]
    for place in reversed(places):
        if text[:place] in columns:
            return text[:place], text[place + 1 :]
    if not places:
        raise click.UsageError(f"{option}: expected COLUMN=..., got {text!r}")
    name = text[: places[0]].strip()
    return known(option, name, columns), text[places[0] + 1 :]


def ordinals(given: Iterable[str], kinds: Mapping[str, str]) -> dict[str, list[Any]]:
    """Read ``stage=I<II<III``; levels are of the kind of their column.

    Examples
    --------
    >>> ordinals(["class=1<2<3"], {"class": "integer"})
    {'class': [1, 2, 3]}
    """
    found = {}
    for text in given:
        name, levels = _assigned("--ordinal", text, kinds)
        parts = [level.strip() for level in levels.split("<")]
        if len(parts) < 2 or not all(parts):
            raise click.UsageError(
                f"--ordinal: expected levels from low to high such as "
                f"'{name}=low<middle<high', got {text!r}"
            )
        found[name] = [_value("--ordinal", name, p, kinds[name]) for p in parts]
    return found


def bounds(given: Iterable[str], kinds: Mapping[str, str]) -> Any:
    """Read ``age=0:120,weight=0:``, or one word for all columns.

    Examples
    --------
    >>> bounds(["age=0:120,day=2020-01-01.."], {"age": "integer", "day": "date"})
    {'age': (0, 120), 'day': ('2020-01-01', None)}
    >>> bounds(["observed"], {}), bounds(["none"], {}), bounds([], {})
    ('observed', None, 'auto')
    """
    words = {"auto": "auto", "observed": "observed", "none": None}
    found: dict[str, Any] = {}
    for text in given:
        if text.strip() in words and text.strip() not in kinds:
            return words[text.strip()]
        for part in _assignments(text, kinds):
            name, ends = _assigned("--bounds", part, kinds)
            if ends.strip() in words:
                found[name] = words[ends.strip()]
                continue
            low, gap, high = ends.partition(".." if ".." in ends else ":")
            if not gap:
                raise click.UsageError(
                    f"--bounds: expected LOW:HIGH such as '{name}=0:120', "
                    f"'{name}=0:', '{name}=observed' or '{name}=none', got {part!r}"
                )
            found[name] = tuple(
                _value("--bounds", name, end.strip(), kinds[name])
                if end.strip()
                else None
                for end in (low, high)
            )
    return found or "auto"


def _assignments(text: str, columns: Collection[str]) -> list[str]:
    """Split at the commas that stand between assignments."""
    if any(text.startswith(f"{name}=") for name in columns if "," in name):
        return [text]
    parts: list[str] = []
    for part in text.split(","):
        if "=" in part or not parts:
            parts.append(part)
        else:
            parts[-1] += f",{part}"
    return parts


def _value(option: str, name: str, text: str, kind: str) -> Any:
    """Read a value of a column's kind."""
    try:
        if kind == "integer":
            return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
        if kind == "float":
            return float(text)
    except ValueError:
        raise click.UsageError(
            f"{option}: {text!r} is not a number, but column {name!r} holds numbers"
        ) from None
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise click.UsageError(
                f"{option}: {text!r} is neither true nor false, but column {name!r} is"
            )
        return text.lower() == "true"
    return text


def rules(given: Iterable[str], columns: Collection[str]) -> dict[str, str]:
    """Read ``age_dx: diabetes == 'No'``; several rules of a column are alternatives.

    Examples
    --------
    >>> rules(["a,b: c == 1", "a: d > 2"], ["a", "b", "c", "d"])
    {'a': '(c == 1) or (d > 2)', 'b': 'c == 1'}
    """
    found: dict[str, list[str]] = {}
    for text in given:
        named, rule = _split(text, ":", columns)
        if not named.strip() or not rule.strip():
            raise click.UsageError(
                f"--leave: expected COLUMN: RULE such as \"age_dx: diabetes == 'No'\", "
                f"got {text!r}"
            )
        for name in names("--leave", [named], columns):
            found.setdefault(name, []).append(rule.strip())
    return {
        name: own[0] if len(own) == 1 else " or ".join(f"({rule})" for rule in own)
        for name, own in found.items()
    }


def formulas(given: Iterable[str], columns: Collection[str]) -> dict[str, str]:
    """Read ``bmi = weight / height**2``.

    Examples
    --------
    >>> formulas(["total = a + b"], ["a", "b", "total"])
    {'total': 'a + b'}
    """
    found: dict[str, str] = {}
    for text in given:
        named, formula = _split(text, "=", columns)
        if not named.strip() or not formula.strip():
            raise click.UsageError(
                f"--derive: expected COLUMN = FORMULA such as "
                f"'bmi = weight / height**2', got {text!r}"
            )
        name = known("--derive", named.strip(), columns)
        if name in found:
            raise click.UsageError(f"--derive: column {name!r} is given twice")
        found[name] = formula.strip()
    return found


def _split(text: str, sign: str, columns: Collection[str]) -> tuple[str, str]:
    """Split at the first sign; a column's name may hold the sign itself."""
    for match in re.finditer(sign, text):
        if text[: match.start()].strip() in columns:
            return text[: match.start()], text[match.end() :]
    named, _, rest = text.partition(sign)
    return named, rest


def settings(given: Iterable[str], allowed: Collection[str]) -> dict[str, Any]:
    """Read ``max_steps=500``, parameters of the imputer by their Python names.

    Examples
    --------
    >>> settings(["max_steps=500", "schedule=cosine"], ["max_steps", "schedule"])
    {'max_steps': 500, 'schedule': 'cosine'}
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise click.UsageError(f"--set: expected NAME=VALUE, got {text!r}")
        if name not in allowed:
            close = get_close_matches(name, allowed, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise click.UsageError(
                f"--set: there is no parameter {name!r}; {hint}"
                f"Parameters are {', '.join(sorted(allowed))}"
            )
        found[name] = literal(value.strip())
    return found


def literal(text: str) -> Any:
    """Read a value as Python writes it; what is none is text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def unliteral(value: Any) -> str:
    """Write a value so that `literal` reads it.

    Examples
    --------
    >>> unliteral("cosine"), unliteral(None), unliteral("1")
    ('cosine', 'none', "'1'")
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    plain = isinstance(value, str) and literal(value) == value
    return value if plain else repr(value)


def listed(given: Iterable[str]) -> tuple[str, ...]:
    """Return names that are separated by commas or given repeatedly.

    Examples
    --------
    >>> listed(["mean, knn", "mice"])
    ('mean', 'knn', 'mice')
    """
    parts = [part.strip() for text in given for part in text.split(",")]
    return tuple(dict.fromkeys(filter(None, parts)))


def marks(
    given: Iterable[str], usual: Collection[str]
) -> list[str] | dict[str, list[str]] | None:
    """Read ``-999,none`` for all columns or ``age=-999`` for one, beside usual ones."""
    given = list(given)
    by_column = [text for text in given if "=" in text]
    if not given:
        return None
    if not by_column:
        return [*usual, *(mark for text in given for mark in text.split(","))]
    if len(by_column) < len(given):
        raise click.UsageError(
            "--na-values: give marks for all columns (-999,none) or for named columns "
            "(age=-999), not both"
        )
    found: dict[str, list[str]] = {}
    for text in by_column:
        name, _, own = text.partition("=")
        found.setdefault(name.strip(), list(usual)).extend(own.split(","))
    return found
