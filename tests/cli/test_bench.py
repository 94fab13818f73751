"""`macfm bench`: what a person types and what they get to read."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from macfm.cli._main import macfm

SPEC = """
datasets = ["iris"]
mechanisms = ["mcar"]
rates = [0.3]
masks = 1
methods = ["mean", "median"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SPEC)
    return tmp_path


def run(*words: str):
    return CliRunner().invoke(macfm, ["bench", *words])


def test_a_spec_is_run_ranked_and_recorded_beside_it(folder):
    result = run("run", "small.toml", "--threads", "1")
    assert result.exit_code == 0, result.output
    lines = (folder / "small.jsonl").read_text().splitlines()
    assert [json.loads(line)["label"] for line in lines] == ["mean", "median"]
    assert "method" in result.stdout
    assert "RMSE" in result.stdout
    assert "records: small.jsonl" in result.stdout
    again = run("run", "small.toml")
    assert again.exit_code == 0
    assert "2 cells have a record in small.jsonl already" in again.stderr


def test_options_narrow_the_spec_and_quiet_is_quiet(folder):
    options = ["--methods", "mean", "--rates", "0.5", "--mechanisms", "mar"]
    result = run("run", "small.toml", *options, "-q", "-o", "x.jsonl")
    assert result.exit_code == 0, result.output
    assert result.output == ""
    (record,) = map(json.loads, (folder / "x.jsonl").read_text().splitlines())
    assert (record["method"], record["rate"]) == ("mean", 0.5)
    assert record["mechanism"] == "mar"


ABLATION = """
[[ablations]]
name = "{name}"
method = "median"
variants.same = {{}}
"""


def test_ablations_are_run_alone_if_asked(folder):
    parts = [ABLATION.format(name=name) for name in ("one", "other")]
    (folder / "small.toml").write_text(SPEC + "".join(parts))
    result = run("run", "small.toml", "--ablations", "other", "-q", "-o", "x.jsonl")
    assert result.exit_code == 0, result.output
    (record,) = map(json.loads, (folder / "x.jsonl").read_text().splitlines())
    assert record["ablation"] == {"name": "other", "value": "same"}
    again = run("run", "small.toml", "--ablations", "other", "-o", "x.jsonl")
    assert "median other=same" in again.stdout


def test_a_run_needs_no_spec_if_the_options_say_it_all(folder):
    options = ["--datasets", "iris", "--methods", "mean", "--masks", "1"]
    result = run("run", *options, "--mechanisms", "mcar")
    assert result.exit_code == 0, result.output
    (line,) = (folder / "benchmark.jsonl").read_text().splitlines()
    assert json.loads(line)["dataset"] == "iris"


