"""Errors carry what is at fault, and their sentences speak to any caller."""

import pickle

import pytest

from macfm._errors import ColumnError, ParameterError, Said, UnfitError


def flag(name, value):
    return f"--{name}" if value is ... else f"--{name} {value}"


def test_a_sentence_is_told_in_python_and_in_flags():
    said = Said("{a} or {b}, not {c}", a=1, b=...)
    assert said == "a=1 or b, not {c}"
    assert said.told(flag) == "--a 1 or --b, not {c}"
    assert pickle.loads(pickle.dumps(said)).told(flag) == said.told(flag)


def test_braces_in_a_sentence_are_kept():
    assert Said("column '{odd}' is empty") == "column '{odd}' is empty"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ParameterError("x", parameter="budget"), 2),
        (ColumnError("x", column=("a", 1)), 1),
        (UnfitError("x"), 3),
    ],
)
def test_errors_are_values_with_a_code_and_can_travel(error, code):
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, ValueError)
    assert error.exit_code == code
    assert vars(again) == vars(error)
    assert str(again) == "x"
