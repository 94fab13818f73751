"""Rules and formulas: what they mean, what is refused, and how they are undone."""

import math
import operator

import numpy as np
import pandas as pd
import pytest

from macfm.table import as_table
from macfm.table._evaluate import condition, number, vector_of
from macfm.table._expression import ExpressionError, column_text, parse
from macfm.table._solve import solve, why_unsolvable


def reader(frame, levels=None):
    table = as_table(frame)
    place = {name: j for j, name in enumerate(table.columns)}
    levels = levels or {}
    return lambda name: vector_of(table.column(place[name]), levels.get(name))


def holds(text, frame, **levels):
    node = parse(text, list(frame.columns))
    return condition(node, reader(frame, levels), len(frame)).tolist()


def worth(text, frame):
    node = parse(text, list(frame.columns))
    return number(node, reader(frame), len(frame))


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "n": [1.0, 2.0, np.nan, 4.0],
            "k": pd.array([1, 2, 3, None], "Int64"),
            "word": ["No", "Yes", None, "No"],
            "flag": pd.array([True, False, None, True], "boolean"),
            "day": pd.to_datetime(["2024-01-01", "2024-02-01", None, "2024-03-01"]),
            "odd name": [1.0, 2.0, 3.0, 4.0],
            "class": [1, 2, 3, 1],
            "µ": [1, 2, 3, 4],
            "stage": ["low", "high", None, "middle"],
            "long": pd.to_timedelta([1, 2, None, 9], unit="D"),
        }
    )


RULES = [
    ("word == 'No'", [1, 0, 0, 1]),
    ("word != 'No'", [0, 1, 0, 0]),  # an empty cell is in no comparison
    ("not word == 'No'", [0, 1, 1, 0]),
    ('word in ["No", "Maybe"]', [1, 0, 0, 1]),
    ("word not in ['No']", [0, 1, 0, 0]),
    ("word == 'No' and n > 1", [0, 0, 0, 1]),
    ("word == 'No' or n > 1", [1, 1, 0, 1]),
    ("1 < n <= 4", [0, 1, 0, 1]),
    ("n == k", [1, 1, 0, 0]),
    ("k in (1, 3) or k == -2", [1, 0, 1, 0]),
    ("n in [-1, 4]", [0, 0, 0, 1]),
    ("isna(n)", [0, 0, 1, 0]),
    ("notna(word) and not isna(k)", [1, 1, 0, 0]),
    ("flag", [1, 0, 0, 1]),
    ("not flag", [0, 1, 1, 0]),
    ("flag == True", [1, 0, 0, 1]),
    ("flag == 0", [0, 1, 0, 0]),
    ("day >= '2024-02-01'", [0, 1, 0, 1]),
    ("'2024-01-15' < day < '2024-02-15T00:00'", [0, 1, 0, 0]),
    ("day in ['2024-01-01']", [1, 0, 0, 0]),
    ("long > '36 hours'", [0, 1, 0, 1]),
    ("`odd name` > 2", [0, 0, 1, 1]),
    ("col['odd name'] > 2", [0, 0, 1, 1]),
    ("`class` == 1", [1, 0, 0, 1]),
    ("µ == 2", [0, 1, 0, 0]),
    ("word == '`odd name`'", [0, 0, 0, 0]),
    ("n + k * 2 > 3", [0, 1, 0, 0]),
    ("1 / (n - 1) > 0", [0, 1, 0, 1]),  # 1 / 0 is empty
    ("log(n) < 1 and abs(-n) >= 2 and sqrt(n) < 3", [0, 1, 0, 0]),
    ("max(n, k) == 2 and min(n, 1) == 1 and round(n / 3) == 1", [0, 1, 0, 0]),
    ("n % 2 == 0 and n // 2 == 1", [0, 1, 0, 0]),
    ("True", [1, 1, 1, 1]),
    ("word ==\n  'No'", [1, 0, 0, 1]),
]


@pytest.mark.parametrize(("text", "expected"), RULES)
def test_a_rule_means_what_it_says(frame, text, expected):
    assert holds(text, frame) == [bool(v) for v in expected]


