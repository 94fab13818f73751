"""What a column says of itself: numbers, labels, codes, roles and words."""

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pytest

from macfm._errors import ColumnError, ParameterError
from macfm.table import FAMILIES, KINDS, ColumnSchema, TableSchema, as_table

DAY = dt.datetime(2024, 1, 2)
COLUMNS = {
    "float": ([1.0, None, 2.5], [1.0, np.nan, 2.5], ["1", None, "2.5"], "number"),
    "integer": (
        pd.array([1, None, 3], dtype="Int64"),
        [1.0, np.nan, 3.0],
        ["1", None, "3"],
        "number",
    ),
    "huge": ([2**80, None, 0], [2.0**80, np.nan, 0.0], [str(2**80), None, "0"], None),
    "string": (["b", None, "a"], None, ["b", None, "a"], "category"),
    "boolean": ([True, None, False], [1, np.nan, 0], ["True", None, "False"], None),
    "datetime": (
        [DAY, None, DAY + dt.timedelta(hours=12)],
        [19724.0, np.nan, 19724.5],
        None,
        "time",
    ),
    "timedelta": ([dt.timedelta(hours=6), None], [0.25, np.nan], None, "time"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_labels_and_codes(name):
    cells, numbers, labels, role = COLUMNS[name]
    kept = cells if name == "integer" else pd.Series(cells, dtype=object)
    data = as_table(pd.DataFrame({"a": kept})).column(0)
    assert data.family == {"huge": "integer"}.get(name, name)
    assert data.role == role or role is None
    if numbers is not None:
        assert data.numbers.dtype == np.float64
        np.testing.assert_array_equal(data.numbers, numbers)
    if labels is not None:
        assert data.labels.tolist() == labels
    assert data.codes.tolist() == [0, -1, 1][: len(cells)]


def test_times_have_labels_and_stamps():
    days = pd.DataFrame({"a": [DAY, None], "b": [dt.timedelta(days=2), None]})
    day, length = (as_table(days).column(j) for j in range(2))
    assert day.labels[0].startswith("2024-01-02")
    assert length.labels.tolist() == ["2 days 00:00:00", None]
    assert pd.isna(day.stamps).tolist() == pd.isna(length.stamps).tolist()
    assert day.stamps[0] == np.datetime64("2024-01-02")
    assert length.stamps[0] == np.timedelta64(2, "D")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([f"row {i}" for i in range(60)], True),
        ([f"row {i % 30}" for i in range(60)], False),
        ([f"row {i}" for i in range(50)], False),  # too few to tell
        (range(100, 160), True),
        (range(160, 100, -1), True),
        (np.random.default_rng(0).permutation(60), True),
        (np.random.default_rng(0).permutation(90)[:60], False),
        ([*range(59), 58], False),
        (np.linspace(0, 1, 60), False),
    ],
)
def test_columns_that_name_rows(values, names):
    data = as_table(pd.DataFrame({"a": values})).column(0)
    assert data.names_rows is names


def test_every_family_is_taken_for_a_kind_with_words():
    for family in FAMILIES.values():
        assert family.kind in KINDS
    words = [kind.words for kind in KINDS.values()]
    assert len(set(words)) == len(words)
    for kind in KINDS:
        column = ColumnSchema("a", kind, "x", categories=(0, 1), unit="D")
        assert column.words.startswith(KINDS[kind].words)
        assert column.is_numeric == (column.role in ("number", "time"))
    timed = ColumnSchema("a", "datetime", "x", unit="s")
    assert timed.words == "date and time"


def infer(frame, **wishes):
    return TableSchema.infer(as_table(frame), **wishes)


def flags(name, value):
    return f"--{name}" if value is ... else f"--{name} {','.join(map(str, value))}"


def test_errors_and_warnings_can_be_told_as_flags():
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(60)], "x": 1.5})
    with pytest.warns(UserWarning, match=r"consider ignore=\['name'\]") as caught:
        infer(frame)
    said = caught[0].message.args[0]
    assert "consider --ignore name, or" in said.told(flags)
    with pytest.raises(ParameterError, match="numeric names columns") as error:
        infer(frame, numeric=["y"])
    assert error.value.parameter == "numeric"
    assert error.value.args[0].told(flags).startswith("--numeric names columns")
    with pytest.raises(ColumnError, match="'name' is of type") as error:
        infer(frame, numeric=["name"])
    assert error.value.column == "name"
    assert "--numeric is for columns" in error.value.args[0].told(flags)
    with pytest.raises(ColumnError, match=r"leave it out with ignore=\['z'\]") as error:
        infer(pd.DataFrame({"z": [1j, 2j]}))
    assert isinstance(error.value, TypeError)
    assert error.value.args[0].told(flags).endswith("--ignore z")
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
