"""Raw fields joined again are the text, whatever the text is."""

import csv
import io

from hypothesis import given, settings
from hypothesis import strategies as st

from macfm.files import FileError
from macfm.files._records import sniff_delimiter, split_records, unquote

SHARDS = st.lists(
    st.sampled_from(["a", "1.5", '"', '""', ",", ";", "\n", "\r\n", "\r", " ", "ä"]),
    max_size=30,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(SHARDS, st.sampled_from(",;"))
def test_nothing_is_lost(text, delimiter):
    try:
        records = split_records(text, delimiter, "t")
    except FileError:
        return
    pairs = zip(records.fields, records.ends, strict=True)
    assert "".join(delimiter.join(fields) + end for fields, end in pairs) == text
    breaks = "\n" if "\n" in text else "\r"
    for line, following in zip(records.lines, records.lines[1:], strict=False):
        assert following > line
    if records.lines:
        last = breaks.join(text.split(breaks)[: records.lines[-1] - 1])
        assert text.startswith(last)


CELL = st.text(st.sampled_from('ab", \n;'), max_size=5)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=5))
def test_fields_are_those_of_the_standard_library(rows):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    records = split_records(buffer.getvalue(), ",", "t")
    read = [[unquote(raw) for raw in fields] for fields in records.fields]
    assert read == rows


def test_the_delimiter_is_the_one_that_cuts_evenly():
    assert sniff_delimiter("name, first;age\nx;1,5\ny;2\n") == ";"
    assert sniff_delimiter("a\tb\n1\t2\n") == "\t"
    assert sniff_delimiter("a|b|c\n1|2|3\n") == "|"
    assert sniff_delimiter("a\n1\n") == ","
    assert sniff_delimiter('a,b\n"x;y;z",1\n') == ","
    assert sniff_delimiter('a;b\n1;"open\n') == ";"
