"""Steps of training on a CPU, where they are a plain loop; `test_on_gpu` has more."""

import pytest
import torch

from macfm.judge.learned._step import Step, descent, make_optimizer, set_rate


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.SiLU(), torch.nn.Linear(8, 1)
    )


def batches(n=6):
    generator = torch.Generator().manual_seed(0)
    for size in [16] * (n - 1) + [5]:  # the last one is smaller
        x = torch.randn(size, 3, generator=generator)
        yield x, x.sum(dim=1, keepdim=True)


def loss_of(net, x, y):
    return (net(x) - y).square().mean()


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize("fused", [True, False])
def test_it_trains_as_the_plain_loop_does(kind, fused):
    net, same = network(), network()
    decoupled = kind is torch.optim.AdamW
    optimizer = make_optimizer(
        net.parameters(), rate=0.1, fused=fused, decoupled=decoupled, weight_decay=0.1
    )
    plain = kind(same.parameters(), lr=0.1, fused=fused, weight_decay=0.1)
    step = descent(lambda x, y: loss_of(net, x, y), [optimizer])
    for number, (x, y) in enumerate(batches()):
        set_rate(optimizer, 0.1 / (1 + number))
        plain.param_groups[0]["lr"] = 0.1 / (1 + number)
        loss = loss_of(same, x, y)
        plain.zero_grad()
        loss.backward()
        plain.step()
        told = step(x, y)
        assert not told.requires_grad
        torch.testing.assert_close(told, loss.detach())
    for mine, theirs in zip(net.parameters(), same.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_loss_moves_the_weights_of_all_optimizers():
    first, second = network(), network()
    before = [w.clone() for net in (first, second) for w in net.parameters()]
    optimizers = [make_optimizer(n.parameters(), rate=0.1) for n in (first, second)]
    descent(lambda x: (first(x) * second(x)).mean(), optimizers)(torch.ones(4, 3))
    after = [w for net in (first, second) for w in net.parameters()]
    assert all((a != b).any() for a, b in zip(after, before, strict=True))


def test_a_rate_of_0_moves_nothing():
    net, same = network(), network()
    optimizer = make_optimizer(net.parameters(), rate=0.1)
    set_rate(optimizer, 0.0)
    descent(lambda x: net(x).mean(), [optimizer])(torch.ones(4, 3))
    for mine, theirs in zip(net.parameters(), same.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_what_a_step_gives_is_given_back():
    optimizer = make_optimizer(network().parameters(), rate=0.1)
    assert Step(lambda x: 2 * x, [optimizer])(torch.ones(1)) == 2


def test_every_size_is_recorded_after_three_steps_of_its_own(monkeypatch):
    class Recording:
        def replay(self, batch):
            return f"replayed {len(batch[0])}"

    monkeypatch.setattr(Step, "_aside", lambda _, batch: f"aside {len(batch[0])}")
    monkeypatch.setattr(Step, "_record", lambda *_: Recording())
    optimizer = make_optimizer(network().parameters(), rate=0.1)
    step = Step(lambda x: x, [optimizer])
    step._stream = "a stream, as on a GPU"
    told = [step(torch.zeros(size)) for size in (4, 4, 2) * 4]
    large, small = [t for t in told if "4" in t], [t for t in told if "2" in t]
    assert large == ["aside 4"] * 3 + ["replayed 4"] * 5
    assert small == ["aside 2"] * 3 + ["replayed 2"]
