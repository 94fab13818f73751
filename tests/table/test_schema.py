"""Kinds, widths, wishes and their errors."""

import datetime as dt
import decimal
import json

import numpy as np
import pandas as pd
import pytest

from macfm.table import (
    TableSchema,
    as_table,
    check_columns,
)


def infer(frame, **wishes):
    if isinstance(frame, dict):
        frame = pd.DataFrame(frame)
    return TableSchema.infer(as_table(frame), **wishes)


def kinds(frame, **wishes):
    return [column.kind for column in infer(frame, **wishes).columns]


def test_kinds_follow_types():
    frame = pd.DataFrame(
        {
            "float": [1.5, 2.0, None],
            "int": [1, 2, 3],
            "bool": [True, False, True],
            "text": ["a", "b", None],
            "category": pd.Categorical(["a", "b", "c"]),
            "ordered": pd.Categorical(["a", "b", "c"], ordered=True),
            "time": pd.to_datetime(["2024-01-01", "2024-01-02", None]),
            "length": pd.to_timedelta([1, 2, 3], unit="h"),
            "one": [5.0, 5.0, None],
            "one text": ["a", None, None],
            "nothing": [np.nan] * 3,
            "none": pd.Series([None] * 3, dtype=object),
            "skipped": [[1], [2], [3]],
        }
    )
    assert kinds(frame, ignore=["skipped"]) == [
        *("numeric", "integer", "boolean", "categorical", "categorical", "ordinal"),
        *("datetime", "timedelta", "constant", "constant", "empty", "empty", "ignored"),
    ]
    schema = infer(frame, ignore=["skipped"])
    assert [column.width for column in schema.columns] == [
        *(1, 1, 1, 1, 3, 1, 1, 1, 0, 0, 0, 0, 0)
    ]
    assert [column.impute for column in schema.columns] == [True] * 10 + [False] * 3


@pytest.mark.parametrize(
    ("n_categories", "encoding", "width"),
    [
        (2, "binary", 1),
        (3, "onehot", 3),
        (64, "onehot", 64),
        (65, "bits", 7),
        (128, "bits", 7),
        (129, "bits", 8),
    ],
)
def test_width_of_categories(n_categories, encoding, width):
    values = [f"c{i}" for i in range(n_categories)] * 3
    (column,) = infer({"a": values}).columns
    assert (column.encoding, column.width) == (encoding, width)
    assert len(column.categories) == n_categories


@pytest.mark.parametrize(("limit", "encoding"), [(2, "bits"), (5, "onehot")])
def test_limit_of_one_hot_columns(limit, encoding):
    (column,) = infer({"a": list("abcde")}, max_one_hot=limit).columns
    assert column.encoding == encoding


def test_numbers_become_categories_on_request():
    schema = infer({"a": [3, 1, 1], "b": [0.5, np.nan, 0.25]}, categorical=["a", "b"])
    assert [column.kind for column in schema.columns] == ["categorical"] * 2
    assert schema.columns[0].categories == (1, 3)
    assert schema.columns[1].categories == (0.25, 0.5)
    assert TableSchema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_unobserved_categories_of_the_dtype_are_not_kept():
    values = pd.Categorical(["c", "a", None], categories=["c", "b", "a"])
    assert infer({"a": values}).columns[0].categories == ("c", "a")


def test_ordinal_levels_keep_their_order():
    schema = infer(
        {"stage": ["II", "I", None], "grade": [2.0, 1.0, np.nan]},
        ordinal={"stage": ["I", "II", "III"], "grade": np.array([2, 1, 0])},
    )
    assert schema.columns[0].categories == ("I", "II", "III")
    assert schema.columns[1].categories == (2, 1, 0)
    assert {column.kind for column in schema.columns} == {"ordinal"}


def test_impute_names_the_only_columns_to_fill():
    schema = infer({"a": [1.0, 2.0], "b": [1.0, 2.0]}, only=["b"])
    assert [column.impute for column in schema.columns] == [False, True]


def test_auto_takes_quantiles_where_tails_are_heavy():
    rng = np.random.default_rng(0)
    frame = {"plain": rng.normal(size=500), "heavy": np.exp(3 * rng.normal(size=500))}
    frame["huge"] = frame["heavy"] * 1e290
    chosen = [c.transform for c in infer(frame, numeric_transform="auto").columns]
    assert chosen == ["standard", "quantile", "quantile"]
    wished = {"heavy": "standard", "plain": "quantile"}
    chosen = [c.transform for c in infer(frame, numeric_transform=wished).columns]
    assert chosen == ["quantile", "standard", "standard"]


def test_statistics_come_from_observed_cells_only():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "z"]})
    assert infer(frame) == infer(frame.reindex(range(5)))


