"""Threads are used as far as free cores carry them, and never after a fork."""

import multiprocessing
import subprocess
import sys

import pytest
import torch

from macfm.imputer import _threads
from macfm.imputer._device import alone, reproducible


@pytest.fixture
def cores(monkeypatch):
    """Say how many cores are free, and forget what was seen before."""

    def set_free(free, quota=float("inf"), own=float("inf")):
        monkeypatch.setattr(_threads, "_last_look", (float("-inf"), 0.0))
        monkeypatch.setattr(_threads, "_idle_cores", lambda: free)
        monkeypatch.setattr(_threads, "_quota", lambda: quota)
        monkeypatch.setattr(_threads, "_own_cores", lambda: own)

    return set_free


@pytest.mark.parametrize(
    ("free", "wanted", "used"),
    [(8.0, 8, 8), (8.0, 3, 2), (3.2, 8, 2), (1.1, 8, 1), (0.0, 8, 1), (9.0, 1, 1)],
)
def test_free_cores_decide(cores, free, wanted, used):
    cores(free)
    assert _threads.worthwhile_threads(wanted) == used


def test_a_quota_counts_like_busy_cores(cores):
    cores(16.0, quota=1.5)
    assert _threads.worthwhile_threads(16) == 2


def test_a_fit_looks_at_the_cores_and_what_follows_believes_it(monkeypatch):
    free = iter([2.0, 1.0])
    monkeypatch.setattr(_threads, "_idle_cores", lambda: next(free))
    monkeypatch.setattr(_threads, "_quota", lambda: float("inf"))
    monkeypatch.setattr(_threads, "_own_cores", lambda: float("inf"))
    device, before = torch.device("cpu"), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        used = []
        for _ in range(2):
            with reproducible(0, device):
                used.append(torch.get_num_threads())
            with alone(device, few=False):
                used.append(torch.get_num_threads())
    finally:
        torch.set_num_threads(before)
        _threads.look_anew()
    assert used == [2, 2, 1, 1]


def test_cores_that_the_process_may_not_use_do_not_count(cores):
    cores(16.0, own=3)
    assert _threads.worthwhile_threads(16) == 2


@pytest.mark.parametrize(
    ("idle", "spun", "free"),
    [(10, 0.0, 2.0), (5, 0.0, 1.0), (5, 1.0, 2.0), (0, 1.0, 1.0), (0, 0.5, 0.5)],
)
def test_threads_of_this_process_leave_their_cores(monkeypatch, idle, spun, free):
    """Those of numpy's BLAS spin for a while when they are done."""
    looks, own = iter([(100, 200), (100 + idle, 210)]), iter([3.0, 3.0 + spun])
    clock = iter([7.0, 8.0])
    monkeypatch.setattr(_threads, "_jiffies", lambda: next(looks))
    monkeypatch.setattr(_threads.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(_threads.time, "process_time", lambda: next(own))
    monkeypatch.setattr(_threads.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(_threads.time, "sleep", lambda seconds: None)
    assert _threads._idle_cores() == pytest.approx(free)


def test_where_the_machine_does_not_tell_all_count_as_free(monkeypatch, tmp_path):
    monkeypatch.delattr(_threads.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(_threads, "_last_look", (float("-inf"), 0.0))
    monkeypatch.setattr(_threads, "_STAT", tmp_path / "stat")
    monkeypatch.setattr(_threads, "_QUOTA", tmp_path / "quota")
    assert _threads.worthwhile_threads(4) == 4


def test_a_quota_file_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(_threads, "_QUOTA", tmp_path / "cpu.max")
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert _threads._quota() == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert _threads._quota() == float("inf")


@pytest.mark.parametrize("left", [1, 2])
def test_the_number_of_threads_is_put_back_whatever_training_left(cores, left):
    cores(2.0)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with alone(torch.device("cpu"), few=False):
            torch.set_num_threads(left)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_fork_uses_one_thread(cores, monkeypatch):
    cores(8.0)
    assert _threads.worthwhile_threads(8) == 8
    monkeypatch.setattr(_threads, "_owner", -1)
    assert _threads.worthwhile_threads(8) == 1


FORK = """
import multiprocessing, numpy as np, torch
from macfm import MACFMImputer
import torch

from macfm.imputer import _threads
from macfm.imputer._device import alone, reproducible

def fill(answers):
    answers.put(model.transform(x))

_threads._idle_cores = lambda: 2.0
torch.set_num_threads(2)
rng = np.random.default_rng(0)
x = rng.normal(size=(300, 5)) + rng.normal(size=(300, 1))
x[rng.random(x.shape) < 0.2] = np.nan
small = {"max_steps": 5, "d_model": 256, "n_blocks": 1, "n_trees": 2}
model = MACFMImputer(random_state=0, verbose=False, **small).fit(x)
expected = model.transform(x)
context = multiprocessing.get_context("fork")
answers = context.Queue()
process = context.Process(target=fill, args=(answers,), daemon=True)
process.start()
assert np.array_equal(answers.get(timeout=60), expected)
print("same")
"""


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(),
    reason="there is no fork here",
)
def test_a_process_forked_after_a_fit_fills_too():
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.stdout == "same\n", done.stderr
