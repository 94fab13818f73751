"""Coordinates, decoding, later tables."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table


def fit(frame, **wishes):
    table = as_table(frame)
    return TableEncoder.fit(table, TableSchema.infer(table, **wishes))


def holes(like, n_rows=3):
    """A frame of the same dtypes without any value."""
    return like.iloc[:0].reindex(range(n_rows))


def decode(encoder, frame, x, name):
    filled = encoder.complete(as_table(frame), np.asarray(x, dtype=float))
    return filled[name].tolist()


def test_layout_of_coordinates():
    frame = pd.DataFrame(
        {
            "skip": ["a", "b", "c"],
            "n": [1.0, 2.0, None],
            "c": ["a", "b", "c"],
            "one": [1.0, 1.0, 1.0],
            "b": [True, False, True],
            "o": pd.Categorical(["u", "v", "w"], ordered=True),
        }
    )
    encoder = fit(frame, ignore=["skip"])
    assert encoder.d == 6
    assert encoder.group.tolist() == [0, 1, 1, 1, 2, 3]
    assert encoder.group.dtype == np.int64
    assert encoder.is_num.tolist() == [True, False, False, False, False, True]


def test_one_hot_group_has_unit_variance():
    values = ["a"] * 5 + ["b"] * 3 + ["c"] * 2
    x = fit(pd.DataFrame({"a": values})).encode(as_table(pd.DataFrame({"a": values}))).x
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(x.var(0).sum(), 1, rtol=1e-6)


def test_binary_has_unit_variance():
    frame = pd.DataFrame({"a": [True] * 7 + [False] * 3})
    x = fit(frame).encode(as_table(frame)).x
    np.testing.assert_allclose([x.mean(), x.var()], [0, 1], atol=1e-6)


def test_bits_are_plus_and_minus_one():
    frame = pd.DataFrame({"a": [f"c{i:03}" for i in range(100)] * 2})
    x = fit(frame).encode(as_table(frame)).x
    assert set(np.unique(x)) == {-1.0, 1.0}
    assert len(np.unique(x, axis=0)) == 100


@pytest.mark.parametrize("n_categories", [2, 3, 10, 64, 65, 100, 128])
@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0, 100.0])
def test_probabilities_sum_to_one_and_agree_with_decoding(n_categories, noise):
    values = [f"c{i:03}" for i in range(n_categories)] * 3
    frame = pd.DataFrame({"a": values, "b": 1.0})
    encoder = fit(frame)
    rng = np.random.default_rng(0)
    x = encoder.encode(as_table(frame)).x + noise * rng.normal(size=(len(frame), 1))
    p = encoder.category_probabilities(x, "a")
    assert p.shape == (len(frame), n_categories)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
    (column, _) = encoder.schema.columns
    decoded = decode(encoder, holes(frame, len(frame)), x, "a")
    best = np.array([column.categories.index(value) for value in decoded])
    assert (p[np.arange(len(p)), best] == p.max(1)).all()
    if noise == 0:
        assert decoded == values


def test_probabilities_without_information_are_the_frequencies():
    frame = pd.DataFrame({"a": ["a"] * 6 + ["b"] * 3 + ["c"]})
    encoder = fit(frame)
    for x in (np.zeros((1, 3)), np.full((1, 3), -100.0)):
        p = encoder.category_probabilities(x, "a")
        np.testing.assert_allclose(p, [[0.6, 0.3, 0.1]])


def test_ties_go_to_the_most_frequent():
    frame = pd.DataFrame({"a": ["a"] + ["b"] * 2 + ["c"] * 3})
    encoder = fit(frame)
    p, scale = encoder.to_arrays()["0.frequencies"], encoder.to_arrays()["0.scale"]
    x = (np.full((3, 3), 1 / 3) - p) / scale
    assert decode(encoder, holes(frame), x, "a") == ["c"] * 3
    wide = pd.DataFrame({"a": [f"c{i:02}" for i in range(70)] * 2 + ["c42"]})
    encoder = fit(wide)
    assert decode(encoder, holes(wide), np.zeros((3, 7)), "a") == ["c42"] * 3


def test_probabilities_are_for_categories():
    encoder = fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    for name in ("a", "zzz"):
        with pytest.raises(ValueError, match=f"column '{name}' is not a modelled"):
            encoder.category_probabilities(np.zeros((1, 2)), name)


def test_integers_are_rounded_and_clipped_to_their_type():
    frame = pd.DataFrame({"a": pd.array([0, 100, 200], dtype="UInt8")})
    x = [[-50.0], [0.01], [50.0]]
    encoder = fit(frame, bounds=None)
    assert decode(encoder, holes(frame), x, "a") == [0, 101, 255]
    later = pd.DataFrame({"a": [np.nan] * 3})
    assert decode(encoder, later, x, "a") == [0.0, 101.0, 255.0]
    wide = pd.DataFrame({"a": pd.array([-(2**63), 0, 2**63 - 1], dtype="Int64")})
    ends = decode(fit(wide, bounds=None), holes(wide), x, "a")[::2]
    assert ends == [-(2**63), 2**63 - 1]


def test_whole_floats_are_rounded_unless_they_are_plain_numbers():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0]})
    assert decode(fit(frame), holes(frame), [[0.1]] * 3, "a") == [2.0] * 3
    (value, *_) = decode(fit(frame, numeric=["a"]), holes(frame), [[0.1]] * 3, "a")
    assert value != round(value)


def test_floats_stay_in_the_range_of_their_type():
    frame = pd.DataFrame({"a": np.array([-6e4, 0, 6e4], dtype=np.float16)})
    filled = fit(frame).complete(as_table(holes(frame)), np.full((3, 1), 9.0))
    assert filled["a"].dtype == np.float16
    assert np.isfinite(filled["a"]).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "Float32"])
def test_float_bounds_hold_after_conversion(dtype):
    frame = pd.DataFrame({"a": pd.array([0.15, 0.2, 0.25], dtype=dtype)})
    encoder = fit(frame, bounds={"a": (0.01, 0.6)})
    low, _, high = decode(encoder, holes(frame), [[-999.0], [0.0], [999.0]], "a")
    assert 0.01 <= low < 0.16
    assert 0.58 < high <= 0.6
    x = np.random.default_rng(0).normal(scale=99, size=(999, 1))
    drawn = encoder.complete(as_table(holes(frame, 999)), x, drawn=True)["a"]
    assert drawn.astype(float).between(0.01, 0.6).all()


def test_observed_bounds():
    frame = pd.DataFrame(
        {
            "f": [1.5, 2.5],
            "i": [3, 8],
            "t": pd.to_datetime(["2024-01-01", "2024-02-01"]),
            "d": pd.to_timedelta([1, 3], unit="h"),
            "c": ["x", "y"],
        }
    )
    encoder = fit(frame, bounds="observed")
    x = np.array([[-99.0] * 5, [99.0] * 5])
    later = frame.astype({"i": "Int64", "c": object}).iloc[:0].reindex([0, 1])
    filled = encoder.complete(as_table(later), x)
    for name in "itd":
        assert filled[name].tolist() == frame[name].tolist()
    np.testing.assert_allclose(filled["f"], frame["f"], atol=1e-4)
    assert filled["f"].between(1.5, 2.5, inclusive="neither").all()
    others = dict.fromkeys("itdc") | {"f": "observed"}
    single = fit(frame, bounds=others)
    assert [column.bounds is None for column in single.schema.columns] == [
        *(False, True, True, True, True)
    ]


def test_integer_bounds_hold_after_rounding():
    frame = pd.DataFrame({"a": pd.array([2, 3, 4], dtype="Int64")})
    encoder = fit(frame, bounds={"a": (1.5, 4.7)})
    assert decode(encoder, holes(frame), [[-99.0], [0.0], [99.0]], "a") == [2, 3, 4]
    encoder = fit(frame, bounds={"a": (None, np.inf)})
    assert encoder.schema.columns[0].bounds is None


def test_time_bounds_keep_whole_days():
    days = pd.to_datetime(["2024-01-05", "2024-01-06", "2024-01-07"])
    frame = pd.DataFrame({"a": days})
    encoder = fit(frame, bounds={"a": ("2024-01-02 12:00", dt.date(2024, 1, 9))})
    came = decode(encoder, holes(frame), [[-99.0], [0.0], [99.0]], "a")
    assert came == [pd.Timestamp(f"2024-01-{d:02}") for d in (3, 6, 9)]
    with pytest.warns(UserWarning, match="3 observed"):
        encoder = fit(frame, bounds={"a": ("2024-01-02 06:00", "2024-01-02 18:00")})
    came = decode(encoder, holes(frame), [[-99.0], [0.0], [99.0]], "a")
    assert came == [pd.Timestamp(f"2024-01-02 {h}:00") for h in ("06", 18, 18)]


@pytest.mark.parametrize(
    ("texts", "step"),
    [
        (["2024-01-01", "2024-01-03"], "D"),
        (["2024-01-01 03:00", "2024-01-03"], "h"),
        (["2024-01-01 03:05", "2024-01-03"], "min"),
        (["2024-01-01 03:05:07", "2024-01-03"], "s"),
        (["2024-01-01 03:05:07.250", "2024-01-03"], "ms"),
        (["2024-01-01 03:05:07.250001", "2024-01-03"], "us"),
        (["2024-01-01 03:05:07.250000001", "2024-01-03"], "ns"),
    ],
)
@pytest.mark.parametrize("tz", [None, "Asia/Kathmandu"])
def test_times_are_rounded_to_the_coarsest_unit_seen(texts, step, tz):
    times = pd.Series(pd.to_datetime(texts, format="ISO8601"))
    times = times.astype("M8[ns]").dt.tz_localize(tz)
    frame = pd.DataFrame({"a": times})
    x = np.random.default_rng(0).normal(size=(20, 1))
    filled = (
        fit(frame).complete(as_table(holes(frame, 20)), x)["a"].dt.tz_localize(None)
    )
    assert (filled == filled.dt.floor(step)).all()
    assert filled.nunique() > 2


def test_local_midnights_across_summer_time():
    days = pd.date_range("2024-03-01", "2024-11-30", tz="Europe/Berlin")
    frame = pd.DataFrame({"a": days})
    encoder = fit(frame)
    x = encoder.encode(as_table(frame)).x
    filled = encoder.complete(as_table(holes(frame, len(frame))), x)
    assert filled["a"].tolist() == days.tolist()


def test_hours_that_exist_twice_or_not_at_all():
    hours = pd.date_range("2024-10-26 20:00", periods=24, freq="h", tz="UTC")
    frame = pd.DataFrame({"a": hours.tz_convert("Europe/Berlin")})
    encoder = fit(frame)
    x = encoder.encode(as_table(frame)).x
    filled = encoder.complete(as_table(holes(frame, 24)), x)
    assert filled["a"].tolist() == frame["a"].tolist()
    # In Sao Paulo the day of 2017-10-15 began at one o'clock.
    naive = pd.Series(pd.to_datetime(["2017-10-14", "2017-10-16", "2017-10-16"]))
    frame = pd.DataFrame({"a": naive.dt.tz_localize("America/Sao_Paulo")})
    x = np.linspace(-1.5, 0.8, 40)[:, None]
    came = fit(frame).complete(as_table(holes(frame, 40)), x)["a"]
    assert set(came.dt.strftime("%d %H")) == {"14 00", "15 01", "16 00"}


def test_times_beyond_nanoseconds():
    days = np.array(["1066-10-14", "4000-01-01", "3000-01-01"], dtype="M8[s]")
    frame = pd.DataFrame({"a": days})
    encoder = fit(frame)
    assert encoder.schema.columns[0].unit == "D"
    x = encoder.encode(as_table(frame)).x
    filled = encoder.complete(as_table(holes(frame)), x)
    apart = np.abs(filled["a"].to_numpy() - days)
    assert (apart <= np.timedelta64(1, "D")).all()
    assert filled["a"].dtype == "M8[s]"
    far = encoder.complete(
        as_table(holes(frame).astype("M8[ns]")), 99 * np.ones((3, 1))
    )
    assert far["a"].dtype == "M8[ns]"
    assert far["a"].notna().all()


def test_zones_where_they_end():
    far = pd.Series(pd.to_datetime(["1700-01-01", "2260-01-01", None])).astype("M8[ns]")
    frame = pd.DataFrame({"a": far.dt.tz_localize("Europe/Berlin")})
    for x in (-99.0, 99.0):
        filled = fit(frame).complete(as_table(frame), np.full((3, 1), x))
        assert filled["a"].dtype == frame["a"].dtype
        assert filled["a"].notna().all()
        assert len(filled["a"].astype(str).unique()) == 3


def test_ordinals_go_to_the_nearest_rank_seen():
    frame = pd.DataFrame({"a": ["I", "II", "IV", None]})
    encoder = fit(frame, ordinal={"a": ["0", "I", "II", "III", "IV", "V"]})
    codes = encoder.encode(as_table(frame)).x[:3, 0]
    assert (np.diff(codes) > 0).all()
    x = np.array([[-9.0], [codes[1] + 0.01], [9.0]])
    assert decode(encoder, holes(frame), x, "a") == ["I", "II", "IV"]
    later = as_table(pd.DataFrame({"a": ["III", "VI"]}))
    encoded = encoder.encode(later)
    assert encoded.observed[:, 0].tolist() == [True, False]
    assert codes[1] < encoded.x[0, 0] < codes[2]
    assert encoder.unseen(later) == {"a": ["VI"]}


def test_levels_never_seen_need_no_place_in_the_type():
    frame = pd.DataFrame({"a": pd.Categorical(["I", "II", None]), "b": [1, 2, 2]})
    levels = {"a": ["I", "II", "III"], "b": [1, 1.5, 2]}
    encoder = fit(frame, ordinal=levels)
    filled = encoder.complete(as_table(frame), np.full((3, 2), 9.0))
    assert filled["a"].tolist() == ["I", "II", "II"]
    later = frame.astype({"b": "Int64"}).reindex(range(4))
    assert encoder.complete(as_table(later), np.full((4, 2), 9.0))["b"][3] == 2


def test_constant_empty_and_ignored_columns():
    frame = pd.DataFrame(
        {
            "f": [2.5, np.nan, 2.5],
            "i": pd.array([2**60 + 1, None, None], dtype="Int64"),
            "s": ["x", None, "x"],
            "t": pd.to_datetime(["2024-01-01", None, None]).tz_localize("Asia/Tokyo"),
            "d": [dt.date(2024, 1, 1), None, None],
            "c": pd.Categorical([None, None, "b"], categories=["a", "b"]),
            "e": [np.nan] * 3,
            "n": [[1], None, {}],
        }
    )
    encoder = fit(frame, ignore=["n"])
    assert encoder.d == 0
    encoder = TableEncoder.from_arrays(
        TableSchema.from_json(encoder.schema.to_json()), encoder.to_arrays()
    )
    filled = encoder.complete(as_table(frame), encoder.encode(as_table(frame)).x)
    for name in ("f", "i", "s", "t", "d", "c"):
        assert filled[name].nunique() == 1
        assert filled[name].notna().all()
        assert filled[name].dtype == frame[name].dtype
    assert filled["i"].tolist() == [2**60 + 1] * 3
    assert filled["e"].isna().all()
    assert filled["n"].tolist() == frame["n"].tolist()


def test_columns_not_to_be_imputed_stay():
    frame = pd.DataFrame({"a": [1.0, None, 2.0], "b": [None, "x", "y"]})
    encoder = fit(frame, only=["b"])
    filled = encoder.complete(as_table(frame), np.zeros((3, 2)))
    pd.testing.assert_series_equal(filled["a"], frame["a"])
    assert filled["b"].notna().all()


def test_unseen_categories_are_copied_and_say_nothing():
    frame = pd.DataFrame({"a": ["x", "y", "z"], "k": [1, 2, 3]})
    encoder = fit(frame, categorical=["k"])
    later = pd.DataFrame({"a": ["x", "new", None], "k": [3.0, 2.5, None]})
    encoded = encoder.encode(as_table(later))
    assert encoded.observed[:, 0].tolist() == [True, False, False]
    assert encoded.observed[:, 3].tolist() == [True, False, False]
    assert (encoded.x[1:] == 0).all()
    assert encoder.unseen(as_table(later)) == {"a": ["new"], "k": [2.5]}
    assert encoder.unseen(as_table(frame)) == {}
    filled = encoder.complete(as_table(later), encoded.x)
    assert filled["a"].tolist()[:2] == ["x", "new"]
    assert filled["k"].tolist()[:2] == [3.0, 2.5]
    assert filled["k"][2] in (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("fitted", "later", "expected"),
    [
        ([1, 2, 3], [1.0, None], 2.0),
        ([1.0, 2.5, 4.0], pd.array([1, None], dtype="Int8"), 2),
        ([True, False, True], pd.Series([True, None], dtype=object), True),
        ([True, False, True], pd.array([True, None], dtype="boolean"), True),
        (["a", "b", "b"], pd.Categorical([None, "b"], categories=["b", "a"]), "b"),
        (pd.Categorical(["a", "b", "b"]), pd.array(["a", None], dtype="string"), "b"),
        ([1, 2, 3], pd.Series([None, None], dtype=object), 2),
        (["a", "b", "b"], pd.Series([None, None], dtype=object), "b"),
        (
            pd.to_datetime(["2024-01-01", "2024-01-03"]).tz_localize("Asia/Tokyo"),
            pd.Series([None, None], dtype=object),
            pd.Timestamp("2024-01-02", tz="Asia/Tokyo"),
        ),
        (
            [dt.date(2024, 1, 1), dt.date(2024, 1, 3)],
            pd.Series([None, None], dtype=object),
            dt.date(2024, 1, 2),
        ),
        (
            [dt.date(2024, 1, 1), dt.date(2024, 1, 3)],
            pd.to_datetime(["2024-01-01", None]),
            pd.Timestamp("2024-01-02"),
        ),
    ],
)
def test_later_types_may_differ_where_values_compare(fitted, later, expected):
    encoder = fit(pd.DataFrame({"a": fitted}))
    frame = pd.DataFrame({"a": later})
    dtype = frame["a"].dtype
    encoded = encoder.encode(as_table(frame))
    filled = encoder.complete(as_table(frame), np.zeros_like(encoded.x))
    assert filled["a"].dtype == dtype
    missing = frame["a"].isna()
    assert set(filled["a"][missing]) == {expected}
    assert filled["a"][~missing].tolist() == frame["a"][~missing].tolist()


@pytest.mark.parametrize(
    ("fitted", "later", "message"),
    [
        ([1.0, 2.0], ["a", None], "'a' was fitted as float64 and now comes as"),
        (["a", "b"], [1.0, None], "now comes as float64"),
        ([True, False], [1.0, None], "fitted as bool and now comes as float64"),
        ([1, 2], pd.to_datetime(["2024-01-01"]), "fitted as int64 .* as datetime64"),
        (
            pd.to_datetime(["2024-01-01", "2024-01-02"]),
            pd.to_datetime(["2024-01-01"]).tz_localize("UTC"),
            "datetime64.*UTC",
        ),
    ],
)
def test_later_types_that_do_not_compare(fitted, later, message):
    encoder = fit(pd.DataFrame({"a": fitted}))
    with pytest.raises(TypeError, match=message):
        encoder.encode(as_table(pd.DataFrame({"a": later})))


def test_types_that_cannot_hold_the_categories():
    encoder = fit(pd.DataFrame({"a": ["x", "y", "z"]}))
    later = pd.DataFrame({"a": pd.Categorical(["x", None])})
    encoder.encode(as_table(later))
    with pytest.raises(ValueError, match=r"'a' of type category.* cannot hold 'y'"):
        encoder.complete(as_table(later), np.zeros((2, 3)))
    encoder = fit(pd.DataFrame({"a": [1, 2, 300]}), categorical=["a"])
    later = pd.DataFrame({"a": pd.array([1, None], dtype="Int8")})
    with pytest.raises(ValueError, match="'a' of type Int8 cannot hold 300"):
        encoder.complete(as_table(later), np.zeros((2, 3)))


def test_untyped_polars_column_cannot_be_filled():
    pl = pytest.importorskip("polars")
    encoder = fit(pl.DataFrame({"a": ["x", "y"]}))
    with pytest.raises(TypeError, match=r"'a' was fitted as String .* Null"):
        encoder.complete(as_table(pl.DataFrame({"a": [None]})), np.zeros((1, 1)))


def test_a_model_of_one_library_reads_the_other():
    pl = pytest.importorskip("polars")
    encoder = fit(pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
    frame = pl.DataFrame({"a": [1, None], "b": [None, "y"]})
    encoded = encoder.encode(as_table(frame))
    filled = encoder.complete(as_table(frame), encoded.x)
    assert filled["a"].to_list() == [1, 2]
    assert filled["b"].to_list()[1] == "y"
    assert filled.schema == frame.schema


def test_x_must_fit_and_be_finite():
    frame = pd.DataFrame({"a": [1.0, None, 2.5]})
    encoder = fit(frame)
    with pytest.raises(ValueError, match=r"shape \(3, 1\), got \(2, 1\)"):
        encoder.complete(as_table(frame), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="NaN or inf where column 'a'"):
        encoder.complete(as_table(frame), np.full((3, 1), np.nan))
    only_observed = np.array([[np.nan], [0.0], [np.nan]])
    assert encoder.complete(as_table(frame), only_observed)["a"][1] == 1.75


def test_outliers_of_a_later_table_stay_finite():
    encoder = fit(pd.DataFrame({"a": [1e-300, 2e-300], "b": [1, 2]}))
    x = encoder.encode(as_table(pd.DataFrame({"a": [1e300], "b": [2**62]}))).x
    assert np.isfinite(x).all()


def test_encoding_does_not_learn_from_later_tables():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    encoder = fit(frame)
    before = {key: value.copy() for key, value in encoder.to_arrays().items()}
    encoder.encode(as_table(pd.DataFrame({"a": [99.0], "b": ["new"]})))
    for key, value in encoder.to_arrays().items():
        np.testing.assert_array_equal(value, before[key])


def test_no_rows_and_no_columns():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    encoder = fit(frame)
    empty = as_table(frame.iloc[:0])
    assert encoder.encode(empty).x.shape == (0, 2)
    assert len(encoder.complete(empty, np.zeros((0, 2)))) == 0
    nothing = pd.DataFrame(index=range(3))
    assert fit(nothing).encode(as_table(nothing)).x.shape == (3, 0)
    categories = pd.DataFrame({"a": pd.Categorical([None, None])})
    assert fit(categories).schema.columns[0].kind == "empty"
    assert [c.kind for c in fit(frame.iloc[:0]).schema.columns] == ["empty", "empty"]


def numbers(n=60):
    """Columns of floats of every kind, each with holes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "plain": rng.normal(3, 2, n),
            "large": rng.normal(size=n) * 1e300,
            "whole": rng.integers(0, 50, n).astype(float),
            "heavy": np.exp(3 * rng.normal(size=n)),
            "often": np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
            "two": rng.integers(0, 2, n).astype(float),
            "ignored": rng.normal(size=n),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("as_array", [True, False])