def test_identifiers_warn():
    with pytest.warns(UserWarning, match=r"column 'id' has 60 .*ignore=\['id'\]"):
        infer({"id": [f"p{i}" for i in range(60)]})


def test_later_columns_must_be_the_same():
    schema = infer({"a": [1.0, 2.0], "b": [1.0, 2.0]})

    def check(*names):
        check_columns(
            schema, as_table(pd.DataFrame(np.ones((1, len(names))), None, names))
        )

    check("a", "b")
    with pytest.raises(ValueError, match=r"missing columns \['b'\], unexpected .*'c'"):
        check("a", "c")
    with pytest.raises(ValueError, match=r"unexpected columns \['c'\]"):
        check("a", "b", "c")
    with pytest.raises(ValueError, match=r"other order: expected \['a', 'b'\]"):
        check("b", "a")


def test_stored_format_is_checked():
    with pytest.raises(ValueError, match="format 1, got 99"):
        TableSchema.from_json({"format": 99, "columns": []})


FRAME = {"age": [1.0, 2.0], "stage": ["I", "II"], "day": pd.to_datetime([0, 10**18])}


@pytest.mark.parametrize(
    ("wishes", "error", "message"),
    [
        (
            {"categorical": ["agee"]},
            ValueError,
            r"categorical .*'agee'.*mean \['age', 'stage'\]",
        ),
        ({"ordinal": {"stag": ["I"]}}, ValueError, r"ordinal .*'stag'.*\['stage'\]"),
        ({"bounds": {"zzz": (0, 1)}}, ValueError, r"bounds .*\['zzz'\]$"),
        ({"only": ["day", "dy"]}, ValueError, r"only .*\['dy'\].*\['day'\]"),
        ({"ignore": ["Age"]}, ValueError, r"ignore .*'Age'.*\['age'\]"),
        ({"numeric_transform": {"ag": "auto"}}, ValueError, "numeric_transform .*'ag'"),
        ({"numeric_transform": "log"}, ValueError, "one of .* got 'log'"),
        ({"numeric_transform": {"age": "log"}}, ValueError, "one of .* got 'log'"),
        ({"numeric_transform": {"stage": "auto"}}, ValueError, "'stage' is categ"),
        ({"categorical": "age"}, TypeError, "categorical must be a list .*'age'"),
        ({"ordinal": ["age"]}, TypeError, "ordinal must be a dict"),
        (
            {"categorical": ["stage"], "ordinal": {"stage": ["I", "II"]}},
            ValueError,
            r"\['stage'\] are named in both categorical and ordinal",
        ),
        (
            {"only": ["age"], "ignore": ["age"]},
            ValueError,
            r"\['age'\] are named in both only and ignore",
        ),
        ({"ordinal": {"stage": ["I", "III"]}}, ValueError, "'stage' holds 'II'"),
        ({"ordinal": {"stage": ["I", "I", "II"]}}, ValueError, "'stage' must be dist"),
        ({"ordinal": {"stage": ["I", "II", None]}}, ValueError, "'stage' must be dist"),
        ({"ordinal": {"day": [1]}}, ValueError, "'day' .* has an order already"),
        ({"bounds": {"stage": (0, 1)}}, ValueError, "'stage' is categorical; bounds"),
        (
            {"bounds": {"age": (3, 1)}},
            ValueError,
            r"'age' must have lo <= hi.*\(3, 1\)",
        ),
        ({"bounds": {"age": (np.nan, 1)}}, ValueError, "'age' .*nan; .* be NaN"),
        ({"bounds": {"age": ("a", 1)}}, ValueError, "'age' .*'a'; a number is needed"),
        ({"bounds": {"age": 3}}, ValueError, r"'age' must be \(lo, hi\)"),
        ({"bounds": {"age": "seen"}}, ValueError, r"'age' must be \(lo, hi\)"),
        ({"bounds": {"day": ("soon", None)}}, ValueError, "'day' .*'soon'"),
        ({"bounds": {"day": (None, pd.NaT)}}, ValueError, "'day' .*NaT"),
        (
            {"bounds": {"day": (None, pd.Timestamp(0, tz="UTC"))}},
            ValueError,
            "'day' .*no time zone",
        ),
        ({"bounds": "all"}, TypeError, "bounds must be a dict"),
    ],
)
def test_wishes_are_checked(wishes, error, message):
    with pytest.raises(error, match=message):
        infer(FRAME, **wishes)


@pytest.mark.parametrize("bounds", [(0.2, 0.8), (300, None), (None, -1)])
def test_integer_bounds_must_leave_a_value(bounds):
    with pytest.raises(ValueError, match=r"'a' leave no whole .* uint8"):
        infer({"a": np.array([1, 2], dtype=np.uint8)}, bounds={"a": bounds})


