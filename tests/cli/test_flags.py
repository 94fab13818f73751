"""Parameters in the words of the command line, and exit codes by type."""

import shlex

import pytest

from macfm._errors import ColumnError, ParameterError, Said, UnfitError
from macfm.cli._failures import failure
from macfm.cli._flags import flag, in_flags, told
from macfm.cli._parse import settings


@pytest.mark.parametrize(
    ("parameter", "value", "typed"),
    [
        ("ignore", ["a", "b"], "--ignore a,b"),
        ("ignore", ["it's", "b"], """--ignore 'it'"'"'s,b'"""),
        ("ignore", ["a,b", "c"], "--ignore a,b --ignore c"),
        ("only", ["a"], "--only a"),
        ("budget", 90.0, "--budget 90s"),
        ("budget", "5m", "--budget 5m"),
        ("random_state", 3, "--seed 3"),
        ("method", "mean", "--method mean"),
        ("method", "draw", "--method draw"),
        ("device", "cpu", "--device cpu"),
        ("bounds", "observed", "--bounds observed"),
        ("bounds", None, "--bounds none"),
        (
            "bounds",
            {"age": (0, 120), "n": (None, 3)},
            "--bounds age=0:120 --bounds n=:3",
        ),
        ("leave", {"a": "b == 'x'"}, """--leave 'a: b == '"'"'x'"'"''"""),
        ("derive", {"a": "b + c"}, "--derive 'a = b + c'"),
        ("repeats", 3, "--repeats 3"),
        ("force", True, "--force"),
        ("schedule", "linear", "--set schedule=linear"),
        ("max_steps", ..., "--set max_steps"),
        ("residual", False, "--set residual=false"),
        ("ema_decay", None, "--set ema_decay=none"),
    ],
)
def test_a_parameter_becomes_what_is_typed(parameter, value, typed):
    assert flag(parameter, value) == typed


@pytest.mark.parametrize("value", [1, 0.5, True, None, "linear", "1", "none", [1, 2]])
def test_what_goes_by_set_is_read_back(value):
    _, typed = shlex.split(flag("max_steps", value))
    assert settings([typed], ["max_steps"]) == {"max_steps": value}


def test_sentences_are_told_in_flags():
    said = Said(
        "{method} does not go with {schedule}", method="mean", schedule="cosine"
    )
    assert in_flags(said) == "--method mean does not go with --set schedule=cosine"
    assert told(ParameterError(said, parameter="schedule")) == in_flags(said)
    assert in_flags("as it\n  is") == "as it is"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ParameterError("share must be", parameter="share"), 2, "--share must be"),
        (ParameterError("max_steps is 0", parameter="max_steps"), 2, "--set max_steps"),
        (ParameterError("['a'] twice", parameter="ignore"), 2, "--ignore: ['a'] twice"),
        (ColumnError("column 'a' is odd", column="a"), 1, "t.csv: column 'a' is odd"),
        (UnfitError("other columns"), 3, "t.csv: other columns"),
        (ValueError("0 rows"), 1, "t.csv: 0 rows"),
        (TypeError("no table"), 1, "t.csv: no table"),
    ],
)
def test_the_exit_code_is_the_error_s(error, code, message):
    failed = failure(error, where="t.csv")
    assert failed.exit_code == code
    assert failed.message.startswith(message)


def test_a_table_at_fault_may_have_another_code():
    assert failure(ColumnError("x"), exit_code=3).exit_code == 3
    assert failure(ParameterError("x", parameter="device"), exit_code=3).exit_code == 2
