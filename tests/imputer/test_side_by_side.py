"""Networks trained side by side, as on a GPU, are those trained one by one."""

import numpy as np
import pytest

import macfm.imputer._training as training_module
from macfm import MACFMImputer

QUICK = {
    **{"n_networks": 2, "max_steps": 60, "d_model": 16, "n_blocks": 1},
    **{"n_trees": 0, "evaluate_every": 10, "dropout": 0.0, "verbose": False},
}


@pytest.fixture
def x():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 4))
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(training_module, "_n_at_once", lambda n, device: n)


def interrupt_at(monkeypatch, network, step):
    """Let the user press Ctrl-C when a network is judged."""
    shown = training_module._shown

    def stop(show, member, evaluation, end):
        shown(show, member, evaluation, end)
        if member == network and evaluation.step == step:
            raise KeyboardInterrupt

    monkeypatch.setattr(training_module, "_shown", stop)


def test_the_first_network_does_not_notice_the_second(at_once, x):
    two = MACFMImputer(random_state=0, **QUICK).fit(x)
    one = MACFMImputer(random_state=0, **(QUICK | {"n_networks": 1})).fit(x)
    mine, alone = (dict(m.network_.members[0].named_parameters()) for m in (two, one))
    assert len(two.network_.members) == 2
    for name, weight in alone.items():
        np.testing.assert_array_equal(mine[name].detach(), weight.detach())


@pytest.mark.parametrize("n_networks", [1, 2, 3])
def test_networks_side_by_side_share_their_guesses(at_once, x, monkeypatch, n_networks):
    drawn = []
    draw = training_module.TrainingRows.guess_again

    def counted(rows, network, **others):
        drawn.append(draw(rows, network, **others))
        return drawn[-1]

    monkeypatch.setattr(training_module.TrainingRows, "guess_again", counted)
    MACFMImputer(random_state=0, **(QUICK | {"n_networks": n_networks})).fit(x)
    assert len(drawn) == 3


def test_seconds_of_networks_side_by_side_are_not_added_up(at_once, x):
    history = MACFMImputer(random_state=0, **QUICK).fit(x).history_
    ends = history.groupby("network")["seconds"].max()
    assert ends.max() < 1.5 * ends.min()


def test_seconds_go_on_from_one_network_to_the_next(x):
    history = MACFMImputer(random_state=0, **QUICK).fit(x).history_
    assert history["seconds"].is_monotonic_increasing


def test_an_interrupt_ends_all_and_keeps_one_half_trained_network(
    at_once, x, monkeypatch
):
    interrupt_at(monkeypatch, network=1, step=30)
    with pytest.warns(UserWarning, match="interrupted"):
        model = MACFMImputer(random_state=0, **QUICK).fit(x)
    assert len(model.network_.members) == 1
    assert set(model.history_["network"]) == {0, 1}
    assert model.history_["step"].max() == 30


def test_a_finished_network_is_kept_and_one_that_was_interrupted_beside_it_is_not(
    at_once, x, monkeypatch, tmp_path
):
    begin = training_module._Course._begin

    def shorter(course, k, *given, **others):
        longest = course.settings
        if k == 1:  # it ends while the first one is still at work
            train = training_module.replace(longest.train, max_steps=20)
            course.settings = training_module.replace(longest, train=train)
        try:
            return begin(course, k, *given, **others)
        finally:
            course.settings = longest

    monkeypatch.setattr(training_module._Course, "_begin", shorter)
    interrupt_at(monkeypatch, network=0, step=40)
    with pytest.warns(UserWarning, match="interrupted"):
        model = MACFMImputer(random_state=0, **QUICK).fit(x)
    [kept] = model.network_.members
    assert not kept.hints  # it is the second
    model.save(tmp_path / "m.macfm")
    again = MACFMImputer.load(tmp_path / "m.macfm")
    np.testing.assert_array_equal(again.transform(x), model.transform(x))
