"""Networks trained side by side, as on a GPU, are those trained one by one."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import macfm.imputer._training as training_module
from macfm import MACFMImputer
from macfm.flow import N_KNOTS, PointSource, _trust

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
    drawn, begun = [], []
    draw = training_module.TrainingRows.guess_again
    begin = PointSource.begin

    def counted(rows, network, **others):
        drawn.append(draw(rows, network, **others))
        return drawn[-1]

    def watched(source, fills):
        begun.append(fills)
        begin(source, fills)

    monkeypatch.setattr(training_module.TrainingRows, "guess_again", counted)
    monkeypatch.setattr(PointSource, "begin", watched)
    MACFMImputer(random_state=0, **(QUICK | {"n_networks": n_networks})).fit(x)
    assert len(drawn) == 3
    for one in drawn:
        assert sum(fills is one for fills in begun) == n_networks


@pytest.mark.parametrize(
    ("budget", "left", "told"),
    [(None, math.inf, [1.5, 0.5]), (60, 31.0, [1.5, 0.5]), (60, 29.0, [1.0, 1.0])],
)
def test_networks_count_as_held_out_rows_say_where_there_is_time(
    x, monkeypatch, budget, left, told
):
    def balance(network, validation, *, path):
        return torch.tensor([1.5, 0.5])[:, None, None]

    course = training_module._Course
    monkeypatch.setattr(course, "_seconds_left", lambda course: left)
    monkeypatch.setattr(training_module, "measure_trust", full_trust)
    monkeypatch.setattr(training_module, "measure_balance", balance)
    two = MACFMImputer(random_state=0, **QUICK, budget=budget).fit(x)
    assert two.network_.trust.amax(dim=(1, 2)).tolist() == told


@pytest.mark.parametrize(
    ("left", "n_trees", "calm"),
    [(math.inf, 2, True), (31.0, 2, True), (29.0, 2, False), (29.0, 0, True)],
)
def test_trees_have_the_last_of_a_budget_to_themselves(
    x, monkeypatch, left, n_trees, calm
):
    for least in ("_LEAST_GAIN", "_LEAST_SURE"):  # whether the calm path pays or not
        monkeypatch.setattr(_trust, least, -1e9)
    monkeypatch.setattr(training_module._Course, "_seconds_left", lambda course: left)
    budget = None if math.isinf(left) else 60
    asked = QUICK | {"budget": budget, "mean_steps": 3, "n_trees": n_trees}
    model = MACFMImputer(random_state=0, **asked).fit(x)
    assert (model.network_.calm is not None) == calm


def test_a_budget_that_is_long_enough_changes_nothing(x):
    asked = QUICK | {"n_trees": 2, "mean_steps": 3}
    whole, within = (
        MACFMImputer(random_state=0, **asked, budget=budget).fit(x)
        for budget in (None, 3600)
    )
    np.testing.assert_array_equal(whole.transform(x), within.transform(x))
    np.testing.assert_array_equal(whole.sample(x, 3), within.sample(x, 3))


def full_trust(network, guide, validation, *, group, path):
    return torch.ones(N_KNOTS, len(group))


def test_an_interrupt_while_networks_are_weighed_keeps_them(x, monkeypatch):
    def stop(network, validation, *, path):
        raise KeyboardInterrupt

    monkeypatch.setattr(training_module, "measure_balance", stop)
    with pytest.warns(UserWarning, match="interrupted"):
        model = MACFMImputer(random_state=0, **QUICK).fit(x)
    assert len(model.network_.members) == 2
    assert not np.isnan(model.transform(x)).any()


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
            train = replace(longest.train, max_steps=20)
            course.settings = replace(longest, train=train)
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
