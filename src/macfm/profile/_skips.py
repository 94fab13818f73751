"""Columns that are recorded only where another one has certain values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from macfm._plain import plain
from macfm.profile._plain import listed
from macfm.profile._reading import Reading
from macfm.table import column_text

NEARLY, MOSTLY = 0.98, 0.6
"""Share missing where the column does not apply, and recorded where it does."""
TOLD = 0.75  # share of the rows in which the rule tells the two apart
LEAST = 20  # rows on either side
CLEAR = 1e-4  # p-value after correction for everything that was tried
GROUP = 0.9  # share missing at a value that is taken for “does not apply”
MOST_VALUES, N_BINS, MOST_TRIED = 20, 200, 6


@dataclass(frozen=True)
class Skip:
    """Columns whose holes may mean “does not apply”.

    Attributes
    ----------
    columns : tuple of str or int
        The columns, more than one if they share the rule.
    driver : str or int
        The column that tells where they are recorded.
    rule : str
        Where they are missing, as the parameter `leave` takes it.
    where : str
        Where they are recorded, in words.
    n_there, n_elsewhere : int
        Rows where the rule says recorded, and missing.
    n_recorded, n_missing : tuple of int
        How many of these are so, a number a column.
    """

    columns: tuple[str | int, ...]
    driver: str | int
    rule: str
    where: str
    n_there: int
    n_elsewhere: int
    n_recorded: tuple[int, ...]
    n_missing: tuple[int, ...]

    def sentence(self) -> str:
        """Return the fact in one sentence."""
        exact = min(self.n_missing) == self.n_elsewhere
        verb = "is" if len(self.columns) == 1 else "are"
        return (
            f"{listed(self.columns)} {verb} recorded {'' if exact else 'almost '}only "
            f"where {self.where} ({_range(self.n_recorded)} of {self.n_there:,} rows; "
            f"missing in {_range(self.n_missing)} of {self.n_elsewhere:,} others)."
        )

    def parameter(self) -> str:
        """Return what to write in Python."""
        if len(self.columns) == 1:
            return f"leave={ {self.columns[0]: self.rule}!r}"
        return f"leave=dict.fromkeys({list(self.columns)!r}, {self.rule!r})"

    def option(self) -> str:
        """Return what to write on the command line."""
        names = [str(name) for name in self.columns]
        odd = any("," in name or ":" in name for name in names)
        words = [
            f"{name}: {self.rule}" for name in (names if odd else [",".join(names)])
        ]
        return " ".join(f"--leave {_quoted(text)}" for text in words)

    def advice(self, *, flags: bool = False) -> str:
        """Return the fact, and what to do if it means that the columns do not apply.

        With ``flags`` as a flag of the command line, else as a parameter.
        """
        what = self.option() if flags else self.parameter()
        return (
            f"{self.sentence()} If that means “does not apply”, keep those holes: "
            f"{what}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain(self)


def _quoted(text: str) -> str:
    """Quote a rule for a shell, which would run backticks inside double quotes."""
    if not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    return shlex.quote(text if '"' in text else text.replace("'", '"'))


def _range(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


@dataclass(frozen=True)
class _Split:
    """A rule for one column, with its counts."""

    target: int
    driver: int
    rule: str
    where: str
    n_there: int
    n_elsewhere: int
    n_recorded: int
    n_missing: int
    n_tried: float
    n_parts: int

    def is_clear(self, n_pairs: int) -> bool:
        """Whether chance and a mere tendency can be left out of account."""
        if min(self.n_there, self.n_elsewhere) < LEAST:
            return False
        rest = self.n_there - self.n_recorded
        if self.n_missing < NEARLY * self.n_elsewhere:
            return False
        if self.n_recorded < MOSTLY * self.n_there:
            return False
        n = self.n_there + self.n_elsewhere
        if self.n_missing + self.n_recorded < TOLD * n:
            return False
        wrong = self.n_elsewhere - self.n_missing
        # The share missing is surely so high: 50 rows without exception, or 400 with
        # one in a hundred.
        doubt, least = (0.05, 0.94) if wrong == 0 else (0.01, 0.97)
        if stats.beta.ppf(doubt, self.n_missing, wrong + 1) < least:
            return False
        tail = stats.hypergeom.logsf(
            self.n_missing - 1, n, self.n_missing + rest, self.n_elsewhere
        )
        return bool(tail + np.log(self.n_tried * n_pairs) < np.log(CLEAR))

    def strength(self, n_holes: int) -> float:
        """Share of the holes it explains times the share recorded elsewhere."""
        return self.n_missing / n_holes * self.n_recorded / self.n_there


def find_skips(reading: Reading) -> tuple[Skip, ...]:
    """Look for columns that are recorded only where another has certain values.

    Categories and numbers with few distinct values are tried value by value, other
    numbers by thresholds. A column gets one rule, the one that explains most of its
    holes; of equally good ones the simplest. Rules that explain the most holes come
    first.
    """
    gone = ~reading.observed
    n_gone = gone.sum(axis=0)
    enough = np.minimum(n_gone, len(gone) - n_gone) >= LEAST
    targets = [
        j for j in np.flatnonzero(enough).tolist() if reading.kind(j) != "ignored"
    ]
    drivers = [k for k in range(gone.shape[1]) if _is_driver(reading, k)]
    if not targets or not drivers:
        return ()
    flags = np.ascontiguousarray(gone[:, targets], dtype=np.uint8)
    found: dict[int, list[_Split]] = {j: [] for j in targets}
    cuts: dict[int, list[tuple[float, int]]] = {j: [] for j in targets}
    for k in drivers:
        if reading.n_distinct[k] <= MOST_VALUES:
            for split in _by_value(reading, k, flags, targets):
                found[split.target].append(split)
        else:
            for j, score in _by_bins(reading, k, flags, targets):
                cuts[j].append((score, k))
    n_pairs = len(targets) * len(drivers)
    best = []
    for j in targets:
        for _, k in sorted(cuts[j], key=lambda c: (-c[0], c[1]))[:MOST_TRIED]:
            found[j] += _by_threshold(reading, k, j, gone[:, j])
        clear = [split for split in found[j] if split.is_clear(n_pairs)]
        if clear:
            best.append(min(clear, key=partial(_preference, n=int(n_gone[j]))))
    return _grouped(reading, [_chained(reading, split, best) for split in best])


def _preference(split: _Split, n: int) -> tuple[float, int, int]:
    """Order rules for a column of ``n`` holes, the best one first."""
    return -round(split.strength(n), 2), split.n_parts, split.driver


def _chained(reading: Reading, split: _Split, best: list[_Split]) -> _Split:
    """Extend a rule to rows in which its column is itself left empty."""
    if all(split.driver != other.target for other in best):
        return split
    observed = reading.observed
    rows = ~observed[:, split.driver]
    if observed[rows, split.target].mean() > 1 - NEARLY:
        return split
    name = column_text(reading.table.columns[split.driver])
    return replace(split, rule=f"{split.rule} or isna({name})")


def _is_driver(reading: Reading, k: int) -> bool:
    if reading.n_distinct[k] < 2:
        return False
    few = reading.n_distinct[k] <= MOST_VALUES
    role = reading.tells(k)
    return role == "number" or (role == "category" and few)


def _counts(
    order: np.ndarray, edges: np.ndarray, flags: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and missing cells by target, of consecutive groups of ordered rows."""
    missing = np.add.reduceat(flags[order], edges, axis=0, dtype=np.int64)
    return np.diff(np.append(edges, len(order))), missing