@pytest.mark.parametrize("dtype", ["category", "string", "object", "string[pyarrow]"])
def test_texts_compare_whatever_their_type(frame, dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    frame["word"] = frame["word"].astype(dtype)
    assert holds("word == 'No'", frame) == [True, False, False, True]


def test_polars_cells_compare_like_those_of_pandas():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, None, 3], "w": ["x", None, "y"], "e": [None] * 3})
    assert holds("a > 1 or w == 'x'", frame) == [True, False, True]
    assert holds("e == 1 or e == 'x' or e", frame) == [False] * 3
    assert holds("isna(e)", frame) == [True] * 3


def test_ordered_texts_compare_by_their_order(frame):
    levels = {"stage": ("low", "middle", "high")}
    assert holds("stage >= 'middle'", frame, **levels) == [False, True, False, True]
    with pytest.raises(ExpressionError, match="not among the levels"):
        holds("stage > 'medium'", frame, **levels)
    with pytest.raises(ExpressionError, match="texts have no order"):
        holds("word > 'No'", frame)


def test_dates_are_read_in_the_zone_of_their_column():
    days = pd.to_datetime(["2024-01-01 00:30", "2024-01-02 00:00"])
    frame = pd.DataFrame({"seen": days.tz_localize("Europe/Berlin")})
    assert holds("seen >= '2024-01-01'", frame) == [True, True]
    assert holds("seen >= '2024-01-01T00:00+00:00'", frame) == [False, True]


def test_whole_numbers_beyond_the_floats_are_told_apart():
    frame = pd.DataFrame({"k": [2**62, 2**62 + 1]})
    assert holds(f"k == {2**62 + 1}", frame) == [False, True]


def test_names_are_written_so_that_they_are_read_back():
    for name in ("age", "d.time", "class", "x y", 3, "a`b", "ü", "1st"):
        assert parse(f"{column_text(name)} > 1", [name]).left.name == name


HOSTILE = [
    "__import__('os').system('true')",
    "().__class__.__bases__",
    "n.__class__",
    "(lambda: 1)()",
    "[x for x in (1, 2)]",
    "open('f')",
    "eval('1')",
    "f'{n}'",
    "n if n else k",
    "(n := 3)",
    "n; k",
    "import os",
    "col[n]",
    "col[f'{n}']",
    "word['x']",
    "print",
    "log(*[1])",
    "log(x=1)",
    "max(n)",
    "{'a': 1}",
    "lambda: n",
    "await n",
    "b'x' == word",
    "1j > n",
    "... == n",
    "None == n",
    "-" * 4000 + "n",
    "(" * 1000 + "n" + ")" * 1000,
    "not " * 1200 + "flag",
    "n" + " + n" * 1200,
    "n ** " * 900 + "n",
    "n == 1" + "\0",
    "x" * 6000,
    "",
    "   ",
    "n is 1",
    "n & k",
    "~flag",
    "9e999 > n",
    f"n > {'9' * 4400}",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda t: t[:20])
def test_everything_else_is_refused(frame, text):
    with pytest.raises(ExpressionError):
        parse(text, list(frame.columns))


@pytest.mark.parametrize("text", [None, 3, b"n > 1", ["n > 1"]])
def test_only_texts_are_read(text):
    with pytest.raises(ExpressionError, match="expected a text"):
        parse(text, ["n"])


def test_powers_do_not_grow_without_end(frame):
    assert holds("9 ** 9 ** 9 > n", frame) == [False] * 4  # not finite, so empty


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("wrod == 'No'", r"at character 1, 'wrod': .* did you mean 'word'\?"),
        ("n > 1 and Word == 'No'", r"at character 11, .* did you mean 'word'\?"),
        ("word = 'No'", "a comparison is written =="),
        ("class == 1", "write the column class as `class`"),
        ("word == No", "texts need quotes"),
        ("n & k", "'and' instead of '&'"),
        ("odd.name > 1", "write the name in backticks"),
        ("word in 'No'", "after 'in' comes a list"),
        ("word == 3", "text cannot be compared with a number; it takes a text"),
        ("n == '3'", "a number cannot be compared with text; it takes a number"),
        ("day > 'yesterday'", "is no date such as"),
        ("day > 'now'", "is no date such as"),
        ("word + 1 > 2", "at character 1, 'word': this is text, not a number"),
        ("n", "but a rule is true or false"),
        ("n and flag", "not true or false"),
        ("isna(n + 1)", "isna takes a column"),
        ("sin(n) > 1", "there is no function 'sin'"),
        ("word is None", "isna"),
    ],
)
def test_an_error_points_at_the_place_and_says_what_to_write(frame, text, match):
    with pytest.raises(ExpressionError, match=match):
        holds(text, frame)


