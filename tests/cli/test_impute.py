"""`macfm impute`: what is written, byte for byte, and what is said."""

import csv
import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest


def cells(text, delimiter=","):
    """Raw fields of a CSV text without quotes inside quotes, one list a line."""
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


def assert_only_holes_change(before, after, marks=("", "NA"), delimiter=","):
    old, new = cells(before, delimiter), cells(after, delimiter)
    assert [len(row) for row in old] == [len(row) for row in new]
    for row, filled in zip(old, new, strict=True):
        for cell, now in zip(row, filled, strict=True):
            if cell in marks:
                assert now not in marks
            else:
                assert now == cell


def test_only_missing_cells_change(folder, done, quick):
    result = done("impute", "patients.csv", "-o", "out.csv", "--id", "id", *quick)
    before, after = (folder / n for n in ("patients.csv", "out.csv"))
    assert_only_holes_change(before.read_text(), after.read_text())
    kept = [line for line in before.read_text().splitlines() if line.count(",,") == 0]
    kept = [k for k in kept if "NA" not in k and not k.endswith(",")]
    assert set(kept) <= set(after.read_text().splitlines())
    assert result.stdout == ""
    assert "patients.csv: 6 rows, 8 columns, 7 missing cells in 7 columns" in (
        result.stderr
    )
    assert "filled 7 cells\nout.csv written\n" in result.stderr


@pytest.mark.parametrize(
    ("text", "name", "delimiter"),
    [
        ("a;b\r\n1,5;x\r\n;y\r\n2,25;\r\n3,5;x\r\n", "semicolon.csv", ";"),
        ("\ufeffa\tb\n01\tx\n02\t\n\ty", "tabs.tsv", "\t"),
        ('"a","b"\n"1","x"\n"","y"\n"3",""\n', "quoted.csv", ","),
        ("a|b|c\n1|TRUE|1e3\n2||2e3\n|FALSE|\n", "bars.csv", "|"),
    ],
)
def test_the_manner_of_the_file_is_kept(folder, done, quick, text, name, delimiter):
    (folder / name).write_bytes(text.encode())
    done("impute", name, "-o", f"out-{name}", *quick)
    after = (folder / f"out-{name}").read_bytes().decode()
    assert_only_holes_change(text, after, delimiter=delimiter)
    assert after.count("\r\n") == text.count("\r\n")
    assert after.endswith("\n") == text.endswith("\n")
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert ('"' in after) == ('"' in text)


def test_a_pipe_gets_data_only(folder, done, quick):
    text = (folder / "numbers.csv").read_text()
    result = done("impute", "-", "-o", "-", "--from", "csv", *quick, stdin=text)
    assert_only_holes_change(text, result.stdout)
    assert "standard input: 120 rows" in result.stderr


def test_formats_go_in_and_out(folder, done, quick):
    pytest.importorskip("pyarrow")
    text = (folder / "numbers.csv").read_text()
    (folder / "n.tsv.gz").write_bytes(gzip.compress(text.replace(",", "\t").encode()))
    done("impute", "n.tsv.gz", "-o", "n.parquet", *quick)
    table = pd.read_parquet("n.parquet")
    assert table.shape == (120, 3)
    assert not table.isna().to_numpy().any()
    result = done("impute", "numbers.csv", "-o", "-", "--to", "jsonl", *quick)
    assert result.stdout.startswith('{"age":')


