"""`macfm inspect`: what a person reads and what a machine reads."""

import json


def test_everything_is_said_within_80_columns(folder, done):
    out = done("inspect", "numbers.csv").stdout
    assert max(map(len, out.splitlines())) <= 80
    assert not [line for line in out.splitlines() if line != line.rstrip()]
    assert "\x1b" not in out
    told = " ".join(out.split())
    assert told.startswith("numbers.csv: 120 rows, 3 columns, ")
    assert "Read as CSV, UTF-8, comma." in told
    assert "written empty" in told
    assert "age integer 2" in told  # no hole: the values follow
    assert "income numeric" in told
    assert "Missing together (4 patterns)" in told
    assert "nothing: complete rows" in told
    assert "Little's test" in told
    assert "'income': strong dependence" in told
    assert "where 'age' is large" in told
    assert "missing not at random, MNAR" in told
    assert told.endswith("Next macfm impute numbers.csv -o completed.csv")


def test_the_width_follows_the_environment(folder, done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    out = done("inspect", "numbers.csv").stdout
    assert 80 < max(map(len, out.splitlines())) <= 120


def test_what_is_worth_acting_on_comes_with_the_option(folder, done):
    rows = "".join(f"p{k:03},{k % 3},,5,{k}\n" for k in range(60))
    (folder / "odd.csv").write_text("name,code,empty,same,x\np,,,,\n" + rows)
    told = " ".join(done("inspect", "odd.csv", "--quick").stdout.split())
    assert "'empty' is missing in every row" in told
    assert "--ignore empty" in told
    assert "'same' holds one value only" in told
    assert "always 5" in told
    assert "--categorical code" in told
    assert "'name' and 'x' look like identifiers" in told
    assert "macfm impute odd.csv -o completed.csv --ignore name,x" in told
    assert "depend" not in told


def test_advice_can_be_pasted_into_a_shell(folder, done):
    rows = "".join(f"p{k:03},,{k % 9}\n" for k in range(60))
    (folder / "odd.csv").write_text("full name,it's,x\n" + rows + ",,\n")
    lines = done("inspect", "odd.csv", "--quick").stdout.splitlines()
    assert "  --ignore 'full name'" in lines
    assert """  --ignore 'it'"'"'s'""" in lines
    assert lines[-1] == "  macfm impute odd.csv -o completed.csv --ignore 'full name'"


def test_wishes_change_the_kinds(folder, done):
    words = ("--categorical", "age", "--id", "id", "--ordinal", "stage=I<II<III")
    told = " ".join(done("inspect", "patients.csv", "--quick", *words).stdout.split())
    assert "age categorical" in told
    assert "id ignored" in told
    assert "stage ordinal" in told
    assert "empty (6), 'NA' (1)" in told


def test_json_holds_file_and_profile(folder, done):
    told = json.loads(done("inspect", "numbers.csv", "--json").stdout)
    assert told["file"]["delimiter"] == ","
    assert told["file"]["column"]["income"]["kind"] == "float"
    assert told["profile"]["n_rows"] == 120
    assert told["profile"]["dependence"]["columns"]
    quick = json.loads(done("inspect", "numbers.csv", "--json", "--quick").stdout)
    assert quick["profile"]["dependence"] is None


def test_many_columns_are_cut_unless_all_are_wanted(folder, done):
    names = [f"c{k}" for k in range(70)]
    row = ",".join(str(k) for k in range(70))
    text = ",".join(names) + f"\n{row}\n{row}\n" + row.replace("5,", ",", 1) + "\n"
    (folder / "wide.csv").write_text(text)
    short = done("inspect", "wide.csv", "--quick").stdout
    assert "69 columns more; --verbose shows all" in short
    assert (
        "c69" in done("inspect", "wide.csv", "--quick", "-v").stdout.split("Missing")[0]
    )


def test_a_complete_table_needs_few_words(folder, done):
    (folder / "full.csv").write_text("a,b\n1,x\n3,y\n")
    out = done("inspect", "full.csv").stdout
    assert "no cell missing" in out
    assert "Missing together" not in out
    assert "Next" not in out