def test_places_count_characters_after_odd_letters():
    with pytest.raises(ExpressionError, match="at character 17, 'x'"):
        parse("`übergröße` > 1+x", ["übergröße"])


# Formulas and their inverses

FORMULAS = [
    "a + b",
    "a - b",
    "b - a",
    "a * b",
    "a / b",
    "b / a",
    "a ** 2 / b",
    "b / a ** 2",
    "a ** 3 - b",
    "a ** -1 + b",
    "a ** 0.5 * b",
    "a ** (1 / 3) + b",
    "2 ** a + b",
    "-a + b",
    "exp(a) * b",
    "b + 2 * log(a)",
    "log10(a) - log2(b)",
    "sqrt(a / b)",
    "abs(a) + b",
    "3 * (a - 1) / (b + 2) ** 2",
]


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("text", FORMULAS)
def test_what_is_solved_for_gives_the_value_again(text, name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(0.2, 3, 50), "b": rng.uniform(0.2, 3, 50)})
    node = parse(text, ["a", "b"])
    assert why_unsolvable(node, name) is None
    value = worth(text, frame)
    found = solve(node, name, value, reader(frame), len(frame))
    np.testing.assert_allclose(found, frame[name], rtol=1e-9)


@pytest.mark.parametrize("text", ["a ** 2 + b", "abs(a) * b", "b / a ** 4", "a**-2+b"])
def test_of_two_roots_the_one_on_the_side_of_the_guess_is_taken(text):
    frame = pd.DataFrame({"a": [-2.0, 2.0], "b": [1.0, 1.0]})
    guess = frame.assign(a=[-0.1, 5.0])
    node = parse(text, ["a", "b"])
    found = solve(node, "a", worth(text, frame), reader(guess), 2)
    np.testing.assert_allclose(found, frame["a"], rtol=1e-12)


def test_the_inverse_agrees_with_a_search_over_a_grid():
    frame = pd.DataFrame({"a": [1.0], "b": [0.7]})
    grid = np.linspace(0.01, 20, 400_000)
    wide = pd.DataFrame({"a": grid, "b": 0.7})
    for text in (
        "a ** 2 / b",
        "exp(a) * b",
        "sqrt(a / b)",
        "b - log(a)",
        "a / (b + 1)",
    ):
        node = parse(text, ["a", "b"])
        found = solve(node, "a", np.array([2.3]), reader(frame), 1)[0]
        nearest = grid[np.nanargmin(np.abs(worth(text, wide) - 2.3))]
        assert math.isclose(found, nearest, abs_tol=1e-4), text


@pytest.mark.parametrize(
    ("text", "value"),
    [("a ** 2", -1.0), ("exp(a)", -1.0), ("sqrt(a)", -1.0), ("a * 0", 1.0)],
)
def test_without_a_solution_there_is_none(text, value):
    frame = pd.DataFrame({"a": [1.0]})
    node = parse(text, ["a"])
    assert np.isnan(solve(node, "a", np.array([value]), reader(frame), 1)).all()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a + a * b", "more than once"),
        ("round(a) + b", "round cannot be undone"),
        ("max(a, b)", "max cannot be undone"),
        ("a % 2 + b", "% cannot be undone"),
        ("a ** b", "no exponent that is fixed"),
        ("a ** 0 + b", "not 0"),
    ],
)
def test_what_cannot_be_solved_says_why(text, why):
    assert why in why_unsolvable(parse(text, ["a", "b"]), "a")


def test_arithmetic_is_that_of_floats():
    frame = pd.DataFrame({"a": [7.5, -3.0], "b": [2.0, 0.5]})
    for sign, op in {
        "+": operator.add,
        "/": operator.truediv,
        "%": operator.mod,
    }.items():
        np.testing.assert_array_equal(worth(f"a {sign} b", frame), op(frame.a, frame.b))
