"""`macfm demo`, `macfm completion` and the help of every command."""

import csv
import io

import pytest

from macfm.cli import _demo
from macfm.cli._main import COMMANDS, macfm


def test_the_passenger_list_is_a_clean_csv():
    rows = list(csv.DictReader(io.StringIO(_demo.passengers())))
    assert len(rows) == 1309
    assert list(rows[0]) == [c for c in _demo.COLUMNS if c not in _demo.LEFT_OUT]
    assert sum(row["age"] == "" for row in rows) == 263
    assert rows[0]["name"] == "Allen, Miss. Elisabeth Walton"
    assert not any("?" in (row["age"], row["fare"], row["port"]) for row in rows)


def test_it_inspects_fills_and_tells_the_commands(folder, done, monkeypatch):
    short = "\n".join(_demo.passengers().splitlines()[:80]) + "\n"
    monkeypatch.setattr(_demo, "passengers", lambda: short)
    monkeypatch.setattr(_demo, "BUDGET", "1s")
    monkeypatch.setattr(_demo, "_has_report", lambda: False)
    out = done("demo").output
    for word in ("inspect", "impute"):
        assert f"\n$ macfm {word} macfm-demo/passengers.csv" in out
    names = sorted(path.name for path in (folder / "macfm-demo").iterdir())
    assert names == ["completed.csv", "model.macfm", "passengers.csv"]
    assert 'A report needs pip install "macfm[report]".' in out
    done("demo", "--force")


def test_it_ends_with_a_report(folder, done, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    short = "\n".join(_demo.passengers().splitlines()[:80]) + "\n"
    monkeypatch.setattr(_demo, "passengers", lambda: short)
    monkeypatch.setattr(_demo, "BUDGET", "1s")
    out = done("demo", "-o", "here").output
    assert "\n$ macfm report here/passengers.csv" in out
    assert (folder / "here" / "report.html").exists()


@pytest.mark.parametrize(
    ("shell", "word"),
    [("bash", "complete -o nosort"), ("zsh", "compdef"), ("fish", "--command macfm")],
)
def test_completion_scripts(done, shell, word):
    script = done("completion", shell).stdout
    assert "_MACFM_COMPLETE" in script
    assert word in script


@pytest.mark.parametrize("name", [n for n in COMMANDS if n != "bench"])
def test_every_command_has_help_with_examples(done, name):
    out = done(name, "--help").stdout
    assert f"Usage: macfm {name}" in out.replace("Usage: root", "Usage: macfm")
    assert "Examples:" in out
    assert f"  macfm {name}" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_list_of_commands_is_complete(done):
    out = done("--help").stdout
    for name in macfm.list_commands(None):
        assert f"  {name} " in out