def test_a_table_of_ones_own_is_benchmarked_without_its_missing_cells(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    frame.loc[:19, "a"] = np.nan
    frame["id"] = [f"p{k:03}" for k in range(60)]
    frame.to_csv("mine.csv", index=False)
    result = run("run", "--table", "mine.csv", "--methods", "mean", "--masks", "1")
    assert result.exit_code == 0, result.output
    assert "note: id: left out, 60 texts in 60 cells name the rows" in result.stderr
    (record,) = map(
        json.loads, (folder / "mine-benchmark.jsonl").read_text().splitlines()
    )
    assert record["dataset"] == "mine"
    rates = record["realised_rate"]["train"]["columns"]
    assert set(rates) == {"a", "b", "c"}


def test_rows_are_limited_and_the_report_says_so(folder):
    options = ["--threads", "1", "--rows", "30"]
    result = run("run", "small.toml", *options)
    assert result.exit_code == 0, result.output
    lines = (folder / "small.jsonl").read_text().splitlines()
    assert {json.loads(line)["n_train"] for line in lines} == {30}
    assert "already" not in run("run", "small.toml", "--threads", "1").stderr
    result = run("report", "small.jsonl", "-o", "report", "--no-figures")
    assert result.exit_code == 0, result.output
    text = (folder / "report" / "report.md").read_text()
    assert "iris (30 rows)" in text


def test_a_run_without_any_result_fails(folder):
    options = ["--methods", "mean,median", "--budget", "0.001s"]
    result = run("run", "small.toml", "--threads", "1", *options)
    assert result.exit_code == 1
    assert "2 cells have no result" in result.stdout
    assert result.stderr.endswith(
        "Error: small.jsonl: no cell has a result; the records say why\n"
    )
    assert run("run", "small.toml", "-q").exit_code == 1
    assert run("run", "small.toml", "--threads", "1", "--retry").exit_code == 0


def test_results_of_other_cells_do_not_make_a_success(folder):
    assert run("run", "small.toml", "--threads", "1").exit_code == 0
    other = ("run", "small.toml", "--threads", "1", "--rates", "0.5")
    assert run(*other, "--budget", "0.001s", "-q").exit_code == 1
    partly = ("run", "small.toml", "--threads", "1", "--rates", "0.3,0.5")
    result = run(*partly)
    assert result.exit_code == 0
    assert "4 cells have a record" in result.stderr


def test_a_failed_benchmark_ends_its_process_with_1(folder):
    words = ["run", "small.toml", "--threads", "1", "--budget", "0.001s"]
    command = [sys.executable, "-m", "macfm", "bench", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no cell has a result" in done.stderr


def test_the_old_name_of_the_budget_still_works(folder):
    words = ("run", "small.toml", "--threads", "1", "--time-limit", "600")
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "note: --time-limit is now --budget\n" in result.stderr
    assert "--time-limit" not in run("run", "--help").output


def test_lists_are_separated_by_commas_or_given_repeatedly(folder):
    one = run("run", "small.toml", "-q", "--methods", "mean, median", "-o", "1.jsonl")
    two = ("--methods", "mean", "--methods", "median")
    assert one.exit_code == run("run", "small.toml", "-q", *two).exit_code == 0
    assert len((folder / "1.jsonl").read_text().splitlines()) == 2
    assert len((folder / "small.jsonl").read_text().splitlines()) == 2


def test_a_report_is_written(folder):
    pytest.importorskip("matplotlib")
    run("run", "small.toml", "--threads", "1")
    result = run("report", "small.jsonl", "-o", "report", "--no-figures")
    assert result.exit_code == 0, result.output
    assert "open report/index.html" in result.output
    text = (folder / "report" / "report.md").read_text()
    assert "Mean" in text
    assert "`macfm bench run --datasets iris" in text
    words = ("report", "small.jsonl", "-o", "report", "--no-figures")
    again = run(*words)
    assert again.exit_code == 1
    assert "report: is a folder that holds files; use --force to replace" in (
        again.output
    )
    assert run(*words, "--command", "make x", "--force", "-q").output == ""
    assert "again: `make x`" in (folder / "report" / "report.md").read_text()


def test_the_methods_are_listed():
    result = run("methods")
    assert result.exit_code == 0
    for name in ("mean", "missforest", "hyperimpute", "macfm-paper"):
        assert name in result.output


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run"], 2, "give a SPEC, --table FILE, or --datasets and --methods"),
        (["run", "small.toml", "--table", "tiny.csv"], 2, "not both"),
        (["run", "absent.toml"], 1, "absent.toml: no such file"),
        (["run", "small.toml", "--rates", "30"], 2, "rates must lie between 0 and 1"),
        (
            ["run", "small.toml", "--rates", "many"],
            2,
            "'many' is not a list of numbers",
        ),
        (["run", "small.toml", "--methods", "magic"], 2, "there is no method 'magic'"),
        (["run", "small.toml", "--datasets", "iriss"], 1, "did you mean 'iris'"),
        (["run", "small.toml", "--masks", "0"], 2, "0 is not in the range"),
        (["run", "small.toml", "--target", "x"], 2, "go with --table"),
        (["run", "small.toml", "--ablations", ""], 2, "--ablations names none"),
        (["run", "small.toml", "--ablations", "x"], 2, "no ablation 'x'; there are"),
        (
            ["run", "small.toml", "--ablations", "x", "--no-ablations"],
            2,
            "either --ablations or --no-ablations",
        ),
        (["run", "broken.toml"], 1, "no key 'datsets'"),
        (["run", "--table", "tiny.csv"], 1, "at least 20 rows"),
        (["run", "--table", "tiny.csv", "--target", "z"], 1, "has no column 'z'"),
        (["report", "absent.jsonl"], 1, "absent.jsonl: no such file"),
        (["report", "tiny.csv"], 1, "tiny.csv, line 1: not a record"),
    ],
)
def test_mistakes_get_one_sentence(folder, words, code, message):
    (folder / "broken.toml").write_text('datsets = ["iris"]')
    (folder / "tiny.csv").write_text("a,b\n1,2\n3,4\n")
    result = run(*words)
    assert result.exit_code == code, result.output
    assert message in result.output
    assert "Traceback" not in result.output


def test_every_command_has_help_with_an_example():
    for words in (["run"], ["report"]):
        result = run(*words, "--help")
        assert result.exit_code == 0
        assert f"macfm bench {words[0]} " in result.output
        assert "Example" in result.output


def test_help_does_not_import_torch():
    code = (
        "import sys; sys.argv = ['macfm', '--help']\n"
        "try:\n    from macfm.cli import main; main()\n"
        "except SystemExit:\n    pass\n"
        "assert not {'torch', 'pandas', 'numpy'} & set(sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "bench" in result.stdout
