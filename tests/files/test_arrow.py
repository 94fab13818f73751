"""Parquet and Feather: types and metadata stay, only nulls are filled."""

import datetime as dt
import re
from decimal import Decimal

import pandas as pd
import pytest

from macfm.files import FileError, read_table

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

ZONE = "Europe/Berlin"
COLUMNS = {
    "i8": pa.array([1, None, 3], pa.int8()),
    "u64": pa.array([2**63 + 1, None, 5], pa.uint64()),
    "f32": pa.array([1.5, None, float("nan")], pa.float32()),
    "half": pa.array([1.5, None, 2.5], pa.float16()),
    "flag": pa.array([True, None, False]),
    "text": pa.array(["007", None, "NA"]),
    "large": pa.array(["a", None, ""], pa.large_string()),
    "cat": pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0], pa.int8()), ["lo", "mid", "hi"], ordered=True
    ),
    "money": pa.array([Decimal("1.50"), None, Decimal("2.25")], pa.decimal128(9, 2)),
    "day": pa.array([dt.date(2024, 3, 1), None, dt.date(1066, 10, 14)]),
    "at": pa.array([10**15, None, 5], pa.timestamp("us", tz=ZONE)),
    "naive": pa.array([10**9, None, 5], pa.timestamp("s")),
    "long": pa.array([10, None, 5], pa.duration("ms")),
    "clock": pa.array([dt.time(10, 30), None, dt.time(11, 0)]),
    "list": pa.array([[1, 2], None, []]),
    "nothing": pa.nulls(3),
}


@pytest.fixture
def table():
    fields = [
        pa.field(name, column.type, metadata={"unit": name})
        for name, column in COLUMNS.items()
    ]
    schema = pa.schema(fields, metadata={"origin": "ward 7"})
    return pa.Table.from_arrays(list(COLUMNS.values()), schema=schema)


def write(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, path)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_only_nulls_change(tmp_path, table, name):
    path = tmp_path / name
    write(table, path)
    before = read_table(path)
    # What the file kept: Parquet has no halves of seconds' units, for instance.
    stored = before._table
    full = before.frame.copy()
    for column in full:
        seen = full[column].dropna()
        if len(seen):
            full[column] = full[column].fillna(seen.iloc[0])
    before.write(full, path, force=True)
    after = read_table(path)._table
    assert after.schema.equals(stored.schema, check_metadata=True)
    for column in after.column_names:
        old, new = stored.column(column), after.column(column)
        assert new[0].equals(old[0])
        if column == "f32":
            assert new.to_pylist() == [1.5, 1.5, 1.5]
            continue
        assert new[2].equals(old[2])
        assert column == "nothing" or new[1].as_py() == old[0].as_py()
    assert after.column("cat").combine_chunks().dictionary.to_pylist() == [
        *("lo", "mid", "hi"),
    ]
    if name == "t.parquet":
        group = parquet.ParquetFile(path).metadata.row_group(0)
        assert group.column(0).compression == "ZSTD"


def test_kinds_and_notes(tmp_path, table):
    path = tmp_path / "t.parquet"
    write(table, path)
    read = read_table(path, na_values=["NA"])
    assert read.kinds["i8"] == "integer"
    assert read.kinds["cat"] == "text"
    assert read.kinds["day"] == "date"
    assert read.kinds["nothing"] == "empty"
    assert read.frame["i8"].dtype == "Int8"
    assert read.frame["text"].isna().tolist() == [False, True, True]
    assert read.marks["text"] == {"null": 1, "NA": 1}
    assert any("column 'list': values of type list" in note for note in read.notes)


def test_the_index_of_pandas_is_kept_and_not_a_column(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.0, None]}, index=["a", "b"]).to_parquet(path)
    table = read_table(path)
    assert list(table.frame) == ["x"]
    table.write(table.frame.fillna(2.0), path, force=True)
    assert pd.read_parquet(path).index.tolist() == ["a", "b"]


def test_stacked_draws(tmp_path, table):
    path = tmp_path / "t.feather"
    write(table.select(["i8", "cat"]), path)
    read = read_table(path)
    draws = [read.frame.fillna({"i8": k, "cat": "mid"}) for k in (8, 9)]
    read.write_draws(draws, tmp_path / "d.feather", include_original=True)
    stacked = feather.read_table(tmp_path / "d.feather").to_pydict()
    assert stacked[".imp"] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert stacked[".id"] == [1, 2, 3] * 3
    assert stacked["i8"] == [1, None, 3, 1, 8, 3, 1, 9, 3]


@pytest.mark.parametrize(("column", "value"), [("money", 1e12), ("list", "[7]")])
def test_a_value_that_does_not_fit_is_named(tmp_path, table, column, value):
    path = tmp_path / "t.parquet"
    write(table.select([column]), path)
    read = read_table(path)
    full = read.frame.fillna({column: value})
    with pytest.raises(
        FileError, match=f"column '{column}': a filled-in value does not"
    ):
        read.write(full, path, force=True)


