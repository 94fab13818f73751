"""The laws of the round trip, for every dtype of every kind of table."""

import datetime as dt
import zoneinfo

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table

UTC = dt.UTC
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
HIDDEN = [2, 5, 9]

FLOATS = [0.5, -1.25, 3.0, 2.0, 0.0, 1.5, 7.0, -2.0, 0.25, 4.0]
INTS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
LARGE = [2**60 + i for i in INTS]
HUGE = [2**80 + i for i in INTS]
UHUGE = [2**64 - 20 + i for i in INTS]
BOOLS = [True, False, True, True, False, False, True, False, True, True]
TEXTS = ["a", "b", "c", "a", "b", "ü", "c", "a", "b", "c"]
DATES = [dt.date(2024, 1, 1) + dt.timedelta(days=7 * i) for i in INTS]
# Both sides of the spring change in Berlin (31 March 2024, 02:00).
TIMES = [dt.datetime(2024, 3, 30, 12) + dt.timedelta(hours=6 * i) for i in INTS]
NANOS = [pd.Timestamp("2024-03-30") + pd.Timedelta(i, "ns") for i in INTS]
MIDNIGHTS = [dt.datetime(2024, 3, 27) + dt.timedelta(days=i) for i in INTS]
STEPS = [dt.timedelta(minutes=5 * i) for i in INTS]


def stamps(dtype, values=TIMES):
    return values, lambda cells: pd.Series(pd.to_datetime(pd.Series(cells))).astype(
        dtype
    )


def zoned(tz, unit="ns", values=MIDNIGHTS):
    def build(cells):
        naive = pd.Series(pd.to_datetime(pd.Series(cells))).astype(f"M8[{unit}]")
        return naive.dt.tz_localize(tz)

    return values, build


def typed(dtype, values):
    return values, lambda cells: pd.Series(cells, dtype=dtype)


def objects(values):
    return typed(object, values)


PANDAS = {
    **{f"float{b}": typed(f"float{b}", FLOATS) for b in (16, 32, 64)},
    **{f"Int{b}": typed(f"Int{b}", INTS) for b in (8, 16, 32, 64)},
    **{f"UInt{b}": typed(f"UInt{b}", INTS) for b in (8, 16, 32, 64)},
    "Int64 large": typed("Int64", LARGE),
    "UInt64 large": (
        UHUGE,
        lambda cells: pd.Series(
            pd.arrays.IntegerArray(
                np.array([c or 0 for c in cells], dtype=np.uint64),
                np.array([c is None for c in cells]),
            )
        ),
    ),
    "Float32": typed("Float32", FLOATS),
    "Float64": typed("Float64", FLOATS),
    "boolean": typed("boolean", BOOLS),
    "string": typed("string", TEXTS),
    "string[python]": typed("string[python]", TEXTS),
    "str": typed("str", TEXTS) if pd.__version__ >= "3" else typed(object, TEXTS),
    "category": typed(pd.CategoricalDtype(["zz", "c", "b", "a", "ü"]), TEXTS),
    "ordered": typed(
        pd.CategoricalDtype(["zz", "c", "b", "a", "ü"], ordered=True), TEXTS
    ),
    "category of int": typed(pd.CategoricalDtype([9, *range(1, 9)]), INTS),
    "category of float": typed(pd.CategoricalDtype(sorted(FLOATS)), FLOATS),
    "category of bool": typed(pd.CategoricalDtype([True, False]), BOOLS),
    "category of time": typed(
        pd.CategoricalDtype(pd.DatetimeIndex(sorted(set(TIMES)))), TIMES
    ),
    "datetime[s]": stamps("M8[s]"),
    "datetime[ms]": stamps("M8[ms]"),
    "datetime[us]": stamps("M8[us]"),
    "datetime[ns]": stamps("M8[ns]"),
    "datetime[ns] fine": stamps("M8[ns]", NANOS),
    "datetime UTC": zoned("UTC"),
    "datetime Berlin": zoned("Europe/Berlin"),
    "datetime Berlin s": zoned("Europe/Berlin", "s"),
    "datetime fixed": zoned(dt.timezone(dt.timedelta(hours=-3, minutes=-30)), "us"),
    "timedelta[ns]": typed("m8[ns]", STEPS),
    "timedelta[s]": typed("m8[s]", STEPS),
    "object str": objects(TEXTS),
    "object bool": objects(BOOLS),
    "object int": objects(INTS),
    "object int large": objects(LARGE),
    "object int huge": objects(HUGE),
    "object float": objects(FLOATS),
    "object date": objects(DATES),
    "object datetime": objects(TIMES),
    "object datetime Berlin": objects([t.replace(tzinfo=BERLIN) for t in MIDNIGHTS]),
    "object Timestamp": objects([pd.Timestamp(t) for t in TIMES]),
    "object Timestamp UTC": objects([pd.Timestamp(t, tz="UTC") for t in TIMES]),
    "object timedelta": objects(STEPS),
    "object Timedelta": objects([pd.Timedelta(s) for s in STEPS]),
    "object datetime64": objects([np.datetime64(t, "us") for t in TIMES]),
}

