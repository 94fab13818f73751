"""Amounts written as text are pointed out; names, codes and dates are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from macfm.table import TableSchema, as_table, written_amounts


def told(column, **wishes):
    frame = pd.DataFrame({"a": pd.Series(column, dtype=object)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TableSchema.infer(as_table(frame), **wishes)
    return [str(warning.message) for warning in caught]


def half_with_commas(v):
    return f"{v:.1f}".replace(".", "," if int(v) % 2 else ".")


def in_german(v):
    return f"{v:,.2f}".translate(str.maketrans(",.", ".,"))


AMOUNTS = {
    "money": "${:,.2f}".format,
    "euros": "{:.2f} €".format,
    "whole money": "${:,.0f}".format,
    "unit": "{:.0f} kg".format,
    "unit without a blank": "{:.1f}mg".format,
    "brackets": "({:.1f})".format,
    "two marks": half_with_commas,
    "German": in_german,
    "blanks in thousands": lambda v: f"{v * 99:,.1f}".replace(",", "\u202f"),
}


@pytest.mark.parametrize("write", AMOUNTS.values(), ids=AMOUNTS)
@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("blank", [False, True])
def test_amounts_are_pointed_out_in_tables_of_any_size(write, n, blank):
    entries = [write(19.5 + 37.5 * (k % 60)) for k in range(n)]
    column = [" ", *entries] if blank else entries
    [found] = told(column)
    # A text is shown that is no bare number.
    shown = next(text for text in entries if not text.replace(".", "").isdigit())
    assert f"holds amounts as text, such as {shown!r}" in found
    assert "write bare numbers" in found
    assert told(column, categorical=["a"]) == []


def test_many_blanks_in_front_do_not_hide_amounts():
    [found] = told([" "] * 3_000 + [f"{k}.5 kg" for k in range(3_000)])
    assert "such as '0.5 kg'" in found


def test_bare_numbers_are_to_be_converted():
    [found] = told([f"{k * 1.5:.1f}" for k in range(40)])
    assert "convert it (pd.to_numeric)" in found
    assert "if they are codes" in found


def test_percentages_are_no_identifiers():
    entries = [f"{k / 10}%" for k in range(100)]
    [found] = told(entries)
    assert "holds percentages as text, such as '0.0%'" in found
    assert "identifier" not in found
    assert told(entries, ignore=["a"]) == []


NAMES = {
    "codes": [f"{k:05}" for k in range(40)] * 3,
    "quarters": [f"Q{k % 4}" for k in range(80)],
    "flats": [f"{k % 30}{'ab'[k % 2]}" for k in range(80)],
    "flats b": [f"{k % 30}b" for k in range(80)],
    "numbers with a letter": [f"{10_000 + k}A" for k in range(80)],
    "few": [str(k % 7) for k in range(80)],
    "years": [str(1990 + k % 30) for k in range(80)],
    "zip codes": [str(90_000 + 7 * (k % 50)) for k in range(80)],
    "identifiers, one twice": [str(10_000 + 37 * k) for k in range(99)] + ["10000"],
    "dates": [f"{k % 20 + 1:02}.05.2024" for k in range(80)],
    "days": [f"202405{k % 20 + 10}" for k in range(80)],
    "telephones": [f"555 {100 + k % 70} 456" for k in range(80)],
    "telephones with points": [f"212.{200 + k % 70}.100" for k in range(80)],
    "addresses": [f"192.168.100.{100 + k}" for k in range(80)],
    "times": [f"{k % 24}:30" for k in range(80)],
    "ordinals": [("1st", "2nd", "3rd", "4th")[k % 4] for k in range(80)],
    "two currencies": [f"{'$€'[k % 2]}{k}.50" for k in range(80)],
    "few releases": [("3.9", "3.10", "3.11")[k % 3] for k in range(80)],
}


@pytest.mark.parametrize("entries", NAMES.values(), ids=NAMES)
def test_names_codes_and_dates_are_no_amounts(entries):
    assert written_amounts(entries) is None
    assert not any("as text, such as" in said for said in told(entries))


def test_names_of_rows_look_like_identifiers_as_before():
    [found] = told(NAMES["identifiers, one twice"])
    assert "looks like free text or an identifier" in found


@pytest.mark.parametrize(
    "entries", [[], [""], ["", " "], ["1.5"], [" "] * 9 + ["1"], ["x" * 5_000] * 3]
)
def test_hardly_a_text_is_no_amount(entries):
    assert written_amounts(np.array(entries, dtype=object)) is None


@pytest.mark.parametrize("text", ["-" + " " * 9_999 + "x", "4" * 9_999 + "!"])
def test_long_texts_are_not_looked_at(text):
    """Which takes no time: an expression that goes back and forth would take hours."""
    assert written_amounts([text] * 2_000) is None
