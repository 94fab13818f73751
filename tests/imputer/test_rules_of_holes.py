"""Holes that follow a rule of another column do not lead the fill astray."""

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer

N = 1500
# Some columns here are noise, and fit says so.
pytestmark = pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")


def _base(seed):
    rng = np.random.default_rng(seed)
    bmi = rng.normal(27, 5, N)
    sick = rng.random(N) < 1 / (1 + np.exp(1.8 - (bmi - 27) / 5))
    return rng, bmi, sick


def skipped_with_its_gate(seed):
    """The age of the sick; who was not asked at all has neither."""
    rng, bmi, sick = _base(seed)
    hidden = rng.random(N) < 0.15
    age = np.where(sick & ~hidden, rng.normal(52, 9, N) + bmi / 5, np.nan)
    return pd.DataFrame({"y": np.where(sick, "Yes", "No"), "bmi": bmi, "age": age}), (
        hidden
    )


def skipped_by_the_truth(seed):
    """The age of the sick, recorded also where the answer itself was lost."""
    rng, bmi, sick = _base(seed)
    hidden = rng.random(N) < 0.15
    age = np.where(sick, rng.normal(52, 9, N) + bmi / 5, np.nan)
    return pd.DataFrame({"y": np.where(sick, "Yes", "No"), "bmi": bmi, "age": age}), (
        hidden
    )


def asked_in_one_wave(seed):
    """Two questions of the second of three waves, and the wave lost here and there."""
    rng, bmi, _ = _base(seed)
    wave = rng.choice(["one", "two", "three"], N)
    asked = wave == "two"
    table = pd.DataFrame({"y": wave, "bmi": bmi})
    table["q1"] = np.where(asked, rng.normal(size=N), np.nan)
    table["q2"] = np.where(asked, bmi / 5 + rng.normal(size=N), np.nan)
    return table, rng.random(N) < 0.15


def measured_above_a_dose(seed):
    """A level measured above a dose; y says which dose was high."""
    rng, bmi, _ = _base(seed)
    dose = rng.normal(size=N) + (bmi - 27) / 10
    table = pd.DataFrame({"y": np.where(dose > 0.4, "high", "low"), "bmi": bmi})
    table["level"] = np.where(dose > 0.4, rng.normal(3, 1, N) + dose, np.nan)
    return table, rng.random(N) < 0.15


def missing_in_blocks(seed):
    """A block of three columns, y among them, missing together for some sites."""
    rng, bmi, sick = _base(seed)
    site = rng.choice(["a", "b", "c", "d"], N)
    hidden = rng.random(N) < np.where(np.isin(site, ["c", "d"]), 0.35, 0.05)
    table = pd.DataFrame({"y": np.where(sick, "Yes", "No"), "bmi": bmi, "site": site})
    table["p"] = np.where(hidden, np.nan, sick + rng.normal(size=N))
    table["q"] = np.where(hidden, np.nan, bmi / 5 + rng.normal(size=N))
    return table, hidden


KINDS = [
    skipped_with_its_gate,
    skipped_by_the_truth,
    asked_in_one_wave,
    measured_above_a_dose,
    missing_in_blocks,
]


def check_shares(make, **parameters):
    table, hidden = make(seed=3)
    truth = table["y"][hidden]
    table["y"] = table["y"].mask(hidden)
    imputer = MACFMImputer(random_state=0, verbose=False, **parameters).fit(table)
    rows = table[hidden]  # the others are filled as well, and nobody looks at them
    told = imputer.category_probabilities(rows)["y"]
    draws = [draw["y"] for draw in imputer.sample(rows, 10)]
    drawn = pd.concat(draws)
    filled = {"mean": imputer.transform(rows)["y"]}
    imputer.set_params(n_trials=50)
    filled["trajectories"] = imputer.transform(rows)["y"]
    for level in truth.unique():
        share = (truth == level).mean()
        # Three standard errors of the truth, and of what 1,275 rows can teach.
        allowed = 3 * np.sqrt(share * (1 - share) * (1 / hidden.sum() + 1 / N))
        assert abs(told[level].mean() - share) < allowed, level
        assert abs((drawn == level).mean() - share) < allowed, level
    # The category that is filled in is the one that is drawn most often.
    often = pd.concat(draws, axis=1).mode(axis=1)[0][told.max(axis=1) > 0.85]
    assert (often == filled["mean"][often.index]).mean() > 0.98 or often.empty
    # Every read-out fills with the category that is likely, and where the model is
    # sure it is right that often.
    sure = told.max(axis=1) > 0.9
    for fill in filled.values():
        agree = (fill == told.idxmax(axis=1))[told.max(axis=1) > 0.6]
        assert agree.mean() > 0.97
        if sure.any():
            right = (fill == truth)[sure]
            assert right.mean() > 0.9 - 3 * np.sqrt(0.09 / len(right))


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_filled_drawn_and_told_shares_are_those_of_the_truth(make):
    check_shares(make, preset="fast", d_model=64, max_steps=500)


@pytest.mark.slow
@pytest.mark.parametrize("backbone", ["mlp", "transformer"])
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_shares_with_every_backbone(make, backbone):
    small = {"d_model": 32, "n_heads": 4, "max_steps": 600}
    check_shares(
        make, backbone=backbone, **(small if backbone == "transformer" else {})
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_shares_without_a_guide(make):
    check_shares(make, guide=False)
