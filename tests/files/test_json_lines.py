"""JSON Lines: values come back as the same text."""

import re

import pandas as pd
import pytest

from macfm.files import FileError, read_table

DATA = (
    '{"id": "007", "x": 1.50, "n": 3, "ok": true, "day": "2024-03-01", '
    '"w": "\\u00fc"}\n'
    '{"id": "012", "x": null, "n": null, "ok": null, "day": null, "w": null}\n'
    "\n"
    '{"x":1e3,"n":-4,"id":"NA" ,"more":[1, 2]}'
)


def test_only_what_is_missing_changes(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(DATA)
    table = read_table(path)
    assert table.kinds == {
        **{"id": "text", "x": "float", "n": "integer", "ok": "boolean"},
        **{"day": "date", "w": "text", "more": "text"},
    }
    table.write(table.frame, path, force=True)
    assert path.read_text() == DATA
    completed = table.frame.copy()
    completed.loc[1, "x"] = 12.3456
    completed.loc[1, "n"] = 8
    completed["ok"] = completed["ok"].fillna(False)
    completed["day"] = completed["day"].fillna(pd.Timestamp("2024-05-06"))
    completed["w"] = completed["w"].fillna("ü")
    completed["more"] = completed["more"].fillna("[1, 2]")
    table.write(completed, path, force=True)
    first, second, blank, last = path.read_text().split("\n")
    assert first == DATA.split("\n")[0][:-1] + ', "more": [1, 2]}'
    assert second == (
        '{"id": "012", "x": 12.3, "n": 8, "ok": false, "day": "2024-05-06", '
        '"w": "\\u00fc", "more": [1, 2]}'
    )
    assert blank == ""
    assert last == (
        '{"x":1e3,"n":-4,"id":"NA" ,"more":[1, 2],"ok":false,"day":"2024-05-06",'
        '"w":"\\u00fc"}'
    )


def test_stacked_draws(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a":1}\n{"a":null}\n{ }\n')
    table = read_table(path)
    table.write_draws([table.frame.fillna(2)], tmp_path / "d.jsonl")
    assert (tmp_path / "d.jsonl").read_text() == (
        '{".imp":1,".id":1,"a":1}\n{".imp":1,".id":2,"a":2}\n'
        '{".imp": 1, ".id": 3, "a": 2 }\n'
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("\n", "t.jsonl: is empty"),
        ("{}\n", "t.jsonl: the objects have no keys"),
        (
            '{"a": 1}\n[1]\n',
            "t.jsonl, line 2, character 1: a JSON object {...} is needed on each line",
        ),
        ('{"a" 1}', "t.jsonl, line 1, character 6: a colon is needed after a key"),
        (
            '{"a": 1 "b"}',
            "t.jsonl, line 1, character 9: a comma or a closing brace is needed",
        ),
        ('{"a": x}', "t.jsonl, line 1, character 7: not JSON (Expecting value)"),
        ('{"a": 1,}', "t.jsonl, line 1, character 9: a key in quotes is needed"),
        (
            '{"a": 1} 2',
            "t.jsonl, line 1, character 10: there is more text after the object",
        ),
        ('{"a": 1, "a": 2}', "t.jsonl, line 1, character 10: key 'a' occurs twice"),
        ('{"": 1}', "t.jsonl: a key is empty; every column needs a name"),
    ],
)
def test_errors_name_line_and_character(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text(data)
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        read_table("t.jsonl")


def test_mixed_values_are_text_and_marks_can_be_given(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": -999}\n{"a": "x", "b": 2}\n{"a": "-", "b": NaN}\n')
    table = read_table(path, na_values=["-", "-999"])
    assert table.kinds == {"a": "text", "b": "integer"}
    assert table.frame.isna().to_numpy().tolist() == [
        [False, True],
        [False, False],
        [True, True],
    ]
    assert "kept as text: it holds number and string values" in table.notes[0]
    completed = table.frame.fillna({"a": "1", "b": 5})
    table.write(completed, path, force=True)
    assert path.read_text() == (
        '{"a": 1, "b": 5}\n{"a": "x", "b": 2}\n{"a": 1, "b": 5}\n'
    )


def test_a_mark_is_known_with_decimals_of_zero(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1.5}\n{"a": -999.0}\n{"a": -999}\n')
    table = read_table(path, na_values=["-999"])
    assert table.frame["a"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            r'{"a": "\ud800"}',
            r"line 2, character 7: the value of 'a' holds half a char",
        ),
        (
            r'{"a": "x\udfffy"}',
            r"line 2, character 7: the value of 'a' holds half a ch",
        ),
        (
            r'{"\ud800": 1}',
            r"line 2, character 2: the key holds half a character, \ud8",
        ),
    ],
)
def test_half_a_character_is_refused(tmp_path, line, message):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "\\ud83d\\ude00"}\n' + line + "\n")
    with pytest.raises(FileError, match=re.escape(f"t.jsonl, {message}")):
        read_table(path)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        ("7" * 5000, f"'{'7' * 30}...' has more digits than a number keeps"),
        (
            "12345678901234567890",
            "'12345678901234567890' has more digits than a number",
        ),
        ("1e999", "'1e999' is larger than a number can be"),
        (f"[{'7' * 5000}]", "it holds nested and number values"),
    ],
    ids=["5000", "20", "1e999", "nested"],
)
def test_numbers_that_no_number_holds_are_text(tmp_path, number, reason):
    path = tmp_path / "t.jsonl"
    data = f'{{"a": {number}, "b": 1}}\n{{"a": null, "b": 2}}\n{{"a": 7, "b": 3}}\n'
    path.write_text(data)
    table = read_table(path)
    assert table.kinds["a"] == "text"
    assert table.notes[0].startswith(f"column 'a': kept as text: {reason}")
    table.write(table.frame.fillna({"a": number}), tmp_path / "o.jsonl")
    assert (tmp_path / "o.jsonl").read_text() == data.replace("null", number)
    table.write(table.frame.fillna({"a": "8"}), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == f"a,b\n{number},1\n8,2\n7,3\n"


def test_rows_know_their_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\n{"a": null}\n')
    assert read_table(path).places.tolist() == [1, 3]