@pytest.mark.parametrize(
    ("values", "bounds", "count"),
    [
        ([1.0, 5.0, 9.0], (2, 6), "2 observed values lie"),
        ([1, 5, 9], (None, 8.5), "1 observed value lies"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), ("2020-06-01", None), "1 obs"),
        (pd.to_timedelta([1, 2], unit="h"), (None, "90min"), "1 observed value"),
    ],
)
def test_observed_values_outside_bounds_warn(values, bounds, count):
    with pytest.warns(UserWarning, match=f"column 'a': {count}"):
        infer({"a": values}, bounds={"a": bounds})


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (
            [1.0, np.inf, -np.inf],
            ValueError,
            "column 'a' holds inf in 2 cells; replace",
        ),
        (pd.Series([1.0, np.inf], dtype=object), ValueError, "inf in 1 cell;"),
        (pd.array([1.0, np.inf], "Float64"), ValueError, "inf in 1 cell;"),
        (
            [1, "b", None],
            TypeError,
            r"'a' mixes types: 1 \(int\) and 'b' \(str\).*igno",
        ),
        (["b", dt.date(2024, 1, 1)], TypeError, r"'b' \(str\) and .* \(date\)"),
        (pd.Series([True, 2], dtype=object), TypeError, r"True \(bool\) and 2 \(int\)"),
        (
            pd.Series([dt.datetime(2024, 1, 1), dt.date(2024, 1, 1)], dtype=object),
            TypeError,
            r"\(datetime\) and .* \(date\)",
        ),
        (
            pd.Series([pd.Timestamp(0), pd.Timestamp(0, tz="UTC")], dtype=object),
            TypeError,
            "mixes types",
        ),
        ([decimal.Decimal(1), None], TypeError, "column 'a' holds .* Decimal"),
        ([[1], [2]], TypeError, "type list"),
        ([{"k": 1}, {}], TypeError, "type dict"),
        ([b"x", b"y"], TypeError, "type bytes"),
        ([dt.time(1), dt.time(2)], TypeError, "type time"),
        ([1j, 2.0], TypeError, "type complex128"),
        (pd.interval_range(0, 2), TypeError, "type interval"),
        (pd.Categorical(pd.interval_range(0, 2)), TypeError, "type interval"),
        (pd.period_range("2024", periods=2, freq="D"), TypeError, r"type period\[D\]"),
        (pd.arrays.SparseArray([0.0, 1.0]), TypeError, "'a' holds sparse"),
    ],
)
def test_columns_that_cannot_be_modelled_are_named(values, error, message):
    frame = pd.DataFrame({"a": values})
    with pytest.raises(error, match=message):
        infer(frame)
    assert kinds(frame, ignore=["a"]) == ["ignored"]


def test_arrow_types_that_cannot_be_modelled_are_named():
    pa = pytest.importorskip("pyarrow")
    for kind, values in ((pa.binary(), [b"x"]), (pa.list_(pa.int8()), [[1]])):
        frame = pd.DataFrame({"a": pd.Series(values, dtype=pd.ArrowDtype(kind))})
        with pytest.raises(TypeError, match="column 'a' holds values of type"):
            infer(frame)


def test_polars_types_that_cannot_be_modelled_are_named():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [[1], [2]], "n": [None, None]})
    with pytest.raises(TypeError, match=r"column 'a' holds values of type List"):
        infer(frame)
    assert kinds(frame, ignore=["a"]) == ["ignored", "empty"]
    with pytest.raises(TypeError, match="collect"):
        as_table(frame.lazy())
    with pytest.raises(TypeError, match=r"polars\.Series"):
        as_table(frame["a"])


def test_duplicated_names_are_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match=r"unique, got \['a'\]"):
        as_table(frame)


@pytest.mark.parametrize(
    ("native", "error", "message"),
    [
        ([[1.0]], TypeError, r"got builtins\.list"),
        (pd.Series([1.0]), TypeError, r"got pandas.*Series"),
        (np.ones(3), ValueError, "2-d array, got 1"),
        (np.ones((2, 2), dtype=int), TypeError, "float32 or float64, got int64"),
        (np.ma.masked_array(np.ones((2, 2))), TypeError, r"filled\(np.nan\)"),
    ],
)
def test_other_inputs_are_refused(native, error, message):
    with pytest.raises(error, match=message):
        as_table(native)


def test_arrays_may_be_named():
    assert as_table(np.ones((1, 2)), columns=["a", "b"]).columns == ["a", "b"]
    with pytest.raises(ValueError, match="expected 1 columns, got 2"):
        as_table(np.ones((1, 2)), columns=["a"])
