"""Which records count, and in which order they come."""

import pytest

from macfm.bench.report._frame import main_cells, row_titles, tidy
from macfm.judge.methods import METHODS


def test_the_last_record_of_a_cell_wins(record):
    first, last = record(), record(status="failed", error="boom")
    frame = tidy([first, last])
    assert frame["status"].tolist() == ["failed"]
    assert frame["reason"].tolist() == ["failed: boom"]
    assert tidy([last, first])["status"].tolist() == ["ok"]


def test_a_method_that_was_not_installed_does_not_undo_a_result(record):
    frame = tidy([record(), record(status="unavailable", error="needs x")])
    assert frame["status"].tolist() == ["ok"]


def test_another_machine_keeps_its_times_but_scores_are_the_latest(record):
    one, two = record(), record()
    two["machine"] = two["machine"] | {"id": "other"}
    frame = tidy([one, two])
    assert len(frame) == 2
    assert main_cells(frame)["machine_id"].tolist() == ["other"]


def test_rows_come_in_registry_order_and_strangers_last(grid):
    frame = tidy(grid(["mine", "macfm", "knn", "mean"], ["letter"]))
    assert list(row_titles(frame)) == ["mean", "knn", "macfm", "mine"]
    assert row_titles(frame)["knn"] == METHODS["knn"].title


def test_quirks_make_another_dataset(record):
    frame = tidy([record(), record(quirks=["twins"])])
    assert set(frame["dataset"]) == {"letter", "letter + twins"}


def test_a_score_that_is_not_finite_is_missing(record):
    bad = record()
    bad["scores"]["out"]["mae"] = float("inf")
    assert tidy([bad])["out_mae"].isna().all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 9}, r"record 2: format 9; this version reads 2"),
        ({"status": "odd"}, r"record 2: status must be one of ok, .* got 'odd'"),
    ],
)
def test_a_bad_record_is_named(record, changes, message):
    with pytest.raises(ValueError, match=message):
        tidy([record(), record() | changes])


def test_a_record_without_a_key_is_named(record):
    bad = record()
    del bad["mechanism"]
    with pytest.raises(ValueError, match="record 1 has no 'mechanism'"):
        tidy([bad])