def test_floats_are_encoded_at_once_as_one_by_one(dtype, as_array, monkeypatch):
    too_large = ["large"] if dtype == "float32" else []
    frame = numbers().drop(columns=too_large).astype(dtype)
    table = as_table(frame)
    transforms = {"heavy": "quantile"}
    schema = TableSchema.infer(
        table, numeric_transform=transforms, ignore=["ignored"], atoms=True
    )
    encoder = TableEncoder.fit(table, schema)
    later = as_table(frame.to_numpy(), columns=schema.names) if as_array else table
    monkeypatch.setattr("macfm.table._encoder._ROWS_AT_A_TIME", 7)
    at_once = encoder.encode(later)
    monkeypatch.setattr(TableEncoder, "_encode_alike", lambda *_: ())
    one_by_one = encoder.encode(later)
    assert at_once.x.tobytes() == one_by_one.x.tobytes()
    assert at_once.observed.tobytes() == one_by_one.observed.tobytes()


def test_columns_are_encoded_alike_by_any_number_of_threads(monkeypatch):
    frame = numbers().assign(
        colour=pd.Categorical(["red", "green", None, "blue", "red", "red"] * 10),
        day=pd.date_range("2020-01-01", periods=60).where(np.arange(60) % 7 > 0),
    )
    encoder, table = fit(frame), as_table(frame)
    monkeypatch.setattr("macfm.table._encoder._ENOUGH_FOR_THREADS", 0)
    alone, together = (encoder.encode(table, n_threads=n) for n in (1, 4))
    assert together.x.tobytes() == alone.x.tobytes()
    assert together.observed.tobytes() == alone.observed.tobytes()


