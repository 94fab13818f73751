"""A pyarrow Table goes in and comes out with its schema."""

import datetime as dt

import numpy as np
import pytest

from macfm.table import TableEncoder, TableSchema, append_flags, as_table

pa = pytest.importorskip("pyarrow")

DAYS = [dt.date(2024, 1, 1 + i) for i in range(6)]
TIMES = [dt.datetime(2024, 3, 30, 12) + dt.timedelta(hours=6 * i) for i in range(6)]
STEPS = [dt.timedelta(minutes=5 * i) for i in range(6)]
TEXTS = ["a", "b", "ü", "a", "b", "a"]
COLUMNS = {
    "int8": (pa.int8(), [3, 1, 4, 1, 5, 9]),
    "uint64": (pa.uint64(), [2**64 - 20 + i for i in range(6)]),
    "float": (pa.float32(), [0.5, 1.5, -2.0, 3.0, 0.25, 4.0]),
    "double": (pa.float64(), [0.5, 1.5, -2.0, 3.0, 0.25, 4.0]),
    "bool": (pa.bool_(), [True, False, True, True, False, False]),
    "string": (pa.string(), TEXTS),
    "large": (pa.large_string(), TEXTS),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    "date32": (pa.date32(), DAYS),
    "date64": (pa.date64(), DAYS),
    "stamp": (pa.timestamp("us"), TIMES),
    "zone": (
        pa.timestamp("ns", "Europe/Berlin"),
        [time.replace(tzinfo=dt.UTC) for time in TIMES],
    ),
    "duration": (pa.duration("ms"), STEPS),
}
HIDDEN = [1, 4]


def arrow_table(*, holes):
    """All columns in two chunks, with metadata on the schema and on each field."""
    fields, columns = [], []
    for name, (kind, values) in COLUMNS.items():
        cells = [None if holes and i in HIDDEN else v for i, v in enumerate(values)]
        if pa.types.is_dictionary(kind):
            parts = [pa.array(c).dictionary_encode() for c in (cells[:3], cells[3:])]
            parts = [part.cast(kind) for part in parts]
        else:
            parts = [pa.array(c, type=kind) for c in (cells[:3], cells[3:])]
        fields.append(pa.field(name, kind, metadata={"unit": name}))
        columns.append(pa.chunked_array(parts))
    schema = pa.schema(fields, metadata={"made": "by hand"})
    return pa.Table.from_arrays(columns, schema=schema)


def test_a_table_comes_back_with_its_schema_and_its_values():
    whole, holed = arrow_table(holes=False), arrow_table(holes=True)
    table = as_table(whole)
    assert table.columns == list(COLUMNS)
    assert table.observed.all()
    encoder = TableEncoder.fit(table, TableSchema.infer(table))
    filled = encoder.complete(as_table(holed), encoder.encode(table).x)
    assert filled.schema.equals(holed.schema, check_metadata=True)
    for name, (_, values) in COLUMNS.items():
        came = filled.column(name).to_pylist()
        if isinstance(values[0], float):
            np.testing.assert_allclose(came, values, rtol=1e-6)
        else:
            assert came == whole.column(name).to_pylist()
    assert holed.column("int8").to_pylist()[1] is None  # the input is left alone


def test_a_table_is_read_as_its_frame_is():
    holed = arrow_table(holes=True)
    pandas = pytest.importorskip("pandas")
    frame = holed.to_pandas(types_mapper=pandas.ArrowDtype)
    ours, theirs = as_table(holed), as_table(frame)
    np.testing.assert_array_equal(ours.observed, theirs.observed)
    for j in range(len(COLUMNS)):
        mine, other = ours.column(j), theirs.column(j)
        assert (mine.family, mine.unit) == (other.family, other.unit)
        np.testing.assert_array_equal(mine.seen, other.seen)


def test_null_nan_and_null_entries_are_missing():
    codes = pa.array([0, 1, None], pa.int8())
    entries = pa.DictionaryArray.from_arrays(codes, pa.array(["a", None]))
    table = as_table(pa.table({"x": [1.0, float("nan"), None], "c": entries}))
    assert table.observed.tolist() == [[True, True], [False, False], [False, False]]


def test_a_column_without_new_cells_is_the_same_column():
    holed = arrow_table(holes=True)
    assert as_table(holed).write({}) is holed


def test_a_type_without_an_encoding_is_refused_by_name():
    table = as_table(pa.table({"a": [[1], [2]]}))
    with pytest.raises(TypeError, match="column 'a' holds values of type list"):
        table.column(0)
    with pytest.raises(TypeError, match=r"got pyarrow\.\w*Array"):
        as_table(pa.array([1]))


def test_flags_go_beside_a_table():
    wider = append_flags(pa.table({"a": [1, 2]}), {"gone": np.array([True, False])})
    assert wider.to_pydict() == {"a": [1, 2], "gone": [True, False]}
    assert wider.schema.field("gone").type == pa.bool_()
    with pytest.raises(ValueError, match=r"\['gone'\]"):
        append_flags(wider, {"gone": np.array([True, False])})


def test_rows_can_be_taken():
    part = as_table(arrow_table(holes=True)).take(np.array([4, 0]))
    assert part.column("string").to_pylist() == [None, "a"]
    frame = part.select(["int8", "string"]).to_pandas()
    assert as_table(frame).take(np.array([1]))["string"].tolist() == ["a"]


def test_profile_and_pictures_take_a_table():
    pytest.importorskip("matplotlib").use("Agg")
    from macfm import plot, profile
    from macfm.judge.frames import plain_frame

    holed, whole = arrow_table(holes=True), arrow_table(holes=False)
    found = profile.profile(holed)
    assert found.n_missing == len(COLUMNS) * len(HIDDEN)
    plot.missing(holed)
    plot.distributions(holed, whole, ["double", "string", "stamp", "duration"])
    assert plain_frame(holed).isna().sum().tolist() == [len(HIDDEN)] * len(COLUMNS)
