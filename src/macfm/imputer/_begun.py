"""Networks whose training is under way, and the guesses that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from macfm.flow import TrainConfig, Training, TrainResult
from macfm.imputer._budget import ran_out_of_time

Draw = Callable[[nn.Module], Tensor]


@dataclass(frozen=True)
class Begun:
    """A network whose training is under way."""

    number: int
    late: float
    """Seconds after the first one."""
    network: nn.Module
    velocity: nn.Module
    guess_again: Draw
    config: TrainConfig
    training: Training


class Guesses:
    """Guesses of holes that networks trained side by side draw once for all of them."""

    def __init__(self) -> None:
        self._n_drawn = 0
        self._last: Tensor | None = None

    def drawn_by(self, draw: Draw) -> Draw:
        """Return what draws new guesses unless another has done so this time."""
        n_asked = 0

        def refill(network: nn.Module) -> Tensor:
            nonlocal n_asked
            n_asked += 1
            if self._last is None or self._n_drawn < n_asked:
                self._last, self._n_drawn = draw(network), n_asked
            return self._last

        return refill


def is_cut_short(one: Begun, result: TrainResult) -> bool:
    """Whether a training ended before its network was worth something."""
    return result.interrupted or ran_out_of_time(result, one.config)
