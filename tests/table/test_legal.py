"""Filled cells are legal, whatever the network says."""

import json

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table

N = 400


def columns():
    """Columns of values that only some numbers may join, under the rule for them."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, N).astype(float)
    return {
        "count": (counts, lambda v: (v >= 0) & (v % 1 == 0)),
        "object count": (counts.astype(object), lambda v: (v >= 0) & (v % 1 == 0)),
        "float32 count": (counts.astype("f4"), lambda v: (v >= 0) & (v % 1 == 0)),
        "Int64": (pd.array(counts, "Int64"), lambda v: (v >= 0) & (v % 1 == 0)),
        "Float64": (pd.array(counts, "Float64"), lambda v: (v >= 0) & (v % 1 == 0)),
        "positive count": (counts + 1, lambda v: (v >= 1) & (v % 1 == 0)),
        "many counts": (
            rng.poisson(40, N).astype(float),
            lambda v: (v >= 0) & (v % 1 == 0),
        ),
        "score": (rng.integers(1, 6, N).astype(float), lambda v: np.isin(v, range(6))),
        "zero and one": (rng.integers(0, 2, N), lambda v: np.isin(v, [0, 1])),
        "one and two": (rng.integers(1, 3, N) * 1.0, lambda v: np.isin(v, [1, 2])),
        "two floats": (rng.choice([0.5, 2.25], N), lambda v: np.isin(v, [0.5, 2.25])),
        "money": (rng.lognormal(9, 1.2, N), lambda v: v > 0),
        "money, often none": (
            rng.lognormal(9, 1.2, N) * (rng.random(N) < 0.6),
            lambda v: v >= 0,
        ),
        "float32 money": (rng.lognormal(0, 2, N).astype("f4"), lambda v: v > 0),
        "tiny": (rng.lognormal(-80, 1, N).astype("f4"), lambda v: v > 0),
        "huge": (rng.lognormal(700, 1, N), lambda v: v > 0),
        "share": (rng.beta(0.5, 0.5, N), lambda v: (v >= 0) & (v <= 1)),
        "percent": (
            np.minimum(rng.normal(90, 8, N), 100.0),
            lambda v: (v >= 0) & (v <= 100),
        ),
        "capped": (np.minimum(rng.normal(0, 1, N), 1.5), lambda v: v <= 1.5),
        "detected": (np.maximum(rng.normal(0, 1, N), -1.25), lambda v: v >= -1.25),
        "debt": (-rng.lognormal(3, 1, N), lambda v: v < 0),
        "age": (
            np.maximum(rng.normal(60, 15, N).round(), 18),
            lambda v: (v >= 18) & (v % 1 == 0),
        ),
    }


@pytest.fixture(scope="module")
def cases():
    return columns()


def fit(frame, **wishes):
    table = as_table(frame)
    schema = TableSchema.infer(table, **{"scores": False} | wishes)
    return TableEncoder.fit(table, schema)


def fill(encoder, frame, x, *, drawn):
    holes = frame.iloc[:0].reindex(range(len(x)))
    return encoder.complete(as_table(holes), x, drawn=drawn)


def noise(d, scale=3.0, n=5000):
    return np.random.default_rng(1).normal(scale=scale, size=(n, d))


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e9])
@pytest.mark.parametrize("transform", ["standard", "quantile"])
@pytest.mark.parametrize("case", columns())
def test_every_filled_cell_is_legal(cases, case, transform, scale, drawn):
    values, legal = cases[case]
    frame = pd.DataFrame({"a": values})
    encoder = fit(frame, numeric_transform=transform)
    filled = fill(encoder, frame, noise(encoder.d, scale), drawn=drawn)["a"]
    if frame["a"].dtype.kind not in "iu":
        assert filled.dtype == frame["a"].dtype
    assert legal(filled.to_numpy(float)).all()
    assert legal(frame["a"].to_numpy(float)).all()


# Those of types that only pandas has are left out.
@pytest.mark.parametrize(
    "case", [c for c in columns() if not c.startswith(("object", "Int", "Float"))]
)
def test_types_of_other_tables_are_legal_too(cases, case):
    pl = pytest.importorskip("polars")
    values, legal = cases[case]
    frame = pl.DataFrame({"a": values})
    table = as_table(frame)
    encoder = TableEncoder.fit(table, TableSchema.infer(table, scores=False))
    holes = as_table(frame.clear(99))
    for drawn in (False, True):
        filled = encoder.complete(holes, noise(encoder.d, n=99), drawn=drawn)["a"]
        assert filled.dtype == frame["a"].dtype
        assert legal(filled.to_numpy()).all()


@pytest.mark.parametrize("case", columns())
def test_a_stored_encoder_fills_the_same(cases, case):
    frame = pd.DataFrame({"a": cases[case][0]})
    encoder = fit(frame)
    schema = TableSchema.from_json(json.loads(json.dumps(encoder.schema.to_json())))
    assert schema == encoder.schema
    again = TableEncoder.from_arrays(schema, encoder.to_arrays())
    for drawn in (False, True):
        one, two = (
            fill(e, frame, noise(encoder.d, n=99), drawn=drawn)
            for e in (encoder, again)
        )
        pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("case", ["money", "float32 money", "share", "debt"])
def test_nothing_piles_up_on_a_limit(cases, case, drawn):
    """As many fills as observed values lie within a hair of the limit, about."""
    values = np.asarray(cases[case][0], dtype=float)
    frame = pd.DataFrame({"a": values})
    encoder = fit(frame)
    filled = fill(encoder, frame, noise(1, 1.0, n=20_000), drawn=drawn)["a"].to_numpy()
    ends = [end for end in encoder.schema.columns[0].bounds if end is not None]
    hair = 1e-4 * values.std()
    for end in ends:
        assert not (filled == end).any()
        share = np.mean(np.abs(values - end) < hair)
        came = np.mean(np.abs(filled - end) < hair)
        assert came <= share + 3 * np.sqrt((share + 1e-3) / N)
    assert len(np.unique(filled)) > 0.98 * len(filled)


def test_a_pile_on_the_limit_stays_one(cases):
    values, _ = cases["money, often none"]
    frame = pd.DataFrame({"a": values})
    encoder = fit(frame)
    for drawn in (False, True):
        filled = fill(encoder, frame, noise(encoder.d, 1.0), drawn=drawn)["a"]
        assert 0.1 < (filled == 0).mean() < 0.5


@pytest.mark.parametrize("case", ["money", "share", "age", "percent"])
def test_central_values_keep_their_order_and_the_bulk_is_left_alone(cases, case):
    frame = pd.DataFrame({"a": np.asarray(cases[case][0], dtype=float)})
    x = np.linspace(-5, 5, 2001)[:, None]
    kept, free = (
        fill(fit(frame, bounds=bounds, atoms=False), frame, x, drawn=False)[
            "a"
        ].to_numpy()
        for bounds in ("auto", None)
    )
    assert (np.diff(kept) >= 0).all()
    low, high = np.quantile(frame["a"], [0.15, 0.85])
    bulk = (free > low) & (free < high)
    assert bulk.any()
    np.testing.assert_array_equal(kept[bulk], free[bulk])


def test_without_bounds_values_are_not_kept_back(cases):
    frame = pd.DataFrame({"a": cases["money"][0]})
    encoder = fit(frame, bounds=None)
    assert encoder.schema.columns[0].bounds is None
    free = encoder.complete(as_table(frame.iloc[:0].reindex([0])), np.full((1, 1), -9))
    expected = frame["a"].mean() - 9 * frame["a"].std(ddof=0)
    np.testing.assert_allclose(free["a"], expected)


def bounds_of(values, **wishes):
    table = as_table(pd.DataFrame({"a": values}))
    return TableSchema.infer(table, **wishes).columns[0].bounds


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("money", (0.0, None)),
        ("debt", (None, 0.0)),
        ("share", (0.0, 1.0)),
        ("percent", (0.0, 100.0)),
        ("capped", (None, 1.5)),
        ("detected", (-1.25, None)),
        ("score", (1, 5)),
        ("many counts", (1, None)),
        ("age", (1, None)),
        ("two floats", None),
    ],
)
def test_limits_that_are_found(cases, case, expected):
    found = bounds_of(cases[case][0])
    assert found == expected
    assert found is None or type(found[0]) is type(expected[0])


def test_times_keep_their_sign_and_nothing_else():
    stays = pd.to_timedelta([1, 2, 30], unit="h")
    assert bounds_of(stays) == (3600 * 10**9, None)
    assert bounds_of(-stays) == (None, -3600 * 10**9)
    assert bounds_of(stays - stays[0]) == (0, None)
    assert bounds_of(stays - stays[1]) is None
    assert bounds_of(pd.to_datetime(["2024-01-01", "2024-01-02"])) is None
    frame = pd.DataFrame({"a": stays})
    for drawn in (False, True):
        filled = fill(fit(frame), frame, noise(1), drawn=drawn)["a"]
        assert (filled >= pd.Timedelta("1h")).all()


def test_a_dict_speaks_for_the_columns_it_names():
    values = np.random.default_rng(0).lognormal(size=60)
    table = as_table(pd.DataFrame(dict.fromkeys("abcd", values)))
    wishes = {"a": (0, 50), "b": None, "c": "observed"}
    found = [c.bounds for c in TableSchema.infer(table, bounds=wishes).columns]
    assert found == [(0, 50), None, (values.min(), values.max()), (0, None)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.0, 1.0, None, 1.0], "categorical"),
        ([0, 1, 1], "categorical"),
        ([30.0, 50.0, None], "integer"),  # two cells are no pattern
        ([0.25, 0.5, 0.25], "numeric"),
        ([0.25, 0.5] * 5, "categorical"),
        ([0.25, 0.5, 1.0] * 5, "numeric"),
        ([1.0, 2.0, 3.0, None], "integer"),
        ([1.0, 2.0, 3.5, None], "numeric"),
        ([1e300, 2e300, 3e300], "numeric"),
        (pd.array([1, 2, 1, None], "Int64"), "categorical"),
        (pd.array([1.0, 2.0, 1.0, None], "Float32"), "categorical"),
        (pd.Series([1, 2.0, 1, None], dtype=object), "categorical"),
    ],
)
def test_kinds_of_numbers(values, kind):
    table = as_table(pd.DataFrame({"a": values}))
    assert TableSchema.infer(table).columns[0].kind == kind
    plain = TableSchema.infer(table, numeric=["a"]).columns[0].kind
    whole = table.column(0).family == "integer"
    assert plain == ("integer" if whole else "numeric")


def test_a_column_with_limits_or_a_scale_is_no_category():
    table = as_table(pd.DataFrame({"a": [0, 1] * 10}))
    for wishes in ({"bounds": {"a": (0, 9)}}, {"numeric_transform": {"a": "auto"}}):
        assert TableSchema.infer(table, **wishes).columns[0].kind == "integer"
    for bounds in ("auto", "observed", None, {"a": None}, {"a": "auto"}):
        assert TableSchema.infer(table, bounds=bounds).columns[0].kind == "categorical"


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"numeric": ["t"]}, "'t' is of type .*; numeric is for columns of numbers"),
        ({"numeric": ["c"]}, "'c' is of type category.*; numeric is for"),
        ({"numeric": ["b"]}, "'b' is of type bool; numeric is for"),
        ({"numeric": ["m"], "categorical": ["m"]}, "both categorical and numeric"),
        ({"numeric": ["m"], "ordinal": {"m": [1, 2]}}, "both numeric and ordinal"),
        ({"numeric": ["mm"]}, r"numeric names columns not .*did you mean \['m'"),
    ],
)
def test_numeric_is_for_numbers(wishes, message):
    frame = pd.DataFrame({"m": [1, 2, 1], "t": ["x", "y", "x"], "b": [True] * 3})
    frame["c"] = frame["m"].astype("category")
    with pytest.raises(ValueError, match=message):
        TableSchema.infer(as_table(frame), **wishes)


@pytest.mark.parametrize(
    "stored",
    [
        {"0.low": np.array([0.0, 1.0, 0.0])},
        {"0.low": np.array([0.0])},
        {"0.low": np.array([np.nan, 1.0, 0.0, 0.0])},
        {"0.low": np.array([0.0, 1.0, 0.0, 2.0])},
        {"0.low": np.array([2.0, 1.0, 0.0, 0.0])},
        {"0.low": np.array([0.0, 1.0, 0.0, 0.0], dtype="f4")},
        {"0.high": np.array([2.0, 1.0, 0.0, 0.0])},
    ],
)
def test_what_no_fit_gives_is_refused(cases, stored):
    encoder = fit(pd.DataFrame({"a": cases["money"][0]}))
    with pytest.raises(ValueError, match="statistics of column 'a' are stored wrongly"):
        TableEncoder.from_arrays(encoder.schema, encoder.to_arrays() | stored)


def test_limits_of_earlier_models_are_clipped_at(cases):
    frame = pd.DataFrame({"a": cases["money"][0]})
    encoder = fit(frame)
    arrays = {k: v for k, v in encoder.to_arrays().items() if k != "0.low"}
    earlier = TableEncoder.from_arrays(encoder.schema, arrays)
    for drawn in (False, True):
        filled = fill(earlier, frame, np.array([[-9.0], [0.0]]), drawn=drawn)["a"]
        assert filled[0] == 0
        assert filled[1] == pytest.approx(frame["a"].mean())
