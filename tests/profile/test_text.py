"""A profile as text and as markup says the same."""

from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from macfm.profile import profile

EVIL = "<b>&"


class Words(HTMLParser):
    def __init__(self, markup):
        super().__init__()
        self.told, self.open = [], []
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.told += data.split()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(50, 9, 200).round(1)
    frame = pd.DataFrame(
        {
            "age": x,
            EVIL: np.where(x > 50, "old & wise", "young"),
            "one": ["same"] * 200,
            "code": [f"c{i:04}" for i in range(200)],
        }
    )
    frame.loc[x > 55, EVIL] = None
    return frame.mask(rng.random(frame.shape) < 0.05)


@pytest.mark.parametrize("quick", [False, True])
def test_both_forms_say_the_same(frame, quick):
    found = profile(frame, quick=quick)
    page = Words(found._repr_html_())
    assert page.open == []
    assert page.told == str(found).split()
    assert EVIL in unescape(found._repr_html_())
    assert "<b>" not in found._repr_html_()


def test_columns_patterns_causes_and_advice_are_told(frame):
    text = str(profile(frame))
    for part in (
        *("4 columns", "Missing together", "What the holes depend on"),
        *("Worth acting on", "always same", "an identifier?"),
    ):
        assert part in text


def test_a_complete_table_has_nothing_missing():
    text = str(profile(pd.DataFrame({"x": [1.5, 2.5, 4.0]})))
    assert text.startswith("3 rows, 1 column, nothing missing\n\nColumns\n")
    assert "Missing together" not in text


def test_wide_tables_are_cut():
    table = pd.DataFrame(np.ones((3, 80))).cumsum()
    table.iloc[0, :70] = np.nan
    text = str(profile(table, quick=True))
    assert "and 20 columns more" in text
