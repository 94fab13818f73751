"""Which methods and pairs are ranked, and what the ranks say."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from macfm.bench.report._figure_ranks import draw_ranks
from macfm.bench.report._frame import CELL, tidy
from macfm.bench.report._ranking import (
    comparable,
    critical_difference,
    groups_within,
    rank_pairs,
)
from macfm.bench.report._ranks import rank_section

THREE = ("mcar", "mar", "mnar")


def cells(n_datasets, n_masks=1):
    places = [
        (f"table {i}", mechanism, 0.3, mask)
        for i in range(n_datasets)
        for mechanism in THREE
        for mask in range(n_masks)
    ]
    return pd.MultiIndex.from_tuples(places, names=CELL)


def test_a_method_that_lacks_a_pair_costs_the_pair():
    present = pd.DataFrame(True, cells(5), list("abcdefghijklmn"))
    present.iloc[0, 3] = False
    methods, shared = comparable(present)
    assert methods == list(present.columns)
    assert len(shared) == 14


def test_a_method_that_lacks_most_pairs_is_left_out():
    present = pd.DataFrame(True, cells(5), list("abcd"))
    present.loc[present.index[2:], "b"] = False
    methods, shared = comparable(present)
    assert methods == ["a", "c", "d"]
    assert len(shared) == 15


def test_methods_on_other_datasets_are_not_compared():
    present = pd.DataFrame(False, cells(4), list("abcde"))
    present.loc[present.index[:6], ["a", "d"]] = True
    present.loc[present.index[6:], ["b", "c", "e"]] = True
    methods, shared = comparable(present)
    assert len(shared) == 6
    assert present.loc[shared, methods].all(axis=None)


def test_without_a_shared_cell_nothing_is_compared():
    present = pd.DataFrame({"a": [True, False, False], "b": [False, True, False]})
    methods, shared = comparable(present.set_axis(cells(1)))
    assert methods == []
    assert len(shared) == 0


def test_masks_that_one_method_lacks_count_for_none():
    scores = pd.DataFrame({"a": [1.0, 9.0], "b": [2.0, 1.0]}, cells(1, n_masks=2)[:2])
    assert rank_pairs(scores).means.to_dict() == {"b": 1, "a": 2}
    scores.iloc[1, 1] = np.nan
    methods, shared = comparable(scores.notna())
    assert rank_pairs(scores.loc[shared, methods]).means.to_dict() == {"a": 1, "b": 2}


def test_ranks_of_a_pair_sum_to_the_same_and_ties_share_theirs():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.integers(0, 4, (15, 6)) / 4, cells(5), list("abcdef"))
    ranking = rank_pairs(scores)
    assert ranking.ranks.sum(axis=1).tolist() == pytest.approx([21] * 15)
    assert ranking.means.is_monotonic_increasing
    assert ranking.p is not None


def test_ranks_do_not_depend_on_the_size_of_differences():
    rng = np.random.default_rng(1)
    scores = pd.DataFrame(rng.uniform(size=(9, 4)), cells(3), list("abcd"))
    one, two = rank_pairs(scores), rank_pairs(np.exp(5 * scores))
    pd.testing.assert_frame_equal(one.ranks, two.ranks)


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_is_that_of_the_tables(n_methods, q):
    expected = q * np.sqrt(n_methods * (n_methods + 1) / (6 * 12))
    assert critical_difference(n_methods, 12) == pytest.approx(expected, rel=1e-3)


def test_for_two_methods_it_is_the_normal_test_of_signs():
    expected = norm.ppf(0.975) / np.sqrt(20)
    assert critical_difference(2, 20) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("distance", [0.0, 0.4, 1.1, 3.0, 50.0])
def test_groups_join_exactly_the_methods_that_do_not_differ(distance):
    means = np.sort(np.random.default_rng(2).uniform(1, 12, 12)).tolist()
    groups = groups_within(means, distance)
    for i in range(12):
        for j in range(i + 1, 12):
            joined = any(first <= i and j <= last for first, last in groups)
            assert joined == (means[j] - means[i] < distance)
    nested = [(a, b) for a in groups for b in groups if a != b and a[0] <= b[0]]
    assert all(a[1] < b[1] for a, b in nested)


def test_the_section_names_who_is_left_out_and_what_speaks_against_it(grid):
    records = grid(["mean", "knn", "macfm"], ["letter", "bean"], THREE, n_masks=1)
    records += grid(["gain"], ["letter"], n_masks=1)
    picture, table = rank_section(tidy(records)).items
    assert "6 pairs that all 3 methods have (letter, bean; MCAR, MAR, MNAR)" in (
        picture.caption
    )
    assert "too few of these pairs: GAIN (1 of 6)." in picture.caption
    for words in ("share its rows", "only 2 datasets", "by how much"):
        assert words in picture.caption
    assert [line.key for line in table.rows] == ["mean", "knn", "macfm"]
    assert [cell.value for cell in table.rows[-1].cells] == [1, 6, 1, 6]
    assert any("GAIN (1 of 6)" in note for note in table.notes)


def test_bold_are_those_less_than_the_critical_difference_behind(grid):
    records = grid(["mean", "median", "macfm"], None, THREE, n_masks=1)
    for record in records:
        worst = ["mean", "median"][record["dataset"] in ("letter", "bean")]
        value = {worst: 3.0, "macfm": 1.0}.get(record["method"], 2.0)
        record["scores"]["out"]["mae"] = value
    _, table = rank_section(tidy(records)).items
    means = {line.key: line.cells[0] for line in table.rows}
    assert critical_difference(3, 15) == pytest.approx(0.856, abs=1e-3)
    assert means["median"].value == pytest.approx(2.4)
    assert [key for key, cell in means.items() if cell.best] == ["macfm"]


def test_rates_are_ranked_apart(grid):
    records = [
        record
        for rate in (0.3, 0.5)
        for record in grid(["mean", "knn"], ["letter"], THREE, n_masks=1, rate=rate)
    ]
    slugs = [item.slug for item in rank_section(tidy(records)).items]
    assert slugs == ["ranks-30", "mean-ranks-30", "ranks-50", "mean-ranks-50"]


@pytest.mark.parametrize(
    ("methods", "mechanisms"), [(["mean"], THREE), (["mean", "knn"], ("mcar",))]
)
def test_one_method_or_one_pair_is_not_ranked(grid, methods, mechanisms):
    assert rank_section(tidy(grid(methods, ["letter"], mechanisms))) is None


def test_methods_stand_from_best_to_worst_beside_the_bars_of_their_groups():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(3)
    labels = [f"m{i}" for i in range(24)]
    errors = np.arange(24) + rng.normal(0, 4, (15, 24))
    ranking = rank_pairs(pd.DataFrame(errors, cells(5), labels))
    names = {label: label for label in labels}
    figure = draw_ranks({"mae": ranking}, titles=names, methods=names)
    (axis,) = figure.axes
    ticks = [text.get_text() for text in axis.get_yticklabels()]
    assert ticks == list(ranking.means.index)
    spans = {
        (int(low + 0.5), int(high))
        for low, high in (
            line.get_ydata()
            for line in axis.lines
            if len(set(line.get_xdata())) == 1 and len(line.get_ydata()) == 2
        )
    }
    assert spans == set(ranking.groups)
