"""The method: mask-aware conditional flow matching over encoded rows, in torch."""

from macfm.flow._atoms import Atoms
from macfm.flow._calibrate import Calibration, Witness, calibrate
from macfm.flow._calm import Calm
from macfm.flow._cells import (
    CellWeights,
    cell_variances,
    cells_of,
    parts_of,
    weigh_cells,
)
from macfm.flow._folds import Fold, leave_out
from macfm.flow._forest import ColumnTrees, Fill, fit_trees
from macfm.flow._gaussian import fit_gaussian
from macfm.flow._grove import MAX_STEP
from macfm.flow._guide import MAX_COORDINATES, Gaussian, Guess
from macfm.flow._levels import Levels
from macfm.flow._loss import LossConfig, LossTerms, flow_matching_loss
from macfm.flow._margins import Margins
from macfm.flow._masks import Masks, inference_masks, sample_masks
from macfm.flow._middle import middle
from macfm.flow._noise import keyed_normal, row_keys
from macfm.flow._path import (
    Path,
    PathSample,
    Space,
    add_input_noise,
    end_point,
)
from macfm.flow._points import PointLaw, Points, PointSource
from macfm.flow._polish import Polish
from macfm.flow._precision import fast_products, multiplies_bfloat16, tf32
from macfm.flow._rows import RowConfig, TrainingRows, prepare_rows
from macfm.flow._rules import Rules, find_rules
from macfm.flow._sampler import (
    ROW_STEP,
    Known,
    RowBatch,
    aggregate,
    center_of,
    conditional_mean,
    known_mean,
    mean_rows,
    row_batches,
    sees_noise_at_start,
    trajectories,
)
from macfm.flow._schedule import Cosine, Linear, Power, Schedule, TimeLaw, make_schedule
from macfm.flow._scores import Scores
from macfm.flow._solver import (
    SolverConfig,
    euler_step,
    heun_step,
    integrate,
    time_grid,
)
from macfm.flow._step import StepConfig
from macfm.flow._stretch import Stretch
from macfm.flow._trainer import (
    Evaluation,
    TrainConfig,
    Training,
    TrainResult,
    as_records,
    train,
    training,
)
from macfm.flow._trust import (
    N_KNOTS,
    find_calm,
    measure_balance,
    measure_trust,
    no_better_than_mean,
)
from macfm.flow._validation import (
    Validation,
    hold_out,
    make_validation,
)
from macfm.flow.network import (
    Ensemble,
    GuidedEnsemble,
    MLPVelocity,
    NetworkConfig,
    Preconditioned,
    TransformerVelocity,
    coarse,
    make_network,
)

__all__ = [
    "MAX_COORDINATES",
    "MAX_STEP",
    "N_KNOTS",
    "ROW_STEP",
    "Atoms",
    "Calibration",
    "Calm",
    "CellWeights",
    "ColumnTrees",
    "Cosine",
    "Ensemble",
    "Evaluation",
    "Fill",
    "Fold",
    "Gaussian",
    "Guess",
    "GuidedEnsemble",
    "Known",
    "Levels",
    "Linear",
    "LossConfig",
    "LossTerms",
    "MLPVelocity",
    "Margins",
    "Masks",
    "NetworkConfig",
    "Path",
    "PathSample",
    "PointLaw",
    "PointSource",
    "Points",
    "Polish",
    "Power",
    "Preconditioned",
    "RowBatch",
    "RowConfig",
    "Rules",
    "Schedule",
    "Scores",
    "SolverConfig",
    "Space",
    "StepConfig",
    "Stretch",
    "TimeLaw",
    "TrainConfig",
    "TrainResult",
    "Training",
    "TrainingRows",
    "TransformerVelocity",
    "Validation",
    "Witness",
    "add_input_noise",
    "aggregate",
    "as_records",
    "calibrate",
    "cell_variances",
    "cells_of",
    "center_of",
    "coarse",
    "conditional_mean",
    "end_point",
    "euler_step",
    "fast_products",
    "find_calm",
    "find_rules",
    "fit_gaussian",
    "fit_trees",
    "flow_matching_loss",
    "heun_step",
    "hold_out",
    "inference_masks",
    "integrate",
    "keyed_normal",
    "known_mean",
    "leave_out",
    "make_network",
    "make_schedule",
    "make_validation",
    "mean_rows",
    "measure_balance",
    "measure_trust",
    "middle",
    "multiplies_bfloat16",
    "no_better_than_mean",
    "parts_of",
    "prepare_rows",
    "row_batches",
    "row_keys",
    "sample_masks",
    "sees_noise_at_start",
    "tf32",
    "time_grid",
    "train",
    "training",
    "trajectories",
    "weigh_cells",
]
