"""Record files: what is written is read, and what is not a record is named."""

import json
from pathlib import Path

import numpy as np
import pytest

from macfm.bench.records import (
    FORMAT,
    append_record,
    latest,
    read_records,
    record_key,
    record_line,
)


def record(**changes):
    base = {
        "format": 2,
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
        ('{"format": 99}', "line 2: format 99; this version reads 2"),
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("macfm", "macfm-median"),
        ("macfm-mean", "macfm"),
        ("macfm-paper", "macfm-paper"),
        ("mean", "mean"),
    ],
)
@pytest.mark.parametrize("change", ["", " solver=euler"])
def test_methods_of_format_1_have_their_present_names(tmp_path, old, new, change):
    path = tmp_path / "a.jsonl"
    names = {"method": old, "label": old + change, "fit_shared_with": old}
    append_record(path, record(format=1, **names))
    append_record(path, record(method=old, label=old))
    first, second = read_records(path)
    assert first == record(method=new, label=new + change, fit_shared_with=new)
    assert second == record(method=old, label=old)


COMMITTED = sorted((Path(__file__).parents[2] / "benchmarks").rglob("*.jsonl"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_records_keep_their_meaning(path):
    raw = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = read_records(path)
    assert len(found) == len(raw)
    changed = {"method", "label", "fit_shared_with", "format"}
    for before, after in zip(raw, found, strict=True):
        assert after["format"] == FORMAT
        assert all(after[key] == before[key] for key in before if key not in changed)
        read_out = (after.get("settings") or {}).get("method")
        # the median was once called "sample"
        words = {"macfm": {"mean"}, "macfm-median": {"median", "sample"}}
        if read_out and after["method"] in words and after["ablation"] is None:
            assert read_out in words[after["method"]]
