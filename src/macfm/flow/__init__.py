"""The method: mask-aware conditional flow matching over encoded rows, in torch."""

from macfm.flow._loss import LossConfig, LossTerms, flow_matching_loss
from macfm.flow._masks import Masks, inference_masks, sample_masks
from macfm.flow._network import (
    Ensemble,
    MLPVelocity,
    NetworkConfig,
    Preconditioned,
    TransformerVelocity,
    make_network,
)
from macfm.flow._noise import keyed_normal, row_keys
from macfm.flow._path import (
    PathSample,
    Space,
    add_input_noise,
    end_point,
    from_space,
    sample_path,
    to_space,
)
from macfm.flow._sampler import (
    RowBatch,
    aggregate,
    conditional_mean,
    row_batches,
    trajectories,
)
from macfm.flow._schedule import Cosine, Linear, Power, Schedule, TimeLaw, make_schedule
from macfm.flow._solver import (
    SolverConfig,
    euler_step,
    heun_step,
    integrate,
    time_grid,
)
from macfm.flow._trainer import (
    Evaluation,
    TrainConfig,
    TrainResult,
    as_records,
    train,
)
from macfm.flow._validation import Validation, hold_out, readout_time

__all__ = [
    "Cosine",
    "Ensemble",
    "Evaluation",
    "Linear",
    "LossConfig",
    "LossTerms",
    "MLPVelocity",
    "Masks",
    "NetworkConfig",
    "PathSample",
    "Power",
    "Preconditioned",
    "RowBatch",
    "Schedule",
    "SolverConfig",
    "Space",
    "TimeLaw",
    "TrainConfig",
    "TrainResult",
    "TransformerVelocity",
    "Validation",
    "add_input_noise",
    "aggregate",
    "as_records",
    "conditional_mean",
    "end_point",
    "euler_step",
    "flow_matching_loss",
    "from_space",
    "heun_step",
    "hold_out",
    "inference_masks",
    "integrate",
    "keyed_normal",
    "make_network",
    "make_schedule",
    "readout_time",
    "row_batches",
    "row_keys",
    "sample_masks",
    "sample_path",
    "time_grid",
    "to_space",
    "train",
    "trajectories",
]