try:
    import pyarrow as pa
except ImportError:
    pa = None
else:

    def arrow(kind, values):
        return values, lambda cells: pd.Series(
            pd.arrays.ArrowExtensionArray(
                pa.chunked_array([pa.array(cells, type=kind)])
            )
        )

    def dictionary(cells):
        encoded = pa.array(cells).dictionary_encode()
        kind = pa.dictionary(pa.int8(), pa.string())
        return pd.Series(
            pd.arrays.ArrowExtensionArray(pa.chunked_array([encoded.cast(kind)]))
        )

    aware = [t.replace(tzinfo=UTC) for t in TIMES]
    PANDAS |= {
        "arrow int8": arrow(pa.int8(), INTS),
        "arrow int64": arrow(pa.int64(), LARGE),
        "arrow uint64": arrow(pa.uint64(), UHUGE),
        "arrow float": arrow(pa.float32(), FLOATS),
        "arrow double": arrow(pa.float64(), FLOATS),
        "arrow bool": arrow(pa.bool_(), BOOLS),
        "arrow string": arrow(pa.string(), TEXTS),
        "arrow large_string": arrow(pa.large_string(), TEXTS),
        "arrow timestamp": arrow(pa.timestamp("us"), TIMES),
        "arrow timestamp tz": arrow(pa.timestamp("ns", "Europe/Berlin"), aware),
        "arrow date32": arrow(pa.date32(), DATES),
        "arrow date64": arrow(pa.date64(), DATES),
        "arrow duration": arrow(pa.duration("ms"), STEPS),
        "arrow dictionary": (TEXTS, dictionary),
        "string[pyarrow]": typed("string[pyarrow]", TEXTS),
    }

try:
    import polars as pl
except ImportError:
    POLARS = {}
else:

    def native(dtype, values):
        return values, lambda cells: pl.Series(cells, dtype=dtype)

    berlin = [t.replace(tzinfo=BERLIN) for t in MIDNIGHTS]
    POLARS = {
        **{f"Int{b}": native(getattr(pl, f"Int{b}"), INTS) for b in (8, 16, 32)},
        **{f"UInt{b}": native(getattr(pl, f"UInt{b}"), INTS) for b in (8, 16, 32)},
        "Int64": native(pl.Int64, LARGE),
        "UInt64": native(pl.UInt64, UHUGE),
        "Float32": native(pl.Float32, FLOATS),
        "Float64": native(pl.Float64, FLOATS),
        "Boolean": native(pl.Boolean, BOOLS),
        "String": native(pl.String, TEXTS),
        "Categorical": native(pl.Categorical, TEXTS),
        "Enum": native(pl.Enum(["zz", "c", "b", "a", "ü"]), TEXTS),
        "Date": native(pl.Date, DATES),
        "Datetime[us]": native(pl.Datetime("us"), TIMES),
        "Datetime[ms]": native(pl.Datetime("ms"), TIMES),
        "Datetime Berlin": (
            berlin,
            lambda cells: pl.Series(
                [c and c.astimezone(UTC) for c in cells],
                dtype=pl.Datetime("us", "UTC"),
            ).dt.convert_time_zone("Europe/Berlin"),
        ),
        "Duration": native(pl.Duration("us"), STEPS),
    }

CASES = [("pandas", name) for name in PANDAS] + [("polars", name) for name in POLARS]


def tables(library, name):
    """The same table without and with holes; a float column stands beside."""
    values, build = (PANDAS if library == "pandas" else POLARS)[name]
    holed = [None if i in HIDDEN else value for i, value in enumerate(values)]
    frames = []
    for cells in (values, holed):
        series = build(list(cells))
        if library == "polars":
            frames.append(pl.DataFrame({"beside": FLOATS}).with_columns(v=series))
        else:
            index = pd.Index([7, 7, *range(8)], name="row")
            frame = pd.DataFrame({"v": series, ("t", 1): FLOATS})
            frames.append(frame.set_axis(index, axis=0))
    return frames


def cells(frame):
    """Column v as a list of Python values."""
    series = frame["v"]
    return series.to_list() if hasattr(series, "to_list") else series.tolist()


def dtype_of(frame):
    return frame["v"].dtype


def fit(frame, **wishes):
    table = as_table(frame)
    return TableEncoder.fit(table, TableSchema.infer(table, **wishes))


