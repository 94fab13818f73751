"""Runs: resumable, every outcome a record, no leak between truth and method."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from macfm.bench import runner
from macfm.bench.cell import Job, blank_record, import_plugins, make_holes, run_job
from macfm.bench.datasets import LoadedTable, load_table
from macfm.bench.records import FORMAT, append_record, read_records
from macfm.bench.runner import interpreter_for, make_plan
from macfm.bench.spec import Cell, Spec
from macfm.judge import methods

PLUGIN = '''
import os, sys, time
import numpy as np
from macfm.judge.methods import METHODS, Method, register_method


class Toy(Method):
    """Fills with the first observed value of each column."""

    name, title, about = "toy", "Toy", "A test."
    defaults = {"mood": "good"}

    def fit(self, train):
        print("noise on standard output")
        if self.settings["mood"] == "bad":
            raise ValueError("column 'x' is not to my taste")
        if self.settings["mood"] == "dead":
            os._exit(9)
        if self.settings["mood"] == "slow":
            time.sleep(60)
        self.first = {c: train[c].dropna().iloc[0] for c in train}
        return self

    def impute(self, table):
        filled = table.copy()
        for c in table:
            filled[c] = table[c].fillna(self.first[c])
        if self.settings["mood"] == "careless":
            filled.iloc[:, 0] = 0.0
        if self.settings["mood"] == "lazy":
            return table
        if self.settings["mood"] == "boundless":
            filled.loc[table["x"].isna(), "x"] = np.inf
        return filled


class Absent(Toy):
    name, title, about = "absent", "Absent", "A test."
    requires = ("no-such-distribution>=1",)
    environment = "nowhere"


class Averages(Toy):
    """Claims to learn and fills with means."""

    name, title, about = "averages", "Averages", "A test."

    def impute(self, table):
        filled = table.copy()
        for c in table:
            if table[c].dtype == float:
                filled[c] = table[c].fillna(self.means[c])
            else:
                filled[c] = table[c].fillna(self.first[c])
        return filled

    def fit(self, train):
        self.means = train.mean(numeric_only=True)
        return super().fit(train)


class Reader(Toy):
    """Reads a model it shares with the others of its kind."""

    name, title, about = "reader", "Reader", "A test."
    defaults = {"mood": "good", "pause": 0.0, "pause_in_fit": 0.0, "log": ""}
    imports = ("wave",)

    def fit(self, train):
        assert "wave" in sys.modules
        if self.settings["log"]:
            with open(self.settings["log"], "a") as file:
                print("fit", file=file)
        time.sleep(self.settings["pause_in_fit"])
        return super().fit(train)

    def fit_key(self):
        return "one for all"

    def adopt(self, fitted):
        self.first = fitted.first

    def impute(self, table):
        time.sleep(self.settings["pause"])
        if self.settings["mood"] == "dead":
            os._exit(9)
        return Toy.impute(self, table)


for method in (Toy, Absent, Averages, Reader):
    if method.name not in METHODS:
        register_method(method)
'''


@pytest.fixture
def table(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3))
    frame = pd.DataFrame(x, columns=["x", "y", "z"])
    frame["kind"] = np.where(frame["x"] > 0, "up", "down")
    frame.loc[::10, "y"] = np.nan
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path / "mine.csv"


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "toy.py"
    path.write_text(PLUGIN)
    before = dict(methods.METHODS)
    yield str(path)
    methods.METHODS.clear()
    methods.METHODS.update(before)
    for name in [n for n in sys.modules if n.startswith("macfm_plugin_")]:
        del sys.modules[name]


@pytest.fixture
def plan(table, plugin, tmp_path):
    def make(spec: Spec, **options):
        return make_plan(
            spec,
            tmp_path / "out" / "records.jsonl",
            table=str(table),
            plugins=[plugin],
            n_threads=1,
            peers=tmp_path,
            **options,
        )

    return make


SPEC = Spec(datasets=("mine",), methods=("mean", "toy"), mechanisms=("mcar",), masks=1)


def test_every_cell_has_a_record_with_all_that_it_must_tell(plan):
    records = list(plan(SPEC).run())
    assert [r["label"] for r in records] == ["mean", "toy"]
    for record in records:
        assert record["status"] == "ok", record["error"]
        assert record["n_train"] == 84
        assert record["n_test"] == 36
        assert (record["n_numeric"], record["n_categorical"]) == (3, 1)
        assert record["seeds"]["split"] == 1234
        assert len(record["seeds"]["mask"]) == 2
        assert 0.2 < record["realised_rate"]["train"]["overall"] < 0.4
        assert set(record["realised_rate"]["test"]["columns"]) == {
            "x",
            "y",
            "z",
            "kind",
        }
        for part in ("in", "out"):
            assert record["scores"][part]["mae"] > 0
            assert 0 < record["scores"][part]["accuracy"] <= 1
        assert record["seconds"]["fit"] >= 0
        assert record["seconds"]["impute_out"] > 0
        assert record["peak_memory_mb"] > 10
        assert record["machine"]["n_threads"] == 1
        assert record["versions"]["numpy"] == np.__version__
    assert records[1]["settings"] == {"mood": "good"}


def test_finished_cells_are_not_run_again_and_new_ones_are(plan):
    list(plan(SPEC).run())
    again = plan(SPEC)
    assert (again.n_cells, again.n_done) == (0, 2)
    assert list(again.run()) == []
    wider = plan(replace(SPEC, masks=2))
    assert (wider.n_cells, wider.n_done) == (2, 2)
    assert {record["mask"] for record in wider.run()} == {1}


def test_other_settings_another_seed_or_another_file_are_other_cells(plan, table):
    list(plan(SPEC).run())
    assert plan(SPEC, seed=1).n_cells == 2
    assert plan(replace(SPEC, settings={"toy": {"mood": "better"}})).n_cells == 1
    assert plan(SPEC, target="z").n_cells == 2
    table.write_text(table.read_text().replace("up", "upwards"))
    assert plan(SPEC).n_cells == 2


@pytest.mark.parametrize(
    ("mood", "status", "error"),
    [
        ("bad", "failed", "ValueError: column 'x' is not to my taste"),
        ("dead", "failed", "the process ended with 9"),
        ("careless", "failed", "observed cells of column 'x' were changed"),
        ("lazy", "failed", "column 'x' still has missing cells"),
        ("boundless", "failed", "column 'x' was filled with infinite values"),
        ("slow", "timeout", "stopped after 3 s"),
    ],
)
def test_what_goes_wrong_is_a_record_with_its_reason(plan, mood, status, error):
    spec = replace(SPEC, methods=("toy",), settings={"toy": {"mood": mood}})
    limit = 3 if mood == "slow" else 60
    (record,) = plan(replace(spec, time_limit=limit)).run()
    assert record["status"] == status
    assert error in record["error"]
    assert record["scores"] is None
    assert plan(spec).n_cells == 0
    assert plan(spec, retry=True).n_cells == 1


def test_a_cell_that_does_not_end_is_known_as_well_as_one_that_does(plan):
    done, lost = plan(replace(SPEC, settings={"toy": {"mood": "dead"}})).run()
    assert lost["error"].startswith("the process ended with 9")
    for name in ("seeds", "realised_rate", "n_train", "machine", "columns_left_out"):
        assert lost[name] == done[name]


def shared_fit(**variants):
    """A spec of one method whose fit serves several variants too."""
    ablation = {
        "name": "pace",
        "method": "reader",
        "datasets": ["mine"],
        "mechanisms": ["mcar"],
        "masks": 1,
        "variants": variants,
    }
    return Spec.from_dict(
        {
            "datasets": ["mine"],
            "methods": ["reader"],
            "mechanisms": ["mcar"],
            "masks": 1,
            "time_limit": 9,
            "ablations": [ablation],
        }
    )


@pytest.mark.parametrize("trouble", [{"pause": 60.0}, {"mood": "dead"}])
def test_a_read_out_that_does_not_end_costs_no_other_its_result(plan, trouble):
    work = plan(shared_fit(bad=trouble, good={"pause": 0.01}))
    assert [len(job.cells) for job in work.jobs] == [3]
    plain, bad, good = work.run()
    assert plain["status"] == good["status"] == "ok", good["error"]
    assert bad["status"] == ("timeout" if "pause" in trouble else "failed")
    assert bad["fit_shared_with"] == "reader"
    assert bad["scores"] is None
    assert good["scores"] == plain["scores"]


def test_a_record_is_written_while_its_job_goes_on(plan):
    planned = plan(shared_fit(long={"pause": 30.0}))
    work = planned.run()
    began = time.monotonic()
    first = next(work)
    assert read_records(planned.output) == [first]
    work.close()
    assert time.monotonic() - began < 25
    assert plan(shared_fit(long={"pause": 30.0})).n_done == 1


def test_a_fit_that_does_not_end_is_tried_once_for_all_who_share_it(plan, tmp_path):
    log = tmp_path / "fits"
    slow = {"pause_in_fit": 60.0, "log": str(log)}
    spec = replace(shared_fit(other={"pause": 0.01}), settings={"reader": slow})
    first, second = plan(spec).run()
    assert first["status"] == second["status"] == "timeout"
    assert first["label"] != second["label"]
    assert log.read_text() == "fit\n"


def test_stopping_starts_nothing_for_the_cells_that_share_a_fit(plan, tmp_path):
    log = tmp_path / "fits"
    spec = shared_fit(long={"pause": 30.0}, other={"pause": 0.01})
    spec = replace(
        spec, methods=("mean", "reader"), settings={"reader": {"log": str(log)}}
    )
    work = plan(spec, n_jobs=2).run()
    assert next(work)["label"] in ("mean", "reader")
    deadline = time.monotonic() + 60
    while not (log.exists() and log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    work.close()
    time.sleep(3)
    assert log.read_text() == "fit\n"


def test_a_process_that_cannot_be_started_costs_no_other_its_result(plan, monkeypatch):
    whole = runner.converse
    calls = []

    def fails_second(*job, **how):
        calls.append(job)
        if len(calls) == 2:
            raise BlockingIOError("no process to be had")
        return whole(*job, **how)

    monkeypatch.setattr(runner, "converse", fails_second)
    plain, bad, good = plan(shared_fit(bad={"mood": "dead"}, good={})).run()
    assert plain["status"] == "ok"
    assert bad["error"].startswith("the process ended with 9")
    assert good["error"] == "BlockingIOError: no process to be had"


def test_a_column_that_keeps_no_training_cell_is_left_out_and_named(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["x", "y", "rare"])
    frame.loc[2:, "rare"] = np.nan
    frame.to_csv(tmp_path / "mine.csv", index=False)
    cells = [Cell("mine", (), "mcar", 0.7, mask, "mean") for mask in range(8)]
    table = str(tmp_path / "mine.csv")
    records = [r for c in cells for r in run_job(Job((c,), table=table))]
    assert {record["status"] for record in records} == {"ok"}
    left_out = [record["columns_left_out"] for record in records]
    assert ["rare"] in left_out
    assert [] in left_out
    for record in records:
        shown = set(record["realised_rate"]["train"]["columns"])
        assert shown == {"x", "y", "rare"} - set(record["columns_left_out"])


def test_plugins_of_the_same_file_name_are_both_taken(tmp_path, plugin):
    other = tmp_path / "other" / "toy.py"
    other.parent.mkdir()
    other.write_text(PLUGIN.replace('"toy"', '"other-toy"'))
    import_plugins((plugin, str(other)))
    import_plugins((f"{other.parent}/../other/toy.py",))  # the same file again
    assert {"toy", "other-toy"} <= set(methods.METHODS)


def test_a_method_whose_packages_are_missing_says_how_to_get_them(plan):
    (record,) = plan(replace(SPEC, methods=("absent",))).run()
    assert record["status"] == "unavailable"
    assert "no-such-distribution>=1" in record["error"]
    assert "make peers" in record["error"]


def test_a_learned_method_that_fills_with_means_is_found_out(plan):
    (record,) = plan(replace(SPEC, methods=("averages",))).run()
    assert record["status"] == "failed"
    assert "with the mean of their column: it did not learn" in record["error"]


def test_a_peer_runs_in_its_own_environment_if_there_is_one(plugin, plan, tmp_path):
    plan(replace(SPEC, methods=("absent",)))  # imports the plugin
    absent = methods.METHODS["absent"]
    assert interpreter_for(absent, tmp_path) is None
    python = tmp_path / "nowhere" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert interpreter_for(absent, tmp_path) == python
    assert interpreter_for(methods.METHODS["mean"], tmp_path) == Path(sys.executable)


def test_read_outs_of_one_model_share_its_fit(table):
    settings = {"max_steps": 5, "n_steps": 2, "d_model": 16, "n_networks": 1}
    cells = tuple(
        Cell("mine", (), "mcar", 0.3, 0, name, settings)
        for name in ("macfm-median", "macfm")
    )
    job = Job(cells, device="cpu", table=str(table), n_draws=2)
    spec = replace(
        SPEC,
        methods=("macfm", "macfm-median", "macfm-paper"),
        settings={"macfm": settings, "macfm-median": settings},
    )
    jobs = make_plan(spec, "unused.jsonl", table=str(table)).jobs
    assert [len(j.cells) for j in jobs] == [2, 1]
    first, second = run_job(job)
    assert first["status"] == second["status"] == "ok", first["error"]
    assert first["fit_shared_with"] is None
    assert second["fit_shared_with"] == "macfm-median"
    assert first["seconds"]["fit"] == second["seconds"]["fit"]
    assert first["scores"]["out"]["mae"] != second["scores"]["out"]["mae"]
    assert second["network_evaluations_per_row"] < first["network_evaluations_per_row"]


def test_the_truth_under_a_mask_does_not_reach_a_method(table):
    loaded = load_table(table)
    cell = Cell("mine", (), "mcar", 0.3, 0, "mean")
    holes = make_holes(loaded, cell)
    for part in ("train", "test"):
        seen, hidden = getattr(holes, part), getattr(holes, f"{part}_hidden")
        truth = getattr(holes, f"{part}_truth")
        assert seen.isna().to_numpy()[hidden.to_numpy()].all()
        pd.testing.assert_frame_equal(seen, truth.mask(hidden))
        really = truth.isna().to_numpy()
        assert not hidden.to_numpy()[really].any()
    # Train and test rows together are the table, each row once.
    both = pd.concat([holes.train_truth, holes.test_truth])
    columns = list(loaded.frame)
    assert (both.sort_values(columns).reset_index(drop=True)).equals(
        loaded.frame.sort_values(columns).reset_index(drop=True)
    )


def test_masks_differ_between_parts_numbers_and_mechanisms(table):
    loaded = load_table(table)
    cell = Cell("mine", (), "mcar", 0.3, 0, "mean")
    first = make_holes(loaded, cell)
    again = make_holes(loaded, cell)
    assert first.train_hidden.equals(again.train_hidden)
    assert first.seed == again.seed
    other = make_holes(loaded, replace(cell, mask=1))
    assert not first.train_hidden.equals(other.train_hidden)
    rows = len(first.test_hidden)
    assert not first.train_hidden[:rows].equals(first.test_hidden)


def test_rules_are_those_of_training_and_test_rows_alike():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 12))).add_prefix("c")
    for mask in range(3):
        cell = Cell("mine", (), "block", 0.3, mask, "mean")
        holes = make_holes(LoadedTable("mine", frame), cell)
        train, test = (
            holes.train_hidden.corr() > 0.999,
            holes.test_hidden.corr() > 0.999,
        )
        pd.testing.assert_frame_equal(train, test)
        assert train.sum(axis=None) > 12  # groups, beyond a column and itself


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "skip"])
def test_fewer_training_rows_are_a_part_of_more_and_leave_the_test_rows(mechanism):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 6))).add_prefix("c")
    cell = Cell("mine", (), mechanism, 0.3, 0, "mean")
    table = LoadedTable("mine", frame)
    few, some, all_ = (make_holes(table, replace(cell, rows=n)) for n in (20, 60, None))
    assert [len(h.train) for h in (few, some, all_)] == [20, 60, 140]
    for fewer, more in ((few, some), (some, all_)):
        n = len(fewer.train)
        pd.testing.assert_frame_equal(fewer.train_truth, more.train_truth[:n])
        pd.testing.assert_frame_equal(fewer.test_truth, more.test_truth)
        pd.testing.assert_frame_equal(fewer.test_hidden, more.test_hidden)
    assert len(make_holes(table, replace(cell, rows=9999)).train) == 140


def test_another_number_of_rows_is_another_cell(plan):
    list(plan(SPEC).run())
    fewer = plan(replace(SPEC, rows=40))
    assert (fewer.n_cells, fewer.n_done) == (2, 0)
    records = list(fewer.run())
    assert {(r["rows"], r["n_train"], r["n_test"]) for r in records} == {(40, 40, 36)}
    assert plan(replace(SPEC, rows=40)).n_cells == plan(SPEC).n_cells == 0


def test_an_unknown_setting_or_method_is_refused_before_anything_runs(plan):
    with pytest.raises(ValueError, match="toy has no setting 'temper'"):
        plan(replace(SPEC, settings={"toy": {"temper": 1}}))
    with pytest.raises(ValueError, match="there is no method 'tyo'"):
        plan(replace(SPEC, methods=("tyo",)))


def test_a_record_says_whether_its_data_are_made_up(table):
    def said(dataset, **how):
        cell = Cell(dataset, (), "mcar", 0.3, 0, "mean")
        return blank_record(cell, Job((cell,), **how))["synthetic"]

    assert said("ahei-synthetic") is True
    assert said("ahei-s1") is said("wine") is said("gone") is False
    assert said("ahei-synthetic", table=str(table)) is False  # a file of that name


def test_a_dataset_that_cannot_be_loaded_fails_its_cells_only(plan, table):
    missing = plan(SPEC)
    table.unlink()
    records = list(missing.run())
    assert {record["status"] for record in records} == {"failed"}
    assert "mine.csv" in records[0]["error"]


def interrupted(by, plan, spec):
    """Run a spec in another process, ended by a signal after its first record."""
    work = plan(spec)
    job = work.jobs[0]
    script = f"""