def _by_value(
    reading: Reading, k: int, flags: np.ndarray, targets: list[int]
) -> Iterator[_Split]:
    """Sort the values of a column into those with and those without a target."""
    codes = reading.codes[:, k]
    rows = np.flatnonzero(codes >= 0)
    order = rows[np.argsort(codes[rows], kind="stable")]
    edges = np.flatnonzero(np.diff(codes[order], prepend=-1))
    size, missing = _counts(order, edges, flags)
    data = reading.table.column(k)
    values = [plain(data.values[order[edge]]) for edge in edges]
    rate = missing / size[:, None]
    for place, j in enumerate(targets):
        without = rate[:, place] > GROUP
        if j == k or without.all() or not without.any():
            continue
        # A tendency that rises step by step has no gap.
        if rate[~without & (size >= LEAST), place].max(initial=0.0) > 0.8:
            continue
        rule, where, n_parts = _words(reading.table.columns[k], values, without)
        yield _Split(
            target=j,
            driver=k,
            rule=rule,
            where=where,
            n_there=int(size[~without].sum()),
            n_elsewhere=int(size[without].sum()),
            n_recorded=int((size - missing[:, place])[~without].sum()),
            n_missing=int(missing[without, place].sum()),
            n_tried=2.0 ** len(size),
            n_parts=n_parts,
        )


