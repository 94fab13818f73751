"""Delimited text: only the holes change, byte for byte."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from macfm.files import FileError, read_table


def fill(frame):
    """Complete a frame with the first observed value of each column."""
    full = frame.copy()
    for name in full:
        seen = full[name].dropna()
        if len(seen):
            full[name] = full[name].fillna(seen.iloc[0])
    return full


def through(tmp_path, data, name="t.csv", **options):
    """Bytes after reading, filling and writing."""
    path = tmp_path / name
    path.write_bytes(data)
    table = read_table(path, **options)
    out = tmp_path / f"out_{name}"
    table.write(fill(table.frame), out, force=True)
    return out.read_bytes()


# Cells that readers like to damage, and odd text of every sort.
CELLS = st.one_of(
    st.sampled_from(
        [
            *("007", "1.50", "2024-03-01", "TRUE", " x ", 'a "q", b', "Zürich", "1e3"),
            *(
                "-0",
                "+5",
                "1,234",
                "0x1F",
                "line\nbreak",
                "cr\r\nlf",
                "'",
                "inf",
                "a|b",
            ),
        ]
    ),
    st.text(
        st.characters(codec="utf-8", exclude_characters="\x00\ufeff"),
        min_size=1,
        max_size=6,
    ),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.3f}"),
    st.dates().map(str),
)


@st.composite
def tables(draw):
    n_rows, n_columns = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    row = st.lists(CELLS, min_size=n_columns, max_size=n_columns)
    rows = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    flags = st.lists(st.booleans(), min_size=n_columns, max_size=n_columns)
    holes = draw(st.lists(flags, min_size=n_rows, max_size=n_rows))
    return rows, np.array(holes)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    final=st.booleans(),
    mark=st.sampled_from(["", "NA", "?"]),
)
def test_only_the_holes_change(
    tmp_path, table, delimiter, end, quoting, encoding, final, mark
):
    rows, holes = table
    names = [f"c{i}" for i in range(len(rows[0]))]

    def text_of(cells):
        buffer = io.StringIO()
        writer = csv.writer(
            buffer, delimiter=delimiter, lineterminator=end, quoting=quoting
        )
        writer.writerows([names, *cells])
        text = buffer.getvalue()
        return text if final else text.removesuffix(end)

    cells = [
        [mark if hole else cell for cell, hole in zip(row, flags, strict=True)]
        for row, flags in zip(rows, holes, strict=True)
    ]
    data = text_of(cells).encode(encoding)
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    read = read_table(path, delimiter=delimiter)
    missing = read.frame.isna().to_numpy()
    assert missing[holes].all()

    # A completed table that has other values in the observed cells as well.
    completed = read.frame.copy().astype(object)
    completed[:] = "filled"
    for name, kind in read.kinds.items():
        if kind in ("integer", "float"):
            completed[name] = 7
        elif kind in ("date", "datetime"):
            completed[name] = pd.Timestamp("2020-02-29")
        elif kind == "boolean":
            completed[name] = True
    out = tmp_path / "out.csv"
    read.write(read.frame, out, force=True)
    assert out.read_bytes() == data
    read.write(completed, out, force=True)
    back = read_table(out, delimiter=delimiter)
    assert not back.frame.isna().to_numpy().any()
    old, new = read._records, back._records
    assert (old.ends, old.lines) == (new.ends, new.lines)
    assert old.fields[read._header] == new.fields[back._header]
    for row, i in enumerate(read._data):
        for place, gone in enumerate(missing[row]):
            if not gone:
                assert new.fields[i][place] == old.fields[i][place]


def test_the_cells_that_readers_damage_come_back(tmp_path):
    data = (
        "\ufeffcode,price,day,flag,word,said,town,n\r\n"
        '007,1.50,2024-03-01,TRUE, x ,"a ""q"", b",Zürich,12\r\n'
        "\r\n"
        "012,,NA,,?,,Köln,\r\n"
        ',2.25,2024-03-05,FALSE,y,"",,3'
    ).encode()
    expected = (
        "\ufeffcode,price,day,flag,word,said,town,n\r\n"
        '007,1.50,2024-03-01,TRUE, x ,"a ""q"", b",Zürich,12\r\n'
        "\r\n"
        '012,1.50,2024-03-01,TRUE,x,"a ""q"", b",Köln,12\r\n'
        '007,2.25,2024-03-05,FALSE,y,"a ""q"", b",Zürich,3'
    ).encode()
    assert through(tmp_path, data) == expected


def test_kinds_and_types(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "i,f,b,d,t,code,phone,mixed,none,yes,gap,amount\n"
        '1,1.5,true,2024-03-01,2024-03-01 10:30,007,+49301234567,3,,yes,1.0,"1,234"\n'
        ",,,,,012,,4,,no,,\n"
        '-3,.5,false,2024-03-02,2024-03-02 11:00,100,+49301234568,x,.,yes,2.0,"9,876"\n'
    )
    table = read_table(path)
    assert table.kinds == {
        **{"i": "integer", "f": "float", "b": "boolean", "d": "date"},
        **{"t": "datetime", "code": "text", "phone": "text", "mixed": "text"},
        **{"none": "text", "yes": "text", "gap": "integer", "amount": "text"},
    }
    types = table.frame.dtypes
    assert types["i"] == "Int64"
    assert types["b"] == "boolean"
    assert types["d"] == "datetime64[s]"
    assert table.frame["i"].tolist() == [1, pd.NA, -3]
    notes = " / ".join(table.notes)
    assert "column 'mixed': kept as text: 2 cells are numbers, but 1 are not" in notes
    assert "column 'amount': kept as text: '1,234' may have thousands" in notes
    assert "column 'none': '.' (1 times) is taken for a value" in notes
    described = table.describe()
    assert described["rows"] == 3
    assert described["delimiter"] == ","
    assert described["column"]["i"] == {
        "kind": "integer",
        "missing": 1,
        "marks": {"": 1},
    }


@pytest.mark.parametrize(
    ("seen", "value", "written"),
    [
        (["1.50", "2.25"], 3.14159, "3.14"),
        (["1.50", "2.20"], 2.0, "2.00"),
        (["1.5", "2", "3.25"], 3.0, "3"),
        (["1.5", "2.0"], -0.01, "0.0"),
        (["0.1234567890123", "2.0"], 0.1, "0.1"),
        (["1.5e3", "2e4"], 1234.5678, "1.2e+03"),
        (["1", "20"], 3.7, "4"),
        (["72.0", "3.0"], 5, "5.0"),
        (["TRUE", "FALSE"], True, "TRUE"),
        (["True", "False"], False, "False"),
        (["2024-03-01", "2023-01-05"], pd.Timestamp("2024-05-06 13:00"), "2024-05-07"),
        (["01.03.2024", "05.01.2023"], pd.Timestamp("2024-05-06"), "06.05.2024"),
        (["3/13/2024", "4/5/2024"], pd.Timestamp("2024-05-06"), "5/6/2024"),
        (["2024/03/01"], pd.Timestamp("2024-05-06"), "2024/05/06"),
        (
            ["2024-03-01T10:20:30Z"],
            pd.Timestamp("2024-05-06 01:02:03.9", tz="UTC"),
            "2024-05-06T01:02:04Z",
        ),
        (
            ["2024-03-01 10:20:30.250+02:00"],
            pd.Timestamp("2024-05-06 01:02:03.5", tz="UTC"),
            "2024-05-06 03:02:03.500+02:00",
        ),
        (["a", "b"], 'say "a", b', '"say ""a"", b"'),
    ],
)
def test_a_filled_value_is_written_as_the_column_writes(tmp_path, seen, value, written):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x,k", *(f"{cell},1" for cell in seen), "NA,1", ""]))
    table = read_table(path)
    completed = table.frame.astype(object)
    completed.iloc[-1, 0] = value
    table.write(completed, path, force=True)
    assert path.read_text().splitlines()[-1] == f"{written},1"


def test_ambiguous_days_and_months_stay_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n3/4/2024,1\n5/6/2024,2\n2024-02-30,3\n")
    assert read_table(path).kinds["x"] == "text"


def test_decimal_commas(tmp_path):
    data = b"size;big;n\n1,5;1.234;1\n;2.500;2\n12,25;;3\n"
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    table = read_table(path)
    assert table.describe()["delimiter"] == ";"
    assert table.kinds == {"size": "float", "big": "text", "n": "integer"}
    assert table.frame["size"].tolist()[0] == 1.5
    assert "its points may separate thousands" in " ".join(table.notes)
    assert through(tmp_path, data) == (
        b"size;big;n\n1,5;1.234;1\n1,5;2.500;2\n12,25;1.234;3\n"
    )


def test_spaces_and_quotes_around_a_hole_stay(tmp_path):
    data = b'a, b, "c"\n1, x, "y"\n 2, ?, "NA"\n3,NA ,""\n'
    assert through(tmp_path, data) == b'a, b, "c"\n1, x, "y"\n 2, x, "y"\n3,x ,"y"\n'


def test_a_column_that_quotes_everything_quotes_what_is_filled(tmp_path):
    data = b'"a","b"\n"x",1\nNA,2\n"y",3\n'
    assert through(tmp_path, data) == b'"a","b"\n"x",1\n"x",2\n"y",3\n'


def test_blank_lines_are_holes_in_a_single_column_only(tmp_path):
    assert through(tmp_path, b"x\n1\n\n3\n\n") == b"x\n1\n1\n3\n\n"
    assert through(tmp_path, b"\nx,y\n1,2\n\n,3\n") == b"\nx,y\n1,2\n\n1,3\n"


def test_old_line_endings_and_the_line_excel_puts_first(tmp_path):
    assert through(tmp_path, b"a,b\r1,2\r,3\r") == b"a,b\r1,2\r1,3\r"
    data = b"sep=;\r\na;b\r\n1;2\r\n;3\r\n"
    assert through(tmp_path, data) == b"sep=;\r\na;b\r\n1;2\r\n1;3\r\n"


def test_marks_can_be_replaced(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\nNA,1\n-999,-999\n,3\n")
    table = read_table(path, na_values=["-999"])
    assert table.frame.isna().to_numpy().tolist() == [
        [False, False],
        [True, True],
        [True, False],
    ]
    assert table.marks == {"x": {"-999": 1, "": 1}, "y": {"-999": 1}}
    one = read_table(path, na_values={"y": ["-999"]})
    assert one.frame["x"].isna().tolist() == [True, False, True]
    with pytest.raises(FileError, match="marks are given for column 'z'"):
        read_table(path, na_values={"z": ["-"]})


def test_words_that_may_be_values_are_marks_outside_text_only(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\nNone,None\nbrick,2\n.,.\n")
    table = read_table(path)
    assert table.frame["x"].tolist() == ["None", "brick", "."]
    assert table.frame["y"].tolist() == [pd.NA, 2, pd.NA]


def test_kinds_can_be_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,n\n12345,1\n,2\n54321,x\n")
    table = read_table(path, kinds={"zip": "text"})
    assert table.frame["zip"].dropna().tolist() == ["12345", "54321"]
    with pytest.raises(FileError, match=r"line 4, column 'n': 'x' is not of the kind"):
        read_table(path, kinds={"n": "integer"})
    with pytest.raises(FileError, match="kind 'number' of column 'n' is not one of"):
        read_table(path, kinds={"n": "number"})


def test_row_names_of_r_and_pandas(tmp_path):
    data = b'"","a"\n"1",5\n"2",NA\n'
    assert through(tmp_path, data) == b'"","a"\n"1",5\n"2",5\n'


def test_values_in_place_of_a_header_are_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    assert "look like values" in read_table(path).notes[0]


def test_windows_text_comes_back(tmp_path):
    data = "town,n\nKöln,1\n,2\n".encode("cp1252")
    assert through(tmp_path, data) == "town,n\nKöln,1\nKöln,2\n".encode("cp1252")
    table = read_table(tmp_path / "t.csv")
    assert table.describe()["encoding"] == "cp1252"
    assert table.notes == ["the file is not UTF-8; it was read as cp1252"]
    completed = table.frame.copy()
    completed["town"] = "東京"
    with pytest.raises(
        FileError, match="'東', which the file's encoding cp1252 cannot"
    ):
        table.write(completed, tmp_path / "new.csv")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "t.csv: is empty"),
        (b" \n\n", "t.csv: is empty"),
        (b"a,b\n", "t.csv: has a header but no rows"),
        (
            b"a,b,c\n1,2,3\n\n1,2\n",
            "t.csv, line 4: has 2 fields, the header has 3 (column 'c' is missing)",
        ),
        (b"a,b\n1,2,3\n", "t.csv, line 2: has 3 fields, the header has 2"),
        (
            b'a,b\n"x\ny",2\n3,"z\n4,5\n',
            "t.csv, line 4, field 2: a quote is opened and never closed",
        ),
        (
            b'a,b\n1,"x" y\n',
            "t.csv, line 2, field 2: there is more text after the closing quote; "
            "inside quotes a quote is written twice",
        ),
        (
            b"a,b,a\n1,2,3\n",
            "t.csv, line 1: column name 'a' occurs twice, as columns 1 and 3",
        ),
        (
            b"a,,c\n1,2,3\n",
            "t.csv, line 1: column 2 has no name; every column needs one in the header",
        ),
        (
            "ä,b\nö,ü\n".encode() + b"\xff,1\n",
            "t.csv: byte 0xff at offset 11 (line 3) is not utf-8; give the encoding, "
            "for instance cp1252, or repair the file",
        ),
        (
            b"a\x00,\x00b\x00",
            "t.csv: byte 0x00 at offset 1 (line 1) does not occur in text; if this is "
            "UTF-16 without a byte order mark, give the encoding utf-16-le",
        ),
    ],
)
def test_errors_name_file_and_line(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        read_table("t.csv")


def test_errors_of_options(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,\xe4\n")
    with pytest.raises(FileError, match="there is no encoding 'utf-99'"):
        read_table(path, encoding="utf-99")
    with pytest.raises(
        FileError, match=r"byte 0xe4 at offset 6 \(line 2\) is not ascii"
    ):
        read_table(path, encoding="ascii")
    with pytest.raises(FileError, match="must be one character other than a quote"):
        read_table(path, delimiter="::")
    table = read_table(path)
    with pytest.raises(FileError, match="must have 1 rows, got 0"):
        table.write(table.frame.iloc[:0], tmp_path / "o.csv")
    with pytest.raises(FileError, match="must have the columns of the file"):
        table.write(table.frame[["a"]], tmp_path / "o.csv")


def test_whole_numbers_behind_a_decimal_comma_stay_whole(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;k\n72,0;1\n3,0;1\n;1\n")
    table = read_table(path)
    assert table.kinds["x"] == "integer"
    completed = table.frame.assign(x=table.frame["x"].fillna(5))
    table.write(completed, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "x;k\n72,0;1\n3,0;1\n5,0;1\n"


def test_a_mark_is_known_with_decimals_of_zero(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,code\n1.5,0999\n-999.0,-999\n-999.00,a\n-9990,b\n-999,c\n")
    table = read_table(path, na_values=["-999"])
    assert table.frame["a"].isna().tolist() == [False, True, True, False, True]
    assert table.frame["code"].isna().tolist() == [False, True, False, False, False]
    assert read_table(path, na_values=["-999.0"]).frame["a"].isna().sum() == 3


def test_thousands_are_no_decimals_of_zero(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a\n"1,000"\n"2,500"\n1\n')
    table = read_table(path, na_values=["1"])
    assert table.frame["a"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("zone", ["+96:00", "-24:00", "+05:60", "+9600"])
def test_a_zone_that_does_not_exist_is_text(tmp_path, zone):
    data = f"t,x\n2024-03-01 10:00:00{zone},1\n,2\n"
    (tmp_path / "t.csv").write_text(data)
    table = read_table(tmp_path / "t.csv")
    assert table.kinds["t"] == "text"
    assert table.notes == [
        f"column 't': kept as text: '2024-03-01 10:00:00{zone}' has a time zone that "
        "does not exist"
    ]
    table.write(table.frame, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == data
    with pytest.raises(
        FileError, match=r"line 2, column 't': .* is not of the kind dat"
    ):
        read_table(tmp_path / "t.csv", kinds={"t": "datetime"})


def test_rows_know_their_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2,\n')
    places = read_table(path).places
    assert places.tolist() == [2, 5]
    assert places.name == "line"
