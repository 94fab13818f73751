"""A folder with small tables, and a way to type commands in it."""

import numpy as np
import pytest
from click.testing import CliRunner

from macfm.cli._main import macfm

SMALL = ("max_steps=4", "n_trees=2", "d_model=8", "n_blocks=1", "n_steps=2")
QUICK = tuple(word for one in SMALL for word in ("--set", one))
# Odd on purpose: leading zeros, trailing zeros, quotes, three marks, a blank line.
PATIENTS = (
    "id,ward,age,weight,sex,seen,smoker,stage\n"
    '007,"A, north",31,71.50,f,2024-03-01,TRUE,I\n'
    "012,B,,68.20,m,2024-03-05,FALSE,II\n"
    "013,B,45,NA,,2024-03-09,,III\n"
    '014,"A, north",52,80.00,f,,TRUE,\n'
    "\n"
    "015,C,28,75.10,m,2024-04-01,FALSE,II\n"
    "016,,39,90.00,f,2024-04-02,TRUE,I\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with ``patients.csv`` and ``numbers.csv`` in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "patients.csv").write_text(PATIENTS)
    rng = np.random.default_rng(0)
    rows = ["age,income,group"]
    for k in range(120):
        age = rng.integers(20, 80)
        gone = age > 60 and rng.uniform() < 0.8
        income = "" if gone else f"{1000 + 30 * age + rng.normal(0, 50):.1f}"
        rows.append(f"{age},{income},{'ab'[k % 2] if rng.uniform() < 0.9 else ''}")
    (tmp_path / "numbers.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.fixture
def run():
    """Type a command."""

    def type_words(*words, stdin=None):
        return CliRunner().invoke(macfm, [str(w) for w in words], input=stdin)

    return type_words


@pytest.fixture
def done(run):
    """Type a command that must succeed."""

    def type_words(*words, stdin=None):
        result = run(*words, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result

    return type_words


@pytest.fixture
def quick():
    """Options for hardly any training."""
    return QUICK
