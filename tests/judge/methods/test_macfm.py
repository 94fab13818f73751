"""Our own three forms: one fit for several, and numbers for the record."""

import json

import numpy as np
import pandas as pd
import pytest

from macfm.flow import _trust
from macfm.imputer import READ_OUT, MACFMImputer
from macfm.judge.methods import make_method

SMALL = {
    "max_steps": 20,
    "evaluate_every": 10,
    "d_model": 16,
    "n_blocks": 1,
    "batch_size": 64,
}


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, 3))
    frame = pd.DataFrame(x, columns=list("abc"))
    frame["d"] = pd.Series(np.where(x[:, 0] > 0, "up", "down"), dtype=str)
    return frame.mask(rng.random(frame.shape) < 0.3)


TRAIN = table()


def form(name, **settings):
    return make_method(name, seed=3, **(SMALL | settings))


def test_forms_share_a_fit_if_they_train_the_same():
    assert form("macfm").fit_key() == form("macfm-median").fit_key()
    assert form("macfm").fit_key() == form("macfm", n_trials=7, grid="beta").fit_key()
    assert form("macfm").fit_key() != form("macfm-paper").fit_key()
    assert form("macfm").fit_key() != form("macfm", d_model=17).fit_key()
    assert form("macfm").fit_key() != make_method("macfm", seed=4, **SMALL).fit_key()


def test_forms_share_a_fit_whatever_may_be_set_after_it():
    others = {"method": "draw", "n_trials": 7, "solver": "euler", "n_steps": 3}
    others |= {"grid": "beta", "grid_beta": 3.0, "transform_batch_size": 9}
    assert set(others) == set(READ_OUT)
    for name, value in others.items():
        assert form("macfm").fit_key() == form("macfm", **{name: value}).fit_key()


def test_probabilities_lie_under_the_rows_of_the_table():
    method = form("macfm").fit(TRAIN)
    shifted = TRAIN.set_axis(range(7, 7 + len(TRAIN)))
    (shares,) = method.probabilities(shifted).values()
    assert shares.index.equals(shifted.index)
    assert list(shares.idxmax(axis=1)) == list(method.impute(shifted)["d"])
    assert (shares[shifted["d"].notna()].max(axis=1) == 1).all()


def test_a_column_of_one_category_is_certain_and_counted():
    train = TRAIN.assign(e=pd.Series(["x"] * len(TRAIN), dtype=str))
    train.loc[:9, "e"] = None
    found = form("macfm").fit(train).probabilities(train)
    assert list(found) == ["d", "e"]
    assert (found["e"] == 1).all(axis=None)
    assert list(found) == list(make_method("mean").fit(train).probabilities(train))


@pytest.mark.parametrize(
    "read_out",
    [
        {"method": "mean", "n_trials": 3},
        {"n_trials": 3, "solver": "euler", "n_steps": 2},
        {"n_trials": 3, "grid": "beta", "grid_beta": 3.0},
        {"method": "mean", "transform_batch_size": 64},
    ],
)
def test_an_adopted_fit_is_as_good_as_ones_own(read_out):
    other = form("macfm-median").fit(TRAIN)
    before = other.impute(TRAIN)
    own = form("macfm", **read_out).fit(TRAIN)
    adopting = form("macfm", **read_out)
    adopting.adopt(other)
    pd.testing.assert_frame_equal(
        own.impute(TRAIN), adopting.impute(TRAIN), check_exact=True
    )
    assert own.resolved() == adopting.resolved()
    pd.testing.assert_frame_equal(other.impute(TRAIN), before, check_exact=True)


def test_a_fit_trained_otherwise_is_not_adopted():
    with pytest.raises(ValueError, match="macfm-paper cannot adopt the fit of macfm"):
        form("macfm-paper").adopt(form("macfm").fit(TRAIN))


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        ("macfm", {"n_networks": 2}, 2),
        ("macfm", {"n_networks": 2, "mean_steps": 3}, 2 * 3),
        # trajectories beside a guide are moved to a mean, one more evaluation
        (
            "macfm-median",
            {"n_trials": 4, "n_steps": 3, "n_networks": 2},
            (4 * 3 * 2 + 1) * 2,
        ),
        ("macfm-median", {"n_trials": 4, "n_steps": 3, "solver": "euler"}, 4 * 3 + 1),
        (
            "macfm-median",
            {"n_trials": 4, "n_steps": 3, "solver": "euler", "mean_steps": 5},
            4 * 3 + 5,
        ),
        ("macfm-median", {"n_trials": 4, "n_steps": 3, "guide": False}, 4 * 3 * 2),
        # in pieces of two: the mean is found once
        (
            "macfm-median",
            {"n_trials": 4, "n_steps": 3, "transform_batch_size": 128},
            4 * 3 * 2 + 1,
        ),
        ("macfm-paper", {}, 50 * 10 * 2),
    ],
)
def test_evaluations_are_those_the_network_sees(name, settings, count, monkeypatch):
    for least in ("_LEAST_GAIN", "_LEAST_SURE"):  # whether the calm path pays or not
        monkeypatch.setattr(_trust, least, -1e9)
    method = form(name, **settings).fit(TRAIN)
    assert method.network_evaluations_per_row() == count
    seen = []
    network = method.imputer_.network_
    members = getattr(network, "members", [network])
    imputer, rows = method.imputer_, TRAIN[TRAIN.isna().any(axis=1)].head(64)

    def count_rows(module, inputs, output):
        seen.append(len(inputs[0]))

    for member in members:
        # The imputer copies the network to read it, and its hooks with it.
        member.register_forward_hook(count_rows)
    imputer.transform(rows)
    assert sum(seen) == count * 64


def test_the_record_shows_every_number_in_force():
    resolved = form("macfm-paper", n_trials=5).fit(TRAIN).resolved()
    assert resolved["n_trials"] == 5
    assert resolved["d_model"] == 16
    assert resolved["solver"] == "heun"
    assert resolved["preset"] == "paper"
    assert all(value is not None for k, value in resolved.items() if k != "budget")
    json.dumps(resolved)


def test_floats_are_plain_numbers_unless_the_settings_say_otherwise():
    train = TRAIN.assign(n=TRAIN["a"].round(), two=TRAIN["b"] > 0)
    train["two"] = train["two"].astype(float)
    kinds = [c.kind for c in form("macfm").fit(train).imputer_.schema_.columns]
    assert kinds == [*["numeric"] * 3, "categorical", *["numeric"] * 2]
    named = form("macfm", categorical=["two"]).fit(train)
    assert named.imputer_.numeric == [*"abc", "n"]
    guessed = form("macfm", numeric=[]).fit(train).imputer_.schema_.columns
    assert [c.kind for c in guessed[-2:]] == ["integer", "categorical"]


def test_the_form_without_a_surname_is_the_imputer_as_it_comes():
    ours = form("macfm").fit(TRAIN)
    usual = MACFMImputer(**SMALL, random_state=3, verbose=False, device="cpu")
    filled = usual.set_params(numeric=list("abc")).fit_transform(TRAIN)
    pd.testing.assert_frame_equal(ours.impute(TRAIN), filled, check_exact=True)
    assert form("macfm-median").settings["method"] == "median"
