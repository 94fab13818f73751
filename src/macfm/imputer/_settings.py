"""The way from a user's parameters to what `flow` needs, resolved and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from macfm._errors import ParameterError, Said
from macfm._words import read_seconds
from macfm.flow import (
    LossConfig,
    NetworkConfig,
    Path,
    SolverConfig,
    StepConfig,
    TimeLaw,
    TrainConfig,
    make_schedule,
)
from macfm.imputer._parameters import (
    N_TRIALS,
    READ_OUT,
    flat_parameters,
    preset_values,
)
from macfm.imputer._sizes import Size

_Config = TypeVar(
    "_Config", LossConfig, NetworkConfig, SolverConfig, StepConfig, TrainConfig
)


@dataclass(frozen=True)
class ReadOut:
    """How a fitted model is read."""

    method: Literal["mean", "median", "draw"]
    """``mean``, ``median`` or ``draw``."""
    n_trials: int
    """Trajectories a row; 0: the mean is read without any from noise."""
    solver: SolverConfig
    """How trajectories are integrated."""
    batch_size: int
    """Rows evaluated at a time."""


@dataclass(frozen=True)
class Settings:
    """Everything that training and filling need."""

    values: dict[str, Any]
    """The values in force, by the names of the parameters."""
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
    read_out: ReadOut
    """How the fitted model is read."""

    @property
    def n_networks(self) -> int:
        """Networks whose velocities are one, as their mean."""
        return self.values["n_networks"]


def resolve(
    parameters: Mapping[str, Any],
    *,
    n_rows: int = 1,
    n_columns: int = 1,
    on_gpu: bool = False,
) -> Settings:
    """Check an imputer's parameters and lay them over its preset.

    Parameters
    ----------
    parameters : mapping
        The imputer's own, as ``get_params(deep=False)`` gives them. A setting that is
        not given takes the preset's value.
    n_rows, n_columns : int, default=1
        Size of the table of `fit`; presets give larger tables larger networks.
    on_gpu : bool, default=False
        Whether they are trained on a GPU, which can afford larger ones yet.

    Returns
    -------
    Settings

    Raises
    ------
    ParameterError
        If a value is out of its range, naming the parameter and what it must be.
    """
    return _from_values(_values(parameters, Size(n_rows, n_columns, on_gpu)))


def resolve_read_out(
    parameters: Mapping[str, Any], *, trained: Mapping[str, Any]
) -> Settings:
    """Return the settings of `fit`, with the read-out's as the parameters say now.

    Parameters
    ----------
    parameters : mapping
        As for `resolve`, with the preset of `fit`.
    trained : mapping
        The values in force in `fit`.
    """
    now = _values(parameters, Size(n_rows=1, n_columns=1, on_gpu=False))
    return _from_values({**trained, **{name: now[name] for name in READ_OUT}})


def _values(parameters: Mapping[str, Any], size: Size) -> dict[str, Any]:
    """Check parameters and return the values in force, by name."""
    flat = flat_parameters(parameters)
    values = preset_values(flat, size)
    if flat["method"] == "median" and flat["n_trials"] == 0:
        raise ParameterError(
            Said(
                "{method} is taken over trajectories; give {n_trials} or none",
                method="median",
                n_trials=N_TRIALS,
            ),
            parameter="n_trials",
        )
    budget = None if flat["budget"] is None else read_seconds(flat["budget"])
    return values | {"method": flat["method"], "budget": budget}


def _from_values(values: Mapping[str, Any]) -> Settings:
    """Sort checked values into the configurations of `flow`."""
    told = {
        **values,
        "n_masks": int(values["mask_input"]),
        "max_seconds": values["budget"],
    }

    def pick(config: type[_Config]) -> _Config:
        fields = config.__dataclass_fields__
        return config(**{name: told[name] for name in fields})

    told["step"] = pick(StepConfig)
    law = values["time_law"]
    n_trials = values["n_trials"]
    if values["method"] == "draw":
        n_trials = 1
    elif values["method"] == "median":
        n_trials = n_trials or N_TRIALS
    schedule = make_schedule(values["schedule"], gamma=values["gamma"])
    path = Path(schedule, values["velocity_space"])
    settings = Settings(
        values={**values, "n_trials": n_trials},
        path=path,
        time_law=TimeLaw(
            beta=None if law == "uniform" else tuple(law),
            share_t0=values["share_t0"],
            held_at=path.readout_time,
        ),
        network=pick(NetworkConfig),
        train=pick(TrainConfig),
        loss=pick(LossConfig),
        read_out=ReadOut(
            method=values["method"],
            n_trials=n_trials,
            solver=pick(SolverConfig),
            batch_size=values["transform_batch_size"],
        ),
    )
    at_rest = settings.path.readout_time > 0
    if at_rest and values["method"] == "mean" and not n_trials:
        raise ParameterError(
            Said(
                "{method} reads the velocity at t = 0, where the schedule "
                f"{values['schedule']!r} stands still; use {{velocity_space}}, "
                "{schedule} or {n_trials}",
                method="mean",
                velocity_space="s",
                schedule="linear",
                n_trials=50,
            ),
            parameter="schedule",
        )
    return settings
