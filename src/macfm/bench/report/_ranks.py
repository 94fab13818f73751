"""Who is ahead over all pairs of dataset and mechanism, with what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pandas as pd

from macfm._words import count
from macfm.bench.report._figure_ranks import draw_ranks
from macfm.bench.report._frame import (
    CELL,
    datasets_of,
    main_cells,
    method_of,
    row_titles,
)
from macfm.bench.report._names import (
    MECHANISMS,
    METRICS,
    ordered,
    rate_words,
)
from macfm.bench.report._ranking import Ranking, comparable, rank_pairs
from macfm.bench.report._rows import row_kind
from macfm.bench.report._table import (
    Entry,
    Picture,
    Row,
    ScoreColumn,
    ScoreTable,
    Section,
)

#: Fewer pairs than this are not ranked.
LEAST_PAIRS = 2


def rank_section(frame: pd.DataFrame) -> Section | None:
    """Return the mean ranks of each rate that has pairs to compare methods on."""
    items: list[ScoreTable | Picture] = []
    for rate, rows in main_cells(frame).groupby("rate"):
        items += _items(rows, float(rate))
    if not items:
        return None
    text = (
        "A pair is a dataset under a mechanism. In each the methods are ranked by the "
        "mean of their out-of-sample error over the masks that all of them have.",
    )
    return Section("ranks", "Ranks over pairs", text, tuple(items))


def _items(rows: pd.DataFrame, rate: float) -> list[ScoreTable | Picture]:
    """A picture and a table of one rate, none if there is too little to compare."""
    titles, methods = row_titles(rows), method_of(rows)
    scores = {
        metric: rows.pivot(index=CELL, columns="label", values=f"out_{metric}")
        for metric in METRICS
    }
    present = pd.concat(scores.values()).notna().groupby(level=CELL).all()
    present = present[list(titles)]
    labels, cells = comparable(present)
    pairs = cells.droplevel("mask").unique()
    if len(pairs) < LEAST_PAIRS:
        return []
    rankings = {
        metric: rank_pairs(wide.loc[cells, labels]) for metric, wide in scores.items()
    }
    left_out = {
        titles[label]: len(cells[here].droplevel("mask").unique())
        for label, here in present.loc[cells].drop(columns=labels).items()
    }
    slug = f"ranks-{100 * rate:.4g}".replace(".", "_")
    about = _about(pairs, len(labels), left_out)
    picture = Picture(
        slug=slug,
        title=f"Mean ranks, {rate_words(rate)} hidden",
        caption=f"{about} {_explained(rankings)} {_caveat(pairs)}",
        draw=partial(draw_ranks, rankings, titles=titles, methods=methods),
    )
    return [picture, _table(rankings, titles, methods, f"mean-{slug}", rate, about)]


def _about(pairs: pd.MultiIndex, n_methods: int, left_out: Mapping[str, int]) -> str:
    """What is compared, and who is not."""
    names = datasets_of(pairs.to_frame())
    known = ordered(pairs.unique("mechanism"), MECHANISMS)
    known = [MECHANISMS.get(name, name) for name in known]
    text = (
        f"Over the {count(len(pairs), 'pair')} that all {n_methods} methods have "
        f"({', '.join(names)}; {', '.join(known)}); a pair without a result of one of "
        "them counts for none."
    )
    if left_out:
        parts = [f"{title} ({n} of {len(pairs)})" for title, n in left_out.items()]
        text += f" Left out, with too few of these pairs: {', '.join(parts)}."
    return text


def _explained(rankings: Mapping[str, Ranking]) -> str:
    text = (
        "Dots are mean ranks, lines hold the middle half of a method's ranks. A bar on "
        "the right joins methods that Nemenyi's test does not tell apart at the 5 % "
        "level: their mean ranks differ by less than the critical difference."
    )
    tests = [
        f"{METRICS[metric]} p {_p_words(ranking.p)}"
        for metric, ranking in rankings.items()
        if ranking.p is not None
    ]
    if tests:
        text += f" Friedman's test that no method differs: {', '.join(tests)}."
    return text


def _p_words(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _caveat(pairs: pd.MultiIndex) -> str:
    n_datasets = pairs.get_level_values("dataset").nunique()
    return (
        "Read it with care: the test takes the pairs for independent, but pairs of "
        f"one dataset share its rows, and there {_are(n_datasets)}, so that "
        "differences look surer than they are; ranks hide by how much one method is "
        "ahead of another; and ranks and bars change with the methods compared."
    )


def _are(n_datasets: int) -> str:
    return f"{'is' if n_datasets == 1 else 'are'} only {count(n_datasets, 'dataset')}"


def _table(
    rankings: Mapping[str, Ranking],
    titles: Mapping[str, str],
    methods: Mapping[str, str],
    slug: str,
    rate: float,
    about: str,
) -> ScoreTable:
    """Mean ranks, and on how many pairs a method is first."""
    cells: dict[str, list[Entry]] = {}
    heads = []
    # One for all metrics, which have the same methods and pairs.
    distance = next(iter(rankings.values())).distance
    for metric, ranking in rankings.items():
        heads += [f"{METRICS[metric]}, mean rank", f"{METRICS[metric]}, first on"]
        limit = ranking.means.iloc[0] + distance
        firsts = ranking.ranks.eq(ranking.ranks.min(axis=1), axis=0).sum()
        for label, mean in ranking.means.items():
            cells.setdefault(str(label), []).extend(
                [
                    Entry(float(mean), n=len(ranking.ranks), best=bool(mean < limit)),
                    Entry(int(firsts[label]), n=len(ranking.ranks), decimals=0),
                ]
            )
    return ScoreTable(
        slug=slug,
        title=f"Mean ranks out-of-sample, {rate_words(rate)} hidden",
        columns=tuple(map(ScoreColumn, heads)),
        rows=tuple(
            Row(label, title, tuple(cells[label]), row_kind(methods[label]))
            for label, title in titles.items()
            if label in cells
        ),
        notes=(
            about,
            "Bold: the best and those behind it by less than the critical difference, "
            f"{distance:.2f}.",
        ),
    )
