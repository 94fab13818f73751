"""Excel: one sheet is read, the workbook stays, its holes are filled."""

import datetime as dt
import re

import pytest

from macfm.files import FileError, read_table

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def path(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "visits"
    rows = [
        ("code", "n", "x", "ok", "day", "word"),
        ("007", 1, 1.5, True, dt.datetime(2024, 3, 1), " a "),
        ("012", None, "NA", None, None, "?"),
        (None, 3, 2.25, False, dt.datetime(2024, 3, 5), "=b"),
    ]
    for i, row in enumerate(rows, start=1):
        for j, value in enumerate(row, start=1):
            cell = sheet.cell(i, j, value)
            if isinstance(value, str):
                cell.data_type = "s"
    sheet["E2"].number_format = "yyyy-mm-dd"
    book.create_sheet("notes")["A1"] = "kept"
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_only_holes_are_filled(path):
    table = read_table(path)
    assert table.kinds == {
        **{"code": "text", "n": "integer", "x": "float", "ok": "boolean"},
        **{"day": "date", "word": "text"},
    }
    assert table.describe()["sheet"] == "visits"
    full = table.frame.copy()
    for name in full:
        full[name] = full[name].fillna(full[name].dropna().iloc[-1])
    full.loc[1, "x"] = 1.23456
    table.write(full, path, force=True)
    book = openpyxl.load_workbook(path)
    rows = list(book["visits"].iter_rows(min_row=2, values_only=True))
    assert rows == [
        ("007", 1, 1.5, True, dt.datetime(2024, 3, 1), " a "),
        ("012", 3, 1.23, False, dt.datetime(2024, 3, 5), "=b"),
        ("012", 3, 2.25, False, dt.datetime(2024, 3, 5), "=b"),
    ]
    assert book["visits"]["E3"].number_format == "yyyy-mm-dd"
    assert book["visits"]["F3"].data_type == "s"
    assert book["notes"]["A1"].value == "kept"


def test_to_csv_and_back(path, tmp_path):
    table = read_table(path)
    table.write(table.frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        "code,n,x,ok,day,word\n"
        "007,1,1.5,true,2024-03-01,a\n"
        "012,,,,,\n"
        ",3,2.25,false,2024-03-05,=b\n"
    )
    text = read_table(tmp_path / "t.csv")
    text.write(text.frame, tmp_path / "new.xlsx")
    again = read_table(tmp_path / "new.xlsx")
    assert again.kinds == table.kinds
    assert again.frame.equals(table.frame)
    table.write_draws([table.frame, table.frame], tmp_path / "draws.xlsx")
    assert len(read_table(tmp_path / "draws.xlsx").frame) == 6


def test_errors(path, tmp_path):
    with pytest.raises(FileError, match="has no sheet 'x'; it has visits, notes"):
        read_table(path, sheet="x")
    with pytest.raises(FileError, match="sheet 'notes' has a header but no rows"):
        read_table(path, sheet="notes")
    book = openpyxl.Workbook()
    book.save(tmp_path / "empty.xlsx")
    with pytest.raises(FileError, match="sheet 'Sheet' is empty"):
        read_table(tmp_path / "empty.xlsx")
    book.active.append(["a", "b"])
    book.active.append([1, "=A2+1"])
    book.save(tmp_path / "f.xlsx")
    message = "f.xlsx, cell B2: a formula without a stored result"
    with pytest.raises(FileError, match=re.escape(message)):
        read_table(tmp_path / "f.xlsx")
    book.active["B1"] = "a"
    book.active["B2"] = None
    book.save(tmp_path / "f.xlsx")
    with pytest.raises(FileError, match="column name 'a' occurs twice, as columns 1"):
        read_table(tmp_path / "f.xlsx")
    (tmp_path / "bad.xlsx").write_bytes(path.read_bytes()[:500])
    with pytest.raises(FileError, match=r"bad\.xlsx: is damaged or not an Excel file"):
        read_table(tmp_path / "bad.xlsx")


def test_numbers_may_be_marks(tmp_path):
    book = openpyxl.Workbook()
    for row in [("n", "x"), (1, 2.5), (-999, -999.0), (3, 4.5), (None, "-999.0")]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    plain = read_table(tmp_path / "t.xlsx")
    assert plain.frame["n"].isna().tolist() == [False, False, False, True]
    table = read_table(tmp_path / "t.xlsx", na_values=["-999"])
    assert table.kinds == {"n": "integer", "x": "float"}
    assert table.frame["n"].isna().tolist() == [False, True, False, True]
    assert table.frame["x"].isna().tolist() == [False, True, False, True]
    table.write(table.frame.fillna({"n": 7, "x": 8.5}), tmp_path / "out.xlsx")
    cells = openpyxl.load_workbook(tmp_path / "out.xlsx").active.values
    assert list(cells)[1:] == [(1, 2.5), (7, 8.5), (3, 4.5), (7, 8.5)]
