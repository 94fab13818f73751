"""Presets, and the way from a user's parameters to checked settings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from macfm.flow import (
    LossConfig,
    NetworkConfig,
    Path,
    SolverConfig,
    TimeLaw,
    TrainConfig,
    make_schedule,
)


@dataclass(frozen=True)
class _BySize:
    """A preset's value that depends on the number of rows."""

    tiny: Any
    small: Any
    large: Any

    def value(self, n_rows: int, n_columns: int) -> Any:
        if n_rows < _SMALL:
            return self.tiny
        return self.small if n_rows < _LARGE else self.large


@dataclass(frozen=True)
class _ByWidth:
    """A preset's value that depends on the number of columns."""

    narrow: Any
    wide: Any

    def value(self, n_rows: int, n_columns: int) -> Any:
        return self.narrow if n_columns < _WIDE else self.wide


_SMALL = 1_000
_LARGE = 5_000
_WIDE = 500

# The paper does not print its widths, rates, weights and encoding of categories;
# docs/method.md says how those below were chosen.
_PAPER: dict[str, Any] = {
    "max_one_hot": 64,
    "method": "sample",
    "aggregate": "mean",
    "n_trials": 50,
    "solver": "heun",
    "n_steps": 10,
    "grid": "uniform",
    "grid_beta": 2.0,
    "backbone": "mlp",
    "n_networks": 1,
    "d_model": 512,
    "n_blocks": 4,
    "n_heads": 8,
    "dropout": 0.0,
    "mask_input": False,
    "residual": False,
    "n_frequencies": 0,
    "precondition": False,
    "guide": False,
    "schedule": "linear",
    "gamma": 2.0,
    "velocity_space": "t",
    "time_law": "uniform",
    "share_t0": 0.0,
    "hide_rate": (0.05, 0.6),
    "lambda_stab": 0.1,
    "lambda_cons": 0.1,
    "eta_cons": 0.1,
    "sigma_in": 0.05,
    "batch_size": 1024,
    "max_steps": 8000,
    "max_seconds": None,
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "warmup_steps": 100,
    "decay_share": 0.0,
    "ema_decay": 0.999,
    "clip_norm": 1.0,
    "stopping": "objective",
    "patience": 10,
    "evaluate_every": 100,
    "validation_share": 0.1,
}
_DEFAULT: dict[str, Any] = _PAPER | {
    "method": "mean",
    "n_trials": 100,
    "n_networks": _BySize(1, 1, 2),
    "d_model": _BySize(128, 256, 512),
    "n_blocks": _BySize(3, 3, 4),
    "dropout": 0.2,
    "mask_input": True,
    "residual": True,
    "n_frequencies": _ByWidth(8, 0),
    "precondition": True,
    "guide": True,
    "share_t0": 0.4,
    "lambda_stab": 0.0,
    "lambda_cons": 0.0,
    "sigma_in": 0.0,
    "batch_size": _BySize(128, 256, 1024),
    "max_steps": _BySize(2000, 2000, 6000),
    "weight_decay": 0.1,
    "decay_share": 0.3,
    "stopping": "validation",
    "evaluate_every": _BySize(25, 50, 100),
    "validation_share": _BySize(0.2, 0.1, 0.1),
}
# One small network and fewer steps.
_FAST: dict[str, Any] = _DEFAULT | {
    "n_networks": 1,
    "d_model": _BySize(128, 256, 256),
    "n_blocks": 3,
    "batch_size": _BySize(128, 256, 256),
    "max_steps": _BySize(800, 800, 2000),
}
# More and larger networks, trained for longer.
_BEST: dict[str, Any] = _DEFAULT | {
    "n_networks": 5,
    "d_model": 512,
    "n_blocks": 4,
    "max_steps": _BySize(3000, 3000, 8000),
}
PRESETS: dict[str, dict[str, Any]] = {
    "default": _DEFAULT,
    "fast": _FAST,
    "best": _BEST,
    "paper": _PAPER,
}


