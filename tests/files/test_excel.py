"""Excel: one sheet is read, the workbook stays, its holes are filled."""

import datetime as dt
import re
import warnings
import zipfile

import pytest

from macfm.files import FileError, read_table
from macfm.files._sheet import save_book

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
        '007,1,1.5,true,2024-03-01," a "\n'
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


# Texts of a CSV column, and the start of the note on writing them to Excel.
KEPT = {
    "an identifier of 16 digits": (["1234567890123456", "12"], "keeps 15 digits"),
    "beyond 53 bits": (["9007199254740993", "-9007199254740993"], "keeps 15 digits"),
    "as long as integers get": (["123456789012345678", "7"], "keeps 15 digits"),
    "longer than integers": (["12345678901234567890", "7"], None),
    "15 digits are a number": (["999999999999999", "7"], None),
    "17 digits of a float": (
        ["0.30000000000000004", "0.1", "123456789.12345678"],
        None,
    ),
    "the largest float": (["1.7976931348623157e+308", "5e-324"], None),
    "infinity": (["inf", "-inf", "1.5"], "has no infinite numbers"),
    "days before Excel": (["1850-01-01", "1900-02-28"], "has no days before"),
    "the first day of Excel": (["1900-03-01", "9999-12-31"], None),
    "microseconds": (
        ["2024-03-01 10:00:00.000001", "2024-03-01 10:00:00.999999"],
        "keeps milliseconds",
    ),
    "milliseconds": (["2024-03-01 10:00:00.001", "2024-03-01 10:00:00.999"], None),
    "a time zone": (["2024-03-01 10:00:00+02:00"], "has no time zones"),
    "spaces": ([" x ", "y ", "\tz", "\nq\n"], None),
    "a carriage return": (["a\r\nb", "a\rb"], None),
    "what Excel spells out": (["_x0041_", "_x000D_", "_x005F_x0041_"], None),
    "formulas": (["=1+1", "#N/A!", "@x"], None),
}


@pytest.mark.parametrize("case", KEPT)
def test_what_csv_held_comes_back_from_excel(tmp_path, case):
    texts, reason = KEPT[case]
    rows = "".join(f'"{text}",1\r\n' for text in texts)
    source = f"v,w\r\n{rows}".encode()
    (tmp_path / "a.csv").write_bytes(source)
    table = read_table(tmp_path / "a.csv")
    notes = table.write(table.frame, tmp_path / "b.xlsx")
    said = [] if reason is None else [f"column 'v' is written as text: Excel {reason}"]
    assert [note[: len(s)] for note, s in zip(notes, said, strict=True)] == said
    for name in ("b.xlsx", "c.xlsx"):  # and from Excel to Excel
        book = read_table(tmp_path / name)
        cells = book.frame["v"].tolist()
        if book.kinds["v"] == "text":
            assert cells == texts
        else:
            assert book.kinds["v"] == table.kinds["v"]
            assert cells == table.frame["v"].tolist()
        book.write(book.frame, tmp_path / "c.xlsx", force=True)


def test_other_cells_of_a_workbook_keep_their_digits(tmp_path):
    book = openpyxl.Workbook()
    for row in [("n", "x"), (1, 2.5), (None, 3.5)]:
        book.active.append(row)
    book.active["B3"] = 0.1 + 0.2
    book.create_sheet("other")["A1"] = 0.1 + 0.2
    book["other"]["A2"] = 12345678901234567
    path = tmp_path / "t.xlsx"
    path.write_bytes(save_book(book))
    table = read_table(path)
    assert table.frame["x"].tolist() == [2.5, 0.1 + 0.2]
    table.write(table.frame.fillna({"n": 2}), path, force=True)
    book = openpyxl.load_workbook(path)
    assert book.active["B3"].value == book["other"]["A1"].value == 0.1 + 0.2
    assert book["other"]["A2"].value == 12345678901234567


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * 32_768, "a text of 32768 characters, of which Excel keeps 32767; write"),
        (
            "a\x0bb",
            "the text 'a\\x0bb' holds a character that Excel cannot store; take",
        ),
        (
            "\ufffe",
            "the text '\\ufffe' holds a character that Excel cannot store; take",
        ),
    ],
    ids=["long", "control", "noncharacter"],
)
def test_text_that_excel_cannot_hold(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(f"v,w\nx,1\n{text},2\n", encoding="utf-8")
    table = read_table(tmp_path / "a.csv")
    with pytest.raises(
        FileError, match=re.escape(f"a.csv, column 'v', row 2: {message}")
    ):
        table.write(table.frame, tmp_path / "b.xlsx")
    assert not (tmp_path / "b.xlsx").exists()


@pytest.mark.parametrize("cells", ["A1:B1", "A2:A3", "B3:C4"])
def test_merged_cells_are_refused(tmp_path, cells):
    book = openpyxl.Workbook()
    for row in [("a", "b", "c"), (1, 2, 3), (4, None, 6), (7, 8, 9)]:
        book.active.append(row)
    book.active.merge_cells(cells)
    book.save(tmp_path / "m.xlsx")
    message = f"m.xlsx, sheet 'Sheet': cells {cells} are merged, so only the first has"
    with pytest.raises(FileError, match=re.escape(message)):
        read_table(tmp_path / "m.xlsx")


def test_merged_cells_beside_the_table_stay(tmp_path):
    book = openpyxl.Workbook()
    for row in [("a", "b"), (1, 2), (None, 4)]:
        book.active.append(row)
    book.active.merge_cells("D1:E2")
    book.save(tmp_path / "m.xlsx")
    table = read_table(tmp_path / "m.xlsx")
    table.write(table.frame.fillna({"a": 3}), tmp_path / "o.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "o.xlsx").active
    assert [merged.coord for merged in sheet.merged_cells.ranges] == ["D1:E2"]
    assert sheet["A3"].value == 3


def parts(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("damage", [b"<a>\xff&</b>", b"<a/>", b"", None, "half"])
def test_a_damaged_part_is_read_or_named(path, tmp_path, damage):
    whole = parts(path)
    said = []
    for part in whole:
        half = whole[part][: len(whole[part]) // 2]
        spoilt = whole | {part: half if damage == "half" else damage}
        with zipfile.ZipFile(tmp_path / "d.xlsx", "w") as archive:
            for name, content in spoilt.items():
                if content is not None:
                    archive.writestr(name, content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of openpyxl, no styles
                read_table(tmp_path / "d.xlsx")
        except FileError as error:
            said.append(str(error))
    assert said
    assert all(text.startswith(f"{tmp_path / 'd.xlsx'}: ") for text in said)
