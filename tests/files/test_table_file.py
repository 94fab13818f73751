"""Formats by name and content, compression, safe writing, draws, pipes."""

import bz2
import gzip
import importlib
import io
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from macfm.files import FileError, check_target, read_table

DATA = b"code,x,day\n007,1.50,2024-03-01\n012,,\n"
FULL = b"code,x,day\n007,1.50,2024-03-01\n012,2.35,2024-05-06\n"


def complete(table):
    day = pd.Timestamp("2024-05-06")
    return table.frame.fillna({"x": 2.345678, "day": day})


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_bytes(DATA)
    return read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("times", "written"),
    [
        (["2024-05-06", "2024-05-07"], ["2024-05-06", "2024-05-07"]),
        (
            ["2024-05-06", "2024-05-07 10:30"],
            ["2024-05-06 00:00:00", "2024-05-07 10:30:00"],
        ),
    ],
)
def test_days_in_an_empty_column_are_written_as_days(tmp_path, times, written):
    (tmp_path / "t.csv").write_bytes(b"x,day\n1.5,\n2.5,\n")
    table = read_table(tmp_path / "t.csv")
    completed = table.frame.assign(day=pd.to_datetime(pd.Series(times), format="mixed"))
    table.write(completed, tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == written


def test_times_in_an_empty_key_are_written_to_json_lines(tmp_path):
    (tmp_path / "t.jsonl").write_bytes(b'{"x": 1, "day": null}\n{"x": 2}\n')
    table = read_table(tmp_path / "t.jsonl")
    days = pd.to_datetime(pd.Series(["2024-05-06", "2024-05-07"]))
    table.write(table.frame.assign(day=days), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text().splitlines() == [
        '{"x": 1, "day": "2024-05-06"}',
        '{"x": 2, "day": "2024-05-07"}',
    ]


@pytest.mark.parametrize("end", ["gz", "bz2", "xz", "zst"])
def test_compressed_files(tmp_path, table, end):
    if end == "zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"t.csv.{end}"
    table.write(table.frame, path)
    packed = read_table(path)
    assert packed.format.compression == end
    packed.write(complete(packed), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == FULL
    packed.write(complete(packed), path, force=True)
    again = read_table(path)
    again.write(again.frame, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == FULL
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(
        FileError, match=rf"cannot be decompressed as \.{end}, the file"
    ):
        read_table(path)


def test_compressed_by_others(tmp_path):
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n1\t2\n", mtime=0) + gzip.compress(b"\t3\n"))
    assert read_table(path).frame["a"].isna().tolist() == [False, True]
    for end, module in (("bz2", bz2), ("xz", lzma)):
        path = tmp_path / f"t.csv.{end}"
        path.write_bytes(module.compress(DATA))
        assert len(read_table(path).frame) == 2


def test_other_delimiters_keep_the_text(tmp_path, table):
    table.write(complete(table), tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_bytes() == FULL.replace(b",", b"\t")
    (tmp_path / "s.csv").write_bytes(b"sep=;\na;b\n1,5;x,y\n;z\n")
    semicolons = read_table(tmp_path / "s.csv")
    semicolons.write(semicolons.frame.fillna(2.5), tmp_path / "s.tsv")
    assert (tmp_path / "s.tsv").read_bytes() == b"sep=\t\na\tb\n1,5\tx,y\n2,5\tz\n"
    tabs = read_table(tmp_path / "s.tsv")
    tabs.write(tabs.frame, tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_bytes() == (
        b'sep=,\na,b\n"1,5","x,y"\n"2,5",z\n'
    )


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.jsonl", "t.xlsx"])
def test_other_formats_hold_the_values(tmp_path, table, name):
    for package in ("pyarrow", "openpyxl"):
        pytest.importorskip(package)
    table.write(complete(table), tmp_path / name)
    other = read_table(tmp_path / name)
    assert other.frame["code"].tolist() == ["007", "012"]
    assert other.frame["x"].tolist() == [1.5, 2.35]
    assert other.frame["day"].tolist()[1] == pd.Timestamp("2024-05-06")
    assert other.kinds == table.kinds


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.jsonl", "t.xlsx"])
def test_other_formats_hold_every_character(tmp_path, name):
    for package in ("pyarrow", "openpyxl"):
        pytest.importorskip(package)
    source = (
        b"id,hash,word,n\n"
        b'9007199254740993,12345678901234567890," x ", 1\n'
        b'9007199254740995,12345678901234567891," x ",\n'
        b'9007199254740997,12345678901234567892,"NA ",3\n'
    )
    (tmp_path / "s.csv").write_bytes(source)
    table = read_table(tmp_path / "s.csv")
    assert table.kinds == {
        **{"id": "integer", "hash": "text", "word": "text", "n": "integer"},
    }
    assert table.notes == [
        "column 'hash': kept as text: '12345678901234567890' has more digits than a "
        "number keeps"
    ]
    full = table.frame.fillna({"word": " x ", "n": 2})
    table.write(full, tmp_path / name)
    other = read_table(tmp_path / name)
    other.write(other.frame, tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_bytes() == (
        b"id,hash,word,n\n"
        b'9007199254740993,12345678901234567890," x ",1\n'
        b'9007199254740995,12345678901234567891," x ",2\n'
        b'9007199254740997,12345678901234567892," x ",3\n'
    )


def test_spaces_belong_to_a_text_only_inside_quotes(tmp_path):
    source = b'word,n\n" x "," 1"\n x ,2\n,3\n"  ","  "\n'
    (tmp_path / "s.csv").write_bytes(source)
    table = read_table(tmp_path / "s.csv")
    assert table.frame["word"].tolist()[:2] == [" x ", "x"]
    assert table.frame["word"].isna().tolist() == [False, False, True, True]
    assert table.kinds["n"] == "integer"
    table.write(table.frame.fillna({"word": " x ", "n": 4}), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_bytes() == (
        b'word,n\n" x "," 1"\n x ,2\n" x ",3\n" x ","4"\n'
    )


def test_a_stack_for_excel_tells_what_became_text(tmp_path):
    pytest.importorskip("openpyxl")
    (tmp_path / "s.csv").write_bytes(b"id,x\n9007199254740993,1\n7,\n")
    table = read_table(tmp_path / "s.csv")
    note = ["column 'id' is written as text: Excel keeps 15 digits of a number"]
    draws = [table.frame] * 2
    assert table.write_draws(draws, tmp_path / "d.xlsx") == note
    assert table.write_draws(draws, f"{tmp_path}/d/", format="excel") == note
    assert table.write_draws(draws, tmp_path / "d.csv") == []


BOUNDED = [
    # observed cells, a filled value, bounds, how it is written
    (["0.1", "0.2"], 0.0752, (0.06, 0.08), "0.08"),
    (["0.1", "0.2"], 0.0752, (0.06, 0.079), "0.075"),
    (["0.1", "0.2"], 0.0752, (None, None), "0.1"),
    (["0.1", "0.2"], 0.0752, "observed", "0.1"),
    (["0.1", "0.2"], 0.26, (None, 0.27), "0.26"),
    (["0.1", "0.2"], 0.26, (0.0, 0.3), "0.3"),
    (["1.0", "2.5"], -0.04, (-0.04, None), "0.0"),
    (["1e3", "2e3"], 1499.0, (None, 1499.5), "1e+03"),
    (["1e3", "2e3"], 1600.0, (None, 1700), "1.6e+03"),
    (["0.1", "0.2"], 0.1 + 0.2, (0.1 + 0.2, 0.1 + 0.2), "0.30000000000000004"),
    (["0.1", "0.2"], 0.0752, (1.0, 2.0), "0.1"),  # was outside before
]


@pytest.mark.parametrize(("seen", "value", "bounds", "text"), BOUNDED)
@pytest.mark.parametrize("end", ["csv", "jsonl"])
def test_rounding_keeps_to_the_bounds(tmp_path, seen, value, bounds, text, end):
    rows = "".join(f"a,{cell}\n" for cell in [*seen, ""])
    (tmp_path / "b.csv").write_text(f"k,x\n{rows}")
    table = read_table(tmp_path / "b.csv")
    full = table.frame.fillna({"x": value})
    table.write(full, tmp_path / f"o.{end}", bounds={"x": bounds, "k": (0, 1)})
    other = read_table(tmp_path / f"o.{end}")
    assert other.frame["x"].tolist()[-1] == float(text)
    if end == "csv":
        assert (tmp_path / "o.csv").read_text().endswith(f"a,{text}\n")
    table.write_draws([full], tmp_path / f"d.{end}", bounds={"x": bounds})
    assert read_table(tmp_path / f"d.{end}").frame["x"].tolist()[-1] == float(text)


def test_rounding_keeps_to_the_bounds_in_json_lines(tmp_path):
    (tmp_path / "b.jsonl").write_text('{"x": 0.1}\n{"x": null}\n')
    table = read_table(tmp_path / "b.jsonl")
    full = table.frame.fillna(0.0752)
    table.write(full, tmp_path / "o.jsonl", bounds={"x": (0.06, 0.08)})
    assert (tmp_path / "o.jsonl").read_text() == '{"x": 0.1}\n{"x": 0.08}\n'


INWARDS = [
    # observed cells, a filled value, bounds, how it is written
    (["1", "2"], 2.6, (None, 2.7), "2"),
    (["1", "2"], 2.4, (2.2, 9), "3"),
    (["1", "2"], 2.4, (2.2, 2.8), "2"),  # no whole number is inside
    (["1.0", "2.0"], 2.6, (None, 2.7), "2.0"),
    (
        ["2024-01-01", "2024-01-02"],
        "2024-01-03 18:00",
        (None, "2024-01-03"),
        "2024-01-03",
    ),
    (
        ["2024-01-01", "2024-01-02"],
        "2024-01-03 06:00",
        ("2024-01-03 03:00", None),
        "2024-01-04",
    ),
    (
        ["2024-01-01 10:00", "2024-01-01 11:00"],
        "2024-01-01 12:00:40",
        (None, "2024-01-01 12:00:50"),
        "2024-01-01 12:00",
    ),
    (
        ["2024-01-01T10:00+02:00", "2024-01-01T11:00+02:00"],
        "2024-01-01T12:00:40+02:00",
        (None, "2024-01-01 12:00:50"),
        "2024-01-01T12:00+02:00",
    ),
]


@pytest.mark.parametrize(("seen", "value", "bounds", "text"), INWARDS)
def test_whole_numbers_and_times_are_rounded_inwards(
    tmp_path, seen, value, bounds, text
):
    rows = "".join(f"a,{cell}\n" for cell in [*seen, ""])
    (tmp_path / "b.csv").write_text(f"k,x\n{rows}")
    table = read_table(tmp_path / "b.csv")
    filler = pd.Timestamp(value) if isinstance(value, str) else value
    full = table.frame.astype({"x": object}).fillna({"x": filler})
    table.write(full, tmp_path / "o.csv", bounds={"x": bounds})
    assert (tmp_path / "o.csv").read_text().endswith(f"a,{text}\n")
    table.write(full, tmp_path / "o.jsonl", bounds={"x": bounds})
    shown = text.removesuffix(".0")[:10]
    assert shown in (tmp_path / "o.jsonl").read_text().splitlines()[-1]


def test_stacked_draws(tmp_path, table):
    draws = [table.frame.fillna({"x": x}) for x in (1.0, 2.0)]
    table.write_draws(draws, tmp_path / "d.csv", include_original=True)
    assert (tmp_path / "d.csv").read_bytes() == (
        b".imp,.id,code,x,day\n"
        b"0,1,007,1.50,2024-03-01\n0,2,012,,\n"
        b"1,1,007,1.50,2024-03-01\n1,2,012,1.00,\n"
        b"2,1,007,1.50,2024-03-01\n2,2,012,2.00,\n"
    )
    table.write_draws(draws, tmp_path / "d.jsonl", imp_column="draw", id_column="row")
    first = (tmp_path / "d.jsonl").read_text().splitlines()[0]
    assert first == (
        '{"draw": 1, "row": 1, "code": "007", "x": 1.5, "day": "2024-03-01"}'
    )
    with pytest.raises(FileError, match="needs a column 'code' for the draws"):
        table.write_draws(draws, tmp_path / "e.csv", imp_column="code")


def test_a_folder_of_draws(tmp_path, table):
    draws = [complete(table)] * 3
    folder = tmp_path / "draws"
    table.write_draws(draws, f"{folder}/")
    names = ["draw_01.csv", "draw_02.csv", "draw_03.csv"]
    assert sorted(os.listdir(folder)) == names
    assert (folder / "draw_02.csv").read_bytes() == FULL
    with pytest.raises(FileError, match="is a folder that holds files; use force=True"):
        table.write_draws(draws, folder)
    (folder / "mine.txt").write_text("stays")
    table.write_draws(draws[:1], folder, force=True, include_original=True)
    assert sorted(os.listdir(folder)) == ["draw_00.csv", "draw_01.csv", "mine.txt"]
    assert (folder / "draw_00.csv").read_bytes() == DATA

    def broken():
        yield complete(table)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.write_draws(broken(), tmp_path / "never")
    assert sorted(os.listdir(tmp_path)) == ["draws", "t.csv"]
    with pytest.raises(FileError, match=r"t\.csv/: is a file, not a folder"):
        check_target(f"{tmp_path}/t.csv/", draws=True)


def test_an_existing_file_is_kept_without_force(tmp_path, table):
    with pytest.raises(FileError, match=r"t\.csv: exists already; use force=True"):
        table.write(complete(table), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == DATA
    (tmp_path / "t.csv").chmod(0o640)
    table.write(complete(table), tmp_path / "t.csv", force=True)
    assert (tmp_path / "t.csv").read_bytes() == FULL
    assert (tmp_path / "t.csv").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left")])
def test_a_stopped_write_leaves_no_debris(tmp_path, table, monkeypatch, stop):
    def fsync(_):
        raise stop

    monkeypatch.setattr(os, "fsync", fsync)
    error = FileError if isinstance(stop, OSError) else KeyboardInterrupt
    with pytest.raises(error) as caught:
        table.write(complete(table), tmp_path / "t.csv", force=True)
    if error is FileError:
        assert str(caught.value).endswith("cannot be written (No space left)")
    assert os.listdir(tmp_path) == ["t.csv"]
    assert (tmp_path / "t.csv").read_bytes() == DATA


def test_a_link_stays_a_link_and_a_device_is_written_to(tmp_path, table):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "t.csv")
    table.write(complete(table), link, force=True)
    assert link.is_symlink()
    assert (tmp_path / "t.csv").read_bytes() == FULL
    table.write(complete(table), os.devnull, format="csv")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full device")
def test_a_full_device_is_named(table):
    message = r"^/dev/full: cannot be written \(No space left on device\)$"
    with pytest.raises(FileError, match=message):
        table.write(complete(table), "/dev/full", format="csv")


def test_a_closed_standard_output_is_said(table, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(FileError, match=r"^standard output: cannot be written \(it is"):
        table.write(complete(table), "-")


def test_the_current_folder_is_not_replaced(tmp_path, table, monkeypatch):
    (tmp_path / "d").mkdir()
    monkeypatch.chdir(tmp_path / "d")
    for folder in (".", "./", tmp_path):
        with pytest.raises(FileError, match="is the current folder, which cannot be"):
            table.write_draws([table.frame], folder, force=True)
    assert sorted(os.listdir(tmp_path)) == ["d", "t.csv"]


def test_places_that_cannot_be_written_to(tmp_path, table, monkeypatch):
    with pytest.raises(FileError, match="there is no folder"):
        check_target(tmp_path / "no" / "t.csv")
    with pytest.raises(FileError, match="is a folder, not a file"):
        check_target(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match=r"cannot be written \(Permission denied\)"):
        check_target(tmp_path / "new.csv")
    check_target("-")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.csv",
            b"PAR1\x15\x00",
            "read as a CSV file, but its content is a Parquet "
            "file; give the format 'parquet' or rename it",
        ),
        (
            "t.csv",
            b"PK\x03\x04rest",
            "read as a CSV file, but its content is an Excel or "
            "zip file; give the format 'excel' or rename it",
        ),
        (
            "t.csv",
            gzip.compress(b"a", mtime=0),
            "read as a CSV file, but its content is compressed "
            "with gzip; rename it to end in .gz",
        ),
        (
            "t.tsv",
            b"\xd0\xcf\x11\xe0x",
            "read as a TSV file, but its content is an old "
            "Excel (.xls) file; give a file in one of the formats csv, tsv, parquet, "
            "feather, jsonl, excel",
        ),
        (
            "t.csv",
            b"<!DOCTYPE html><p>",
            "the content is a web page or XML, not csv "
            "(perhaps an error page was saved in place of the data)",
        ),
        ("t.parquet", b"a,b\n1,2\n", "the content is not a Parquet file"),
        ("t.xlsx", b"a,b\n1,2\n", "the content is not an Excel file"),
        (
            "t.csv.gz",
            b"a,b\n1,2\n",
            "cannot be decompressed as .gz, the file is damaged "
            "or not compressed that way (Not a gzipped file (b'a,'))",
        ),
        ("t.xls", b"x", "a suffix .xls is not a format macfm knows; save it as .xlsx"),
        (
            "t.json",
            b"[]",
            "a suffix .json is not a format macfm knows; write one object "
            "per line (JSON Lines, .jsonl)",
        ),
        (
            "t",
            b"x",
            "a file without a suffix is not a format macfm knows; give the "
            "format, one of csv, tsv, parquet, feather, jsonl, excel",
        ),
    ],
)
def test_content_and_suffix_must_agree(tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=f"^{re.escape(f'{name}: {message}')}$"):
        read_table(name)


def test_text_may_begin_like_another_format(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"PAR1,BZh\n1,2\n")
    assert list(read_table(tmp_path / "t.csv").frame) == ["PAR1", "BZh"]


def test_what_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=r"^no\.csv: no such file$"):
        read_table("no.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(FileError, match=r"^d\.csv: is a folder, not a file$"):
        read_table("d.csv")
    with pytest.raises(FileError, match="format 'sas' is not known; use one of csv"):
        read_table("no.csv", format="sas")


def test_options_that_do_not_belong(tmp_path, table):
    with pytest.raises(FileError, match="a sheet is for Excel files, not for csv"):
        read_table(tmp_path / "t.csv", sheet="x")
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(FileError, match="a delimiter is for CSV files, not for jsonl"):
        read_table(tmp_path / "t.jsonl", delimiter=",")


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [
        ("pyarrow", "o.parquet", "parquet"),
        ("openpyxl", "o.xlsx", "excel"),
        ("zstandard", "o.csv.zst", "zstd"),
    ],
)
def test_a_missing_package_names_its_extra(
    tmp_path, table, monkeypatch, package, name, extra
):
    real = importlib.import_module

    def absent(module, *args):
        if module.split(".")[0] in (package, "compression"):
            raise ImportError(module)
        return real(module, *args)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(FileError, match=re.escape(f'pip install "macfm[{extra}]"')):
        table.write(table.frame, tmp_path / name)
    assert os.listdir(tmp_path) == ["t.csv"]


class Stream(io.TextIOWrapper):
    """Standard input that is not a terminal."""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch, tmp_path, pack):
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(pack(DATA))))
    table = read_table("-")
    table.write(complete(table), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_bytes() == FULL
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(b'{"a": 1}\n')))
    assert read_table("-").format.name == "jsonl"
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(b"a\tb\n1\t2\n")))
    assert read_table("-", format="tsv").format.name == "tsv"
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(b"")))
    with pytest.raises(
        FileError, match=r"^standard input: nothing to read; pipe a table"
    ):
        read_table("-")


PIPE = """
import sys
from macfm.files import read_table
table = read_table("-")
table.write(table.frame, "-", format=sys.argv[1] if len(sys.argv) > 1 else None)
"""


def run(*args, **options):
    src = str(Path(__file__).parents[2] / "src")
    env = {**os.environ, "PYTHONPATH": src}
    return subprocess.Popen(
        [sys.executable, "-c", PIPE, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        **options,
    )


def test_through_a_pipe():
    assert run().communicate(DATA) == (DATA, b"")
    out, error = run("csv.gz").communicate(DATA)
    assert (gzip.decompress(out), error) == (DATA, b"")


def test_a_closed_pipe_is_no_error():
    process = run()
    process.stdout.close()
    rows = b"007,1.50,2024-03-01\n" * 20_000
    process.stdin.write(b"code,x,day\n" + rows)
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_reading_imports_no_optional_package():
    code = (
        "import sys, macfm.files; "
        "print(sorted({'torch', 'openpyxl', 'zstandard'} & set(sys.modules)))"
    )
    src = str(Path(__file__).parents[2] / "src")
    env = {**os.environ, "PYTHONPATH": src}
    out = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, check=True
    )
    assert out.stdout.strip() == b"[]"