# How a trained network is read; these may be set after `fit`.
READ_OUT = (
    "method",
    "aggregate",
    "n_trials",
    "solver",
    "n_steps",
    "grid",
    "grid_beta",
)


@dataclass(frozen=True)
class Settings:
    """Everything `flow` needs, resolved and checked."""

    max_one_hot: int
    """Most categories of a column that is encoded one-hot."""
    method: str
    """``mean``: one evaluation at t = 0; ``sample``: aggregated trajectories."""
    aggregate: str
    """Center of the trajectories: ``mean`` or ``median``."""
    n_trials: int
    """Trajectories a row."""
    n_networks: int
    """Networks whose velocities are averaged."""
    validation_share: float
    """Share of the rows held out to judge by."""
    path: Path
    """From noise to data."""
    time_law: TimeLaw
    """Law of the training times."""
    network: NetworkConfig
    """Shape of the network."""
    train: TrainConfig
    """Length and pace of training."""
    loss: LossConfig
    """Weights of the loss terms."""
    solver: SolverConfig
    """How trajectories are integrated."""


@dataclass(frozen=True)
class _Rule:
    """What a parameter must be, in words and as a predicate."""

    needed: str
    holds: Callable[[Any], bool]


def _one_of(*names: str) -> _Rule:
    return _Rule(f"one of {', '.join(map(repr, names))}", lambda v: v in names)


def _integer(low: int) -> _Rule:
    return _Rule(
        f"an integer of at least {low}",
        lambda v: isinstance(v, Integral) and not isinstance(v, bool) and v >= low,
    )


def _is_real(value: Any) -> bool:
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _number(
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> _Rule:
    left, right = "(" if open_low else "[", ")" if open_high else "]"
    needed = f"a number in {left}{low:g}, {high:g}{right}"
    if high == math.inf:
        needed = f"a number {'above' if open_low else 'of at least'} {low:g}"

    def holds(value: Any) -> bool:
        if not _is_real(value):
            return False
        above = value > low if open_low else value >= low
        return above and (value < high if open_high else value <= high)

    return _Rule(needed, holds)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all(_is_real(v) for v in value)
    )


_FLAG = _Rule("True or False", lambda v: isinstance(v, bool | np.bool_))

_RULES: dict[str, _Rule] = {
    "max_one_hot": _integer(2),
    "method": _one_of("mean", "sample"),
    "aggregate": _one_of("mean", "median"),
    "n_trials": _integer(1),
    "solver": _one_of("euler", "heun"),
    "n_steps": _integer(1),
    "grid": _one_of("uniform", "schedule", "beta"),
    "grid_beta": _number(1),
    "backbone": _one_of("mlp", "transformer"),
    "n_networks": _integer(1),
    "d_model": _integer(1),
    "n_blocks": _integer(1),
    "n_heads": _integer(1),
    "dropout": _number(0, 1, open_high=True),
    "mask_input": _FLAG,
    "residual": _FLAG,
    "n_frequencies": _integer(0),
    "precondition": _FLAG,
    "guide": _FLAG,
    "schedule": _one_of("linear", "power", "cosine"),
    "gamma": _number(1, 3),
    "velocity_space": _one_of("t", "s"),
    "time_law": _Rule(
        "'uniform' or a pair (a, b) of positive numbers",
        lambda v: v == "uniform" or (_is_pair(v) and min(v) > 0),
    ),
    "share_t0": _number(0, 1),
    "hide_rate": _Rule(
        "a pair (low, high) with 0 <= low <= high <= 1 and high > 0",
        lambda v: _is_pair(v) and 0 <= v[0] <= v[1] <= 1 and v[1] > 0,
    ),
    "lambda_stab": _number(0),
    "lambda_cons": _number(0),
    "eta_cons": _number(0),
    "sigma_in": _number(0),
    "batch_size": _integer(1),
    "max_steps": _integer(1),
    "max_seconds": _Rule(
        "None or a number above 0", lambda v: v is None or (_is_real(v) and v > 0)
    ),
    "learning_rate": _number(0, open_low=True),
    "weight_decay": _number(0),
    "warmup_steps": _integer(0),
    "decay_share": _number(0, 1, open_high=True),
    "ema_decay": _number(0, 1, open_high=True),
    "clip_norm": _number(0, open_low=True),
    "stopping": _one_of("validation", "objective", "none"),
    "patience": _integer(1),
    "evaluate_every": _integer(1),
    "validation_share": _number(0, 1, open_low=True, open_high=True),
}

