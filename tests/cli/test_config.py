"""Options from a file and from the command line."""

import json

import pytest

CONFIG = """
seed = 7
preset = "fast"
ignore = ["id", "seen"]
na-values = "none"
methods = "mean"

[bounds]
age = [100, 120]
weight = "0:"

[ordinal]
stage = ["I", "II", "III"]

[set]
max_steps = 4
d_model = 8
residual = true
"""


def test_keys_are_long_options_and_the_command_line_wins(folder, done):
    (folder / "macfm.toml").write_text(CONFIG)
    words = ("impute", "patients.csv", "--config", "macfm.toml", "-q", "-o")
    done(*words, "out.csv", "--model", "m.macfm", "--seed", "8")
    told = json.loads(done("info", "m.macfm", "--json").stdout)
    assert told["parameters"]["random_state"] == 8
    assert told["parameters"]["preset"] == "fast"
    assert told["settings"]["max_steps"] == 4
    assert told["settings"]["residual"] is True
    columns = {column["name"]: column for column in told["columns"]}
    assert columns["id"]["kind"] == columns["seen"]["kind"] == "ignored"
    assert columns["age"]["bounds"] == [100, 120]
    assert columns["weight"]["bounds"] == [0, None]
    assert columns["stage"]["categories"] == ["I", "II", "III"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 1", "macfm.toml: unknown key 'sed'; did you mean 'seed'?"),
        ("xyzzy = 1", "macfm.toml: unknown key 'xyzzy'; see --help for the keys"),
        ("config = 'a.toml'", "macfm.toml: unknown key 'config'"),
        ("seed = [1, 2]", "macfm.toml: 'seed' must be one value, not a list"),
        ("[seed]\na = 1", "macfm.toml: 'seed' cannot be a table"),
        ("seed = ", "macfm.toml: is not TOML: Invalid value (at end of document)"),
        ("seed = 'x'", "Invalid value for '--seed': 'x' is not a valid integer"),
    ],
)
def test_a_wrong_file_is_refused(folder, run, text, message):
    (folder / "macfm.toml").write_text(text)
    result = run("impute", "patients.csv", "-o", "x.csv", "--config", "macfm.toml")
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_absent_file_is_named(folder, run):
    result = run("inspect", "patients.csv", "--config", "none.toml")
    assert result.exit_code == 1
    assert result.stderr == "Error: none.toml: no such file\n"
