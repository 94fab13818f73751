"""A fit, watched through torch's hooks: what networks are asked, which steps taken."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from macfm import MACFMImputer
from macfm.flow._adamw import AdamW


def flat(parameters):
    return torch.cat([p.detach().flatten() for p in parameters])


@dataclass
class Calls:
    """What a velocity network was asked, call by call."""

    x: list = field(default_factory=list)
    t: list = field(default_factory=list)
    m_cond: list = field(default_factory=list)

    def add(self, x, t, m_cond):
        self.x.append(x.detach().clone())
        self.t.append(t.detach().clone())
        self.m_cond.append(m_cond.clone())

    @property
    def n_rows(self):
        return {len(x) for x in self.x}

    @property
    def times(self):
        """Of each call, whose rows share their time."""
        return np.array([t[0].item() for t in self.t])


@contextmanager
def calls_of_networks():
    """Note the calls of networks in training and of others, the outermost of each."""
    in_training, others, depth = Calls(), Calls(), 0

    def is_velocity(inputs):
        return len(inputs) >= 3 and getattr(inputs[2], "dtype", None) == torch.bool

    def enter(module, inputs):
        nonlocal depth
        if is_velocity(inputs):
            if depth == 0:
                (in_training if module.training else others).add(*inputs[:3])
            depth += 1

    def leave(module, inputs, output):
        nonlocal depth
        depth -= is_velocity(inputs)

    with ExitStack() as stack:
        for handle in (
            register_module_forward_pre_hook(enter),
            register_module_forward_hook(leave),
        ):
            stack.callback(handle.remove)
        yield in_training, others


class Watched:
    """An imputer, and what its networks and its optimiser did during the fit."""

    def __init__(self, frame, settings):
        self.frame, self.settings = frame, settings
        self.model = MACFMImputer(**settings)
        self.rates, self.decays, self.norms, self.steps = [], [], [], []
        with ExitStack() as stack:
            stack.enter_context(patch.object(AdamW, "step", self._watch(AdamW.step)))
            self.trained, self.judged = stack.enter_context(calls_of_networks())
            self.model.fit(frame)
        self.network, self.history = self.model.network_, self.model.history_

    def _watch(self, step):
        def watched(adamw, rate):
            decays = [decay for decay, _ in adamw._groups]
            assert decays[-1] == 0
            weights = [one.weight for _, group in adamw._groups for one in group]
            self.rates.append(rate)
            self.decays.append(decays[0])
            self.norms.append(flat([w.grad for w in weights]).norm().item())
            step(adamw, rate)
            self.steps.append(flat(weights))

        return watched

    def read(self):
        """Fill the table; return it, and what the networks were asked."""
        with calls_of_networks() as (_, calls):
            return self.model.transform(self.frame), calls

    def another(self, **settings):
        """Another imputer of the same table, with these settings changed."""
        return Watched(self.frame, self.settings | settings)

    @property
    def weights(self):
        return flat(self.network.parameters())

    @property
    def filled(self):
        return self.read()[0]

    @property
    def times(self):
        return self.read()[1].times

    def column(self, name):
        return next(c for c in self.model.schema_.columns if c.name == name)

    def count(self, kind):
        return sum(type(m).__name__ == kind for m in self.network.modules())

    def answer(self, x, *, t, m_cond):
        with torch.no_grad():
            return self.network(x, torch.full((len(x), 1), t), m_cond)


@pytest.fixture
def watch():
    """Fit an imputer to a table and say what was seen: ``watch(frame, settings)``."""
    return Watched