@pytest.mark.parametrize(("library", "name"), CASES)
def test_hidden_cells_come_back_from_their_own_code(library, name):
    whole, holed = tables(library, name)
    encoder = fit(whole)
    x = encoder.encode(as_table(whole)).x
    filled = encoder.complete(as_table(holed), x)
    assert dtype_of(filled) == dtype_of(holed) == dtype_of(whole)
    expected, came = cells(whole), cells(filled)
    assert [type(v) for v in came] == [type(v) for v in expected]
    if isinstance(expected[0], float) and "category" not in name:
        np.testing.assert_allclose(came, expected, rtol=1e-3, atol=1e-6)
    else:
        assert came == expected


@pytest.mark.parametrize(("library", "name"), CASES)
@pytest.mark.parametrize("noise", [0.0, 1.0, 50.0])
def test_observed_cells_are_copied_and_holes_get_legal_values(library, name, noise):
    _, holed = tables(library, name)
    table = as_table(holed)
    assert np.flatnonzero(~table.observed.all(axis=1)).tolist() == HIDDEN
    encoder = fit(holed)
    rng = np.random.default_rng(0)
    x = noise * rng.standard_normal((table.n_rows, encoder.d))
    filled = encoder.complete(table, x)
    assert type(filled) is type(holed)
    assert list(filled.columns) == list(holed.columns)
    assert dtype_of(filled) == dtype_of(holed)
    assert as_table(filled).observed.all()
    before, after = cells(holed), cells(filled)
    for i in range(table.n_rows):
        if i not in HIDDEN:
            assert after[i] == before[i]
            assert type(after[i]) is type(before[i])
    column = next(c for c in encoder.schema.columns if c.name == "v")
    if column.kind in ("categorical", "boolean", "ordinal"):
        seen = {before[i] for i in range(table.n_rows) if i not in HIDDEN}
        assert {after[i] for i in HIDDEN} <= seen
    again = fit(filled).schema.columns
    kinds = {c.name: c.kind for c in again}
    assert kinds["v"] == column.kind
    if library == "pandas":
        pd.testing.assert_index_equal(filled.index, holed.index)


@pytest.mark.parametrize(("library", "name"), CASES)
def test_input_is_left_alone_and_encoding_is_finite(library, name):
    _, holed = tables(library, name)
    before = [repr(v) for v in cells(holed)]
    encoder = fit(holed)
    encoded = encoder.encode(as_table(holed))
    encoder.complete(as_table(holed), encoded.x)
    assert [repr(v) for v in cells(holed)] == before
    assert encoded.x.dtype == np.float32
    assert encoded.x.shape == encoded.observed.shape == (10, encoder.d)
    assert np.isfinite(encoded.x).all()
    assert (encoded.x[~encoded.observed] == 0).all()
    np.testing.assert_allclose(
        np.where(encoded.observed, encoded.x, 0).sum(0)[encoder.is_num], 0, atol=1e-5
    )


@pytest.mark.parametrize(("library", "name"), CASES)
def test_encoding_a_row_depends_on_that_row_only(library, name):
    whole, holed = tables(library, name)
    encoder = fit(holed)
    x = encoder.encode(as_table(whole)).x
    for rows in ([4], [9, 0, 3]):
        part = whole[rows] if library == "polars" else whole.iloc[rows]
        np.testing.assert_array_equal(encoder.encode(as_table(part)).x, x[rows])


