"""Every parameter does what it says, watched from outside the imputer.

That a result changes proves little: whatever moves the random numbers changes it.
So each parameter is tried at two values or more and held to a law of its own.
"""

import numpy as np
import pandas as pd
import pytest
import torch

from macfm import MACFMImputer
from macfm.flow import _trust

N, STEPS = 80, 6
SMALL = {
    "max_steps": STEPS,
    "evaluate_every": 2,
    "d_model": 16,
    "n_blocks": 1,
    "n_networks": 1,
    "batch_size": 64,
    "warmup_steps": 0,
    "stopping": "none",
    "guide": False,  # on so few rows no network is trusted beyond one
    "n_steps": 2,
    "verbose": False,
    "device": "cpu",
    "random_state": 0,
}


def table():
    """Numbers, whole numbers and text that hang together, with holes."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "weight": 70 + 10 * z + rng.normal(size=N),
            "height": 170 + 5 * z + rng.normal(size=N),
            "beds": (5 + 2 * z).round().clip(1),
            "ward": np.array(["A", "B", "C"])[np.digitize(z, [-0.5, 0.5])],
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.25)


FRAME = table()
INCOMPLETE = int(FRAME.isna().any(axis=1).sum())


def close(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5)


# Laws too long for a line: does what was seen agree with the value?


def a_preset_is_its_values(seen, value):
    spelt_out = seen.another(preset="default", **seen.model.settings_)
    is_paper = seen.model.settings_["lambda_cons"] > 0
    return spelt_out.filled.equals(seen.filled) and is_paper == (value == "paper")


def fills_with_the_center_of_the_draws(seen, value):
    draws = np.stack([draw["weight"] for draw in seen.model.sample(FRAME, n_draws=3)])
    center = draws[0] if value == "draw" else getattr(np, value)(draws, axis=0)
    return close(seen.filled["weight"], center)


def keeps_draws_within_the_observed(seen, value):
    drawn = pd.concat(seen.model.sample(FRAME, n_draws=20))["weight"]
    inside = drawn.between(FRAME["weight"].min(), FRAME["weight"].max()).all()
    return inside == (value == "observed")


def gives_repeated_values_a_coordinate(seen, value):
    weight = FRAME["weight"].mask(FRAME["height"] > 170, 70.0)
    often = type(seen)(FRAME.assign(weight=weight), seen.settings)
    return often.column("weight").width == 1 + value


def gives_incomes_a_second_coordinate(seen, value):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.lognormal(3, 1.2, 2000)})
    frame["age"] = np.log(frame["income"]) + rng.normal(size=2000)
    frame.loc[2000] = np.nan, 3.0
    many = type(seen)(frame, seen.settings)
    return many.column("income").width == 1 + value


def follows_the_calm_path(seen, value):
    with pytest.MonkeyPatch.context() as patch:
        for least in ("_LEAST_GAIN", "_LEAST_SURE"):  # whether it pays or not
            patch.setattr(_trust, least, -1e9)
        calm = seen.another(mean_steps=value).network.calm
    return (1 if calm is None else calm.n_steps) == value


def draws_categories_again(seen, value):
    levels = seen.network.polish.levels
    return value == any(one.power is not None for one in levels)


def does_not_inform(seen, value):
    others = ["height", "beds", "ward"]
    moved = seen.model.transform(FRAME.assign(weight=0.95 * FRAME["weight"]))
    return moved[others].equals(seen.filled[others]) == (value is not None)


def makes_the_formula_hold(seen, value):
    rows = FRAME[["weight", "height"]].isna().any(axis=1)
    holds = close(seen.filled["weight"][rows], seen.filled["height"][rows] - 100)
    return holds == (value is not None)


def is_another_function_of_the_same_weights(seen, value):
    other = seen.another(n_heads=6 - value)
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(len(seen.weights), generator=generator)
    x = torch.randn(2, seen.trained.x[0].shape[1], generator=generator)
    answers = []
    for one in (seen, other):
        torch.nn.utils.vector_to_parameters(weights, one.network.parameters())
        answers.append(one.answer(x, t=0.5, m_cond=x > 0))
    return not torch.allclose(*answers)


def tells_the_network_its_mask(seen, value):
    x = torch.zeros(2, seen.trained.x[0].shape[1])
    m_cond = torch.tensor([[False], [True]]).expand(x.shape)
    one, other = seen.answer(x, t=0.5, m_cond=m_cond)
    return torch.equal(one, other) == (not value)


def hides_the_noise_at_the_start(seen, value):
    x = torch.randn(2, seen.trained.x[0].shape[1], generator=torch.manual_seed(0))
    end = x + seen.answer(x, t=0.0, m_cond=torch.zeros_like(x, dtype=torch.bool))
    return torch.allclose(end[0], end[1], atol=1e-5) == value


def speaks_in_this_space(seen, value):
    """The target is s'(t) (x - eps) in t and x - eps in s; here s' = 2 t.

    A network that has learned nothing errs by all of it, so that its error is larger in
    t by E[4 t²] = 4/3.
    """
    in_s = seen.another(velocity_space="s").history["fm"].mean()
    ratio = seen.history["fm"].mean() / in_s
    return abs(ratio - (4 / 3 if value == "t" else 1)) < 0.08


def hides_this_share(seen, value):
    shown = torch.cat(seen.trained.m_cond)[:, :2].float().mean().item()
    observed = FRAME[["weight", "height"]].notna().to_numpy().mean()
    return abs(1 - shown / observed - np.mean(value)) < 0.06


def hides_one_of_every_row(seen, value):
    shown = torch.cat(seen.trained.m_cond)[:, :2].float().mean().item()
    observed = FRAME[["weight", "height"]].notna().to_numpy().mean()
    return (shown < 0.9 * observed) == value


def counts_columns_not_coordinates(seen, value):
    by_coordinate = seen.another(weigh_cells=False).history["fm"]
    return close(seen.history["fm"], by_coordinate) == (not value)


def is_the_weight_of(term):
    def law(seen, value):
        terms = {t: seen.model.settings_[f"lambda_{t}"] for t in ("stab", "cons")}
        assert terms[term] == value
        assert (seen.history[term] > 0).all()
        total = sum(weight * seen.history[t] for t, weight in terms.items())
        return close(seen.history["loss"], seen.history["fm"] + total)

    return law


def nudges_by_this_much(seen, value):
    x, t = seen.trained.x, seen.trained.t[::2]
    pairs = zip(x[::2], x[1::2], t, strict=True)
    nudges = torch.cat([((near - at) / (1 - t)).flatten() for at, near, t in pairs])
    return abs(nudges[nudges.abs() > 1e-4].std().item() / value - 1) < 0.1


def furthest_from_the_table(seen):
    """How far a weight shown at t = 0 lies from the nearest one of the table."""
    weights = FRAME["weight"].dropna().to_numpy()
    known = torch.tensor((weights - weights.mean()) / weights.std())
    calls = seen.trained
    shown = torch.cat(calls.m_cond)[:, 0] & (torch.cat(calls.t)[:, 0] == 0)
    gaps = torch.cat(calls.x)[shown, :1].double() - known
    return gaps.abs().min(dim=1).values.max().item()


def moves_shown_numbers_by_this_much(seen, value):
    far = furthest_from_the_table(seen)
    return far > value if value else far < 1e-5


def keeps_the_weights_of_the_last_step(seen, value):
    kept, last = (weights.sort().values for weights in (seen.weights, seen.steps[-1]))
    return torch.equal(kept, last) == (value == 0)


def holds_out_this_share(seen, value):
    fifth = seen.another(validation_share=0.2)
    return max(seen.judged.n_rows) / max(fifth.judged.n_rows) == value / 0.2


def stops_on_this(seen, value):
    judged = bool(seen.history["val_error"].notna().all())
    early = seen.model.n_steps_ < STALE["max_steps"]
    return (judged, early) == {
        "validation": (True, True),
        "none": (False, False),
    }[value]


def beta_grid(power):
    return 1 - (1 - np.arange(4) / 4) ** power


MANY = {"batch_size": 600}
AT_ZERO = MANY | {"share_t0": 0.5}
FROZEN = {"learning_rate": 1e-30, "dropout": 0.0}
STALE = FROZEN | {"patience": 2, "decay_share": 0.0, "max_steps": 40}
STEADY = {"learning_rate": 1e-3, "decay_share": 0.0}
EULER = {"n_trials": 3, "solver": "euler", "n_steps": 4, "grid": "uniform"}
EVEN_IN_S = EULER | {"grid": "schedule", "velocity_space": "s"}
BARE = {"precondition": False, "n_trials": 3}
POWER = {"schedule": "power", "gamma": 2.0, "share_t0": 0}
UNTAUGHT = FROZEN | MANY | BARE | POWER | {"weigh_cells": False}

# For every parameter: values, what stands beside them, and the law they obey.
CLAIMS = {
    "preset": (["default", "paper"], {"max_steps": 2}, a_preset_is_its_values),
    "method": (
        ["mean", "median", "draw"],
        EULER | {"bounds": None},
        fills_with_the_center_of_the_draws,
    ),
    "n_trials": (
        [0, 2, 3],
        EULER,
        lambda seen, n: (
            seen.read()[1].n_rows == {max(n, 1) * -(-INCOMPLETE // 64) * 64}
            and len(seen.times) == (4 if n else 1)
        ),
    ),
    "categorical": (
        [None, ["beds"]],
        {},
        lambda seen, value: (seen.column("beds").categories is None) == (not value),
    ),
    "numeric": (
        [None, ["beds"]],
        {},
        lambda seen, value: (seen.filled["beds"] % 1 == 0).all() == (not value),
    ),
    "ordinal": (
        [{"ward": ["C", "A", "B"]}, {"ward": ["A", "B", "C"]}],
        {},
        lambda seen, value: list(seen.column("ward").categories) == value["ward"],
    ),
    "bounds": ([None, "observed"], {"max_steps": 1}, keeps_draws_within_the_observed),
    "numeric_transform": (
        ["standard", "quantile"],
        AT_ZERO,
        lambda seen, value: (
            (furthest_from_the_table(seen) < 1e-5) == (value == "standard")
        ),
    ),
    "atoms": ([True, False], {}, gives_repeated_values_a_coordinate),
    "scores": ([True, False], {"guide": True}, gives_incomes_a_second_coordinate),
    "margins": ([True, False], {"guide": True}, draws_categories_again),
    "n_trees": (
        [0, 3],
        {"guide": True},
        lambda seen, n: (
            all(len(trees.roots) == n for trees in seen.network.polish.trees)
            and bool(len(seen.network.polish.trees)) == bool(n)
        ),
    ),
    "max_one_hot": ([2, 3], {}, lambda seen, n: seen.column("ward").width == n),
    "only": (
        [["weight"], ["weight", "ward"]],
        {},
        lambda seen, value: [c for c in FRAME if seen.filled[c].notna().all()] == value,
    ),
    "id": ([None, ["weight"]], {"handle_unknown": "ignore"}, does_not_inform),
    "ignore": ([None, ["weight"]], {"handle_unknown": "ignore"}, does_not_inform),
    "leave": (
        [None, np.ones(FRAME.shape, dtype=bool)],
        {},
        lambda seen, value: seen.filled.equals(FRAME) == (value is not None),
    ),
    "derive": ([None, {"weight": "height - 100"}], {}, makes_the_formula_hold),
    "add_indicator": (
        [False, True],
        {},
        lambda seen, value: seen.filled.shape[1] == (8 if value else 4),
    ),
    "n_networks": ([1, 2], {}, lambda seen, n: len(seen.rates) == n * STEPS),
    "backbone": (
        ["mlp", "transformer"],
        {"n_heads": 2},
        lambda seen, value: seen.count("MLPVelocity") == (value == "mlp"),
    ),
    "d_model": (
        [16, 24],
        {},
        lambda seen, d: (d, d) in [tuple(p.shape) for p in seen.network.parameters()],
    ),
    "n_blocks": ([1, 2], {}, lambda seen, n: seen.count("ResidualBlock") == n),
    "n_heads": (
        [2, 4],
        {"backbone": "transformer"},
        is_another_function_of_the_same_weights,
    ),
    "dropout": (
        [0.0, 0.5],
        {},
        lambda seen, p: (
            {m.p for m in seen.network.modules() if isinstance(m, torch.nn.Dropout)}
            == {p}
        ),
    ),
    "mask_input": ([True, False], BARE, tells_the_network_its_mask),
    "residual": (
        [True, False],
        {},
        lambda seen, value: seen.count("ResidualBlock") == value,
    ),
    "n_frequencies": (
        [1, 3],
        {},
        lambda seen, n: (
            (int(seen.model.encoder_.is_num.sum()), n)
            in [tuple(p.shape) for p in seen.network.parameters()]
        ),
    ),
    "precondition": ([True, False], {}, hides_the_noise_at_the_start),
    "guide": (
        [True, False],
        {},
        lambda seen, value: hasattr(seen.network, "guide") == value,
    ),
    "schedule": (
        ["linear", "cosine"],
        EVEN_IN_S,
        lambda seen, value: close(
            seen.times,
            np.arange(4) / 4
            if value == "linear"
            else np.arccos(1 - np.arange(4) / 2) / np.pi,
        ),
    ),
    "gamma": (
        [1.5, 2.5],
        EVEN_IN_S | {"schedule": "power"},
        lambda seen, gamma: close(seen.times, (np.arange(4) / 4) ** (1 / gamma)),
    ),
    "velocity_space": (["s", "t"], UNTAUGHT, speaks_in_this_space),
    "time_law": (
        ["uniform", (2.0, 2.0)],
        MANY | {"share_t0": 0.0},
        lambda seen, value: (
            abs(
                torch.cat(seen.trained.t).var()
                - (1 / 12 if value == "uniform" else 1 / 20)
            )
            < 0.005
        ),
    ),
    "share_t0": (
        [0.0, 0.6],
        MANY,
        lambda seen, share: (
            abs((torch.cat(seen.trained.t) == 0).float().mean() - share) < 0.04
        ),
    ),
    "mean_steps": ([1, 3], {"guide": True}, follows_the_calm_path),
    "hide_rate": (
        [(0.2, 0.3), (0.8, 0.9)],
        MANY | {"hide_one": False},
        hides_this_share,
    ),
    "hide_one": (
        [False, True],
        MANY | {"hide_rate": (0.0, 0.001)},
        hides_one_of_every_row,
    ),
    "weigh_cells": ([False, True], {}, counts_columns_not_coordinates),
    "lambda_stab": ([0.5, 3.0], {}, is_the_weight_of("stab")),
    "lambda_cons": ([0.5, 3.0], {"eta_cons": 1.0}, is_the_weight_of("cons")),
    "eta_cons": ([0.1, 1.0], {"lambda_cons": 1.0, "dropout": 0.0}, nudges_by_this_much),
    "sigma_in": (
        [0.0, 0.5],
        AT_ZERO,
        moves_shown_numbers_by_this_much,
    ),
    "batch_size": ([64, 32], {}, lambda seen, n: seen.trained.n_rows == {n}),
    "max_steps": ([6, 4], {}, lambda seen, n: len(seen.rates) == n),
    "optimizer": (
        ["adamw", "muon"],
        {},
        lambda seen, kind: (
            (len(seen.steps[-1]) == len(seen.weights)) == (kind == "adamw")
        ),
    ),
    "learning_rate": (
        [1e-3, 1e-2],
        STEADY,
        lambda seen, lr: close(seen.rates, [lr] * 6),
    ),
    "weight_decay": ([0.0, 0.5], {}, lambda seen, value: set(seen.decays) == {value}),
    "warmup_steps": (
        [0, 4],
        STEADY,
        lambda seen, n: close(
            seen.rates, [1e-3 * min((k + 1) / max(n, 1), 1) for k in range(STEPS)]
        ),
    ),
    "decay_share": (
        [0.0, 0.5],
        STEADY,
        lambda seen, share: close(
            seen.rates,
            1e-3
            * np.array(
                [1, 1, 1, 1, 1, 1] if share == 0 else [1, 1, 1, 1, 2 / 3, 1 / 3]
            ),
        ),
    ),
    "ema_decay": ([0.0, 0.9], {}, keeps_the_weights_of_the_last_step),
    "clip_norm": (
        [1e-3, 1e-2],
        {},
        lambda seen, norm: close(seen.norms, [norm] * STEPS),
    ),
    "stopping": (["validation", "none"], STALE, stops_on_this),
    "patience": (
        [1, 3],
        STALE | {"stopping": "validation"},
        lambda seen, n: seen.model.n_steps_ == 2 * (1 + n),
    ),
    "least_fall": (
        [0.0, 0.9],
        STEADY | {"stopping": "validation", "patience": 2, "max_steps": 20},
        lambda seen, share: (
            seen.model.n_steps_ == 20 if share == 0 else seen.model.n_steps_ == 2 * 3
        ),
    ),
    "evaluate_every": (
        [1, 3],
        {},
        lambda seen, n: list(seen.history["step"]) == [*range(n, STEPS + 1, n)],
    ),
    "validation_share": (
        [0.1, 0.4],
        {"stopping": "validation"},
        holds_out_this_share,
    ),
    "solver": (
        ["euler", "heun"],
        EULER,
        lambda seen, value: len(seen.times) == (4 if value == "euler" else 8),
    ),
    "n_steps": ([3, 5], EULER, lambda seen, n: close(seen.times, np.arange(n) / n)),
    "grid": (
        ["uniform", "beta"],
        EULER | {"grid_beta": 2.0},
        lambda seen, value: close(
            seen.times, beta_grid(1 if value == "uniform" else 2)
        ),
    ),
    "grid_beta": (
        [2.0, 5.0],
        EULER | {"grid": "beta"},
        lambda seen, beta: close(seen.times, beta_grid(beta)),
    ),
    "random_state": (
        [0, 1],
        {},
        lambda seen, seed: (
            seen.filled.equals(seen.another(random_state=0).filled) == (seed == 0)
        ),
    ),
}

# These say where, how loudly or how long to compute, never what.
SILENT = {
    "empty_columns",
    "handle_unknown",
    "budget",
    "transform_batch_size",
    "device",
    "verbose",
}


def test_every_parameter_has_a_law_or_is_known_to_be_silent():
    parameters = set(MACFMImputer().get_params()) - {"settings"}
    assert set(CLAIMS) | SILENT == parameters
    assert not set(CLAIMS) & SILENT


# Of the formula, which is none that the table follows.
@pytest.mark.filterwarnings("ignore:derive of column 'weight'")
@pytest.mark.parametrize("name", CLAIMS)
def test_every_parameter_does_what_it_says(name, watch):
    values, others, law = CLAIMS[name]
    for value in values:
        assert law(watch(FRAME, SMALL | others | {name: value}), value), value
