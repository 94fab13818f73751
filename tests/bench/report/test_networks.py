"""Seconds of networks on one device, and the speed-ups that follow from them."""

import numpy as np
import pytest

from macfm.bench.report._frame import tidy
from macfm.bench.report._networks import BUSY
from macfm.bench.report._published import claims_note, published
from macfm.bench.report._timing import timing_section

GPU = "NVIDIA H200"


def timed(records, seconds, *, jobs=1, device=GPU):
    """Give records a time to impute, by method, on a device."""
    for record in records:
        if record["status"] == "ok":
            record["seconds"]["impute_in"] = seconds[record["method"]]
        record["machine"] = record["machine"] | {"device": device, "jobs": jobs}
    return records


def tables_of(records, *, beside=False):
    tables = timing_section(tidy(records), beside=beside).tables
    return {t.slug.removeprefix("machine-1-"): t for t in tables}


def entries(table):
    return {
        (row.key, head.title): cell
        for row in table.rows
        for head, cell in zip(table.columns, row.cells, strict=True)
    }


def test_only_networks_are_in_it_and_each_device_has_its_own(grid):
    names = ["mean", "knn", "gain", "macfm"]
    records = timed(grid(names, ["letter"]), dict.fromkeys(names, 2.0))
    slow = timed(grid(["gain"], ["bean"]), {"gain": 9.0}, device="cpu")
    tables = tables_of(records + slow)
    first, second = tables["device-1-seconds"], tables["device-2-seconds"]
    assert [row.key for row in first.rows] == ["gain", "macfm"]
    assert [head.title for head in first.columns] == ["letter"]
    assert entries(second)["gain", "bean"].value == 9
    assert "device-3-seconds" not in tables


def test_without_networks_there_is_no_such_table(grid):
    assert not any("device" in slug for slug in tables_of(grid(["mean", "knn"])))


def test_speed_ups_follow_from_the_table(grid):
    names = {"gain": 3.0, "diffputer": 40.0, "macfm": 2.0, "macfm-paper": 8.0}
    tables = tables_of(timed(grid(list(names), ["letter", "bean"]), names), beside=True)
    seconds = entries(tables["device-1-seconds"])
    for target in ("macfm", "macfm-paper"):
        speed = entries(tables[f"device-1-speed-up-{target}"])
        assert (target, "letter") not in speed
        for method in names.keys() - {target}:
            for dataset in ("letter", "bean"):
                here, ours = seconds[method, dataset], seconds[target, dataset]
                ratio = here.value / ours.value
                assert speed[method, dataset].value == pytest.approx(ratio)
    mean = entries(tables["device-1-speed-up-macfm-paper"])["diffputer", "mean"]
    assert mean.value == pytest.approx(5)
    assert mean.published == pytest.approx(np.sqrt(1144.8 / 11.28 * 1650 / 7.09))


def test_published_seconds_stand_beside_and_give_their_own_speed_ups(grid):
    names = {"macfm": 2.0, "macfm-paper": 8.0}
    tables = tables_of(timed(grid(list(names), ["letter"]), names), beside=True)
    seconds = tables["device-1-seconds"]
    assert entries(seconds)["macfm-paper", "letter"].published == 11.28
    kinds = {row.title: row.kind for row in seconds.rows}
    assert kinds["DiffPuter"] == "published"
    assert not any(c.published_mark for row in seconds.rows for c in row.cells)
    speed = entries(tables["device-1-speed-up-macfm-paper"])
    assert speed["diffputer", "letter"].published == pytest.approx(1144.8 / 11.28)
    assert speed["diffputer", "letter"].value is None
    # What was printed says nothing of a default that was not published.
    other = entries(tables["device-1-speed-up-macfm"])
    assert all(cell.published is None for cell in other.values())
    bare = tables_of(timed(grid(list(names), ["letter"]), names))
    assert "DiffPuter" not in [row.title for row in bare["device-1-seconds"].rows]
    assert not any("paper" in note for note in bare["device-1-seconds"].notes)


