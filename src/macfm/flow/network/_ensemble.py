"""Several networks as one velocity, with or without a guide."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from macfm.flow._calm import Calm
from macfm.flow._guide import Gaussian, Guess
from macfm.flow._path import Path
from macfm.flow._polish import Polish
from macfm.flow._schedule import interpolate
from macfm.flow.network._mlp import MLPVelocity


class Ensemble(nn.Module):
    """The mean velocity of several networks, which errs less than each of them."""

    # NOTE[DIFF]: the paper trains one network.

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    @property
    def sees_noise_at_start(self) -> bool:
        """Whether the end point at t = 0 depends on the noise there."""
        return any(getattr(m, "sees_noise_at_start", True) for m in self.members)

    def forward(self, x_t: Tensor, t: Tensor, m_cond: Tensor) -> Tensor:
        """Predict the velocity at ``x_t``, shape ``(n, d)``."""
        velocities = [member(x_t, t, m_cond) for member in self.members]
        return torch.stack(velocities).mean(dim=0)


class GuidedEnsemble(nn.Module):
    """Networks around a Gaussian guide, each trusted as far as it has proved itself.

    ``trust`` has the shape ``(n_members, n_knots, d)``; members are called as
    ``member(x_t, t, m_cond, guess)``.

    Notes
    -----
    With the guide's velocity v_g and a member's v_k the velocity is the mean over k of
    v_g + a_k(t) (v_k − v_g), where the trust a_k was found for every column and time on
    held-out rows (`flow.measure_trust`): 0 where a network does not beat the guide, 1
    where all of it pays, and times what it counts beside the others
    (`flow.measure_balance`). ``calm`` says how far the mean is read along the path from
    no noise, if it is, and ``polish`` is what held-out rows add to the answers that are
    read from this velocity, if anything.
    """

    # NOTE[DIFF]: the paper has no guide and trusts its network everywhere.

    sees_noise_at_start = False
    trust: Tensor

    def __init__(
        self,
        guide: Gaussian,
        members: Sequence[nn.Module],
        trust: Tensor,
        *,
        path: Path,
    ) -> None:
        super().__init__()
        self.guide = guide
        self.members = nn.ModuleList(members)
        self.register_buffer("trust", trust)
        self.path = path
        self.calm: Calm | None = None
        self.polish: Polish | None = None

    @classmethod
    def alone(cls, guide: Gaussian, *members: nn.Module, path: Path) -> GuidedEnsemble:
        """Return the guide without any network, or with networks fully trusted."""
        trust = torch.ones(len(members), 2, len(guide.mean), device=guide.mean.device)
        return cls(guide, members, trust, path=path)

    def part(self, numbers: Sequence[int]) -> GuidedEnsemble:
        """Return some of the networks around the same guide."""
        members, trust = [self.members[k] for k in numbers], self.trust[list(numbers)]
        return GuidedEnsemble(self.guide, members, trust, path=self.path)

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, guess: Guess | None = None
    ) -> Tensor:
        """Predict the velocity at ``x_t``, shape ``(n, d)``.

        ``m_cond`` may have fewer rows, each of which then stands for several of
        ``x_t``. What the guide says there is asked of it if it is not given.
        """
        s_t, ds_t = self.path.schedule(t)
        if guess is None:
            guess = self.guide(x_t, s_t, m_cond)
        v_guide = self.path.to_space(guess.v_s, ds_t)
        m_cond = m_cond.repeat(len(x_t) // max(len(m_cond), 1), 1)
        change = torch.zeros_like(v_guide)
        for member, trust in zip(self.members, self.trust, strict=True):
            a_t = interpolate(trust, s_t)
            change = change + a_t * (member(x_t, t, m_cond, guess) - v_guide)
        return v_guide + change / max(len(self.members), 1)


def coarse(network: nn.Module) -> nn.Module:
    """Return a copy whose perceptrons compute in bfloat16; the guide does as before."""
    if isinstance(network, GuidedEnsemble):
        members = [coarse(member) for member in network.members]
        guided = GuidedEnsemble(
            network.guide, members, network.trust, path=network.path
        )
        guided.calm, guided.polish = network.calm, network.polish
        return guided
    copied = copy.deepcopy(network)
    for module in copied.modules():
        if isinstance(module, MLPVelocity):
            module.coarsen()
    return copied