@pytest.mark.parametrize(("library", "name"), CASES)
def test_schema_and_statistics_survive_storage(library, name):
    import io
    import json

    _, holed = tables(library, name)
    encoder = fit(holed, bounds="observed")
    text = json.dumps(encoder.schema.to_json(), allow_nan=False)
    schema = TableSchema.from_json(json.loads(text))
    assert schema == encoder.schema
    for column, original in zip(schema.columns, encoder.schema.columns, strict=True):
        assert [type(c) for c in column.categories or ()] == [
            type(c) for c in original.categories or ()
        ]
    file = io.BytesIO()
    np.savez(file, **encoder.to_arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = dict(stored)
    assert all(array.dtype.kind in "iuf" for array in arrays.values())
    again = TableEncoder.from_arrays(schema, arrays)
    table = as_table(holed)
    x = encoder.encode(table).x
    np.testing.assert_array_equal(again.encode(table).x, x)
    noise = np.random.default_rng(0).standard_normal(x.shape)
    assert cells(again.complete(table, noise)) == cells(encoder.complete(table, noise))
    np.testing.assert_array_equal(again.group, encoder.group)
    np.testing.assert_array_equal(again.is_num, encoder.is_num)


MASKED = {"Int64 large", "Float64", "boolean", "arrow int64", "arrow double"}


@pytest.mark.parametrize("name", sorted(MASKED & set(PANDAS)))
def test_values_under_missing_cells_do_not_matter(name):
    _, holed = tables("pandas", name)
    scrambled = holed.copy()
    array = scrambled["v"].array
    if name.startswith("arrow"):
        chunk = array.__arrow_array__().combine_chunks()
        chunk = chunk.chunk(0) if isinstance(chunk, pa.ChunkedArray) else chunk
        data = np.frombuffer(chunk.buffers()[1], dtype=np.int64)[:10].copy()
        data[HIDDEN] = 0x4044000000000000
        buffers = [chunk.buffers()[0], pa.py_buffer(data.tobytes())]
        forged = pa.Array.from_buffers(chunk.type, 10, buffers)
        scrambled["v"] = pd.arrays.ArrowExtensionArray(pa.chunked_array([forged]))
    else:
        data = array._data.copy()
        data[HIDDEN] = data.max()
        scrambled["v"] = type(array)(data, np.asarray(array.isna()))
    one, two = fit(holed), fit(scrambled)
    assert one.schema == two.schema
    for key, value in one.to_arrays().items():
        np.testing.assert_array_equal(two.to_arrays()[key], value)
    np.testing.assert_array_equal(
        one.encode(as_table(holed)).x, one.encode(as_table(scrambled)).x
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(dtype, order):
    cells = [[1e9 + 1, 2.5], [np.nan, 1], [3, np.nan]]
    array = np.array(cells, dtype=dtype, order=order)
    array.flags.writeable = False
    table = as_table(array)
    assert table.columns == ["x0", "x1"]
    encoder = TableEncoder.fit(table, TableSchema.infer(table))
    filled = encoder.complete(table, np.zeros((3, 2)))
    assert type(filled) is np.ndarray
    assert filled.dtype == dtype
    seen = ~np.isnan(array)
    assert (filled[seen] == array[seen]).all()
    assert filled[2, 1] == 1.75


@pytest.mark.parametrize(
    "dtype",
    ["bool", *(f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64))],
)
def test_types_that_cannot_miss_are_copied(dtype):
    limit = 2 if dtype == "bool" else np.iinfo(dtype).max
    values = np.array([0, 1, limit - 1, 1], dtype=dtype)
    frame = pd.DataFrame({"a": values, "b": [1.0, None, 2.0, 3.0]})
    encoder = fit(frame)
    filled = encoder.complete(as_table(frame), np.ones((4, encoder.d)))
    pd.testing.assert_series_equal(filled["a"], frame["a"])


def test_frame_attributes_and_odd_names_are_kept():
    names = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", None)])
    frame = pd.DataFrame([[1.0, "x", 3], [None, "y", 4], [2.0, None, 5]])
    frame.columns = names
    frame.attrs["unit"] = "mm"
    encoder = fit(frame)
    filled = encoder.complete(as_table(frame), np.zeros((3, encoder.d)))
    assert filled.attrs == {"unit": "mm"}
    pd.testing.assert_index_equal(filled.columns, names)
    plain = pd.DataFrame({0: [1.0, None, 2.0], dt.date(2024, 1, 1): [1, 2, 3]})
    encoder = fit(plain)
    assert TableSchema.from_json(encoder.schema.to_json()) == encoder.schema
    assert list(encoder.complete(as_table(plain), np.zeros((3, 2))).columns) == list(
        plain.columns
    )


def test_nan_and_null_are_both_missing():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1.0, None, float("nan"), 3.0]})
    table = as_table(frame)
    assert table.observed[:, 0].tolist() == [True, False, False, True]
    filled = fit(frame).complete(table, np.zeros((4, 1)))
    assert filled["a"].to_list() == [1.0, 2.0, 2.0, 3.0]


def test_na_and_nan_are_both_missing_in_nullable_floats():
    array = pd.arrays.FloatingArray(
        np.array([1.0, 5.0, np.nan, 3.0]), np.array([False, True, False, False])
    )
    frame = pd.DataFrame({"a": array})
    table = as_table(frame)
    assert table.observed[:, 0].tolist() == [True, False, False, True]
    filled = fit(frame).complete(table, np.zeros((4, 1)))
    assert filled["a"].tolist() == [1.0, 2.0, 2.0, 3.0]
    assert filled["a"].dtype == "Float64"


@pytest.mark.parametrize("dtype", ["string[pyarrow]", "string[python]"])
def test_texts_are_read_as_they_are_and_alike_ones_are_one_object(dtype):
    pytest.importorskip("pyarrow")
    cells = ["".join(["north", "east"]), None, "".join(["north", "east"]), "", None]
    table = as_table(pd.DataFrame({"text": pd.Series(cells, dtype=dtype)}))
    read = table.column(0).values
    assert read.dtype == object
    assert read[table.observed[:, 0]].tolist() == ["northeast", "northeast", ""]
    if dtype == "string[pyarrow]":
        assert read[0] is read[2]
    empty = as_table(pd.DataFrame({"text": pd.Series([], dtype=dtype)}))
    assert empty.column(0).values.tolist() == []
