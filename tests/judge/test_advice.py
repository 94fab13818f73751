"""What follows from a comparison."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from macfm.judge import Comparison
from macfm.judge._advice import advise, rank, verdict

DRAWS = {"macfm", "mice"}
TITLES = {"macfm": "macfm", "mean": "Mean", "mice": "MICE", "knn": "kNN"}


def found(numbers=None, categories=None, *, se=0.02, seconds=None, errors=None):
    """A comparison with these scores, whose differences have this standard error.

    `errors` are those of single columns of numbers, the same by every method.
    """
    methods = list(numbers or categories)
    none = dict.fromkeys(methods, np.nan)
    scores = {"rmse_ratio": numbers or none, "accuracy": categories or none}
    overall = pd.DataFrame(
        {
            "method": methods,
            "title": [TITLES[m] for m in methods],
            **{s: [v[m] for m in methods] for s, v in scores.items()},
            **{f"{s}_se": se for s in scores},
            "seconds": [(seconds or {}).get(m, 0.1) for m in methods],
            "draws": [m in DRAWS for m in methods],
        }
    )
    pairs = [
        {"score": s, "method": a, "other": b, "difference": v[a] - v[b], "se": se}
        for s, v in scores.items()
        for a, b in combinations(methods, 2)
        if np.isfinite(v[a])
    ]
    names = ["score", "method", "other", "difference", "se"]
    pairs = pd.DataFrame(pairs, columns=names)
    pairs["clear"] = pairs["difference"].abs() > 2 * se
    kinds = [k for k, v in (("number", numbers), ("category", categories)) if v]
    columns = pd.DataFrame(
        [
            {"method": m, "column": k, "kind": k, "n_cells": 10, "rmse_ratio": np.nan}
            for m in methods
            for k in kinds
        ]
        + [
            {"method": m, "column": k, "kind": "number", "n_cells": 1, "rmse_ratio": e}
            for m in methods
            for k, e in (errors or {}).items()
        ]
    ).assign(rmse_ratio_se=se)
    empty = pd.DataFrame(columns=["column", "level", "off"])
    return Comparison(
        columns=columns,
        folds=empty,
        overall=overall,
        pairs=pairs,
        calibration=empty,
        certainty=empty,
        n_rows=10,
        n_rows_used=10,
        n_folds=1,
        share=0.1,
        n_draws=20,
        n_threads=1,
        seed=0,
        flat=(),
        left_out={},
        notes=(),
    )


def test_a_ranking_tells_ties_from_what_is_behind():
    scores = {"macfm": 0.5, "mean": 1.0, "mice": 0.51, "knn": 0.53}
    ranking = rank(found(scores), "rmse_ratio")
    assert ranking.order == ["macfm", "mice", "knn", "mean"]
    assert ranking.near == ["macfm", "mice"]
    assert ranking.tied == ["mice", "knn"]
    assert ranking.behind == ["mean"]
    assert rank(found(scores), "accuracy") is None
    right = rank(found(categories=scores), "accuracy")
    assert right.best == "mean"


def test_a_clear_winner_is_advised():
    made = found({"macfm": 0.5, "mean": 1.0, "mice": 0.7})
    assert verdict(made) == [
        "On numbers macfm (0.50 ± 0.02) does clearly best; then MICE (0.70 ± 0.02) and "
        "mean (1.00)."
    ]
    advice = advise(made)
    assert (advice.method, advice.draws) == ("macfm", "macfm")
    assert advice.sentences == (
        "Advice: use macfm; it has the lowest error of numbers (0.50). A fit takes "
        "0.10 s.",
    )


@pytest.mark.parametrize(
    ("seconds", "advised"),
    [({"macfm": 30.0, "mice": 0.5}, "mice"), ({"macfm": 0.9, "mice": 0.1}, "macfm")],
)
def test_of_equals_the_quicker_is_advised_if_it_matters(seconds, advised):
    made = found({"macfm": 0.5, "mean": 1.0, "mice": 0.51}, seconds=seconds)
    advice = advise(made)
    assert advice.method == advised
    if advised == "mice":
        assert (
            "practically the lowest error of numbers (0.51, macfm 0.50"
            in (advice.sentences[0])
        )
        assert "one of macfm 30 s" in advice.sentences[0]


def test_a_tie_of_more_than_one_standard_error_is_told_but_not_taken():
    seconds = {"macfm": 30.0}
    made = found({"macfm": 0.5, "mean": 1.0, "mice": 0.53}, seconds=seconds)
    assert "no clear difference to MICE" in verdict(made)[0]
    assert advise(made).method == "macfm"
    assert "not clearly ahead of MICE" in advise(made).sentences[0]


def test_where_draws_are_needed_another_is_named():
    advice = advise(found({"macfm": 0.7, "mean": 1.0, "mice": 0.8, "knn": 0.5}))
    assert (advice.method, advice.draws) == ("knn", "macfm")
    assert advice.sentences[1] == (
        "It gives no draws; where the uncertainty of filled values counts, use macfm "
        "(0.70 on numbers)."
    )


def test_both_kinds_count():
    numbers = {"macfm": 0.50, "mean": 1.0, "mice": 0.51}
    right = {"macfm": 0.6, "mean": 0.5, "mice": 0.8}
    made = found(numbers, right)
    assert advise(made).method == "mice"
    torn = found({"macfm": 0.5, "mean": 1.0, "mice": 0.8}, right)
    advice = advise(torn)
    assert advice.method == "macfm"
    assert (
        ", but on categories MICE is clearly ahead (80 % against 60 %)"
        in (advice.sentences[0])
    )


def test_nothing_is_gained_where_the_mean_does_as_well():
    advice = advise(found({"macfm": 0.99, "mean": 1.0, "mice": 1.1}, seconds={}))
    assert advice.method == "mean"
    assert advice.sentences[0].startswith("Advice: fill in the column mean. No method")


def test_one_method_is_no_comparison():
    advice = advise(found({"macfm": 0.5}))
    assert advice.method is None
    assert advice.sentences == ()


SCORES = {"macfm": 0.5, "mean": 1.0, "mice": 0.7}


def test_columns_filled_worse_than_by_their_mean_are_named():
    made = found(SCORES, errors={"age": 0.4, "pay": 1.019, "shoe": 1.03}, se=0.02)
    advice = advise(made)
    assert advice.method == "macfm"
    assert advice.sentences[-1] == (
        "macfm fills shoe no better than by its mean: the error there is above that of "
        "the mean by more than a standard error."
    )


def test_of_many_such_columns_the_three_worst_are_named():
    errors = {"a": 1.1, "b": 1.5, ("c", 1): 1.4, "d": 1.2, "e": 1.3}
    said = advise(found(SCORES, errors=errors)).sentences[-1]
    assert said.startswith("macfm fills b, ('c', 1), e and 2 more no better than by")
    assert "their mean: the error of each is above" in said


def test_nothing_is_said_of_columns_where_the_mean_is_advised_or_no_worse():
    level = {"macfm": 1.0, "mean": 1.0}
    for made in (
        found(SCORES, errors={"age": 0.9, "pay": 1.01}),
        found(SCORES, errors={"age": 1.5}, se=np.nan),
        found(level, errors={"age": 1.0}),
    ):
        assert not any("no better than" in said for said in advise(made).sentences)