def test_the_same_seed_gives_the_same_file(folder, done, quick):
    words = ("impute", "numbers.csv", "-q", "--method", "draw", "-o")
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        assert done(*words, name, "--seed", seed, *quick).output == ""
    a, b, c = ((folder / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c


def test_methods_differ_and_a_draw_is_the_first_of_draws(folder, done, quick):
    texts = {}
    for method in ("mean", "median", "draw"):
        done("impute", "numbers.csv", "-o", method, "--to", "csv", "--method", method,
             *quick)  # fmt: skip
        texts[method] = (folder / method).read_text()
    assert len(set(texts.values())) == 3
    done("impute", "numbers.csv", "-o", "draws/", "--draws", "1", *quick)
    assert (folder / "draws" / "draw_01.csv").read_text() == texts["draw"]


def test_draws_become_a_folder_or_one_stacked_file(folder, done, quick):
    result = done("impute", "patients.csv", "-o", "draws/", "--draws", "3", *quick)
    assert "draws/ written: 3 completed tables" in result.stderr
    names = sorted(path.name for path in (folder / "draws").iterdir())
    assert names == ["draw_01.csv", "draw_02.csv", "draw_03.csv"]
    done("impute", "patients.csv", "-o", "stacked.csv", "--draws", "3", *quick)
    stacked = cells((folder / "stacked.csv").read_text())
    assert stacked[0][:3] == [".imp", ".id", "id"]
    assert [row[:3] for row in stacked[1:8]] == [
        *(["1", str(k), i] for k, i in enumerate(
            ("007", "012", "013", "014", "015", "016"), start=1
        )),
        ["2", "1", "007"],
    ]  # fmt: skip


def test_the_table_with_its_holes_may_come_first(folder, done, quick, run):
    draws = ("--draws", "2", "--with-original", *quick)
    done("impute", "patients.csv", "-o", "stacked.csv", *draws)
    stacked = cells((folder / "stacked.csv").read_text())
    original = [row for row in cells((folder / "patients.csv").read_text()) if row]
    assert [row[2:] for row in stacked[:7]] == original
    assert [row[0] for row in stacked[1:]] == [k for k in "012" for _ in range(6)]
    done("impute", "patients.csv", "-o", "draws/", *draws)
    first = folder / "draws" / "draw_00.csv"
    assert first.read_text() == (folder / "patients.csv").read_text()
    result = run("impute", "patients.csv", "-o", "a.csv", "--with-original", *quick)
    assert result.exit_code == 2
    assert "--with-original goes with --draws" in result.stderr


def test_wishes_reach_the_model(folder, done, quick):
    wishes = ("--ordinal", "stage=I<II<III", "--bounds", "age=100:120,weight=observed")
    wishes += ("--only", "age,stage", "--ignore", "seen,smoker", "--id", "id")
    done("impute", "patients.csv", "-o", "out.csv", *wishes, *quick)
    rows = cells((folder / "out.csv").read_text())
    assert 100 <= int(rows[2][2]) <= 120
    assert rows[4][7] in ("I", "II", "III")
    assert rows[3][3] == "NA"
    assert rows[4][5] == ""


def test_a_dry_run_tells_and_touches_nothing(folder, done, quick):
    before = sorted(path.name for path in folder.iterdir())
    words = ("-o", "out.csv", "--model", "m.macfm", "--ignore", "id", "--only", "age")
    result = done("impute", "patients.csv", "--dry-run", *words, *quick)
    assert sorted(path.name for path in folder.iterdir()) == before
    told = " ".join(result.stdout.split())
    assert "id categorical" not in told
    assert "id ignored ignored" in told
    assert "age integer 1 filled" in told
    assert "weight numeric 1 informs, keeps its holes" in told
    assert "preset default, seed 0: 1 network of up to 4 steps" in told
    assert "training would take up to" in told
    assert "would write out.csv, m.macfm; nothing was written" in told


def test_a_dry_run_needs_no_output_and_knows_the_budget(folder, done):
    result = done("impute", "patients.csv", "--dry-run", "--budget", "1s")
    assert "up to 1.0 s here, the budget" in result.stdout
    # of the trial itself nobody wants to know
    assert "left time for" not in result.stderr
    assert "no better than by the mean" not in result.stderr


def test_a_complete_table_is_copied_without_training(folder, done):
    (folder / "full.csv").write_text("a,b\n1,2\n3,4\n")
    result = done("impute", "full.csv", "-o", "copy.csv")
    assert (folder / "copy.csv").read_text() == "a,b\n1,2\n3,4\n"
    assert "full.csv: 2 rows, 2 columns, no cell missing" in result.stderr
    assert "nothing to fill; the output is a copy" in result.stderr


def test_marks_of_missing_cells(folder, done, quick):
    (folder / "m.csv").write_text("a,b\n1,x\n-999,NA\n3,y\nNA,x\n")
    result = done("impute", "m.csv", "-o", "1.csv", "--na-values", "-999", *quick)
    assert "3 missing cells in 2 columns" in result.stderr
    result = done("impute", "m.csv", "-o", "2.csv", "--na-values", "a=-999", *quick)
    assert "3 missing cells in 2 columns" in result.stderr
    result = done(
        *("impute", "m.csv", "-o", "3.csv", "--no-default-na", "--ignore", "a", *quick)
    )
    assert (folder / "3.csv").read_text() == (folder / "m.csv").read_text()
    assert "no cell missing" in result.stderr


def test_values_that_look_like_marks_are_noted(folder, done, quick):
    rows = "".join(f"{k % 9 + 20},{k},-99\n" for k in range(30))
    (folder / "m.csv").write_text("a,b,c\n-999,,7\n-999,3,8\n" + rows)
    result = done("impute", "m.csv", "-o", "1.csv", "--ignore", "c", *quick)
    assert "note: 'a' holds -999 in 2 rows" in result.stderr
    assert "if so, give --na-values a=-999, or it counts as observed\n" in (
        result.stderr
    )
    assert "'c'" not in result.stderr
    result = done("impute", "m.csv", "-o", "2.csv", "--na-values", "a=-999", *quick)
    assert "note: 'a'" not in result.stderr


def test_empty_columns_and_identifiers_are_warned_of(folder, done, quick):
    rows = "".join(f"p{k},{k % 7},\n" for k in range(60))
    (folder / "odd.csv").write_text("name,a,b\nx,,\n" + rows)
    result = done("impute", "odd.csv", "-o", "out.csv", *quick)
    assert "warning: column 'name' has 61 distinct values" in result.stderr
    assert "consider --ignore name" in result.stderr
    assert "warning: no value was observed in column 'b'; it stays empty" in (
        result.stderr
    )
    assert "left 61 empty (b)" in result.stderr


def test_verbose_tells_how_training_goes(folder, done, quick):
    result = done("impute", "numbers.csv", "-o", "out.csv", "-v", *quick)
    assert "network 1 of 1, step 4 of 4: loss" in result.stderr
    assert (
        "network 1" not in done("impute", "numbers.csv", "-o", "2.csv", *quick).stderr
    )


def test_repeated_identifiers_are_noted(folder, done, quick):
    (folder / "twice.csv").write_text("id,a,b\n1,2,3\n1,,4\n2,5,\n")
    result = done("impute", "twice.csv", "-o", "out.csv", "--id", "id", *quick)
    assert "note: --id id: 1 row repeats an earlier row's value" in result.stderr


def test_what_became_text_is_said(folder, done, quick):
    pytest.importorskip("openpyxl")
    (folder / "t.csv").write_text("id,x\n1234567890123456,1.5\n7,\n8,2.5\n")
    result = done("impute", "t.csv", "-o", "t.xlsx", "--id", "id", *quick)
    note = "note: column 'id' is written as text: Excel keeps 15 digits of a number\n"
    assert note in result.stderr


@pytest.mark.parametrize("how", [(), ("--draws", "2")])
def test_what_is_written_lies_within_the_bounds(folder, done, quick, how):
    rows = "".join(f"{k},{'' if k % 3 else f'{k / 100:.1f}'}\n" for k in range(60))
    (folder / "t.csv").write_text(f"k,x\n{rows}")
    words = ("--bounds", "x=0.06:0.08", "-o", "o.csv", *how, *quick)
    done("impute", "t.csv", "--model", "m.macfm", *words)
    done("transform", "t.csv", "--model", "m.macfm", "-o", "p.csv", *how)
    holes = pd.read_csv(folder / "t.csv")["x"].isna()
    for name in ("o.csv", "p.csv"):
        x = pd.read_csv(folder / name)["x"].to_numpy().reshape(-1, len(holes))
        assert ((x[:, holes] >= 0.06) & (x[:, holes] <= 0.08)).all()


def test_codes_and_marks_are_told_once_with_their_options(folder, done, quick):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 60),
            "ward": np.tile([11, 12, 40], 20),
            "kind": np.tile([1, 2, 3, 4], 15),
            "dose": rng.normal(5, 1, 60).round(2),
        }
    )
    frame.loc[:1, "age"] = -999
    frame.loc[3:9, "dose"] = np.nan
    frame.to_csv(folder / "coded.csv", index=False)
    words = ("impute", "coded.csv", "-o", "out.csv", *quick)
    told = done(*words).stderr
    assert told.count("may be codes; if so, pass --categorical ward,kind") == 1
    assert told.count("mark for a missing value") == 1
    assert "--na-values age=-999" in told
    silent = ("--categorical", "ward", "--numeric", "kind", "--na-values", "-999")
    told = done(*words, "--force", *silent).stderr
    assert "codes" not in told
    assert "mark for" not in told


@pytest.mark.parametrize(
    ("given", "low"),
    [((), 0), (("--bounds", "none"), None), (("--bounds", "income=none"), None)],
)
def test_limits_of_the_data_hold_unless_switched_off(folder, done, quick, given, low):
    done("fit", "numbers.csv", "--model", "m", *given, *quick)
    (income,) = [
        column
        for column in json.loads(done("info", "m", "--json").output)["columns"]
        if column["name"] == "income"
    ]
    assert income.get("bounds", [None])[0] == low
