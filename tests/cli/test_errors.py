"""Every way to go wrong ends in one sentence and the right exit code."""

import os
import sys

import pytest

IMPUTE = "impute patients.csv -o out.csv"

# Words, exit code, what the message says.
WRONG = [
    ("impute patients.csv", 2, "where to? Give -o FILE, or -o - for standard output"),
    ("impute", 2, "Missing argument 'DATA'"),
    ("improve patients.csv", 2, "No such command 'improve'; did you mean impute?"),
    ("xyzzy", 2, "No such command 'xyzzy'; --help lists them"),
    ("bench rn", 2, "No such command 'rn'; did you mean run?"),
    ("bench data lst", 2, "No such command 'lst'; did you mean list?"),
    ("impute patients.csv -o out.csv --colour", 2, "No such option"),
    ("impute none.csv -o out.csv", 1, "none.csv: no such file"),
    ("impute sub -o out.csv", 1, "sub: is a folder, not a file"),
    ("impute empty.csv -o out.csv", 1, "empty.csv: is empty"),
    ("impute header.csv -o out.csv", 1, "header.csv: has a header but no rows"),
    ("impute ragged.csv -o out.csv", 1, "ragged.csv, line 3: has 1 field, the header"),
    ("impute patients.dat -o out.csv", 1, "a suffix .dat is not a format macfm knows"),
    ("impute zipped.csv -o out.csv", 1, "compressed with gzip; rename it"),
    (
        "impute patients.csv -o patients.csv",
        1,
        "exists already; use --force to replace",
    ),
    (f"{IMPUTE} --model m.macfm", 1, "m.macfm: exists already; use --force"),
    (f"{IMPUTE} --report m.macfm", 1, "m.macfm: exists already; use --force"),
    (f"{IMPUTE} --model patients.csv", 2, "patients.csv: is the same file as DATA"),
    (f"{IMPUTE} --report ./patients.csv", 2, "is the same file as DATA patients.csv"),
    ("impute patients.csv -o no/out.csv", 1, "no/out.csv: there is no folder no"),
    (f"{IMPUTE} --model no/m.macfm", 1, "no/m.macfm: there is no folder no"),
    ("impute patients.csv -o sub", 1, "sub: is a folder, not a file"),
    ("impute patients.csv -o sub --draws 2", 1, "sub: is a folder that holds files"),
    ("impute patients.csv -o out.doc", 1, "out.doc: a suffix .doc is not a format"),
    (f"{IMPUTE} --to doc", 2, "'--to': 'doc' is not a format; use one of csv, tsv"),
    (f"{IMPUTE} --from csv.lz", 2, "'--from': 'csv.lz' is not a format"),
    (f"{IMPUTE} --model out.csv", 2, "--output and --model cannot both be written to"),
    (f"{IMPUTE} --model ./out.csv", 2, "--output and --model cannot both be written"),
    (f"{IMPUTE} --model sub/../out.csv", 2, "--output and --model cannot both be"),
    ("impute patients.csv -o - --model -", 2, "--model must be a file, not standard"),
    (f"{IMPUTE} --draws 3 --method mean", 2, "--draws gives plausible values, not a"),
    (f"{IMPUTE} --draws 0", 2, "'--draws': 0 is not in the range x>=1"),
    (f"{IMPUTE} --method mode", 2, "'mode' is not one of 'mean', 'median', 'draw'"),
    (f"{IMPUTE} --preset slow", 2, "'slow' is not one of 'fast', 'default', 'best'"),
    (f"{IMPUTE} --budget soon", 2, "'soon' is not a length of time such as 90s, 5m"),
    (f"{IMPUTE} --budget 0s", 2, "'0s' is not a length of time"),
    (f"{IMPUTE} --seed -1", 2, "'--seed': -1 is not in the range"),
    (f"{IMPUTE} --device tpu", 2, "device must be 'auto', 'cpu', 'cuda' or 'cuda:N'"),
    (f"{IMPUTE} --ignore agee", 2, "--ignore: there is no column 'agee'; did you mean"),
    (f"{IMPUTE} --id xyzzy", 2, "--id: there is no column 'xyzzy'; columns are 'id',"),
    (
        f"{IMPUTE} --only AGE",
        2,
        "--only: there is no column 'AGE'; did you mean 'age'?",
    ),
    (f"{IMPUTE} --categorical a,b", 2, "--categorical: there is no column 'a'"),
    (f"{IMPUTE} --ordinal stage", 2, "--ordinal: expected COLUMN=..., got 'stage'"),
    (f"{IMPUTE} --ordinal stage=I", 2, "levels from low to high such as 'stage=low<"),
    (f"{IMPUTE} --ordinal age=a<b", 2, "'a' is not a number, but column 'age' holds"),
    (f"{IMPUTE} --ordinal smoker=0<1", 2, "'0' is neither true nor false, but column"),
    (f"{IMPUTE} --ordinal stage=I<II", 1, "ordinal column 'stage' holds 'III', which"),
    (f"{IMPUTE} --bounds age", 2, "--bounds: expected COLUMN=..., got 'age'"),
    (f"{IMPUTE} --bounds age=0", 2, "expected LOW:HIGH such as 'age=0:120', 'age=0:'"),
    (f"{IMPUTE} --bounds age=x:1", 2, "--bounds: 'x' is not a number, but column"),
    (f"{IMPUTE} --bounds age=9:1", 2, "bounds of column 'age' must have lo <= hi"),
    (f"{IMPUTE} --bounds sex=0:1", 1, "column 'sex' is categorical; "),
    (f"{IMPUTE} --only age --ignore age", 2, "['age'] are named in"),
    (f"{IMPUTE} --categorical age --ordinal age=1<2", 2, "['age'] are named in both"),
    (f"{IMPUTE} --set steps", 2, "--set: expected NAME=VALUE, got 'steps'"),
    (f"{IMPUTE} --set max_step=1", 2, "there is no parameter 'max_step'; did you mean"),
    (f"{IMPUTE} --set add_indicator=1", 2, "there is no parameter 'add_indicator'"),
    (f"{IMPUTE} --set max_steps=0", 2, "max_steps must be an integer of at least 1"),
    (f"{IMPUTE} --set schedule=cosine", 2, "reads the velocity at t = 0, where the"),
    (f"{IMPUTE} --method mean --set schedule=cosine", 2, "'cosine' stands still; use"),
    (
        f"{IMPUTE} --na-values a --na-values age=b",
        2,
        "marks for all columns (-999,none)",
    ),
    (f"{IMPUTE} --na-values no=b", 1, "marks are given for column 'no', which the"),
    (f"{IMPUTE} --delimiter ;;", 2, "';;' is not one character, nor the word tab"),
    (f"{IMPUTE} --encoding klingon", 1, "klingon"),
    (f"{IMPUTE} --sheet one", 1, "a sheet is for Excel files, not for csv"),
    ("inspect none.csv", 1, "none.csv: no such file"),
    ("inspect patients.csv --ignore x", 2, "--ignore: there is no column 'x'"),
    ("inspect patients.csv --ordinal stage=I<II", 1, "holds 'III', which is not among"),
    ("fit patients.csv", 2, "Missing option '--model'"),
    ("fit patients.csv --model m.macfm", 1, "exists already; use --force"),
    ("fit patients.csv --model link.csv --force", 2, "is the same file as DATA"),
    ("transform patients.csv -o x.csv", 2, "Missing option '--model'"),
    ("transform patients.csv --model m.macfm", 2, "Missing option '-o' / '--output'"),
    ("transform patients.csv --model no.macfm -o x.csv", 1, "no.macfm: no such file"),
    ("transform patients.csv --model patients.csv -o x.csv", 1, "is not a macfm model"),
    ("transform none.csv --model m.macfm -o x.csv", 1, "none.csv: no such file"),
    ("transform ragged.csv --model m.macfm -o x.csv", 1, "ragged.csv, line 3: has 1"),
    ("transform patients.csv --model no.macfm -o x.csv", 1, "no.macfm: no such file"),
    ("transform p --model m.macfm -o ./m.macfm --force", 2, "the same file as --model"),
    ("transform p --model m.macfm -o link.macfm --force", 2, "would be lost; give"),
    ("transform p --model ./m.macfm -o hard.macfm --force", 2, "would be lost; give"),
    ("transform p --model m -o x --draws 1 --method mean", 2, "leave out --method"),
    ("info no.macfm", 1, "no.macfm: no such file"),
    ("info sub", 1, "sub"),
    ("info patients.csv", 1, "give a file written by macfm fit or"),
    ("info cut.macfm", 1, "cut.macfm"),
    ("report patients.csv -o m.macfm", 1, "exists already; use --force"),
    ("report patients.csv -o patients.csv --force", 2, "is the same file as DATA"),
    ("report p.csv --model m.macfm -o link.macfm", 2, "is the same file as --model"),
    ("report patients.csv --model no.macfm", 1, "no.macfm: no such file"),
    ("compare patients.csv --methods mean,magic", 2, "there is no method 'magic'"),
    ("compare patients.csv --share 2", 2, "'--share': 2.0 is not in the range"),
    ("compare patients.csv --repeats 20", 2, "--repeats times --share must not exceed"),
    ("demo -o sub", 1, "sub/: is a folder that holds files; use --force to replace"),
    ("demo -o patients.csv", 1, "patients.csv/: is a file, not a folder"),
    ("completion powershell", 2, "'powershell' is not one of 'bash', 'zsh', 'fish'"),
]


