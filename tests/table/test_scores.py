"""Numbers that lean far to one side have their normal scores beside them."""

import json

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table

N = 3000


def fit(frame, **wishes):
    table = as_table(frame)
    return TableEncoder.fit(table, TableSchema.infer(table, **wishes))


def encode(encoder, frame):
    return encoder.encode(as_table(frame))


def incomes(n=N, seed=0):
    return np.random.default_rng(seed).lognormal(3, 1.2, n)


def symmetric(n=N):
    """Far-out values on both sides, but as far on one as on the other."""
    half = np.random.default_rng(0).standard_t(2, n // 2)
    return np.r_[half, -half]


def columns():
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(incomes().round(), "D")
    return {
        "incomes": (incomes(), True),
        "debts": (-incomes(), True),
        "whole": (incomes().round().astype(int), True),
        "beyond 2**53": (2**60 + incomes().round().astype(int), True),
        "float32": (incomes().astype("f4"), True),
        "with holes": (np.where(np.arange(N) % 4 == 0, np.nan, incomes()), True),
        "huge": (1e300 * incomes() / incomes().max(), True),
        "mostly 0": (np.where(np.arange(N) % 3 == 0, incomes(), 0.0), True),
        "few": (incomes(99), False),
        "few but for holes": (np.r_[incomes(99), np.full(500, np.nan)], False),
        "normal": (np.random.default_rng(0).normal(size=N), False),
        "symmetric": (symmetric(), False),
        "dates": (days, False),
        "text": (np.where(incomes() > 20, "rich", "poor"), False),
        "one value": (np.ones(N), False),
        "two values": ((np.arange(N) % 50 == 0).astype(float), False),
    }


@pytest.mark.parametrize("case", columns())
def test_what_has_scores(case):
    values, expected = columns()[case]
    numeric = ["a"] if case == "two values" else None
    (column,) = fit(pd.DataFrame({"a": values}), numeric=numeric).schema.columns
    assert column.scores is expected


@pytest.mark.parametrize(("n", "expected"), [(99, False), (100, True)])
def test_a_hundred_cells_are_enough(n, expected):
    frame = pd.DataFrame({"a": np.exp(np.linspace(0, 20, n))})
    assert fit(frame).schema.columns[0].scores is expected


@pytest.mark.parametrize(("n", "expected"), [(719, False), (720, True)])
def test_many_columns_ask_for_more_cells(n, expected):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 60)))
    frame[0] = incomes(n)
    frame.columns = [f"x{k}" for k in frame]
    assert fit(frame).schema.columns[0].scores is expected
    few = [f"x{k}" for k in range(20, 60)]
    assert fit(frame, ignore=few).schema.columns[0].scores


def test_what_is_scaled_by_quantiles_has_none_beside():
    frame = pd.DataFrame({"a": incomes()})
    (column,) = fit(frame, numeric_transform="quantile").schema.columns
    assert (column.scores, column.width) == (False, 1)


def test_layout():
    frame = pd.DataFrame(
        {
            "c": np.where(incomes() > 20, "yes", "no"),
            "paid": np.where(np.arange(N) % 3 == 0, incomes(), 0.0),
            "n": np.random.default_rng(0).normal(size=N),
            "income": incomes(seed=1),
        }
    )
    frame.loc[:9, "income"] = None
    encoder = fit(frame)
    assert encoder.group.tolist() == [0, 1, 1, 1, 2, 3, 3]
    assert np.flatnonzero(encoder.is_num).tolist() == [1, 3, 4, 5, 6]
    assert encoder.scores.number.tolist() == [1, 5]
    assert encoder.scores.score.tolist() == [3, 6]
    # an atom is one of the number and of its score
    assert encoder.atoms.flag.tolist() == [2, 2]
    assert encoder.atoms.number.tolist() == [1, 3]
    x, observed = encode(encoder, frame).x, encode(encoder, frame).observed
    for number, value in zip(encoder.atoms.number, encoder.atoms.value, strict=True):
        assert (x[frame["paid"] == 0, number] == value).all()
    assert not observed[:10, 5:].any()
    assert observed[10:].all()


@pytest.mark.parametrize("case", [k for k, (_, scored) in columns().items() if scored])
def test_scores_are_normal_and_rise_with_the_number_which_stays_as_it_is(case):
    frame = pd.DataFrame({"a": columns()[case][0]})
    encoder = fit(frame)
    x, observed = encode(encoder, frame).x, encode(encoder, frame).observed[:, 0]
    plain = encode(fit(frame, scores=False), frame).x
    np.testing.assert_array_equal(x[:, :-1], plain)
    order = np.argsort(frame["a"].to_numpy()[observed], kind="stable")
    score = x[observed, -1][order]
    assert (np.diff(score) >= 0).all()
    assert abs(score.mean()) < 1e-4
    assert abs(score.std() - 1) < 1e-3
    if case != "mostly 0":
        assert abs((score**3).mean()) < 0.1