def test_cells_beside_other_jobs_are_marked_and_so_are_their_speed_ups(grid):
    seconds = {"gain": 3.0, "macfm": 2.0}
    records = timed(grid(["gain"], ["letter", "bean"]), seconds)
    records += timed(grid(["macfm"], ["letter"]), seconds, jobs=8)
    records += timed(grid(["macfm"], ["bean"]), seconds)
    tables = tables_of(records)
    marks = {k: c.marks for k, c in entries(tables["device-1-seconds"]).items()}
    assert {key for key, mark in marks.items() if mark} == {("macfm", "letter")}
    marks = {k: c.marks for k, c in entries(tables["device-1-speed-up-macfm"]).items()}
    assert marks == {
        ("gain", "letter"): BUSY,
        ("gain", "bean"): "",
        ("gain", "mean"): BUSY,
    }
    for slug in ("device-1-seconds", "seconds-impute-in", "seconds-fit"):
        assert any(note.startswith(BUSY) for note in tables[slug].notes)


@pytest.mark.parametrize("jobs", [1, None])
def test_nothing_is_marked_where_no_record_tells_of_other_jobs(grid, jobs):
    seconds = {"gain": 3.0, "macfm": 2.0}
    tables = tables_of(timed(grid(list(seconds), ["letter"]), seconds, jobs=jobs))
    for table in tables.values():
        assert not any(BUSY in c.marks for row in table.rows for c in row.cells)
        assert not any(note.startswith(BUSY) for note in table.notes)


def test_cells_that_ran_alone_count_before_those_that_did_not(grid):
    alone = timed(grid(["gain"], ["letter"], n_masks=1), {"gain": 2.0})
    busy = timed(grid(["gain"], ["letter"], n_masks=3)[1:], {"gain": 9.0}, jobs=4)
    cell = entries(tables_of(alone + busy)["device-1-seconds"])["gain", "letter"]
    assert (cell.value, cell.n, cell.marks) == (2, 1, "")


def test_a_cell_that_failed_says_why_though_its_record_knows_no_device(grid):
    seconds = {"gain": 3.0, "macfm": 2.0}
    records = timed(grid(list(seconds), ["letter"]), seconds)
    lost = grid(["gain"], ["bean"], status="timeout", error="stopped after 9 s")
    lost = timed(lost, {}, device="cpu")
    records += lost + timed(grid(["macfm"], ["bean"]), seconds)
    tables = tables_of(records)
    cell = entries(tables["device-1-seconds"])["gain", "bean"]
    assert (cell.value, cell.note) == (None, "timeout: stopped after 9 s")
    speed = entries(tables["device-1-speed-up-macfm"])
    assert speed["gain", "bean"].value is None
    assert (speed["gain", "mean"].n, speed["gain", "mean"].value) == (1, 1.5)


def test_a_mean_over_fewer_datasets_is_counted(grid):
    seconds = {"gain": 3.0, "miwae": 4.0, "macfm": 2.0}
    records = timed(grid(["gain", "macfm"], ["letter", "bean"]), seconds)
    records += timed(grid(["miwae"], ["letter"]), seconds)
    speed = entries(tables_of(records)["device-1-speed-up-macfm"])
    assert (speed["miwae", "mean"].short, speed["miwae", "mean"].n) == (True, 1)
    assert not speed["gain", "mean"].short


def test_the_speed_ups_of_the_paper_are_recomputed_from_its_table():
    seconds = published("seconds", "", "in")
    ours = seconds["macfm-paper"]
    ratios = [seconds["diffputer"][name] / ours[name] for name in ours]
    assert f"gives {np.mean(ratios):.1f}, " in claims_note()
    assert "125, 13.5 and 10.7 times" in claims_note()
    assert f"{np.mean(list(ours.values())):.1f} s." in claims_note()
