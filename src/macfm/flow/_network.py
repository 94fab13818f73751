"""Velocity networks: ``v_t = net(x_t, t, m_cond)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from macfm.flow._guide import Gaussian, Guess, plain_guess
from macfm.flow._path import Space, end_point, to_space
from macfm.flow._schedule import Schedule

_N_FREQUENCIES = 32
# CPU matrix products of other widths give last bits that depend on the thread count,
# and so do the gradients of a normalisation's scale and shift: neither occurs below.
_WIDTH_STEP = 16


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of the velocity network."""

    backbone: Literal["mlp", "transformer"]
    """MLP over the whole row, or attention between its columns."""
    d_model: int
    """Width of the hidden layers or tokens."""
    n_blocks: int
    """Number of blocks between input projection and velocity head."""
    n_heads: int
    """Attention heads of the transformer; the MLP does not read it."""
    dropout: float
    """Share of hidden units dropped in training."""
    n_masks: int
    """Masks the network is shown: 0, 1 (what is shown), or 2 (models of format 1)."""
    residual: bool
    """Pre-normalised residual blocks in the MLP instead of a plain stack."""
    n_frequencies: int
    """Learned sinusoids of each coordinate beside its value; the MLP alone reads it."""
    precondition: bool
    """Whether to wrap the network in `Preconditioned`."""
    guide: bool
    """Whether a Gaussian guide stands beside the networks."""


def _padded(width: int) -> int:
    """Round a width up to a multiple of `_WIDTH_STEP`."""
    return -(-width // _WIDTH_STEP) * _WIDTH_STEP


def _masks(m_cond: Tensor, n_masks: int, dtype: torch.dtype) -> list[Tensor]:
    """Return the masks a network is shown, as numbers."""
    # NOTE[DIFF]: the paper's network sees x_t and t alone and cannot tell a
    # conditioning value from a half-transported one.
    return [m_cond.to(dtype), (~m_cond).to(dtype)][:n_masks]


class TimeEncoding(nn.Module):
    """Sinusoids of t and a small MLP: ``(n, 1) -> (n, d_model)``."""

    frequencies: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        exponents = torch.linspace(0, 1, _N_FREQUENCIES)
        self.register_buffer("frequencies", 1000.0**exponents)
        self.mlp = nn.Sequential(
            nn.Linear(2 * _N_FREQUENCIES, d_model),
            nn.SiLU(),
            nn.Linear(d_model, d_model),
        )

    def forward(self, t: Tensor) -> Tensor:
        """Encode times."""
        angle = t * self.frequencies
        return self.mlp(torch.cat([torch.sin(angle), torch.cos(angle)], dim=1))


class PeriodicFeatures(nn.Module):
    """Learned sinusoids of every coordinate: ``(n, d) -> (n, 2 d n_frequencies)``.

    They let an MLP resolve steps and spikes in a column, such as a value that most
    rows share.
    """

    # NOTE[DIFF]: the paper's network reads the bare values.

    _SCALE = 0.3
    # They enter small and grow where they help: a smooth column is better off without.
    _GAIN = 0.2

    def __init__(self, *, d: int, n_frequencies: int) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(self._SCALE * torch.randn(d, n_frequencies))
        self.gain = nn.Parameter(torch.full((d, 1), self._GAIN))

    def forward(self, x: Tensor) -> Tensor:
        """Expand ``x``."""
        angle = 2 * math.pi * x.unsqueeze(-1) * self.frequencies
        waves = torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)
        return (self.gain * waves).flatten(1)


class ResidualBlock(nn.Module):
    """h + W₂ dropout(SiLU(W₁ norm(h)))."""

    # NOTE[DIFF]: the paper stacks plain SiLU layers without dropout.

    def __init__(self, *, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, elementwise_affine=False)
        self.up = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)
        self.down = nn.Linear(d_model, d_model)

    def forward(self, h: Tensor) -> Tensor:
        """Apply the block to ``(n, d_model)``."""
        return h + self.down(self.dropout(F.silu(self.up(self.norm(h)))))


