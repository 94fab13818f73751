"""Ranks, tests and the rule for what is bold."""

import itertools

import numpy as np
import pandas as pd
import pytest

from macfm.bench.report._statistics import (
    Summary,
    best_of,
    best_ranked,
    everywhere,
    paired_tests,
    rank_cells,
    signed_rank,
    summary_of,
    too_few_pairs,
)


def test_only_the_best_itself_is_best_when_it_has_one_mask():
    rows = {"a": Summary(1.0, None, 1), "b": Summary(1.0001, None, 1)}
    assert best_of(rows, higher=False) == {"a"}
    assert best_of(rows, higher=True) == {"b"}


def test_the_standard_error_of_the_best_decides_not_that_of_the_others():
    best, other = Summary(1.0, 0.2, 4), Summary(1.11, 5.0, 4)
    assert best_of({"a": best, "b": other}, higher=False) == {"a"}
    wider = Summary(1.0, 0.24, 4)
    assert best_of({"a": wider, "b": other}, higher=False) == {"a", "b"}


def test_summaries_leave_out_what_is_not_finite():
    assert summary_of([1.0, np.nan, 3.0]) == Summary(2.0, pytest.approx(2**0.5), 2)
    assert summary_of([np.nan]) is None


def test_a_failure_ranks_last_and_an_absence_not_at_all():
    scores = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, np.nan], "c": [3.0, np.nan]})
    failed = pd.DataFrame({"a": [False] * 2, "b": [False, True], "c": [False] * 2})
    ranks = rank_cells(scores, failed)
    assert ranks["b"].tolist() == [2, 2]
    assert ranks["c"].dropna().tolist() == [3]
    assert best_ranked(ranks) == "a"


def test_one_lucky_cell_does_not_make_the_best_ranked():
    ranks = pd.DataFrame({"a": [2.0, 1.0, 1.0], "b": [1.0, np.nan, np.nan]})
    assert best_ranked(ranks) == "a"


def test_signed_rank_equals_the_exact_law_of_sign_flips():
    difference = np.array([0.3, -0.1, 0.5, 0.7, 0.2, 0.4])
    ranks = np.abs(difference).argsort().argsort() + 1
    seen = ranks[difference > 0].sum()
    sums = [np.dot(f, ranks) for f in itertools.product([0, 1], repeat=6)]
    centre = ranks.sum() / 2
    p = np.mean([abs(s - centre) >= abs(seen - centre) for s in sums])
    assert signed_rank(difference) == pytest.approx(p)
    assert signed_rank(np.zeros(4)) == 1.0


def test_too_few_pairs_are_those_that_scipy_cannot_call_significant():
    for n in range(1, 9):
        assert too_few_pairs(n) == (signed_rank(np.arange(1.0, n + 1)) > 0.05)


def test_paired_tests_take_only_the_cells_both_have():
    scores = pd.DataFrame({"a": [1.0, 1, 1, 1], "b": [2.0, 3, np.nan, 4]})
    (only,) = paired_tests(scores, "a")
    assert (only.method, only.n_pairs, only.median_difference) == ("b", 3, 2.0)


def test_a_method_that_lacks_a_dataset_is_not_everywhere():
    index = pd.MultiIndex.from_product([["a", "b"], [0, 1]], names=["dataset", "mask"])
    scores = pd.DataFrame(
        {
            "whole": [1.0, 2.0, 3.0, 4.0],
            "a mask less": [1.0, np.nan, 3.0, 4.0],
            "a dataset less": [1.0, 2.0, np.nan, np.nan],
        },
        index=index,
    )
    assert everywhere(scores).to_dict() == {
        "whole": True,
        "a mask less": True,
        "a dataset less": False,
    }
    # A dataset that nobody finished holds nobody back.
    scores.loc["b"] = np.nan
    assert everywhere(scores).all()
