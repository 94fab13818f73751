"""Every parameter, declared once: what it must be, what it means, what presets say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from typing import Any, Literal

from macfm._errors import ParameterError
from macfm._words import read_seconds
from macfm.imputer._rules import FLAG, Rule, integer, is_pair, number, one_of
from macfm.imputer._sizes import BySize, ByWidth, Size

_WIDE = 500
_NARROW = 6
_AS_DEFAULT = object()


@dataclass(frozen=True)
class Parameter:
    """One expert setting of the imputer."""

    name: str
    rule: Rule
    """What it must be."""
    words: str
    """What it means."""
    default: Any
    """Its value unless a preset or the user says otherwise."""
    fast: Any = _AS_DEFAULT
    best: Any = _AS_DEFAULT
    paper: Any = _AS_DEFAULT
    of: Literal["fit", "read-out"] = "fit"
    """Whether it is read by `fit`, or by what reads a fitted model."""

    def preset(self, name: str) -> Any:
        """Return its value in a preset."""
        value = self.default if name == "default" else getattr(self, name)
        return self.default if value is _AS_DEFAULT else value


# The paper does not print its widths, rates, weights and encoding of categories;
# docs/method.md says how those below were chosen.
_DECLARED = (
    Parameter(
        "n_networks",
        integer(1),
        "Networks trained, each from its own start; what counts is a mean of their "
        "velocities.",
        BySize(1, 1, 1, large_on_gpu=2),
        fast=1,
        best=BySize(3, 3, 2, large_on_gpu=5),
        paper=1,
    ),
    Parameter(
        "backbone",
        one_of("mlp", "transformer"),
        "The velocity network: an MLP over the row or attention between columns.",
        "mlp",
    ),
    Parameter(
        "d_model",
        integer(1),
        "Width of the network.",
        BySize(128, 128, 256, large_on_gpu=512),
        fast=BySize(128, 128, 256),
        best=BySize(256, 256, 512),
        paper=512,
    ),
    Parameter(
        "n_blocks",
        integer(1),
        "Depth of the network.",
        BySize(3, 3, 3, large_on_gpu=4),
        fast=3,
        best=BySize(3, 3, 4),
        paper=4,
    ),
    Parameter("n_heads", integer(1), "Attention heads of the transformer.", 8),
    Parameter(
        "dropout",
        number(0, 1, open_high=True),
        "Share of hidden units dropped in training.",
        0.2,
        paper=0.0,
    ),
    Parameter(
        "mask_input",
        FLAG,
        "Whether the network is told which cells are shown to it.",
        True,
        paper=False,
    ),
    Parameter(
        "residual",
        FLAG,
        "Residual blocks in the MLP instead of a plain stack.",
        True,
        paper=False,
    ),
    Parameter(
        "n_frequencies",
        integer(0),
        "Learned sinusoids of each value that the MLP sees beside it; they resolve "
        "steps and spikes, such as a value that most rows share.",
        ByWidth(8, 0, _WIDE),
        paper=0,
    ),
    Parameter(
        "precondition",
        FLAG,
        "Whether the network predicts a quantity of unit variance at every t, which at "
        "t = 0 is the conditional mean and does not see the noise.",
        True,
        paper=False,
    ),
    Parameter(
        "guide",
        FLAG,
        "Whether a normal distribution fitted to the table guides the networks: they "
        "learn what it leaves, and count only where that helps on held-out rows. Every "
        "second network of several is trained without it. Needs `precondition`.",
        True,
        paper=False,
    ),
    Parameter(
        "n_trees",
        integer(0),
        "Extremely randomised trees for each column, grown on rows that the networks "
        "have filled, and believed as far as held-out rows say. Needs `guide`.",
        BySize(60, 60, 30, large_on_gpu=0),
        best=BySize(200, 200, 60, large_on_gpu=0),
        paper=0,
    ),
    Parameter(
        "max_one_hot",
        integer(2),
        "Columns of up to this many categories are encoded one-hot, those of more as "
        "analog bits.",
        64,
    ),
    Parameter(
        "atoms",
        FLAG,
        "Whether numbers that a column often repeats, such as an amount that is mostly "
        "0, get coordinates of their own, so that draws hold them exactly.",
        True,
        paper=False,
    ),
    Parameter(
        "scores",
        FLAG,
        "Whether numbers that lean far to one side, such as incomes, get a second "
        "coordinate, their normal scores, from which draws are read where held-out "
        "rows say that it is better.",
        True,
        paper=False,
    ),
    Parameter(
        "margins",
        FLAG,
        "Whether all draws of a column together are brought to what is known of it: "
        "categories and repeated values to their probabilities, numbers to the "
        "quantiles of their values.",
        True,
        paper=False,
    ),
    Parameter(
        "schedule",
        one_of("linear", "power", "cosine"),
        "s(t) of the path.",
        "linear",
    ),
    Parameter("gamma", number(1, 3), "Exponent of the power schedule, in [1, 3].", 2.0),
    Parameter(
        "velocity_space",
        one_of("t", "s"),
        "Whether the network predicts dx/dt or dx/ds.",
        "t",
    ),
    Parameter(
        "time_law",
        Rule(
            "'uniform' or a pair (a, b) of positive numbers",
            lambda v: v == "uniform" or (is_pair(v) and min(v) > 0),
        ),
        "Law of the training times, uniform or Beta(a, b).",
        "uniform",
    ),
    Parameter(
        "share_t0",
        number(0, 1),
        "Share of training rows held at t = 0, where the conditional mean is read; at "
        "t = 0.1 if the schedule starts at rest.",
        BySize(0.4, 0.4, 0.4, large_on_gpu=0.2),
        fast=0.4,
        paper=0.0,
    ),
    Parameter(
        "mean_steps",
        integer(1),
        "Evaluations behind a mean: 1 reads it at t = 0 alone; more follow the path "
        "that starts without noise, where held-out rows say that it pays. Needs "
        "`guide`.",
        BySize(1, 1, 4),
        fast=1,
        paper=1,
    ),
    Parameter(
        "hide_rate",
        Rule(
            "a pair (low, high) with 0 <= low <= high <= 1 and high > 0",
            lambda v: is_pair(v) and 0 <= v[0] <= v[1] <= 1 and v[1] > 0,
        ),
        "Range from which each training row draws the share of its cells to hide.",
        (0.05, 0.6),
    ),
    Parameter(
        "hide_one",
        FLAG,
        "Whether a training row that would hide nothing hides one cell; with few "
        "columns every second row would teach nothing.",
        ByWidth(True, False, _NARROW),
        paper=False,
    ),
    Parameter(
        "weigh_cells",
        FLAG,
        "Whether columns count alike in the loss; otherwise one of many categories "
        "counts more, since each has a coordinate.",
        True,
        paper=False,
    ),
    Parameter(
        "lambda_stab", number(0), "Weight of the stability term.", 0.0, paper=0.1
    ),
    Parameter(
        "lambda_cons", number(0), "Weight of the consistency term.", 0.0, paper=0.1
    ),
    Parameter(
        "eta_cons",
        number(0),
        "Size of the perturbation in the consistency term.",
        0.1,
    ),
    Parameter(
        "sigma_in",
        number(0),
        "Input noise on observed numeric values in training.",
        0.0,
        paper=0.05,
    ),
    Parameter(
        "batch_size",
        integer(1),
        "Rows a training step.",
        BySize(128, 256, 256, large_on_gpu=2048),
        fast=BySize(128, 256, 256),
        best=BySize(128, 256, 512, large_on_gpu=2048),
        paper=1024,
    ),
    Parameter(
        "max_steps",
        integer(1),
        "Most training steps.",
        BySize(1000, 1500, 1500, large_on_gpu=2400),
        fast=BySize(400, 600, 600, large_on_gpu=2000),
        best=BySize(3000, 3000, 4000, large_on_gpu=5000),
        paper=8000,
    ),
    Parameter(
        "optimizer",
        one_of("adamw", "muon"),
        "AdamW, or Muon for the matrices between hidden units and AdamW for the rest.",
        BySize("adamw", "adamw", "adamw", large_on_gpu="muon"),
        fast="adamw",
        paper="adamw",
    ),
    Parameter(
        "learning_rate",
        number(0, open_low=True),
        "Peak learning rate.",
        1e-3,
    ),
    Parameter("weight_decay", number(0), "Weight decay of matrices.", 0.1, paper=0.0),
    Parameter(
        "warmup_steps", integer(0), "Steps over which the learning rate rises.", 100
    ),
    Parameter(
        "decay_share",
        number(0, 1, open_high=True),
        "Share of the steps over which the learning rate falls to 0 at the end.",
        0.3,
        paper=0.0,
    ),
    Parameter(
        "ema_decay",
        number(0, 1, open_high=True),
        "Decay of the weight average that is kept.",
        0.999,
    ),
    Parameter("clip_norm", number(0, open_low=True), "Largest gradient norm.", 1.0),
    Parameter(
        "stopping",
        one_of("validation", "objective", "none"),
        "What must stop improving for training to end: the error on hidden cells of "
        "held-out rows, the training objective, or nothing (all of `max_steps`).",
        "validation",
        paper="objective",
    ),
    Parameter(
        "patience",
        integer(1),
        "Evaluations without improvement that end the constant phase of training.",
        10,
    ),
    Parameter(
        "least_fall",
        number(0, 1, open_high=True),
        "Share of its first value by which the error must fall to have improved.",
        BySize(0.01, 0.01, 0.0),
        best=0.0,
        paper=0.0,
    ),
    Parameter(
        "evaluate_every",
        integer(1),
        "Steps between evaluations.",
        BySize(25, 50, 100),
        paper=100,
    ),
    Parameter(
        "validation_share",
        number(0, 1, open_low=True, open_high=True),
        "Share of rows held out, the same for all networks: to stop by with "
        '``stopping="validation"``, and to tell how far networks count beside a '
        "guide.",
        BySize(0.2, 0.1, 0.1),
        paper=0.1,
    ),
    Parameter(
        "solver",
        one_of("euler", "heun"),
        "Solver of the trajectories.",
        "heun",
        of="read-out",
    ),
    Parameter(
        "n_steps",
        integer(1),
        "Number of its steps.",
        6,
        best=10,
        paper=10,
        of="read-out",
    ),
    Parameter(
        "grid",
        one_of("uniform", "schedule", "beta"),
        "Where the steps lie: evenly in t, evenly in s, or denser near the data.",
        "uniform",
        of="read-out",
    ),
    Parameter(
        "grid_beta",
        number(1),
        'Concentration of the ``"beta"`` grid.',
        2.0,
        of="read-out",
    ),
    Parameter(
        "transform_batch_size",
        integer(1),
        "Rows the network evaluates at a time; bounds memory, never changes a value.",
        4096,
        of="read-out",
    ),
)
EXPERT: dict[str, Parameter] = {p.name: p for p in _DECLARED}
"""The expert settings by name, in the order in which they are told."""

PRESETS: dict[str, dict[str, Any]] = {
    preset: {p.name: p.preset(preset) for p in _DECLARED}
    for preset in ("default", "fast", "best", "paper")
}
# The paper's read-out is the mean of 50 trajectories; ours follows none from noise.
for _name, _values in PRESETS.items():
    _values["n_trials"] = 50 if _name == "paper" else 0

READ_OUT = ("method", "n_trials", *(p.name for p in _DECLARED if p.of == "read-out"))
"""How a fitted model is read; these may be set after `fit`."""

N_TRIALS = 100
"""Trajectories behind a median, unless their number is given."""


def _is_budget(value: Any) -> bool:
    try:
        return value is None or read_seconds(value) > 0
    except ValueError:
        return False


RULES: dict[str, Rule] = {
    "preset": one_of(*PRESETS),
    "method": one_of("mean", "median", "draw"),
    "n_trials": Rule(
        "None or an integer of at least 0",
        lambda v: v is None or integer(0).holds(v),
    ),
    "budget": Rule(
        "None, a number of seconds above 0 or a text such as '5m'", _is_budget
    ),
    "empty_columns": one_of("keep", "error"),
    "handle_unknown": one_of("ignore", "warn", "error"),
    "add_indicator": FLAG,
    "device": Rule(
        "'auto', 'cpu', 'cuda' or 'cuda:N'",
        lambda v: (
            isinstance(v, str)
            and re.fullmatch("auto|cpu|cuda(:[0-9]+)?", v) is not None
        ),
    ),
    "verbose": Rule("True, False or an integer", lambda v: isinstance(v, Integral)),
}
"""Rules of the constructor's own parameters; those of columns are the table's."""

OLD_NAMES = {"impute": "only", "max_seconds": "budget"}
"""Parameters that have a new name."""


def flat_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the expert settings beside the constructor's own parameters.

    Raises
    ------
    ParameterError
        If the settings hold something that is none.
    """
    flat = dict(parameters)
    settings = flat.pop("settings") or {}
    if not isinstance(settings, Mapping):
        raise ParameterError(
            f"settings must be a dict of expert settings, got {settings!r}",
            parameter="settings",
        )
    for name in settings:
        if name not in EXPERT:
            raise ParameterError(unknown_parameter(name), parameter="settings")
    return flat | {name: settings.get(name) for name in EXPERT}


def same_value(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are the same; arrays and frames by identity."""
    if one is other:
        return True
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def unknown_parameter(name: str) -> str:
    """Say that there is no such parameter, with the nearest that there is."""
    close = get_close_matches(str(name), [*EXPERT, *RULES, *OLD_NAMES.values()], n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"MACFMImputer has no parameter {name!r}{hint}"


def preset_values(parameters: Mapping[str, Any], size: Size) -> dict[str, Any]:
    """Check flat parameters and lay them over their preset, by name."""
    for name, rule in RULES.items():
        rule.check(name, parameters[name])
    values = {}
    for name, preset in PRESETS[parameters["preset"]].items():
        given = parameters[name]
        if given is None and isinstance(preset, BySize | ByWidth):
            given = preset.value(size)
        values[name] = preset if given is None else given
        if name in EXPERT:
            EXPERT[name].rule.check(name, values[name])
    return values
