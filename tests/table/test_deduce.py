"""A recorded value tells the category that its rule would have left it empty for."""

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableEncoder, TableSchema, as_table, read_wishes

RULE = {"age_dx": "diabetes == 'No'"}


def clinic(no="No", yes="Yes", n=60):
    rng = np.random.default_rng(0)
    says = rng.choice([no, yes], n)
    frame = pd.DataFrame({"diabetes": says, "age_dx": rng.integers(20, 80, n) * 1.0})
    frame.loc[says == no, "age_dx"] = np.nan
    frame["age"] = rng.normal(50, 10, n)
    return frame


def known(frame, fitted=None, leave=RULE, **kinds):
    schema = TableSchema.infer(
        as_table(clinic() if fitted is None else fitted), **kinds
    )
    table = as_table(frame)
    wishes = read_wishes(schema, leave=leave, derive=None, table=table)
    cells = wishes.known(table)
    told = {schema.names[j]: (rows, values) for j, (rows, values, _) in cells.items()}
    return told, schema, table, cells


def test_of_two_categories_the_other_one_is_known():
    frame = clinic()
    hidden = frame.index % 3 == 0
    frame.loc[hidden, "diabetes"] = None
    told, *_ = known(frame)
    rows, values = told["diabetes"]
    np.testing.assert_array_equal(rows, np.flatnonzero(hidden & frame.age_dx.notna()))
    assert set(values) == {"Yes"}


@pytest.mark.parametrize(
    ("no", "yes", "rule"),
    [
        (0.0, 1.0, "diabetes == 0"),
        (1.0, 2.0, "diabetes < 2"),
        (False, True, "diabetes == False"),
    ],
)
def test_codes_and_flags_are_categories_too(no, yes, rule):
    frame = clinic(no, yes).astype({"diabetes": "boolean" if no is False else "float"})
    frame.loc[::3, "diabetes"] = None
    told, *_ = known(frame, fitted=frame, leave={"age_dx": rule})
    _, values = told["diabetes"]
    assert len(values)
    assert set(values) == {yes}


def test_a_column_that_comes_without_any_value_has_its_type_of_fit():
    row = pd.DataFrame({"diabetes": [None], "age_dx": [40.0], "age": [50.0]})
    told, *_ = known(row)
    assert told["diabetes"][1].tolist() == ["Yes"]


def test_of_three_categories_two_are_left_and_nothing_is_known():
    frame = clinic()
    frame.loc[frame.index % 5 == 0, "diabetes"] = "unknown"
    holes = frame.copy()
    holes.loc[::3, "diabetes"] = None
    assert known(holes, fitted=frame)[0] == {}
    both = {"age_dx": "diabetes == 'No' or diabetes == 'unknown'"}
    assert set(known(holes, fitted=frame, leave=both)[0]["diabetes"][1]) == {"Yes"}


def test_several_rules_exclude_together():
    frame = clinic()
    frame.loc[frame.index % 5 == 0, "diabetes"] = "unknown"
    holes = frame.copy()
    holes.loc[::3, "diabetes"] = None
    rules = {"age_dx": "diabetes == 'No'", "age": "diabetes == 'unknown'"}
    rows, values = known(holes, fitted=frame, leave=rules)[0]["diabetes"]
    assert (holes.loc[rows, ["age_dx", "age"]].notna()).all(axis=None)
    assert set(values) == {"Yes"}


def test_what_else_the_rule_looks_at_must_be_observed():
    frame = clinic()
    frame.loc[::3, "diabetes"] = None
    frame.loc[::2, "age"] = np.nan
    rule = {"age_dx": "diabetes == 'No' and age > 0"}
    rows, _ = known(frame, leave=rule)[0]["diabetes"]
    assert len(rows)
    assert frame.loc[rows, "age"].notna().all()


def test_where_every_category_is_excluded_nothing_is_known():
    """Then a cell lies against its rule, which is said in fit."""
    frame = clinic()
    frame.loc[::3, "diabetes"] = None
    rule = {"age_dx": "diabetes == 'No' or diabetes == 'Yes'"}
    assert known(frame, leave=rule)[0] == {}


def test_what_is_known_is_encoded_as_if_observed_and_nothing_else_changes():
    frame = clinic()
    frame.loc[::3, "diabetes"] = None
    _, schema, table, cells = known(frame)
    encoder = TableEncoder.fit(as_table(clinic()), schema)
    before = encoder.encode(table)
    after = encoder.with_cells(before, table, cells)
    full = frame.copy()
    [(rows, values, _)] = cells.values()
    full.loc[rows, "diabetes"] = values
    expected = encoder.encode(as_table(full))
    np.testing.assert_array_equal(after.x, expected.x)
    np.testing.assert_array_equal(after.observed, expected.observed)
    assert not np.array_equal(after.observed, before.observed)
    assert encoder.with_cells(before, table, {}) is before
