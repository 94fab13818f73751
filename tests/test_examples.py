"""The example table is there, and every example does what it says."""

import ast
import functools
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PLOTS = sorted(EXAMPLES.glob("plot_*.py"))


@pytest.fixture
def example(monkeypatch):
    spec = importlib.util.spec_from_file_location(
        "impute_table", EXAMPLES / "impute_table.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "impute_table", module)
    return module


def test_example_table_has_the_holes_it_is_known_for(example):
    passengers = example.load_passengers()
    assert passengers.shape == (1309, 10)
    missing = passengers.isna().sum()
    assert missing[missing > 0].to_dict() == {"age": 263, "fare": 1, "port": 2}


def test_example_completes_the_table(example, monkeypatch, tmp_path, capsys):
    quick = {"max_steps": 5, "n_networks": 1, "d_model": 16, "n_steps": 2}
    imputer = functools.partial(example.MACFMImputer, device="cpu", **quick)
    monkeypatch.setattr(example, "MACFMImputer", imputer)
    monkeypatch.chdir(tmp_path)
    example.main()
    completed = pd.read_csv(tmp_path / "output" / "completed.csv")
    assert completed.notna().all().all()
    before = example.load_passengers()
    known = before["age"].notna()
    assert (completed["age"][known] == before["age"][known]).all()
    assert (completed["age"] >= 0).all()
    summary = capsys.readouterr().out
    assert "266 missing cells filled" in summary
    assert (tmp_path / "output" / "summary.txt").read_text() in summary


def test_there_are_eight_stories_that_plot():
    assert len(PLOTS) >= 8
    for path in PLOTS:
        story = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        title, blank, text = story.split("\n", 2)
        assert title.endswith((".", "?")), path.name
        assert not blank, path.name
        assert len(text) > 100, path.name


@pytest.mark.example
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", PLOTS, ids=lambda path: path.stem)
def test_a_story_ends_in_a_picture(path, tmp_path):
    picture = tmp_path / "pictures" / "picture.png"
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", path, picture],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