def _words(name: Any, values: list, without: np.ndarray) -> tuple[str, str, int]:
    """Write the rule and where a target is recorded, and count its parts."""
    column = column_text(name)
    out = [v for v, gone in zip(values, without, strict=True) if gone]
    kept = [v for v, gone in zip(values, without, strict=True) if not gone]
    out, kept = sorted(out), sorted(kept)
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        out, kept = list(map(_short, out)), list(map(_short, kept))
        if len(out) > 1 and max(out) < min(kept):
            return f"{column} < {min(kept)}", f"{name!r} is {min(kept)} or more", 1
        if len(out) > 1 and min(out) > max(kept):
            return f"{column} > {max(kept)}", f"{name!r} is {max(kept)} or less", 1
    if len(out) == 1:
        rule = f"{column} == {out[0]!r}"
    elif len(kept) == 1:
        rule = f"{column} != {kept[0]!r}"
    elif len(out) <= len(kept):
        rule = f"{column} in {out!r}"
    else:
        rule = f"{column} not in {kept!r}"
    if len(kept) > 1 and len(out) == 1:
        return rule, f"{name!r} is not {out[0]!r}", 1
    some = [repr(v) for v in kept]
    or_ = some[0] if len(some) == 1 else f"{', '.join(some[:-1])} or {some[-1]}"
    return rule, f"{name!r} is {or_}", min(len(out), len(kept))


