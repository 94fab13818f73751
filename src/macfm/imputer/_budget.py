"""How long training may take."""

from __future__ import annotations

from dataclasses import replace

from macfm.flow import TrainConfig, TrainResult
from macfm.imputer._settings import Settings

# Left to a network whose budget the guide has used up.
_LEAST_SECONDS = 1e-3
# Share of a budget that is left for trees.
_TREES_SHARE = 0.35


def within_budget(settings: Settings, *, spent: float, n_turns: int) -> TrainConfig:
    """Give the next of some turns its share of what is left of the time budget."""
    budget = settings.train.max_seconds
    if budget is None:
        return settings.train
    if settings.values["n_trees"]:
        budget *= 1 - _TREES_SHARE
    left = max((budget - spent) / n_turns, _LEAST_SECONDS)
    return replace(settings.train, max_seconds=left)


def ran_out_of_time(result: TrainResult, config: TrainConfig) -> bool:
    """Whether the time was up while the learning rate was still rising."""
    if config.max_seconds is None or not result.history or result.interrupted:
        return False
    spent = result.history[-1].seconds
    return result.n_steps < config.warmup_steps and spent >= config.max_seconds