@pytest.mark.parametrize("case", [k for k, (_, scored) in columns().items() if scored])
def test_the_map_leads_from_scores_to_numbers(case):
    frame = pd.DataFrame({"a": columns()[case][0]})
    encoder = fit(frame)
    encoded = encode(encoder, frame)
    known = encoded.x[encoded.observed[:, 0]].astype(float)
    (at,), (value,) = encoder.scores.at, encoder.scores.value
    assert (np.diff(at) >= 0).all()
    assert (np.diff(value) >= 0).all()
    found = np.interp(known[:, -1], at, value)
    step = np.diff(np.unique(value)).max()  # of a few far-out values
    assert np.abs(found - known[:, 0]).max() < max(0.05 * step, 1e-4)
    np.testing.assert_allclose(
        [value[0], value[-1]], [known[:, 0].min(), known[:, 0].max()], rtol=1e-5
    )


@pytest.mark.parametrize("tail", [1.2, 2.0])
def test_draws_of_normal_scores_are_as_wide_as_the_numbers(tail):
    frame = pd.DataFrame({"a": np.random.default_rng(0).lognormal(3, tail, 30_000)})
    (at,), (value,) = fit(frame).scores.at, fit(frame).scores.value
    drawn = np.interp(np.random.default_rng(1).normal(size=300_000), at, value)
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.std() - 1) < 0.05


@pytest.mark.parametrize("seed", range(10))
def test_no_number_of_a_score_is_beyond_those_seen(seed):
    frame = pd.DataFrame({"a": incomes(seed=seed)})
    encoder = fit(frame)
    ends = encoder.scores.value[0, [0, -1]]
    x = np.column_stack([ends, encoder.scores.at[0, [0, -1]]])
    table = as_table(pd.DataFrame({"a": [np.nan, np.nan]}))
    low, high = encoder.complete(table, x, drawn=True)["a"]
    assert low >= frame["a"].min()
    assert high <= frame["a"].max()


def test_a_stored_encoder_is_the_same():
    frame = pd.DataFrame({"a": incomes(), "b": incomes(seed=1).round()})
    encoder = fit(frame)
    plain = json.loads(json.dumps(encoder.schema.to_json()))
    assert [column["scores"] for column in plain["columns"]] == [True, True]
    schema = TableSchema.from_json(plain)
    assert schema == encoder.schema
    again = TableEncoder.from_arrays(schema, encoder.to_arrays())
    np.testing.assert_array_equal(encode(again, frame).x, encode(encoder, frame).x)
    for name in ("number", "score", "at", "value"):
        np.testing.assert_array_equal(
            getattr(again.scores, name), getattr(encoder.scores, name)
        )


def test_columns_without_scores_are_stored_as_ever():
    frame = pd.DataFrame({"a": incomes()})
    without = fit(frame).schema.without_scores()
    assert without == fit(frame, scores=False).schema
    assert "scores" not in without.to_json()["columns"][0]
    both = pd.DataFrame({"a": np.where(np.arange(N) % 3 == 0, incomes(), 0.0)})
    bare = fit(both, scores=False, atoms=False).schema
    assert fit(both).schema.without_scores().without_atoms() == bare
    assert fit(both).schema.without_atoms() == fit(both, atoms=False).schema


@pytest.mark.parametrize(
    "change",
    [
        {"scores": 1},
        {"scores": False},
        {"width": 1},
        {"transform": "quantile"},
        {"kind": "datetime"},
    ],
)
def test_a_column_that_no_fit_gives_is_refused(change):
    plain = fit(pd.DataFrame({"a": incomes()})).schema.to_json()
    plain["columns"][0] |= change
    with pytest.raises(ValueError, match="stored wrongly"):
        TableSchema.from_json(plain)


@pytest.mark.parametrize("levels", [None, {"a": ["low", "mid", "high"]}])
def test_no_column_of_categories_has_scores(levels):
    frame = pd.DataFrame({"a": np.array(["low", "mid", "high"])[np.arange(9) % 3]})
    plain = fit(frame, ordinal=levels).schema.to_json()
    plain["columns"][0]["scores"] = True
    with pytest.raises(ValueError, match="stored wrongly: scores"):
        TableSchema.from_json(plain)


@pytest.mark.parametrize(
    ("field", "array"),
    [
        ("score_std", np.array(0.0)),
        ("score_landmarks", np.zeros(0)),
        ("score_scores", np.array([1.0, 0.0])),
        ("score_mean", None),
    ],
)
def test_statistics_that_no_fit_gives_are_refused(field, array):
    encoder = fit(pd.DataFrame({"a": incomes()}))
    arrays = encoder.to_arrays()
    arrays.pop(f"0.{field}")
    if array is not None:
        arrays[f"0.{field}"] = array
    with pytest.raises(ValueError, match="stored wrongly"):
        TableEncoder.from_arrays(encoder.schema, arrays)