class MLPVelocity(nn.Module):
    """The paper's compact MLP; residual blocks and mask input are our additions.

    Notes
    -----
    ``c_t = MLP(sinusoids(t))`` is added to the projected input, SiLU blocks follow, a
    two-layer head gives the velocity. With ``n_masks=0, n_hints=0, residual=False,
    dropout=0, n_frequencies=0`` it is the network of the paper.

    Shape
    -----
    ``x_t, m_cond`` and the result are ``(n, d)``, ``t`` is ``(n, 1)``, ``hints`` are
    `n_hints` tensors of shape ``(n, d)``.
    """

    def __init__(
        self,
        *,
        d: int,
        d_model: int,
        n_blocks: int,
        dropout: float,
        n_masks: int,
        n_hints: int,
        residual: bool,
        n_frequencies: int,
    ) -> None:
        super().__init__()
        self.n_masks = n_masks
        self.d = d
        self.periodic = None
        if n_frequencies:
            self.periodic = PeriodicFeatures(d=d, n_frequencies=n_frequencies)
        self.d_in = _padded(d * (1 + n_masks + n_hints + 2 * n_frequencies))
        self.project = nn.Linear(self.d_in, d_model)
        self.time = TimeEncoding(d_model=d_model)
        blocks: list[nn.Module] = []
        for _ in range(n_blocks):
            if residual:
                blocks.append(ResidualBlock(d_model=d_model, dropout=dropout))
            else:
                blocks += [
                    nn.Linear(d_model, d_model),
                    nn.SiLU(),
                    nn.Dropout(dropout),
                ]
        if residual:
            blocks.append(nn.LayerNorm(d_model, elementwise_affine=False))
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Sequential(
            nn.Linear(d_model, d_model), nn.SiLU(), nn.Linear(d_model, _padded(d))
        )

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, hints: Sequence[Tensor] = ()
    ) -> Tensor:
        """Predict the velocity at ``x_t``."""
        shown = [x_t]
        if self.periodic is not None:
            shown.append(self.periodic(x_t))
        shown += _masks(m_cond, self.n_masks, x_t.dtype)
        row = torch.cat([*shown, *hints], dim=1)
        row = F.pad(row, (0, self.d_in - row.shape[1]))
        h = self.blocks(self.project(row) + self.time(t))
        return self.head(h)[:, : self.d]


