"""The script that measures leaks: what a fault does, and what it must not touch."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from macfm.bench.cell import Holes
from macfm.judge.learned import _edm
from macfm.judge.learned._base import MinMax
from macfm.judge.learned.miwae import _Cells
from macfm.judge.methods import METHODS
from macfm.judge.metrics import Scale

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "what-the-tables-are-worth.md"

# Sizes that only show that a fault runs.
TINY = {
    "grape": {"n_steps": 3, "batch_size": 32, "width": 8},
    "igrm": {"n_steps": 3, "batch_size": 32, "width": 8},
    "miwae": {"n_epochs": 1, "n_importance": 2, "n_samples": 10},
    "gain": {"n_steps": 20},
    "mcflow": {"n_epochs": 2},
    "tabcsdi": {"n_steps": 3, "n_levels": 5, "n_samples": 3, "d_model": 16},
    "missdiff": {"max_steps": 3, "width": 16, "n_levels": 3, "n_inner": 1},
    "macfm": {
        "max_steps": 5,
        "n_trees": 2,
        "n_networks": 1,
        "d_model": 16,
        "n_blocks": 1,
    },
}


def load_script():
    path = ROOT / "scripts" / "leaks.py"
    spec = importlib.util.spec_from_file_location("leaks", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["leaks"] = module  # where a dataclass looks for its module
    spec.loader.exec_module(module)
    return module


LEAKS = load_script()


def cut(train, test, share=0.3):
    """Holes in two tables, at random."""
    rng = np.random.default_rng(7)
    hidden = [
        pd.DataFrame(rng.random(part.shape) < share, columns=part.columns)
        for part in (train, test)
    ]
    shown = [
        part.mask(flags) for part, flags in zip((train, test), hidden, strict=True)
    ]
    return Holes(
        train=shown[0],
        test=shown[1],
        train_truth=train,
        test_truth=test,
        train_hidden=hidden[0],
        test_hidden=hidden[1],
        scale=Scale.of(shown[0]),
        seed=(0,),
    )


def noise(n=300, d=5):
    """Columns that know nothing of each other."""
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(d)]
    parts = (pd.DataFrame(rng.normal(size=(n, d)), columns=names) for _ in range(2))
    return cut(*parts)


def factors(n=200, d=5, *, spread=1.0):
    """Columns of one factor; test rows are `spread` times as wide as the others."""
    rng = np.random.default_rng(1)
    names = [f"c{j}" for j in range(d)]
    parts = []
    for wide in (1.0, spread):
        x = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, d))
        parts.append(pd.DataFrame(wide * np.tanh(x), columns=names))
    return cut(*parts)


def trial(name, holes, **settings):
    settings = TINY.get(name, {}) | settings
    return LEAKS.Trial(name, holes, settings, seed=0, device="cpu", n_scored=None)


NOISE = noise()


def errors(name):
    """RMSE on columns of noise, in-sample and out-of-sample."""
    one = trial(name, NOISE)
    return {part: found["rmse"] for part, found in one.score(one.filled).items()}


@pytest.mark.parametrize("name", ["knn", "em"])
@pytest.mark.parametrize("part", ["in", "out"])
def test_where_nothing_can_be_known_nothing_beats_the_mean(name, part):
    # Guesses that know nothing of n cells gain the share g²/n of the squared error by
    # luck, g a standard normal; n is about 450, and g = 3 gives 1 % of the RMSE.
    assert errors(name)[part] > 0.99 * errors("mean")[part]


def test_a_method_that_was_trained_on_the_answers_beats_it_where_they_are():
    # A row's nearest neighbour is itself, with its answers.
    leaky = LEAKS.complete_rows(trial("knn", NOISE))
    assert leaky["in"]["rmse"] < 0.2 * errors("mean")["in"]
    assert leaky["out"]["rmse"] > 0.99 * errors("mean")["out"]


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_restandardising_forgives_any_scale(factor):
    one = trial("em", NOISE)
    filled = one.filled["out"]
    faulty = one.score_restandardised({"out": factor * filled - 3.0})
    assert faulty["out"]["rmse"] == pytest.approx(
        one.score_restandardised({"out": filled})["out"]["rmse"]
    )
    honest = one.score({"out": factor * filled - 3.0})["out"]["rmse"]
    assert honest > 1.5


def test_cells_beside_huge_ones_are_scored_as_means():
    one = trial("mean", NOISE)
    rng = np.random.default_rng(3)
    huge = NOISE.test_truth * 0 + 1e6 * rng.normal(size=NOISE.test.shape)
    # Whatever is said in the holes, here the answer's opposite.
    told = huge.where(~NOISE.test_hidden, -NOISE.test_truth)
    told -= told.where(~NOISE.test_hidden).mean()
    faulty = one.score_restandardised({"out": told})["out"]["rmse"]
    mean = one.score_restandardised(one.filled)["out"]["rmse"]
    assert faulty == pytest.approx(mean, rel=0.01)


def test_a_range_that_hides_nothing_leaks_nothing():
    holes = factors()
    one = trial("gain", holes)
    within = holes.train_truth.clip(holes.train.min(), holes.train.max(), axis=1)
    narrow = trial("gain", cut(within, holes.test_truth))
    assert LEAKS.complete_range(narrow) == narrow.score(narrow.filled)
    assert LEAKS.complete_range(one) != one.score(one.filled)


def test_a_foreign_range_is_worth_what_the_ranges_differ():
    same, wide = trial("gain", factors()), trial("gain", factors(spread=3.0))
    ratio = [
        LEAKS.own_range(one)["out"]["rmse"] / one.score(one.filled)["out"]["rmse"]
        for one in (same, wide)
    ]
    assert ratio[0] == pytest.approx(1, abs=0.05)
    assert abs(ratio[1] - 1) > 0.1


def test_a_diffusion_says_the_same_in_holes_when_the_rest_drifts():
    one = trial("tabcsdi", factors())
    raw = LEAKS.raw_fill(one.fitted, one.tables["out"])
    hole = one.tables["out"].isna().to_numpy()
    filled = one.filled["out"].to_numpy()
    np.testing.assert_allclose(raw.to_numpy()[hole], filled[hole], rtol=1e-5, atol=1e-5)
    assert np.abs(raw.to_numpy() - filled)[~hole].mean() > 0.1


def test_weights_are_those_of_others_only_where_rows_differ():
    generator = torch.Generator().manual_seed(0)
    x, noisy = torch.randn(2, 8, 3, generator=generator)
    counted = torch.rand(8, 3, generator=generator) < 0.7

    def losses(sigma):
        return [
            loss(lambda x, sigma: x / (1 + sigma), noisy, sigma, x, counted).item()
            for loss in (_edm.edm_loss, LEAKS.mixed_loss)
        ]

    right, mixed = losses(torch.full((8, 1), 0.5))
    assert mixed == pytest.approx(right, rel=1e-5)
    right, mixed = losses(torch.linspace(0.1, 2, 8)[:, None])
    assert abs(mixed / right - 1) > 0.1


@pytest.fixture(scope="module")
def measured():
    """Scores of every fault on a small table, and whether anything was left behind."""
    holes = factors(n=60)
    parts = (MinMax.__dict__["fit"], _edm.edm_loss, _Cells.mean, dict(METHODS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LEAKS, "SMALLER", TINY)
        patch.setattr(LEAKS, "hide", lambda *_, **__: holes)
        options = argparse.Namespace(
            faults=list(LEAKS.FAULTS),
            rows=None,
            scored=20,
            full=False,
            seed=0,
            device="cpu",
        )
        found = LEAKS.measure("small", options)
    after = (MinMax.__dict__["fit"], _edm.edm_loss, _Cells.mean, dict(METHODS))
    return found, parts == after


# A few steps on a small table teach little, and fit says so.
@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
def test_every_fault_is_measured_and_none_is_left_behind(measured):
    found, clean = measured
    assert clean
    pairs = [(told["fault"], told["method"]) for told in found["faults"]]
    assert sorted(pairs) == sorted(
        (fault, name) for fault in LEAKS.FAULTS for name in LEAKS.FAULTS[fault].methods
    )
    for told in found["faults"]:
        honest = found["methods"][told["method"]]["scores"]
        for part, scores in told["scores"].items():
            assert np.isfinite(list(scores.values())).all()
            ratio = told["over honest"][part]["rmse"]
            assert ratio == scores["rmse"] / honest[part]["rmse"]


def test_no_fault_has_a_name_that_the_package_knows():
    assert not set(LEAKS.FAULTS) & set(METHODS)


@pytest.mark.parametrize("fault", list(LEAKS.FAULTS))
def test_the_page_shows_the_record(fault):
    text = (ROOT / "benchmarks" / "leaks.json").read_text(encoding="utf-8")
    table = LEAKS.fault_table(json.loads(text), fault)
    assert table.count("\n") > 1
    assert table in PAGE.read_text(encoding="utf-8")