@pytest.fixture
def faulty(folder):
    import gzip
    import shutil
    from pathlib import Path

    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_text("")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "patients.dat").write_text("a,b\n1,2\n")
    (folder / "zipped.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    whole = Path(__file__).parents[1] / "data" / "model-v1.macfm"
    shutil.copy(whole, folder / "m.macfm")
    (folder / "link.macfm").symlink_to("m.macfm")
    (folder / "hard.macfm").hardlink_to(folder / "m.macfm")
    (folder / "link.csv").symlink_to(folder / "patients.csv")
    (folder / "cut.macfm").write_bytes(whole.read_bytes()[:-100])
    return folder


@pytest.mark.parametrize(("words", "code", "message"), WRONG, ids=[w[0] for w in WRONG])
def test_what_is_wrong_is_said(faulty, run, words, code, message):
    before = {path: path.stat().st_mtime_ns for path in faulty.rglob("*")}
    result = run(*words.split())
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    said = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert said == [result.stderr.splitlines()[-1]]
    assert result.stdout == ""
    after = {path: path.stat().st_mtime_ns for path in faulty.rglob("*")}
    assert after == before


def test_standard_input_must_hold_something(folder, run):
    result = run("impute", "-", "-o", "-", stdin="")
    assert result.exit_code == 1
    assert "standard input: nothing to read; pipe a table into it" in result.stderr


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_may_not_be_written_to_is_found_at_once(folder, run):
    (folder / "closed").mkdir(mode=0o500)
    result = run("impute", "patients.csv", "-o", "closed/out.csv")
    assert result.exit_code == 1
    assert "closed/out.csv: cannot be written (Permission denied)" in result.stderr


def test_a_report_needs_its_packages_before_anything_is_done(folder, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("impute", "patients.csv", "-o", "out.csv", "--report", "r.html")
    assert result.exit_code == 1
    assert 'is not installed: pip install "macfm[report]"' in result.stderr
    assert not (folder / "out.csv").exists()


def test_what_nobody_foresaw_is_one_sentence_too(folder, run, monkeypatch):
    def fail(*args, **kwargs):
        raise KeyError("seven")

    monkeypatch.setattr("macfm.profile.profile", fail)
    result = run("inspect", "patients.csv")
    assert result.exit_code == 1
    assert "Error: unexpected KeyError: 'seven' (run it again with --verbose" in (
        result.stderr
    )
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("inspect", "patients.csv", "-v").stderr


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "not enough memory for this table; try fewer rows"),
        (PermissionError(13, "Permission denied", "x.csv"), "x.csv: Permission denied"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (ImportError("matplotlib is needed"), "matplotlib is needed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_machine_s_own_failures(folder, run, monkeypatch, error, message):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("macfm.profile.profile", fail)
    result = run("inspect", "patients.csv")
    assert result.exit_code == 1
    assert f"Error: {message}" in result.stderr
