"""A job's process: whatever it does, the answer comes in time and nothing stays."""

import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from macfm.bench._process import Processes, converse
from macfm.bench.cell import Job
from macfm.bench.spec import Cell

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stands in by a script")

CELL = Cell("mine", (), "mcar", 0.3, 0, "mean")
HEAD = """#!{python} -S
import json, os, sys, time

def say(status, **more):
    print(json.dumps(dict(status=status, **more)), flush=True)

def child():
    if os.fork() == 0:
        open({pids!r}, "a").write(str(os.getpid()))
        time.sleep(60)
        os._exit(0)
    while not os.path.exists({pids!r}):
        time.sleep(0.01)
"""


@pytest.fixture
def talk(tmp_path):
    """Converse with a script in the place of the interpreter."""

    def run(body, *, n_cells=1, limit=20.0, job=None, processes=None):
        script = tmp_path / "python"
        head = HEAD.format(python=sys.executable, pids=str(tmp_path / "pids"))
        script.write_text(head + body)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        job = job or Job(cells=(CELL,) * n_cells)
        began = time.monotonic()
        answer = converse(job, script, limit=limit, processes=processes or Processes())
        return *answer, time.monotonic() - began

    return run


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return state != "Z"


def test_records_come_back_in_order_without_what_else_was_said(talk):
    body = """
job = json.loads(sys.stdin.read())
say("started", n=len(job["cells"]))
print("a stray line")
print(json.dumps([1, 2]))
say("ok", cell=0); say("started"); say("failed", cell=1)
"""
    records, begun, outcome, _ = talk(body, n_cells=2)
    assert [(r["status"], r["cell"]) for r in records] == [("ok", 0), ("failed", 1)]
    assert (begun, outcome["status"]) == (None, "ok")


def test_a_cell_that_was_begun_is_known_when_the_process_dies(talk):
    body = """
say("ok"); say("started", seconds=None); say("started", seconds={"fit": 2})
print("out of memory", file=sys.stderr)
os._exit(9)
"""
    records, begun, outcome, _ = talk(body, n_cells=3)
    assert len(records) == 1
    assert begun == {"status": "started", "seconds": {"fit": 2}}
    assert outcome == {
        "status": "failed",
        "error": "the process ended with 9: out of memory",
    }


def test_half_a_line_is_no_record(talk):
    records, _, outcome, _ = talk('sys.stdout.write(\'{"status": "o\')')
    assert records == []
    assert outcome["error"] == "the process ended with 0"


def test_each_record_has_the_limit_to_itself(talk):
    body = """
for _ in range(3):
    time.sleep(0.8); say("ok")
time.sleep(60)
"""
    records, _, outcome, seconds = talk(body, n_cells=4, limit=2.0)
    assert len(records) == 3
    assert outcome == {"status": "timeout", "error": "stopped after 2 s"}
    assert seconds < 15


def test_a_begun_cell_has_no_more_time_for_saying_so(talk):
    body = """
while True:
    say("started"); time.sleep(0.05)
"""
    _, begun, outcome, seconds = talk(body, limit=1.0)
    assert begun is not None
    assert outcome["status"] == "timeout"
    assert seconds < 15


def test_a_process_that_lingers_after_its_last_record_is_not_waited_for(talk):
    records, _, _, seconds = talk('say("ok"); time.sleep(60)')
    assert len(records) == 1
    assert seconds < 15


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ('child(); say("ok")', None),
        ('child(); say("ok"); time.sleep(60)', None),
        ("child(); os._exit(9)", "the process ended with 9"),
        ("child(); time.sleep(60)", "stopped after 3 s"),
    ],
)
def test_children_of_a_process_neither_hold_it_up_nor_stay(talk, tmp_path, body, error):
    _, _, outcome, seconds = talk(body, limit=3.0)
    assert outcome.get("error") == error
    assert seconds < 15
    pid = int((tmp_path / "pids").read_text())
    deadline = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(pid)


def test_a_job_that_is_not_read_runs_out_of_time_too(talk):
    job = Job(cells=(CELL,), plugins=("x" * 1_000_000,))
    _, _, outcome, seconds = talk("time.sleep(60)", job=job, limit=1.0)
    assert outcome["status"] == "timeout"
    assert seconds < 15


def test_after_a_stop_nothing_runs_any_more(talk):
    processes = Processes()
    processes.stop()
    records, _, outcome, seconds = talk("time.sleep(60)", processes=processes)
    assert records == []
    assert outcome["status"] == "failed"
    assert seconds < 15
    assert json.dumps(outcome)