def _short(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _by_bins(
    reading: Reading, k: int, flags: np.ndarray, targets: list[int]
) -> Iterator[tuple[int, float]]:
    """Find targets that may be missing at an end of a column of numbers."""
    values = reading.table.column(k).numbers
    rows = np.flatnonzero(~np.isnan(values))
    order = rows[np.argsort(values[rows], kind="stable")]
    ordered = values[order]
    steps = np.unique(np.linspace(0, len(order), N_BINS, endpoint=False).astype(int))
    # Equal values stay together.
    edges = np.unique(np.searchsorted(ordered, ordered[steps]))
    size, missing = _counts(order, edges, flags)
    n, m = np.cumsum(size)[:, None], np.cumsum(missing, axis=0)
    low = _reach(m / n)
    high = _reach(np.cumsum(missing[::-1], axis=0) / np.cumsum(size[::-1])[:, None])
    total_n, total_m = n[-1, 0], m[-1]
    n, m = np.vstack([[0], n])[:, 0], np.vstack([np.zeros_like(m[:1]), m])
    for place, j in enumerate(targets):
        first, last = low[place], len(size) - high[place]
        if j == k or first >= last or (first == 0 and last == len(size)):
            continue
        n_there = n[last] - n[first]
        n_holes = m[last, place] - m[first, place]
        recorded = 1 - n_holes / n_there
        explained = (total_m[place] - n_holes) / max(total_m[place], 1)
        if recorded >= MOSTLY - 0.1 and total_n - n_there >= LEAST / 2:
            yield j, float(recorded * explained)


def _reach(rates: np.ndarray) -> np.ndarray:
    """Count the groups up to the last at which nearly all cells so far are missing."""
    holds = rates >= NEARLY - 0.01
    last = len(rates) - np.argmax(holds[::-1], axis=0)
    return np.where(holds.any(axis=0), last, 0)


def _by_threshold(
    reading: Reading, k: int, j: int, gone: np.ndarray
) -> Iterator[_Split]:
    """Find the thresholds of a column of numbers beyond which a target is missing."""
    values = reading.table.column(k).numbers
    rows = np.flatnonzero(~np.isnan(values))
    order = rows[np.argsort(values[rows], kind="stable")]
    ordered, missing = values[order], gone[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf))
    cuts = np.append(starts, len(ordered))
    # The interval with the most recorded cells, missing ones counted against them.
    excess = np.concatenate([[0], np.cumsum(np.where(missing, -1, 1))])[cuts]
    stop = int(np.argmax(excess - np.minimum.accumulate(excess)))
    first, last = cuts[int(np.argmin(excess[: stop + 1]))], cuts[stop]
    first = first if _is_side(missing[:first]) else 0
    last = last if _is_side(missing[last:]) else len(ordered)
    if first >= last or (first == 0 and last == len(ordered)):
        return
    near = int(np.clip((last - first) // 5, 10, 200))
    sharp = first == 0 or missing[first : first + near].mean() <= 0.5
    sharp &= (
        last == len(ordered) or missing[max(last - near, first) : last].mean() <= 0.5
    )
    if not sharp:
        return
    name = reading.table.columns[k]
    column, parts, ends = column_text(name), [], []
    if first > 0:
        low = _between(ordered[first - 1], ordered[first], upper=True)
        parts.append(f"{column} < {low}")
        ends.append(f"{low} or more")
        if ordered[0] == ordered[first - 1]:
            parts, ends = [f"{column} == {_short(ordered[0])}"], []
    if last < len(ordered):
        high = _between(ordered[last - 1], ordered[last], upper=False)
        parts.append(f"{column} > {high}")
        ends.append(f"{high} or less")
    if len(ends) < len(parts):
        ends.insert(0, f"not {_short(ordered[0])}")
    elif len(ends) == 2:
        ends = [f"between {low} and {high}"]
    where = " and ".join(ends)
    there = slice(first, last)
    n_there, n_recorded = int(last - first), int((~missing[there]).sum())
    yield _Split(
        target=j,
        driver=k,
        rule=" or ".join(parts),
        where=f"{name!r} is {where}",
        n_there=n_there,
        n_elsewhere=len(ordered) - n_there,
        n_recorded=n_recorded,
        n_missing=int(missing.sum()) - (n_there - n_recorded),
        n_tried=float(len(starts)) ** 2,
        n_parts=len(parts),
    )


def _is_side(missing: np.ndarray) -> bool:
    return len(missing) >= LEAST and missing.mean() >= NEARLY


def _between(low: float, high: float, *, upper: bool) -> float | int:
    """Return a number of few digits between two; the upper or lower one if need be."""
    for digits in range(12):
        scale = 10.0**digits
        number = (
            np.floor(high * scale) / scale if upper else np.ceil(low * scale) / scale
        )
        if low < number <= high if upper else low <= number < high:
            return _short(float(number))
    return _short(float(high if upper else low))


def _grouped(reading: Reading, best: list[_Split]) -> tuple[Skip, ...]:
    """Put columns with the same rule together, the most holes first."""
    groups: dict[tuple[int, str], list[_Split]] = {}
    for split in best:
        groups.setdefault((split.driver, split.rule), []).append(split)
    names = reading.names
    ordered = sorted(groups.values(), key=lambda g: -sum(s.n_missing for s in g))
    return tuple(
        Skip(
            columns=tuple(names[s.target] for s in group),
            driver=names[group[0].driver],
            rule=group[0].rule,
            where=group[0].where,
            n_there=group[0].n_there,
            n_elsewhere=group[0].n_elsewhere,
            n_recorded=tuple(s.n_recorded for s in group),
            n_missing=tuple(s.n_missing for s in group),
        )
        for group in ordered
    )
