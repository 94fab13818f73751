"""Record files: what is written is read, and what is not a record is named."""

import json

import numpy as np
import pytest

from macfm.bench.records import (
    append_record,
    latest,
    read_records,
    record_key,
    record_line,
)


def record(**changes):
    base = {
        "format": 1,
        "dataset": "wine",
        "quirks": [],
        "mechanism": "mcar",
        "rate": 0.3,
        "mask": 0,
        "label": "mean",
        "status": "ok",
    }
    return base | changes


def test_records_come_back_in_their_order(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [record(mask=k) for k in range(3)]
    for entry in records:
        append_record(path, entry)
    assert read_records(path) == records
    assert read_records(tmp_path) == records


def test_numbers_become_plain_and_what_is_not_finite_becomes_null():
    line = record_line(
        {"a": np.float64(1 / 3), "b": float("nan"), "c": np.int64(2), "d": (True, None)}
    )
    assert json.loads(line) == {"a": 0.3333333, "b": None, "c": 2, "d": [True, None]}


def test_the_last_record_of_a_cell_counts(tmp_path):
    path = tmp_path / "a.jsonl"
    for entry in (record(status="failed"), record(mask=1), record(status="ok")):
        append_record(path, entry)
    kept = latest(read_records(path))
    assert [(r["mask"], r["status"]) for r in kept] == [(0, "ok"), (1, "ok")]
    assert record_key(kept[0]) != record_key(kept[1])
    assert record_key(record(rows=50)) != record_key(record())
    assert record_key(record(rows=None)) == record_key(record())


def test_half_a_line_left_by_a_crash_is_passed_over_and_then_replaced(tmp_path):
    path = tmp_path / "a.jsonl"
    append_record(path, record())
    whole = path.read_bytes()
    path.write_bytes(whole + record_line(record(mask=1))[:20].encode())
    assert read_records(path) == [record()]
    append_record(path, record(mask=2))
    assert read_records(path) == [record(), record(mask=2)]
    path.write_bytes(whole[:20])
    append_record(path, record(mask=3))
    assert read_records(path) == [record(mask=3)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops}", "line 2: not a record"),
        ("[1]", "line 2: not a record of the benchmark"),
        ('{"format": 99}', "line 2: format 99; this version reads 1"),
    ],
)
def test_what_is_not_a_record_is_named_with_file_and_line(tmp_path, line, message):
    path = tmp_path / "mine.jsonl"
    path.write_text(record_line(record()) + line + "\n")
    with pytest.raises(ValueError, match=r"mine\.jsonl") as caught:
        read_records(path)
    assert message in str(caught.value)


def test_a_folder_without_records_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no records"):
        read_records(tmp_path)
