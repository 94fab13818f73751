"""What follows from a comparison: who does best, who does as well, what to use."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from macfm._words import listed, seconds_words

QUICKER, WORTH = 2.0, 1.0  # times as quick, and seconds a fit, to give up a shade for
MOST_NAMES = 3  # of columns that are filled no better than by their mean
LOWER = {"rmse_ratio": True, "mae_ratio": True, "accuracy": False}
KINDS = {"rmse_ratio": "numbers", "accuracy": "categories"}
BEST = {
    "rmse_ratio": "the lowest error of numbers",
    "accuracy": "the most categories right",
}


class Scored(Protocol):
    """Scores of methods, as `Comparison` holds them."""

    @property
    def columns(self) -> pd.DataFrame: ...
    @property
    def overall(self) -> pd.DataFrame: ...
    @property
    def pairs(self) -> pd.DataFrame: ...


@dataclass(frozen=True)
class Advice:
    """The method to use for a table, and why.

    Attributes
    ----------
    method : str or None
        Its name; None if nothing could be compared.
    draws : str or None
        The method to use where several plausible tables are needed.
    sentences : tuple of str
        The reasons.
    """

    method: str | None
    draws: str | None
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Ranking:
    """The methods by one score."""

    #: ``"rmse_ratio"`` or ``"accuracy"``.
    score: str
    #: Names of the methods, the best first.
    order: list[str]
    #: Those that differ from the best by no more than two standard errors of the
    #: difference, the best left out, and those that differ by more.
    tied: list[str]
    behind: list[str]
    #: Those within one standard error of the best, and the best itself.
    near: list[str]

    @property
    def best(self) -> str:
        """Name of the best method."""
        return self.order[0]


def rank(found: Scored, score: str, among: Sequence[str] = ()) -> Ranking | None:
    """Return the methods by a score, all or some; None if none has it."""
    scores = found.overall.set_index("method")[score].dropna()
    scores = scores[[m for m in scores.index if not among or m in among]]
    if not len(scores):
        return None
    order = scores.sort_values(ascending=LOWER[score], kind="stable").index.tolist()
    best = order[0]
    gaps = {m: _gap(found, score, best, m) for m in order[1:]}
    tied = [m for m, gap in gaps.items() if not gap["clear"]]
    near = [m for m, gap in gaps.items() if not abs(gap["difference"]) > gap["se"]]
    behind = [m for m in gaps if m not in tied]
    return Ranking(score, order, tied, behind, [best, *near])


def _gap(found: Scored, score: str, one: str, other: str) -> pd.Series:
    """The difference between two methods."""
    pairs = found.pairs[found.pairs["score"] == score]
    sides = [set(pair) for pair in zip(pairs["method"], pairs["other"], strict=True)]
    return pairs.iloc[sides.index({one, other})]


def verdict(found: Scored) -> list[str]:
    """Say who does best on numbers and on categories, and who does as well."""
    lines = []
    for score, what in KINDS.items():
        ranking = rank(found, score)
        if ranking is None or len(ranking.order) < 2:
            continue
        best = _shown(found, score, ranking.best)
        tied, behind = (
            _listed([_shown(found, score, m) for m in group])
            for group in (ranking.tied, ranking.behind)
        )
        if tied:
            rest = f"; clearly behind: {behind}" if behind else ""
            said = f"{best} comes first, with no clear difference to {tied}{rest}"
        else:
            said = f"{best} does clearly best; then {behind}"
        lines.append(f"On {what} {said}.")
    return lines


def advise(found: Scored) -> Advice:
    """Return which method to use for the table of a comparison, and why.

    Notes
    -----
    A method is considered if its pooled error of numbers and its share of right
    categories are within one standard error of the difference to the best; if none is
    within that on both, if it is clearly behind on neither. Of these the most accurate
    is taken, save that one which is twice as quick and saves a second a fit goes
    first: the rest is noise, the time is not. If mean imputation is among those within
    one standard error, nothing is gained by another method. Columns of numbers that the
    method fills worse than their mean does, by more than a standard error, are named.
    """
    overall = found.overall.set_index("method")
    rankings = [r for s in KINDS if (r := rank(found, s)) is not None]
    if len(overall) < 2 or not rankings:
        return Advice(None, None, ())
    chosen = _choose(found, list(overall.index))
    assert chosen is not None
    said = [_reason(found, rankings, chosen)]
    drawing = [m for m in overall.index if overall.loc[m, "draws"]]
    draws = chosen if chosen in drawing else _choose(found, drawing)
    if draws is not None and draws != chosen:
        said.append(
            f"It gives no draws; where the uncertainty of filled values counts, use "
            f"{_name(found, draws)} ({_scores(found, draws)})."
        )
    worse = worse_than_mean(found, chosen)
    if worse:
        its, there = ("its", "there") if len(worse) == 1 else ("their", "of each")
        said.append(
            f"{_name(found, chosen)} fills {listed(worse, most=MOST_NAMES)} no better "
            f"than by {its} mean: the error {there} is above that of the mean by more "
            "than a standard error."
        )
    return Advice(chosen, draws, tuple(said))


def worse_than_mean(found: Scored, method: str) -> list[Hashable]:
    """Name columns of numbers that a method fills worse than by their mean.

    By more than a standard error, that is; the worst come first.
    """
    columns = found.columns[found.columns["method"] == method]
    clear = columns["rmse_ratio"] - columns["rmse_ratio_se"] > 1
    worst = columns[clear].sort_values("rmse_ratio", ascending=False, kind="stable")
    return worst["column"].tolist()


def _choose(found: Scored, among: list[str]) -> str | None:
    """The method to use, of some."""
    rankings = [r for s in KINDS if (r := rank(found, s, among)) is not None]
    if not rankings:
        return None
    # The kind with more hidden cells comes first where no method is near on both.
    counts = found.columns[found.columns["method"] == found.overall["method"].iloc[0]]
    counts = counts.groupby("kind")["n_cells"].sum()
    kind = {"rmse_ratio": "number", "accuracy": "category"}
    rankings.sort(key=lambda r: -int(counts.get(kind[r.score], 0)))
    first = rankings[0]
    near = [m for m in first.near if all(m in r.near for r in rankings)]
    if "mean" in near:
        return "mean"
    if not near:
        even = [m for m in first.order if all(m not in r.behind for r in rankings)]
        near = [m for m in even if m != "mean"] or first.near
    seconds = found.overall.set_index("method")["seconds"]
    best = near[0]
    quick = [
        m
        for m in near
        if QUICKER * seconds[m] <= seconds[best] and seconds[m] + WORTH <= seconds[best]
    ]
    return quick[0] if quick else best


def _reason(found: Scored, rankings: list[Ranking], chosen: str) -> str:
    """Why this one."""
    if chosen == "mean":
        fill = {
            "numbers": "the column mean",
            "categories": "the most frequent category",
        }
        what = _listed([fill[KINDS[r.score]] for r in rankings])
        return (
            f"Advice: fill in {what}. No method does better here than chance "
            "explains: the columns say too little about each other, or there are too "
            "few cells to tell."
        )
    has, though = [], []
    for ranking in rankings:
        score, best = ranking.score, ranking.best
        own, theirs = (_value(found, score, m) for m in (chosen, best))
        if chosen == best:
            tied = [_name(found, m) for m in ranking.tied]
            also = f", not clearly ahead of {_listed(tied)}" if tied else ""
            has.append(f"{BEST[score]} ({own}{also})")
        elif chosen in ranking.near:
            as_good = f"{own}, {_name(found, best)} {theirs}: within a standard error"
            has.append(f"practically {BEST[score]} ({as_good})")
        else:
            clear = "clearly " if chosen in ranking.behind else ""
            though.append(
                f"on {KINDS[score]} {_name(found, best)} is {clear}ahead ({theirs} "
                f"against {own})"
            )
    seconds = found.overall.set_index("method")["seconds"]
    time = f"A fit takes {seconds_words(seconds[chosen])}"
    slower = [r.best for r in rankings if seconds[r.best] >= QUICKER * seconds[chosen]]
    if slower:
        other = max(slower, key=lambda m: seconds[m])
        time += f", one of {_name(found, other)} {seconds_words(seconds[other])}"
    reasons = f"it has {_listed(has)}" if has else ""
    but = f"{', but ' if has else ''}{_listed(though)}" if though else ""
    return f"Advice: use {_name(found, chosen)}; {reasons}{but}. {time}."


def _scores(found: Scored, method: str) -> str:
    """Both scores of a method in brackets."""
    parts = []
    for score, what in KINDS.items():
        if np.isfinite(found.overall.set_index("method").loc[method, score]):
            parts.append(f"{_value(found, score, method)} on {what}")
    return ", ".join(parts)


def _name(found: Scored, method: str) -> str:
    """A method's name inside a sentence."""
    title = found.overall.set_index("method").loc[method, "title"]
    return title.lower() if method in ("mean", "extra-trees") else title


def _value(found: Scored, score: str, method: str) -> str:
    value = found.overall.set_index("method").loc[method, score]
    return f"{value:.2f}" if LOWER[score] else f"{100 * value:.0f} %"


def _shown(found: Scored, score: str, method: str) -> str:
    """A method with its score and the standard error of that."""
    row = found.overall.set_index("method").loc[method]
    value, error = row[score], row[f"{score}_se"]
    factor, digits, unit = (1, 2, "") if LOWER[score] else (100, 1, " %")
    text = f"{factor * value:.{digits}f}"
    if np.isfinite(error) and not (method == "mean" and LOWER[score]):
        text += f" ± {factor * error:.{digits}f}"
    return f"{_name(found, method)} ({text}{unit})"


def _listed(names: Sequence[str]) -> str:
    """Every name, however many there are."""
    return listed(names, most=len(names))