def test_damaged_files(tmp_path, table):
    path = tmp_path / "t.parquet"
    write(table, path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(
        FileError, match=r"t\.parquet: is damaged or not a parquet file"
    ):
        read_table(path)
    write(table.slice(0, 0), path)
    with pytest.raises(FileError, match="has columns but no rows"):
        read_table(path)


def test_text_of_a_typed_table(tmp_path, table):
    path = tmp_path / "t.parquet"
    names = ["i8", "f32", "flag", "text", "large", "cat", "money", "day", "naive"]
    write(table.select(names), path)
    read = read_table(path)
    read.write(read.frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        "i8,f32,flag,text,large,cat,money,day,naive\n"
        "1,1.5,true,007,a,hi,1.5,2024-03-01,2001-09-09 01:46:40\n"
        ",,,,,,,,\n"
        '3,,false,NA,"",lo,2.25,1066-10-14,1970-01-01 00:00:05\n'
    )
    read.write(read.frame, tmp_path / "t.jsonl")
    assert re.search(r'"day": "2024-03-01"', (tmp_path / "t.jsonl").read_text())


def test_numbers_may_be_marks(tmp_path):
    columns = {
        "n": pa.array([1, -999, 3, None], pa.int32()),
        "x": pa.array([1.5, -999.0, 2.5, 0.5]),
        "word": pa.array(["-999", "a", "b", "a"]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    plain = read_table(tmp_path / "t.parquet")
    assert plain.frame["n"].isna().tolist() == [False, False, False, True]
    table = read_table(tmp_path / "t.parquet", na_values=["-999"])
    assert table.frame["n"].isna().tolist() == [False, True, False, True]
    assert table.frame["x"].isna().tolist() == [False, True, False, False]
    assert table.frame["word"].isna().tolist() == [True, False, False, False]
    filled = table.frame.fillna({"n": 7, "x": 8.5, "word": "b"})
    table.write(filled, tmp_path / "out.parquet")
    out = parquet.read_table(tmp_path / "out.parquet")
    assert out.schema.types == [pa.int32(), pa.float64(), pa.string()]
    assert out.column("n").to_pylist() == [1, 7, 3, 7]
    assert out.column("x").to_pylist() == [1.5, 8.5, 2.5, 0.5]
    one = read_table(tmp_path / "t.parquet", na_values={"x": ["-999"]})
    assert one.frame["n"].isna().sum() == 1


FAR = {
    "microseconds": pa.array([0, 253402300800 * 10**6], pa.timestamp("us")),
    "before the year 1": pa.array([0, -62135596801 * 10**6], pa.timestamp("us", "UTC")),
    "Berlin": pa.array([0, 253402300800 * 10**6], pa.timestamp("us", "Europe/Berlin")),
    "milliseconds": pa.array([0, 2**62], pa.timestamp("ms")),
    "seconds": pa.array([0, 2**62], pa.timestamp("s")),
    "days": pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()),
}


@pytest.mark.parametrize("case", FAR)
@pytest.mark.parametrize("end", ["csv", "jsonl", "xlsx"])
def test_times_that_only_arrow_can_tell(tmp_path, case, end):
    pytest.importorskip("openpyxl")
    data = pa.table({"t": FAR[case], "x": [1.0, None]})
    feather.write_feather(data, tmp_path / "t.feather")
    table = read_table(tmp_path / "t.feather")
    table.write(table.frame.fillna({"x": 2.0}), tmp_path / "o.feather")
    assert feather.read_table(tmp_path / "o.feather")["t"].equals(data["t"])
    message = r"t\.feather, column 't', row 2: a time outside of the years 1 to 9999"
    with pytest.raises(FileError, match=message):
        table.write(table.frame, tmp_path / f"o.{end}")


@pytest.mark.parametrize("zone", ["+96:00", "Nowhere/City"])
def test_a_zone_that_is_not_known_is_named(tmp_path, zone):
    data = pa.table({"t": pa.array([0, 1], pa.timestamp("us", zone))})
    parquet.write_table(data, tmp_path / "t.parquet")
    message = f"column 't': its type timestamp[us, tz={zone}] has a time zone that is"
    with pytest.raises(FileError, match=re.escape(message)):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("end", ["csv", "jsonl", "xlsx"])
def test_decimals_keep_their_digits_in_other_formats(tmp_path, end):
    pytest.importorskip("openpyxl")
    long = [Decimal("12345678901234567890.12"), Decimal("1.50"), None]
    short = [Decimal("1.50"), Decimal("0.10"), None]
    data = pa.table({"a": pa.array(long), "b": pa.array(short), "c": [1, 2, 3]})
    parquet.write_table(data, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    table.write(table.frame, tmp_path / f"o.{end}")
    other = read_table(tmp_path / f"o.{end}")
    if end == "csv":
        texts = (tmp_path / "o.csv").read_text().splitlines()
        assert [line.split(",")[0] for line in texts] == ["a", *map(str, long[:2]), ""]
    else:
        assert other.frame["a"].tolist()[:2] == list(map(str, long[:2]))
    assert other.frame["b"].tolist()[:2] == [1.5, 0.1]


def test_filled_values_keep_to_the_bounds_in_the_type_of_the_file(tmp_path):
    columns = {
        # observed, filled, bounds, what is written
        "i": (pa.array([1, None]), 2.6, (None, 2.7), 2),
        "half": (pa.array([1.5, None], pa.float16()), 0.1, (0.1, None), None),
        "money": (
            pa.array([Decimal("1.5"), None], pa.decimal128(9, 1)),
            0.16,
            (None, 0.18),
            Decimal("0.1"),
        ),
        "day": (
            pa.array([dt.date(2024, 3, 1), None]),
            pd.Timestamp("2024-03-02 18:00"),
            (None, "2024-03-02 20:00"),
            dt.date(2024, 3, 2),
        ),
    }
    write(pa.table({n: c[0] for n, c in columns.items()}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    full = table.frame.astype(object)
    for name, (_, value, *_rest) in columns.items():
        full.loc[1, name] = value
    bounds = {name: column[2] for name, column in columns.items()}
    table.write(full, tmp_path / "o.parquet", bounds=bounds)
    came = parquet.read_table(tmp_path / "o.parquet")
    for name, (*_, expected) in columns.items():
        assert expected is None or came.column(name)[1].as_py() == expected
    assert float(came.column("half")[1].as_py()) >= 0.1
    assert came.schema.types == [column[0].type for column in columns.values()]
