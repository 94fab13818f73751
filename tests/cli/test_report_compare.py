"""`macfm report` and `macfm compare`."""

import json

import pytest


def test_methods_are_compared_on_hidden_cells(folder, done, quick):
    words = ("compare", "numbers.csv", "--methods", "mean,median", "--repeats", 2)
    result = done(*words, *quick)
    assert "numbers.csv: 120 rows" in result.stderr
    told = " ".join(result.stdout.split())
    assert "observed cells hidden in 120 rows" in told
    assert "RMSE, mean imputation = 1 (lower is better)" in told
    assert "income" in told
    assert "Right categories, % (higher is better)" in told
    assert "On numbers " in told
    assert "On categories " in told
    assert "Advice: " in told
    assert "seconds a fold" in told


def test_a_comparison_of_nothing_is_no_success(folder, run, quick, monkeypatch):
    result = run("compare", "patients.csv", "--id", "id", "--repeats", 1, *quick)
    assert result.exit_code == 1
    assert "nothing could be compared: no column has enough" in result.stderr

    def fail(self, train):
        raise RuntimeError("no idea")

    monkeypatch.setattr("macfm.judge.methods.constant.ConstantMethod.fit", fail)
    words = ("compare", "numbers.csv", "--methods", "mean", "--repeats", 1, "--json")
    result = run(*words, *quick)
    assert result.exit_code == 1
    assert "mean failed: RuntimeError: no idea" in result.stderr
    assert json.loads(result.stdout)["advice"]["method"] is None


def test_a_comparison_as_json(folder, done, quick):
    words = ("compare", "numbers.csv", "--methods", "mean", "--repeats", 1, "--json")
    told = json.loads(done(*words, "--ignore", "group", "-q", *quick).stdout)
    assert told["n_folds"] == 1
    assert {row["method"] for row in told["columns"]} == {"macfm", "mean"}
    assert "group" in told["left_out"]


def test_a_budget_bounds_the_whole_comparison(folder, done):
    words = ("compare", "numbers.csv", "--methods", "mean", "--repeats", 5, "--json")
    told = json.loads(done(*words, "--budget", "1s", "-q").stdout)
    assert told["n_folds"] < 5


def test_a_report_is_one_page(folder, done, quick):
    pytest.importorskip("matplotlib")
    words = ("report", "patients.csv", "-o", "r.html", "--no-compare", "--id", "id")
    result = done(*words, "--title", "Six patients", *quick)
    assert "r.html written: open it in a browser" in result.stderr
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Six patients" in page
    assert "patients.csv" in page
    assert "weight" in page


def test_a_report_from_a_model_and_one_beside_an_imputation(folder, done, quick):
    pytest.importorskip("matplotlib")
    words = ("impute", "numbers.csv", "-o", "out.csv", "--model", "m.macfm", *quick)
    result = done(*words, "--report", "r.html")
    lines = result.stderr.splitlines()
    assert lines[-1] == "r.html written: open it in a browser"
    assert (folder / "r.html").stat().st_size > 10_000
    result = done("report", "numbers.csv", "--model", "m.macfm", "--no-compare")
    assert "fitted" not in result.stderr
    assert (folder / "report.html").exists()


def test_a_report_that_cannot_be_made_names_the_table(folder, run, monkeypatch, quick):
    def fail(*args, **kwargs):
        raise OverflowError("int too big\nto convert")

    monkeypatch.setattr("macfm.report.report", fail)
    result = run("report", "numbers.csv", "-o", "r.html", "--no-compare", *quick)
    assert result.exit_code == 1
    said = "numbers.csv: the report r.html could not be made (int too big to convert)"
    assert result.stderr.splitlines()[-1] == f"Error: {said}"


@pytest.mark.parametrize("named", [False, True])
def test_rows_of_a_report_are_lines_of_the_file_or_ids(folder, done, quick, named):
    pytest.importorskip("matplotlib")
    words = ("report", "patients.csv", "--no-compare")
    done(*words, "--ignore", "seen", *(("--id", "id") if named else ()), *quick)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f'<th scope="col">{"id" if named else "line"}</th>' in page
    # The hole in the age of 012 stands in line 3, the one in the ward of 016 in line 8.
    assert f'<th scope="row">{"012" if named else "3"}</th>' in page
    assert f'<th scope="row">{"016" if named else "8"}</th>' in page
