"""`--leave` and `--derive`, from the command line to the file."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def clinic(folder):
    """`clinic.csv` and `later.csv`: a skip pattern and a formula, with holes."""
    for seed, name in enumerate(("clinic.csv", "later.csv")):
        rng = np.random.default_rng(seed)
        n = 150
        diabetes = rng.choice(["No", "Yes"], n)
        frame = pd.DataFrame({"diabetes": diabetes, "age dx": rng.integers(20, 80, n)})
        frame["age dx"] = frame["age dx"].astype("Int64").mask(diabetes == "No")
        frame["weight"] = rng.normal(75, 12, n)
        frame["height"] = rng.normal(1.7, 0.1, n)
        frame["bmi"] = frame["weight"] / frame["height"] ** 2
        frame = frame.mask(rng.uniform(size=frame.shape) < 0.2)
        frame.to_csv(folder / name, index=False)
    return folder


LEAVE = ("--leave", "age dx: diabetes == 'No'")
DERIVE = ("--derive", "bmi = weight / height**2")


def assert_kept(before, after):
    before, after = pd.read_csv(before), pd.read_csv(after)
    hole = before["age dx"].isna()
    assert (after["age dx"].isna() == (hole & (after["diabetes"] == "No"))).all()
    assert after["age dx"].isna().any()
    assert not after.drop(columns="age dx").isna().any().any()
    value = after["weight"] / after["height"] ** 2
    np.testing.assert_allclose(after["bmi"], value, rtol=1e-9)


def test_impute_fit_and_transform_keep_to_them(clinic, done, quick):
    words = (*LEAVE, *DERIVE, *quick)
    told = done("impute", "clinic.csv", "-o", "out.csv", "--model", "m.macfm", *words)
    assert_kept("clinic.csv", "out.csv")
    assert "empty (age dx)" in told.stderr
    done("transform", "later.csv", "--model", "m.macfm", "-o", "later-out.csv")
    assert_kept("later.csv", "later-out.csv")
    done("fit", "clinic.csv", "--model", "again.macfm", *words)
    told = done("info", "again.macfm")
    assert "Stays empty: age dx where diabetes == 'No'." in told.stdout
    assert "Computed: bmi = weight / height**2." in told.stdout


def test_every_draw_keeps_to_them(clinic, done, quick):
    words = (*LEAVE, *DERIVE, *quick)
    done("impute", "clinic.csv", "--draws", "3", "-o", "draws/", *words)
    files = sorted((clinic / "draws").iterdir())
    assert len(files) == 3
    for file in files:
        assert_kept("clinic.csv", file)


def test_a_config_file_holds_them_as_tables_or_lists(clinic, done, quick):
    rule, formula = "diabetes == 'No'", "weight / height**2"
    tables = f"[leave]\n'age dx' = \"{rule}\"\n[derive]\nbmi = '{formula}'\n"
    lists = f"leave = [\"age dx: {rule}\"]\nderive = ['bmi = {formula}']\n"
    for text in (tables, lists):
        (clinic / "c.toml").write_text(text)
        words = ("--config", "c.toml", "--force", *quick)
        done("impute", "clinic.csv", "-o", "out.csv", *words)
        assert_kept("clinic.csv", "out.csv")


def test_a_dry_run_says_what_stays_empty(clinic, done, quick):
    told = done("impute", "clinic.csv", "--dry-run", *LEAVE, *DERIVE, *quick)
    said = " ".join(told.stdout.split())
    assert "filled; stays empty where diabetes == 'No'" in said
    assert "computed: weight / height**2" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--leave", "age_dx"), "expected COLUMN: RULE such as"),
        (("--leave", "agedx: diabetes == 'No'"), "no column 'agedx'; did you mean"),
        (("--leave", "age dx: diabtes == 'No'"), "--leave of column 'age dx': at char"),
        (("--leave", "age dx: diabetes == 1"), "it takes a text in quotes"),
        (("--leave", "age dx: weight > height > 'x'"), "--leave of column"),
        (("--leave", "age dx: __import__('os')"), "no function '__import__'"),
        (("--derive", "bmi"), "expected COLUMN = FORMULA"),
        (("--derive", "bim = weight"), "no column 'bim'; did you mean 'bmi'"),
        (("--derive", "bmi = diabetes * 2"), "'diabetes' is categorical; a formula"),
        (("--derive", "bmi = weight", *DERIVE), "is given twice"),
    ],
)
def test_a_slip_is_one_sentence(clinic, run, quick, words, said):
    result = run("impute", "clinic.csv", "-o", "out.csv", *words, *quick)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not (clinic / "out.csv").exists()


def test_set_takes_them_in_python_words(clinic, done, quick):
    rule = json.dumps({"age dx": "diabetes == 'No'"})
    done(
        "impute", "clinic.csv", "-o", "o.csv", "--set", f"leave={rule}", *DERIVE, *quick
    )
    assert_kept("clinic.csv", "o.csv")


def test_report_and_compare_go_along(clinic, done, quick):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    words = (*LEAVE, *DERIVE, *quick)
    done("report", "clinic.csv", "-o", "r.html", "--no-compare", *words)
    assert "diabetes == &#39;No&#39;" in (clinic / "r.html").read_text()
    done("compare", "clinic.csv", "--methods", "mean", "--repeats", "1", *words)


def test_inspect_and_report_name_the_option(clinic, done, quick):
    frame = pd.read_csv("clinic.csv")
    frame = pd.concat([frame] * 3)
    frame["age dx"] = frame["age dx"].mask(frame["diabetes"] == "No")
    frame["diabetes"] = (
        frame["diabetes"].fillna("No").where(frame["age dx"].isna(), "Yes")
    )
    frame.to_csv("thrice.csv", index=False)
    option = "--leave \"age dx: diabetes == 'No'\""
    told = done("inspect", "thrice.csv", "--quick")
    said = " ".join(told.stdout.split())
    assert "'age dx' is recorded only where 'diabetes' is 'Yes'" in said
    assert f"keep those holes: {option}" in said
    assert "leave={" not in said
    profile = json.loads(done("inspect", "thrice.csv", "--quick", "--json").stdout)
    assert profile["profile"]["skips"][0]["columns"] == ["age dx"]
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    words = ("--no-compare", *quick)
    done("report", "thrice.csv", "-o", "r.html", *words)
    page = (clinic / "r.html").read_text()
    assert "--leave &#34;age dx: diabetes == &#39;No&#39;&#34;" in page
    done("report", "thrice.csv", "-o", "s.html", *words, *LEAVE)
    assert "--leave" not in (clinic / "s.html").read_text()
