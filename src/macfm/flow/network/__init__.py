"""Velocity networks: ``v_t = net(x_t, t, m_cond)``."""

from macfm.flow.network._dropout import Dropout, drops, twins
from macfm.flow.network._ensemble import Ensemble, GuidedEnsemble, coarse
from macfm.flow.network._make import NetworkConfig, make_network
from macfm.flow.network._mlp import MLPVelocity
from macfm.flow.network._precondition import Preconditioned
from macfm.flow.network._transformer import TransformerVelocity

__all__ = [
    "Dropout",
    "Ensemble",
    "GuidedEnsemble",
    "MLPVelocity",
    "NetworkConfig",
    "Preconditioned",
    "TransformerVelocity",
    "coarse",
    "drops",
    "make_network",
    "twins",
]
