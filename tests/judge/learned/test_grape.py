"""GRAPE, and the graph of rows and columns that IGRM shares with it."""

import pytest
import torch

from macfm.judge.learned import _bipartite
from macfm.judge.learned._base import Clock
from macfm.judge.learned._bipartite import Bipartite, Head, Task, tasks

N, D, WIDTH = 30, 5, 8


@pytest.fixture
def cells():
    """Values, which of them are observed, and which of those are in the graph."""
    generator = torch.Generator().manual_seed(0)
    unit = torch.rand(N, D, generator=generator)
    observed = torch.rand(N, D, generator=generator) < 0.7
    shown = observed & (torch.rand(N, D, generator=generator) < 0.7)
    shown[3] = observed[3] = False
    return Task(unit, observed, shown)


@pytest.fixture
def network():
    """A small untrained graph network and its head."""
    torch.manual_seed(0)
    return Bipartite(D, width=WIDTH, n_layers=3), Head(WIDTH)


def guess(network, task):
    graph, head = network
    return head(*graph(task.unit, task.shown))


def test_it_has_the_size_of_the_reference():
    parts = Bipartite(16, width=64, n_layers=3), Head(64)
    size = sum(p.numel() for part in parts for p in part.parameters())
    assert size == 89_025 - (3 * 64 * 64 + 64)  # less an edge layer that is not read


def test_a_layer_passes_messages_along_the_edges(network, cells):
    graph, _ = network
    layer = graph.layers[0]
    unit, shown = cells.unit, cells.shown
    one_hot = torch.eye(D)
    states = _bipartite.States(
        torch.ones(N, D), one_hot, unit[..., None], unit[..., None]
    )
    new_columns = torch.rand(D, WIDTH)
    new = layer(states, shown, new_columns)
    sums = layer.heard_by_columns(states, shown)

    def message(node, i, j):
        return layer.message(torch.cat([node, unit[i, j, None]])).relu()

    for i in (0, 3, 7):
        heard = [message(one_hot[j], i, j) for j in range(D) if shown[i, j]]
        mean = torch.stack(heard).mean(dim=0) if heard else torch.zeros(WIDTH)
        row = layer.node(torch.cat([mean, torch.ones(D)])).relu()
        torch.testing.assert_close(new.rows[i], row / row.norm())
        for j in (1, 4):
            both, value = (new.rows[i], new_columns[j]), unit[i, j, None]
            up, down = (torch.cat([*ends, value]) for ends in (both, both[::-1]))
            torch.testing.assert_close(new.up[i, j], layer.edge(up).relu())
            torch.testing.assert_close(new.down[i, j], layer.edge(down).relu())
    for j in range(D):
        heard = sum(message(torch.ones(D), i, j) for i in range(N) if shown[i, j])
        torch.testing.assert_close(sums[j], heard)


def test_rows_in_another_order_give_answers_in_that_order(network, cells):
    order = torch.randperm(N)
    moved = Task(cells.unit[order], cells.observed[order], cells.shown[order])
    torch.testing.assert_close(guess(network, moved), guess(network, cells)[order])


def test_columns_in_another_order_with_their_one_hots_do_too(network, cells):
    expected = guess(network, cells)
    order = torch.randperm(D)
    first = network[0].layers[0]
    with torch.no_grad():
        first.message.weight[:, :D] = first.message.weight[:, :D][:, order]
        first.node.weight[:, WIDTH:] = first.node.weight[:, WIDTH:][:, order]
    moved = Task(cells.unit[:, order], cells.observed[:, order], cells.shown[:, order])
    torch.testing.assert_close(guess(network, moved), expected[:, order])


def test_a_value_outside_the_graph_has_no_way_into_a_guess(network, cells):
    unit = cells.unit.clone().requires_grad_()
    filled = guess(network, Task(unit, cells.observed, cells.shown))
    [gradient] = torch.autograd.grad(filled.square().sum(), unit)
    assert (gradient[~cells.shown] == 0).all()
    assert (gradient[cells.shown] != 0).any()


def test_the_loss_asks_for_observed_cells_alone(cells):
    answer = torch.rand(N, D, requires_grad=True)
    loss = cells.loss(answer)
    wrong = (answer - cells.unit)[cells.observed]
    torch.testing.assert_close(loss, wrong.square().mean())
    [gradient] = torch.autograd.grad(loss, answer)
    assert (gradient[~cells.observed] == 0).all()
    nothing = torch.zeros(N, D, dtype=torch.bool)
    assert Task(cells.unit, nothing, nothing).loss(answer) == 0


def test_frozen_columns_say_of_a_row_what_the_whole_graph_says(
    network, cells, monkeypatch
):
    monkeypatch.setattr(_bipartite, "_PART", 7)
    graph, _ = network
    rows, columns = graph(cells.unit, cells.shown)
    frozen = graph.frozen_columns(cells.unit, cells.shown)
    assert len(frozen) == 4
    torch.testing.assert_close(frozen[-1], columns)
    alone = torch.cat(
        [
            graph.rows(cells.unit[i, None], cells.shown[i, None], frozen)
            for i in range(N)
        ]
    )
    torch.testing.assert_close(alone, rows, rtol=0, atol=1e-5)


def some_tasks(budget=None, **settings):
    settings = {"n_steps": 4, "batch_size": None, "shown_share": 0.7} | settings
    observed = torch.ones(1_000, 4, dtype=torch.bool)
    observed[::3, 0] = False
    unit = torch.arange(1_000.0)[:, None].expand(1_000, 4)
    clock = Clock(budget)
    generator = torch.Generator().manual_seed(0)
    group = torch.tensor([0, 1, 1, 2])
    return list(
        tasks(
            unit, observed, group, settings=settings, clock=clock, generator=generator
        )
    )


def test_every_step_shows_other_cells_and_categories_as_a_whole():
    first, second, *_ = some_tasks()
    assert not (first.shown & ~first.observed).any()
    assert first.shown[first.observed].float().mean() == pytest.approx(0.7, abs=0.03)
    assert not torch.equal(first.shown, second.shown)
    assert torch.equal(first.shown[:, 1], first.shown[:, 2])
    assert not torch.equal(first.shown[:, 1], first.shown[:, 3])


def test_batches_are_rows_that_differ():
    first, second, *_ = some_tasks(batch_size=100)
    assert len(first.unit[:, 0].unique()) == 100
    assert not torch.equal(first.unit, second.unit)


def test_without_time_it_takes_one_step():
    assert len(some_tasks()) == 4
    assert len(some_tasks(budget=1e-9)) == 1


def test_it_learns_two_factors(toy):
    # The mean's error is 1.9 of the best. The slow start, in which a mean is all that
    # is learned, ends after some 200 steps of this small network.
    small = {"n_steps": 400, "batch_size": 64, "width": 32, "n_layers": 2}
    assert toy.error(toy.fit("grape", learning_rate=2e-3, **small)) < 1.65 * toy.best
