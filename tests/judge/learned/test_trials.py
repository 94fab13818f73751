"""How rows and trials are put together."""

import pytest
import torch

from macfm.flow import keyed_normal
from macfm.judge.learned import _trials
from macfm.judge.learned._base import Rows, by_chunks
from macfm.judge.learned._trials import Batches, noises

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("n_trials", [1, 20, 1000])
def test_a_cpu_takes_trials_one_by_one(n_trials):
    assert Batches.of(CPU, n_trials=n_trials, most=2**16) == Batches(256, 1)


@pytest.mark.parametrize(
    ("n_trials", "most", "n_rows"),
    [
        (1, 2**16, 8192),
        (8, 2**16, 8192),
        (20, 2**16, 2048),
        (1000, 2**16, 256),
        (5, 100, 256),
    ],
)
def test_a_gpu_takes_all_trials_of_fewer_rows(n_trials, most, n_rows):
    batches = Batches.of(CUDA, n_trials=n_trials, most=most)
    assert batches.n_rows == n_rows
    assert batches.n_trials == max(1, most // n_rows)
    assert batches.n_trials >= n_trials or n_rows == 256


def test_all_trials_are_run_in_order():
    asked = []

    def sample(trials):
        asked.append(trials)
        return torch.tensor(trials).view(-1, 1, 1)

    found = Batches(n_rows=256, n_trials=3).run(sample, 8)
    assert asked == [range(3), range(3, 6), range(6, 8)]
    assert found.flatten().tolist() == list(range(8))


def test_chunks_of_any_size_are_padded_and_joined():
    x = torch.arange(10.0).view(5, 2)
    rows = Rows(x, x >= 0, torch.arange(5))
    sizes = []

    def double(part):
        sizes.append(len(part))
        return 2 * part.x

    assert torch.equal(by_chunks(double, rows, 2), 2 * x)
    assert sizes == [2, 2, 2]


@pytest.mark.parametrize("n_drawn", [1, 48, 10**6])
def test_noise_drawn_together_is_that_of_each_draw(n_drawn, monkeypatch):
    keys, draws = torch.arange(4), [[7, 8], [1, 3], [0, 2], [5, 4], [6, 9]]
    monkeypatch.setitem(_trials._N_DRAWN, "cpu", n_drawn)
    found = list(noises(keys, seed=3, draws=draws, d=3))
    assert len(found) == 5
    for group, noise in zip(draws, found, strict=True):
        alone = keyed_normal(keys, seed=3, draws=group, d=3).float()
        assert torch.equal(noise, alone)