class TransformerBlock(nn.Module):
    """Attention and SwiGLU, both modulated by the time (AdaLN-Zero)."""

    def __init__(self, *, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.dropout = nn.Dropout(dropout)
        self.norm_1 = nn.LayerNorm(d_model, elementwise_affine=False)
        self.norm_2 = nn.LayerNorm(d_model, elementwise_affine=False)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
        d_hidden = 2 * d_model
        self.gate = nn.Linear(d_model, 2 * d_hidden)
        self.down = nn.Linear(d_hidden, d_model)
        self.modulation = nn.Linear(d_model, 6 * d_model)
        nn.init.zeros_(self.modulation.weight)
        nn.init.zeros_(self.modulation.bias)

    def forward(self, h: Tensor, c_t: Tensor) -> Tensor:
        """Mix tokens ``(n, n_tokens, d_model)`` under a time code ``(n, d_model)``."""
        modulation = self.modulation(F.silu(c_t)).unsqueeze(1)
        shift_1, scale_1, gate_1, shift_2, scale_2, gate_2 = modulation.chunk(6, dim=-1)
        attended = self._attend(self.norm_1(h) * (1 + scale_1) + shift_1)
        h = h + gate_1 * self.dropout(attended)
        value, gate = self.gate(self.norm_2(h) * (1 + scale_2) + shift_2).chunk(2, -1)
        return h + gate_2 * self.down(self.dropout(F.silu(gate) * value))

    def _attend(self, h: Tensor) -> Tensor:
        n, n_tokens, d_model = h.shape
        heads = (
            self.qkv(h).view(n, n_tokens, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2])
        return self.out(mixed.transpose(1, 2).reshape(n, n_tokens, d_model))


class TransformerVelocity(nn.Module):
    """One token a column, AdaLN-Zero conditioning, a zero-initialised head.

    The coordinates of one column (``group``) make one token, and each coordinate reads
    its velocity from the token of its column.

    Shape
    -----
    ``x_t, m_cond`` and the result are ``(n, d)``, ``t`` is ``(n, 1)``, ``hints`` are
    `n_hints` tensors of shape ``(n, d)``.
    """

    group: Tensor
    member: Tensor

    def __init__(
        self,
        *,
        group: Tensor,
        d_model: int,
        n_blocks: int,
        n_heads: int,
        dropout: float,
        n_masks: int,
        n_hints: int,
    ) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(
                f"d_model must be a multiple of n_heads, got d_model={d_model} and "
                f"n_heads={n_heads}"
            )
        d, n_tokens = len(group), int(group.max()) + 1
        self.n_masks = n_masks
        self.register_buffer("group", group)
        self.n_pad = _padded(d) - d
        member = F.one_hot(group, n_tokens).T.float()
        self.register_buffer("member", F.pad(member, (0, self.n_pad)))
        embed = torch.randn(d + self.n_pad, d_model) / math.sqrt(d_model)
        self.embed = nn.Parameter(embed)
        self.hints = nn.ParameterList(
            torch.randn(d + self.n_pad, d_model) / math.sqrt(d_model)
            for _ in range(n_hints)
        )
        self.column = nn.Parameter(torch.randn(n_tokens, d_model) / math.sqrt(d_model))
        self.state = nn.Parameter(torch.randn(n_masks, d_model) / math.sqrt(d_model))
        self.time = TimeEncoding(d_model=d_model)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model=d_model, n_heads=n_heads, dropout=dropout)
            for _ in range(n_blocks)
        )
        self.norm = nn.LayerNorm(d_model, elementwise_affine=False)
        self.head_weight = nn.Parameter(torch.zeros(d, d_model))
        self.head_bias = nn.Parameter(torch.zeros(d))

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, hints: Sequence[Tensor] = ()
    ) -> Tensor:
        """Predict the velocity at ``x_t``."""
        h = self._tokens(x_t, self.embed) + self.column
        for hint, embed in zip(hints, self.hints, strict=True):
            h = h + self._tokens(hint, embed)
        first = self.member.argmax(dim=1)  # masks agree within a column
        for mask, state in zip(
            _masks(m_cond, self.n_masks, x_t.dtype), self.state, strict=True
        ):
            h = h + mask[:, first, None] * state
        c_t = self.time(t)
        for block in self.blocks:
            h = block(h, c_t)
        return (self.norm(h)[:, self.group] * self.head_weight).sum(-1) + self.head_bias

    def _tokens(self, x: Tensor, embed: Tensor) -> Tensor:
        """Sum the embedded coordinates of each column: ``(n, n_tokens, d_model)``."""
        return (F.pad(x, (0, self.n_pad)).unsqueeze(1) * self.member) @ embed


