"""Columns that may not be what they look like: codes, marks, numbers among texts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from macfm._errors import Said
from macfm._warn import warn_user

MOST_CODES = 10
LEAST_CELLS = 20  # observed cells before frequencies mean anything
COMMON = 0.05
FAR = 1_000.0  # times as far from the middle as any other value
LEAST_MARKS = 3  # cells before a negative value among amounts is a mark

_MARKS = frozenset(
    sign * (10**k - tail) for sign in (-1, 1) for k in range(2, 10) for tail in (1, 0.1)
)
# -1 and the digits from 6 on, once or repeated, as -8 and -77.
_NEGATIVE_MARKS = frozenset(
    [-1, *(-digit * (10**k // 9) for digit in range(6, 10) for k in range(1, 10))]
)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_LIMIT = re.compile(rf"[<>≤≥]=?\s*(?:{NUMBER.pattern})")
CODE = re.compile(r"[-+]?0\d.*")  # with zeros in front, such as 007
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Words in the names of columns whose numbers are names, or have an evident order.
_NAMING = {
    *("code", "codes", "type", "kind", "category", "id", "status"),
    *("ward", "clinic", "hospital", "department", "dept", "site", "center", "centre"),
    *("country", "region", "district", "zone", "race", "ethnicity", "religion"),
    *("occupation", "diagnosis", "procedure"),
}
_ORDERED = {
    *("n", "num", "number", "count", "counts", "total", "sum", "size", "visits"),
    *("score", "scores", "index", "scale", "grade", "stage", "level", "rank", "rating"),
    *("order", "severity", "children", "age", "year", "years", "month", "months"),
    *("week", "weeks", "day", "days", "hour", "hours", "hrs", "minute", "minutes"),
}


def looks_like_codes(name: Hashable, seen: np.ndarray) -> bool:
    """Tell whether observed whole numbers look like names rather than amounts.

    Three to ten distinct numbers do, in at least 20 cells and if the column's name has
    no word of order in it (``n``, ``score``, ``grade``, ...), when

    - the name has a word for names in it, such as ``code``, ``type`` or ``ward``; or
    - two common neighbours stand further apart than others, as 12 and 40 do among 11,
      12 and 40, and the numbers neither double nor have a common divisor, as doses do;
      or
    - they count from 1 or more, and a number is clearly rarer than its two neighbours.
      Counts and scores mostly have one peak; counts that have two, such as children in
      a family, begin at 0.

    Parameters
    ----------
    name : hashable
        Name of the column.
    seen : ndarray of shape (n_observed,)
        Its observed values, whole numbers.

    Examples
    --------
    >>> looks_like_codes("ward", np.array([11, 12, 40] * 10))
    True
    >>> looks_like_codes("children", np.array([0, 1, 2, 2] * 10))
    False
    """
    if len(seen) < LEAST_CELLS:
        return False
    values, counts = np.unique(seen, return_counts=True)
    words = {word.lower() for word in _WORD.findall(str(name))}
    if not 3 <= len(values) <= MOST_CODES or words & _ORDERED:
        return False
    return bool(words & _NAMING) or _apart(values, counts) or _valley(values, counts)


def _apart(values: np.ndarray, counts: np.ndarray) -> bool:
    """Whether two common neighbours stand apart where no rule of amounts says so."""
    values = values.astype(float)
    common = counts >= max(COMMON * counts.sum(), 5)
    steps = np.diff(values)
    apart = (steps > steps.min()) & common[1:] & common[:-1]
    if not apart.any() or np.abs(values).max() >= 2.0**53:
        return False
    if np.gcd.reduce(values.astype(np.int64)) > 1:
        return False
    return values[0] <= 0 or not np.allclose(np.diff(np.log(values), 2), 0)


def _valley(values: np.ndarray, counts: np.ndarray) -> bool:
    """Whether a value is clearly rarer than its two neighbours."""
    if values[0] < 1:
        return False
    # A wider valley is one between two groups of rows, whose amounts differ.
    sides, middle = np.minimum(counts[2:], counts[:-2]), counts[1:-1]
    noise = np.sqrt(sides + middle)
    return bool(((middle < 0.6 * sides) & (sides - middle > 2.5 * noise)).any())


def warn_codes(names: Sequence[Hashable]) -> None:
    """Name the columns that may hold codes, if there are any."""
    if names:
        columns, hold = ("column", "holds") if len(names) == 1 else ("columns", "hold")
        said = f"{columns} {', '.join(map(repr, names))} {hold} few whole numbers and "
        said += "may be codes; if so, pass {categorical}"
        warn_user(Said(said, categorical=list(names)))


def warn_spoiled(name: Hashable, seen: np.ndarray) -> None:
    """Warn of texts that are numbers but for a few."""
    texts, counts = np.unique(seen.astype(str), return_counts=True)
    others = [k for k, text in enumerate(texts) if not NUMBER.fullmatch(text.strip())]
    n_others = int(counts[others].sum())
    n_numbers = int(counts.sum()) - n_others
    if n_numbers <= n_others or not n_others:
        return
    cells, are = ("cell", "is") if n_others == 1 else ("cells", "are")
    limits = [k for k in others if _LIMIT.fullmatch(texts[k].strip())]
    said = f"column {name!r} is text and taken for categories: {n_numbers:,} of its "
    said += f"cells are numbers and {n_others:,} {cells}, such as "
    said += f"{str(texts[[*limits, *others][0]])!r}, {are} not; "
    if limits:
        said += "in place of a limit of detection write the limit itself or half of "
        said += "it, or make it missing and set {bounds}; "
    if len(limits) < len(others):
        rest = "the others" if limits else "these"
        said += f"make {rest} missing and the rest numbers, "
    said += "or pass {categorical} if they are codes"
    warn_user(Said(said, bounds=..., categorical=[name]))


def amounts_but_for_a_few(seen: np.ndarray) -> bool:
    """Whether texts are amounts but for a few words or limits of detection.

    Most of them are then numbers, not codes such as 007 nor whole numbers of which no
    two are equal; limits such as ``<1.5`` may be many, other texts are few.

    Examples
    --------
    >>> amounts_but_for_a_few(np.array(["1.5", "20", "3", "<0.5", "not done"]))
    True
    >>> amounts_but_for_a_few(np.array(["1001", "1002", "1003", "none"]))
    False
    """
    texts, counts = np.unique(seen.astype(str), return_counts=True)
    is_number = np.array([bool(NUMBER.fullmatch(text.strip())) for text in texts])
    n_numbers, n_others = counts[is_number].sum(), counts[~is_number].sum()
    if not n_numbers > n_others > 0:
        return False
    words = [t for t in texts[~is_number] if not _LIMIT.fullmatch(t.strip())]
    if len(words) > MOST_CODES or any(CODE.fullmatch(t) for t in texts[is_number]):
        return False
    return n_numbers > is_number.sum() or any("." in t for t in texts[is_number])


def same_but_for_spelling(texts: Iterable[str]) -> list[list[str]]:
    """Group texts that differ in case and spaces alone, those that have another such.

    Examples
    --------
    >>> same_but_for_spelling(["yes", "no", "Yes", "not known"])
    [['yes', 'Yes']]
    """
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.casefold().split()), []).append(text)
    return [group for group in alike.values() if len(group) > 1]


def warn_spelling(name: Hashable, categories: Iterable[str]) -> None:
    """Warn of categories that may be the same in another spelling."""
    groups = same_but_for_spelling(categories)
    if groups:
        alike = " and ".join(map(repr, groups[0]))
        said = f"column {name!r} has categories that differ in case or spaces alone, "
        said += f"such as {alike}, and each is one of its own; write them alike, or "
        said += "pass {categorical} if they are not the same"
        warn_user(Said(said, categorical=[name]))


def number_mark(seen: np.ndarray) -> float | None:
    """Return a value that may stand for a missing one, None if there is none.

    It is an extreme such as -999 that repeats, far from all other values, or the only
    negative value of amounts, such as -9.

    Parameters
    ----------
    seen : ndarray of shape (n_observed,)
        The observed values of a column of numbers.

    Examples
    --------
    >>> number_mark(np.array([21.0, 35.0, -999.0, 52.0, -999.0]))
    -999.0
    >>> number_mark(np.array([*range(20, 60), -9.0, -9.0, -9.0]))
    -9.0
    """
    if len(seen) < 3:
        return None
    for value in (seen.min(), seen.max()):
        if value not in _MARKS or (seen == value).sum() < 2:
            continue
        rest = seen[seen != value]
        if len(rest) and np.abs(rest - value).min() > max(np.ptp(rest), 10):
            return float(value)
    return _negative_mark(seen)


def stray_number(seen: np.ndarray) -> float | None:
    """Return a number far from all others, as a slip of the decimal point leaves it.

    It lies a thousand times as far from their median as any other, of 20 or more.

    Examples
    --------
    >>> stray_number(np.array([*range(20, 60), 1e18]))
    1e+18
    >>> stray_number(np.array([*range(20, 60), 500.0])) is None
    True
    """
    if len(seen) < LEAST_CELLS:
        return None
    apart = np.abs(seen - np.median(seen))
    second, first = np.argpartition(apart, -2)[-2:]
    if not 0 < apart[second] < apart[first] / FAR:
        return None
    return float(seen[first])


def warn_stray(strays: Mapping[Hashable, float]) -> None:
    """Name numbers that are far from all others of their columns."""
    for name, value in strays.items():
        warn_user(
            f"column {name!r} holds {value:g}, a thousand times as far from its median "
            "as any other value; if it is a mistake, make it missing before fit, or "
            "all that is filled in there leans towards it"
        )


def _negative_mark(seen: np.ndarray) -> float | None:
    """Return a negative mark among amounts, which are more than codes or scores.

    All negative values must be such marks, and it must stand off the grid of the
    amounts: -1 is the neighbour of 0, 1 and 2, as a change or a temperature is.
    """
    values, counts = np.unique(seen, return_counts=True)
    n_negative = int((values < 0).sum())
    amounts = values[n_negative:]
    if len(amounts) <= MOST_CODES or not set(values[:n_negative]) <= _NEGATIVE_MARKS:
        return None
    step = float(np.median(np.diff(amounts[: len(amounts) // 2 + 1])))
    for value, n in zip(values[:n_negative], counts[:n_negative], strict=True):
        gap = float(amounts[0] - value)
        if n >= LEAST_MARKS and not step / 3 <= gap <= 3 * step:
            return float(value)
    return None


def warn_marks(marks: Mapping[Hashable, tuple[float, int]]) -> None:
    """Name values that may stand for missing ones, and how often each occurs."""
    if marks:
        shown = {n: int(v) if v == int(v) else v for n, (v, _) in marks.items()}
        found = [f"{n!r} ({shown[n]} in {k} rows)" for n, (_, k) in marks.items()]
        columns, hold = ("column", "holds") if len(marks) == 1 else ("columns", "hold")
        warn_user(
            f"{columns} {', '.join(found)} {hold} what may be a mark for a missing "
            f"value; if so, fit to df.replace({shown!r}, np.nan), or it counts as "
            "observed"
        )