def test_the_first_column_at_fault_is_named_by_any_number_of_threads(monkeypatch):
    frame = numbers().assign(colour="red")
    encoder = fit(frame)
    frame.loc[3, ["whole", "often"]] = np.inf
    monkeypatch.setattr("macfm.table._encoder._ENOUGH_FOR_THREADS", 0)
    with pytest.raises(ValueError, match="column 'whole' holds inf in 1 cell"):
        encoder.encode(as_table(frame), n_threads=4)


def test_an_infinity_among_floats_is_named():
    frame = numbers()
    table = as_table(frame)
    encoder = TableEncoder.fit(table, TableSchema.infer(table))
    frame.loc[3, "plain"] = np.inf
    with pytest.raises(ValueError, match="column 'plain' holds inf in 1 cell"):
        encoder.encode(as_table(frame))


class Named(pd.DataFrame):
    """A frame of a user's own type."""

    @property
    def _constructor(self):
        return Named


@pytest.mark.parametrize("frame_type", [pd.DataFrame, Named])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_frame_of_floats_keeps_all_but_its_holes(frame_type, dtype):
    index = pd.Index([f"row {k}" for k in range(60)], name="rows")
    frame = frame_type(numbers().drop(columns="large").set_index(index).astype(dtype))
    frame.columns.name = "columns"
    frame.attrs["source"] = "made up"
    before = frame.copy()
    table = as_table(frame)
    encoder = TableEncoder.fit(table, TableSchema.infer(table))
    filled = encoder.complete(table, encoder.encode(table).x)
    assert type(filled) is frame_type
    assert filled.attrs == {"source": "made up"}
    pd.testing.assert_index_equal(filled.index, index)
    pd.testing.assert_index_equal(filled.columns, frame.columns)
    assert set(filled.dtypes) == {np.dtype(dtype)}
    assert not filled.isna().any(axis=None)
    pd.testing.assert_frame_equal(frame, before)  # nothing was written into it
    pd.testing.assert_frame_equal(filled.where(frame.notna()), frame, check_exact=True)


def test_what_was_observed_is_never_impossible():
    frame = pd.DataFrame({"a": ["a"] * 6 + ["b"] * 3 + ["c"]})
    encoder = fit(frame)
    x = encoder.encode(as_table(frame)).x
    p = encoder.category_probabilities(x, "a")
    assert (p > 0.004).all()
    assert (p.argmax(axis=1) == [0] * 6 + [1] * 3 + [2]).all()
