"""Codes and marks for missing values: named when they are likely, and once."""

import warnings

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableSchema, as_table, number_mark

RNG = np.random.default_rng(0)
CODES = {
    "place": [11, 12, 40] * 20,
    "ward_code": [1, 2, 3] * 20,
    "bloodType": [0.0, 10.0, 20.0, np.nan] * 20,
    "pulse": [1] * 40 + [2] * 5 + [3] * 40 + [4] * 9,
    "answer": [1, 2, 4, 9] * 20,
}
AMOUNTS = {
    "children": [0] * 40 + [1] * 15 + [2] * 50 + [3] * 9,
    "answer": [1, 2, 3, 4, 5] * 20,
    "likert": [1] * 5 + [2] * 20 + [3] * 40 + [4] * 30 + [5] * 10,
    "falls": [0] * 60 + [1] * 20 + [2] * 9 + [3] * 3 + [7] * 1,
    "dose": [1, 2, 4, 8] * 20,
    "tablet": [5, 10, 25, 50] * 20,
    "quarter": [3, 6, 9] * 20,
    "grade_code": [1, 2, 3] * 20,
    "few": [11, 12, 40] * 5,
    "many": list(range(11)) * 9,
    "of two groups": np.repeat(range(4, 12), [9, 21, 17, 9, 3, 8, 16, 10]),
    "fraction": [1.5, 2.0, 40.0] * 20,
    "huge": [2**60, 2**60 + 1, 2**60 + 7] * 20,
}