# Parameters that have no place in a preset.
_OTHER_RULES: dict[str, _Rule] = {
    "preset": _one_of(*PRESETS),
    "empty_columns": _one_of("keep", "error"),
    "handle_unknown": _one_of("ignore", "warn", "error"),
    "add_indicator": _FLAG,
    "transform_batch_size": _integer(1),
    "device": _Rule(
        "'auto', 'cpu', 'cuda' or 'cuda:N'",
        lambda v: (
            isinstance(v, str)
            and re.fullmatch("auto|cpu|cuda(:[0-9]+)?", v) is not None
        ),
    ),
    "verbose": _Rule("True, False or an integer", lambda v: isinstance(v, Integral)),
}


def _check(name: str, value: Any, rule: _Rule) -> None:
    if not rule.holds(value):
        raise ValueError(f"{name} must be {rule.needed}, got {name}={value!r}")


def resolved_values(
    parameters: Mapping[str, Any], *, n_rows: int, n_columns: int = 1
) -> dict[str, Any]:
    """Check an imputer's parameters and lay those of a preset over it, by name.

    Parameters and errors are those of `resolve`.
    """
    for name, rule in _OTHER_RULES.items():
        _check(name, parameters[name], rule)
    chosen = dict(PRESETS[parameters["preset"]])
    for name, rule in _RULES.items():
        if parameters[name] is not None:
            chosen[name] = parameters[name]
        elif isinstance(chosen[name], _BySize | _ByWidth):
            chosen[name] = chosen[name].value(n_rows, n_columns)
        _check(name, chosen[name], rule)
    return chosen


def resolve(
    parameters: Mapping[str, Any], *, n_rows: int, n_columns: int = 1
) -> Settings:
    """Check an imputer's parameters and lay them over its preset.

    Parameters
    ----------
    parameters : mapping
        The imputer's own, as ``get_params`` gives them. None stands for the preset's
        value.
    n_rows : int
        Rows of the table of `fit`; presets give larger tables larger networks.
    n_columns : int, default=1
        Its columns; presets give wide tables narrower inputs.

    Returns
    -------
    Settings

    Raises
    ------
    ValueError
        If a value is out of its range, naming the parameter and what it must be.
    """
    chosen = resolved_values(parameters, n_rows=n_rows, n_columns=n_columns)
    settings = _settings(chosen)
    if settings.method == "mean" and settings.path.readout_time:
        raise ValueError(
            f"method='mean' reads the velocity at t = 0, where the schedule "
            f"{chosen['schedule']!r} stands still; use velocity_space='s', "
            f"schedule='linear' or method='sample'"
        )
    return settings


def _settings(chosen: Mapping[str, Any]) -> Settings:
    """Sort checked values into the configurations of `flow`."""

    def pick(config: type) -> Any:
        fields = config.__dataclass_fields__
        return config(**{name: chosen[name] for name in fields})

    law = chosen["time_law"]
    chosen = {**chosen, "n_masks": int(chosen["mask_input"])}
    return Settings(
        max_one_hot=chosen["max_one_hot"],
        method=chosen["method"],
        aggregate=chosen["aggregate"],
        n_trials=chosen["n_trials"],
        n_networks=chosen["n_networks"],
        validation_share=chosen["validation_share"],
        path=Path(
            make_schedule(chosen["schedule"], gamma=chosen["gamma"]),
            chosen["velocity_space"],
        ),
        time_law=TimeLaw(
            beta=None if law == "uniform" else tuple(law), share_t0=chosen["share_t0"]
        ),
        network=pick(NetworkConfig),
        train=pick(TrainConfig),
        loss=pick(LossConfig),
        solver=pick(SolverConfig),
    )
