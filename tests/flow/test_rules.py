"""Training hides cells as the table's own holes do."""

import numpy as np
import pytest
import torch

from macfm.flow import find_rules

GROUP, NUMBERS = np.arange(3), np.array([False, True, True])


def sick_and_their_age(n=2000, *, together, seed=0):
    """Sick or not, a number, and an age that is recorded for the sick alone."""
    rng = np.random.default_rng(seed)
    sick = (rng.random(n) < 0.15).astype(np.float32)
    x = np.column_stack([sick, rng.normal(size=n), rng.normal(size=n)])
    observed = np.ones((n, 3), dtype=bool)
    observed[:, 2] = sick == 1
    hidden = rng.random(n) < 0.1
    observed[hidden, 0] = False
    if together:
        observed[hidden, 2] = False
    return np.where(observed, x, 0.0).astype(np.float32), observed


def hide(rules, hidden, n=4000):
    flags = torch.tensor([hidden]).repeat(n, 1)
    return rules.apply(flags, generator=torch.Generator().manual_seed(0))


def test_a_follower_stays_where_its_gate_is_hidden():
    rules = find_rules(*sick_and_their_age(together=False), group=GROUP, is_num=NUMBERS)
    hidden = hide(rules, [True, False, True])
    assert hidden[:, 0].all()
    assert not hidden[:, 2].any()


def test_a_follower_alone_is_hidden_as_ever():
    rules = find_rules(*sick_and_their_age(together=False), group=GROUP, is_num=NUMBERS)
    assert hide(rules, [False, False, True])[:, 2].all()


def test_columns_that_go_together_are_hidden_together():
    rules = find_rules(*sick_and_their_age(together=True), group=GROUP, is_num=NUMBERS)
    hidden = hide(rules, [True, False, False])
    assert hidden[:, 2].double().mean() > 0.95
    assert not hidden[:, 1].any()


@pytest.mark.parametrize("seed", range(20))
def test_holes_at_random_follow_no_rule(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    observed = rng.random(x.shape) < 0.7
    assert find_rules(x, observed, group=np.arange(6), is_num=np.ones(6, bool)) is None


def test_a_threshold_of_a_number_is_a_rule():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 2)).astype(np.float32)
    observed = np.ones(x.shape, dtype=bool)
    observed[:, 1] = x[:, 0] > 0.5
    observed[:, 0] = rng.random(1000) < 0.8
    rules = find_rules(x, observed, group=np.arange(2), is_num=np.ones(2, bool))
    assert rules.shown[0, 1] == 1


def test_few_rows_prove_nothing():
    x, observed = sick_and_their_age(n=60, together=False)
    assert find_rules(x, observed, group=GROUP, is_num=NUMBERS) is None
