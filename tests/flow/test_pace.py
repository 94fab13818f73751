"""Steps run with the number of threads that is fastest now."""

import threading
from contextlib import suppress

import pytest
import torch
from threadpoolctl import threadpool_info

from macfm.flow import _pace
from macfm.flow._pace import Pace, in_threads, one_thread


class Clock:
    """A clock that steps move, by what they cost with the threads they run with."""

    def __init__(self, cost):
        self.now, self.cost, self.used = 0.0, cost, []

    def perf_counter(self):
        return self.now

    def step(self):
        n_threads = torch.get_num_threads()
        self.used.append(n_threads)
        self.now += self.cost(n_threads, self.now)


@pytest.fixture
def clock_of(monkeypatch):
    before = torch.get_num_threads()

    def make(cost):
        clock = Clock(cost)
        monkeypatch.setattr(_pace, "time", clock)
        return clock

    yield make
    torch.set_num_threads(before)


def run(clock, n_threads, seconds):
    pace = Pace(n_threads)
    while clock.now < seconds:
        pace.run(clock.step)
    return pace


def test_an_idle_machine_keeps_all_threads(clock_of):
    clock = clock_of(lambda n, now: 0.1 / n)
    pace = run(clock, 4, 60)
    assert pace.n_threads == 4
    assert clock.used.count(4) > 0.7 * len(clock.used)


def test_threads_that_wait_for_each_other_are_given_up_and_taken_again(clock_of):
    def cost(n, now):
        busy = 20 < now < 100
        return 0.1 * (10 if busy and n > 1 else 1 / n)

    clock = clock_of(cost)
    pace = Pace(2)
    while clock.now < 50:
        pace.run(clock.step)
    assert pace.n_threads == 1
    while clock.now < 120:
        pace.run(clock.step)
    assert pace.n_threads == 2


TRIED = [(1, {1}), (2, {1, 2}), (6, {1, 2, 4})]


@pytest.mark.parametrize(("n_threads", "tried"), TRIED)
def test_powers_of_two_are_tried(clock_of, n_threads, tried):
    torch.set_num_threads(1)
    clock = clock_of(lambda n, now: 0.1)
    run(clock, n_threads, 20)
    assert set(clock.used) == tried


@pytest.mark.parametrize("fails", [False, True])
def test_one_thread_is_for_a_while(fails):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with suppress(ZeroDivisionError), one_thread() as n_threads:
            assert n_threads == 2
            assert torch.get_num_threads() == 1
            blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
            assert {pool["num_threads"] for pool in blas} == {1}
            1 / (not fails)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_pieces", [0, 1, 7])
def test_pieces_are_done_in_threads_of_one_and_come_back_in_order(n_threads, n_pieces):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    here = threading.current_thread()

    def work(piece):
        aside = threading.current_thread() is not here
        return piece, aside and torch.get_num_threads()

    try:
        found = in_threads(work, range(n_pieces), n_threads=n_threads)
        aside = 1 if min(n_threads, n_pieces) > 1 else False
        assert found == [(piece, aside) for piece in range(n_pieces)]
        assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError):
            in_threads(lambda piece: 1 // piece, range(3), n_threads=n_threads)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_pieces_are_done_in_the_callers_mode(mode):
    def modes(_):
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    with mode():
        here = modes(0)
        assert in_threads(modes, range(4), n_threads=2) == [here] * 4
    assert in_threads(modes, range(4), n_threads=2) == [(False, True)] * 4