def told(frame, **wishes):
    """What inference warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TableSchema.infer(as_table(pd.DataFrame(frame)), **wishes)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("name", CODES)
def test_codes_are_named(name):
    assert told({name: CODES[name]}) == [
        f"column {name!r} holds few whole numbers and may be codes; if so, pass "
        f"categorical=[{name!r}]"
    ]


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_and_what_cannot_be_told_are_not(name):
    assert told({name: AMOUNTS[name]}) == []


def test_several_columns_share_a_warning():
    frame = pd.DataFrame(
        {"ward": [1, 2, 3] * 20, "kind": [4, 5, 6] * 20, "x": range(60)}
    )
    (message,) = told(frame)
    assert "columns 'ward', 'kind' hold few" in message
    assert message.endswith("pass categorical=['ward', 'kind']")


@pytest.mark.parametrize(
    "wishes",
    [
        {"categorical": ["a"]},
        {"numeric": ["a"]},
        {"ordinal": {"a": [11, 12, 40, -999]}},
        {"ignore": ["a"]},
    ],
)
def test_columns_that_were_spoken_of_are_not_mentioned(wishes):
    values = [11, 12, 40] * 20
    assert told({"a": values})
    assert told({"a": values}, **wishes) == []
    assert told({"a": [*values, -999, -999]})
    assert told({"a": [*values, -999, -999]}, **wishes) == []


def test_marks_are_named_with_what_to_do():
    frame = {
        "age": [*RNG.normal(50, 9, 40), -999.0, -999.0],
        "dose": [*RNG.integers(0, 60, 39), 9999, 9999, 9999],
        "plain": RNG.normal(size=42),
    }
    frame = pd.DataFrame(frame)
    (message,) = told(frame)
    assert message == (
        "columns 'age' (-999 in 2 rows), 'dose' (9999 in 3 rows) hold what may be a "
        "mark for a missing value; if so, fit to "
        "df.replace({'age': -999, 'dose': 9999}, np.nan), or it counts as observed"
    )
    replaced = frame.replace({"age": -999, "dose": 9999}, np.nan)
    assert told(replaced) == []
    assert replaced.isna().sum().tolist() == [2, 3, 0]


@pytest.mark.parametrize(
    ("seen", "mark"),
    [
        ([1, 2, 3, -999, -999], -999),
        ([1, 2, 3, 99.9, 99.9], 99.9),
        ([1, 2, 3, -999], None),  # once
        ([1, 2, 3, 998, 998], None),
        ([1, 500, 950, 999, 999], None),  # near others
        ([-999, -999], None),
        ([*range(18, 60), -9, -9, -9], -9),
        ([*range(18, 60), -77, -8, -8, -8], -8),
        ([*np.linspace(0, 9, 40), -1, -1, -1], -1),
        ([*range(18, 60), -9, -9], None),  # twice
        ([*range(60), -1, -1, -1], None),  # the neighbour of 0
        ([*range(18, 60), -9, -9, -9, -5], None),  # other values are negative too
        ([*range(3, 9), -9, -9, -9], None),  # few values: scores, perhaps
    ],
)
def test_a_mark_repeats_and_stands_apart(seen, mark):
    assert number_mark(np.array(seen, dtype=float)) == mark


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            ["40", "51", "62"] * 9 + ["unknown"],
            "27 of its cells are numbers and 1 cell",
        ),
        (["1.5", "-2", "3e4"] * 9 + ["<1", "n. d."], "and 2 cells, such as '<1', are"),
    ],
)
def test_texts_that_are_numbers_but_for_a_few_are_named(entries, said):
    [found] = told({"age": entries})
    assert found.startswith("column 'age' is text and taken for categories: ")
    assert said in found
    assert "categorical=['age']" in found
    assert told({"age": entries}, categorical=["age"]) == []


def test_limits_of_detection_are_named_with_what_to_do():
    [found] = told({"crp": ["<0.5", "1.5", "20"] * 9})
    assert "27 of its" not in found
    assert "18 of its cells are numbers and 9 cells, such as '<0.5', are not" in found
    assert "write the limit itself or half of it" in found
    assert "the others" not in found
    [found] = told({"crp": ["<0.5", "1.5", "20", "7", "n. d."] * 9})
    assert "such as '<0.5'" in found
    assert "make the others missing and the rest numbers" in found


def test_amounts_with_a_few_words_are_no_identifiers():
    amounts = [f"{k / 10}" for k in range(99)]
    [found] = told({"dose": [*amounts, "unknown"]})
    assert found.startswith("column 'dose' is text and taken for categories")
    codes = [f"{k:04}" for k in range(99)]
    assert "looks like free text or an identifier" in told({"a": [*codes, "none"]})[0]


@pytest.mark.parametrize(
    "entries",
    [["001", "002", "003"] * 9, ["a", "b", "1"] * 9, ["yes", "no"] * 9],
    ids=["all numbers", "mostly words", "words"],
)
def test_other_texts_are_not(entries):
    assert told({"ward": entries}) == []


def test_percentages_are_no_identifiers():
    entries = [f"{k / 10}%" for k in range(100)]
    [found] = told({"ejection": entries})
    assert "holds percentages as text, such as '0.0%'" in found
    assert "identifier" not in found
    assert told({"ejection": entries}, ignore=["ejection"]) == []


@pytest.mark.parametrize("other", ["Yes", " yes", "YES ", "yes\t"])
def test_categories_in_two_spellings_are_named(other):
    entries = ["yes", "no", other] * 9
    [found] = told({"smoker": entries})
    assert "differ in case or spaces alone" in found
    assert repr(other) in found
    assert "categorical=['smoker']" in found
    assert told({"smoker": entries}, categorical=["smoker"]) == []
    assert told({"smoker": ["yes", "no", "y es"] * 9}) == []


def test_columns_with_hardly_a_cell_are_named():
    holes = [np.nan] * 41
    frame = {"a": range(50), "b": [1.5, *range(8), *holes], "c": ["x", "y"] * 25}
    [found] = told(frame)
    assert found.startswith("column 'b' (9) has fewer than 10 observed cells of 50; ")
    assert found.endswith("ignore=['b']")
    assert told(frame, ignore=["b"]) == told(frame, only=["a", "c"]) == []
    assert told(frame | {"b": range(50)}) == []
    both = told(frame | {"d": frame["b"]})
    assert both[0].startswith("columns 'b' (9), 'd' (9) have fewer than 10 observed")
    small = {name: list(entries)[:15] for name, entries in frame.items()}
    assert told(small) == []


@pytest.mark.parametrize("stray", [1e18, -1e6, 72_000_000.0])
def test_a_number_far_from_all_others_is_named(stray):
    ages = [*np.random.default_rng(0).normal(50, 12, 200).round(), stray]
    [found] = told({"age": ages})
    assert found.startswith(f"column 'age' holds {stray:g}, a thousand times as far")
    assert told({"age": ages}, ignore=["age"]) == []


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=300),
        lambda rng: rng.lognormal(0, 2, size=300),
        lambda rng: rng.standard_t(2, size=300),
        lambda rng: np.where(rng.random(300) < 0.9, 0.0, rng.exponential(size=300)),
        lambda rng: np.array([*[0.0] * 50, 1.0, 2.0]),
    ],
    ids=["normal", "skewed", "tails", "zeros", "rare"],
)
def test_long_tails_are_not_stray(draw):
    for seed in range(20):
        assert told({"a": draw(np.random.default_rng(seed))}) == []