from macfm.bench.runner import make_plan
from macfm.bench.spec import Spec
for record in make_plan(Spec.from_dict({asdict(spec)!r}), {str(work.output)!r},
                        table={job.table!r}, plugins={job.plugins!r},
                        n_threads=1).run():
    print(record["label"], flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with process.stdout:
        assert process.stdout.readline().strip() == "mean"
        time.sleep(1)
        os.kill(process.pid, by)
        process.wait(timeout=20)
    assert process.returncode != 0
    assert [record["label"] for record in read_records(work.output)] == ["mean"]


def test_interrupting_ends_the_processes_and_keeps_what_is_done(plan):
    slow = replace(SPEC, methods=("mean", "toy"), settings={"toy": {"mood": "slow"}})
    interrupted(signal.SIGINT, plan, slow)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows")
def test_a_run_whose_parent_was_killed_half_way_goes_on(plan):
    pausing = {"reader": {"pause_in_fit": 3.0}}
    spec = replace(SPEC, methods=("mean", "reader"), settings=pausing)
    interrupted(signal.SIGKILL, plan, spec)
    rest = plan(spec)
    assert (rest.n_done, rest.n_cells) == (1, 1)
    (record,) = rest.run()
    assert (record["label"], record["status"]) == ("reader", "ok")
    assert [r["label"] for r in read_records(rest.output)] == ["mean", "reader"]
    assert plan(spec).n_cells == 0


def test_records_are_lines_of_json(plan):
    work = plan(replace(SPEC, methods=("mean",)))
    list(work.run())
    (line,) = work.output.read_text().splitlines()
    assert json.loads(line)["format"] == FORMAT


def test_a_run_with_records_of_format_1_goes_on(plan):
    spec = replace(SPEC, methods=("macfm", "macfm-median"))
    work = plan(spec)
    (job,) = work.jobs
    former = blank_record(job.cells[1], job) | {"status": "ok", "format": 1}
    work.output.parent.mkdir()
    append_record(work.output, former | {"method": "macfm", "label": "macfm"})
    rest = plan(spec)
    assert rest.n_done == 1
    assert [cell.label for job in rest.jobs for cell in job.cells] == ["macfm"]