class Preconditioned(nn.Module):
    """Let a network predict a quantity of unit variance at every t.

    A normal law guesses the velocity from x_t and says how far it may be off
    (`Guess`); the network gives F and

        dx/ds = guess + scale · F

    on coordinates that are not shown; elsewhere F itself. Under N(0, I) the guess is
    (2s − 1) x_t / q with scale 1/√q, q = s² + (1 − s)². Noisy coordinates enter as
    s x_t / q, their best linear guess of X: at t = 0 the noise does not enter at all,
    and the end point of the path is the conditional mean, whatever the noise.

    With hints the law is the guide's, fitted to the table, and the network also reads
    the guide's conditional mean and its standard deviation: a network that gives 0
    then already fills and draws as the normal law does.
    """

    # NOTE[DIFF]: the paper's network predicts the velocity directly.

    sees_noise_at_start = False

    def __init__(
        self, network: nn.Module, *, schedule: Schedule, space: Space, hints: bool
    ) -> None:
        super().__init__()
        self.network = network
        self.schedule = schedule
        self.space = space
        self.hints = hints

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, guess: Guess | None = None
    ) -> Tensor:
        """Predict the velocity at ``x_t``, shape ``(n, d)``."""
        s_t, ds_t = self.schedule(t)
        moved = ~m_cond
        q = s_t**2 + (1 - s_t) ** 2
        hints: tuple[Tensor, ...] = ()
        if self.hints:
            mean = torch.where(moved, end_point(x_t, guess.v_s, s_t), 0.0)
            hints = (mean, torch.where(moved, (1 - s_t) * guess.scale, 0.0))
        else:
            guess = plain_guess(x_t, s_t, moved)
        shown = torch.where(moved, s_t / q * x_t, x_t)
        f = self.network(shown, t, m_cond, hints)
        return to_space(guess.v_s + guess.scale * f, ds_t, space=self.space)


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

    ``trust`` has the shape ``(n_members, n_knots, d)``.

    Notes
    -----
    With the guide's velocity v_g and a member's v_k the velocity is the mean over k of
    v_g + a_k(t) (v_k − v_g), where the trust a_k in [0, 1] was found for every column
    and time on held-out rows (`flow.measure_trust`): 0 where a network does not beat
    the guide.
    """

    # NOTE[DIFF]: the paper has no guide and trusts its network everywhere.

    sees_noise_at_start = False
    trust: Tensor

    def __init__(
        self,
        guide: Gaussian,
        members: Sequence[Preconditioned],
        trust: Tensor,
        *,
        schedule: Schedule,
        space: Space,
    ) -> None:
        super().__init__()
        self.guide = guide
        self.members = nn.ModuleList(members)
        self.register_buffer("trust", trust)
        self.schedule = schedule
        self.space = space

    @classmethod
    def alone(
        cls, guide: Gaussian, *members: nn.Module, schedule: Schedule, space: Space
    ) -> GuidedEnsemble:
        """Return the guide without any network, or with networks fully trusted."""
        trust = torch.ones(len(members), 2, len(guide.mean), device=guide.mean.device)
        return cls(guide, members, trust, schedule=schedule, space=space)

    def forward(self, x_t: Tensor, t: Tensor, m_cond: Tensor) -> Tensor:
        """Predict the velocity at ``x_t``, shape ``(n, d)``.

        ``m_cond`` may have fewer rows, each of which then stands for several of
        ``x_t``.
        """
        s_t, ds_t = self.schedule(t)
        guess = self.guide(x_t, s_t, m_cond)
        v_guide = to_space(guess.v_s, ds_t, space=self.space)
        m_cond = m_cond.repeat(len(x_t) // max(len(m_cond), 1), 1)
        change = torch.zeros_like(v_guide)
        for member, trust in zip(self.members, self.trust, strict=True):
            a_t = trust_at(trust, s_t)
            change = change + a_t * (member(x_t, t, m_cond, guess) - v_guide)
        return v_guide + change / max(len(self.members), 1)


def trust_at(trust: Tensor, s_t: Tensor) -> Tensor:
    """Interpolate trust, known at evenly spaced values of s, ``(n, d)``."""
    place = s_t * (len(trust) - 1)
    below = place.long().clamp(0, max(len(trust) - 2, 0)).squeeze(1)
    share = place - below.unsqueeze(1)
    return torch.lerp(trust[below], trust[below + 1], share)


def make_network(
    config: NetworkConfig,
    *,
    group: Tensor,
    schedule: Schedule,
    space: Space,
    hints: bool,
) -> nn.Module:
    """Build a velocity network for coordinates of the given columns.

    Parameters
    ----------
    config : NetworkConfig
        Its shape.
    group : Tensor of int64, shape (d,)
        Column of each coordinate.
    schedule : Schedule
        Read by the preconditioning.
    space : {"t", "s"}
        The space of the predicted velocity.
    hints : bool
        Whether the network stands around a guide and reads what it says.
    """
    network: nn.Module
    n_hints = 2 if hints else 0
    if config.backbone == "mlp":
        network = MLPVelocity(
            d=len(group),
            d_model=config.d_model,
            n_blocks=config.n_blocks,
            dropout=config.dropout,
            n_masks=config.n_masks,
            n_hints=n_hints,
            residual=config.residual,
            n_frequencies=config.n_frequencies,
        )
    else:
        network = TransformerVelocity(
            group=group,
            d_model=config.d_model,
            n_blocks=config.n_blocks,
            n_heads=config.n_heads,
            dropout=config.dropout,
            n_masks=config.n_masks,
            n_hints=n_hints,
        )
    if config.precondition:
        network = Preconditioned(network, schedule=schedule, space=space, hints=hints)
    return network
