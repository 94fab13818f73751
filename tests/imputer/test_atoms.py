"""Columns that often repeat a value are filled with that value, not with its like."""

import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from macfm import MACFMImputer, describe_model
from macfm.flow import MAX_COORDINATES
from macfm.imputer._settings import resolve
from macfm.table import as_table

DATA = Path(__file__).parents[1] / "data"
N, N_DRAWS = 900, 40
QUICK = {
    "max_steps": 400,
    "evaluate_every": 50,
    "d_model": 64,
    "n_blocks": 2,
    "n_networks": 1,
    "batch_size": 128,
    "dropout": 0.0,
    "verbose": False,
    "device": "cpu",
    "random_state": 0,
}
STUB = QUICK | {
    "max_steps": 4,
    "evaluate_every": 2,
    "warmup_steps": 0,
    "n_trees": 2,
}
SHARES = {"retired": 0.85, "at work": 0.15}


def table(n=N):
    """Wages that are 0 for most of the retired, hours that are often 40; and holes."""
    rng = np.random.default_rng(0)
    status = rng.choice(list(SHARES), n)
    z = rng.normal(size=n)
    none = rng.random(n) < pd.Series(status).map(SHARES).to_numpy()
    hours = (38 + 8 * z + rng.normal(size=n)).round().clip(1, 80)
    frame = pd.DataFrame(
        {
            "status": status,
            "z": z,
            "wages": np.where(none, 0.0, 7 + 2 * z + 0.3 * rng.normal(size=n)),
            "hours": np.where(rng.random(n) < 0.4, 40, hours).astype(int),
        }
    ).astype({"hours": "Int64"})
    whole = frame.copy()
    frame["wages"] = frame["wages"].mask(rng.random(n) < 0.3)
    frame["hours"] = frame["hours"].mask(rng.random(n) < 0.2)
    return frame, whole


FRAME, WHOLE = table()
HOLES = FRAME["wages"].isna()


@pytest.fixture(scope="module")
def fitted():
    return MACFMImputer(**QUICK).fit(FRAME)


@pytest.fixture(scope="module")
def draws(fitted):
    return fitted.sample(FRAME, n_draws=N_DRAWS)


def test_atoms_of_the_table(fitted):
    atoms = {column.name: column.atoms for column in fitted.schema_.columns}
    assert atoms == {"status": None, "z": None, "wages": (0.0,), "hours": (40,)}
    assert fitted.encoder_.d == 6


def test_draws_hold_the_atom_as_often_as_the_table_does(draws):
    """Within three standard errors, and five points for so short a fit."""
    for status, share in SHARES.items():
        rows = HOLES & (FRAME["status"] == status)
        drawn = np.mean([(draw["wages"][rows] == 0).mean() for draw in draws])
        known = ~HOLES & (FRAME["status"] == status)
        told = (FRAME["wages"][known] == 0).mean()
        error = np.sqrt(share * (1 - share) * (1 / known.sum() + 1 / rows.sum()))
        assert abs(drawn - told) < 3 * error + 0.05, status


def test_other_draws_are_those_of_a_column_without_the_atom(draws):
    """Nothing lies between 0 and the wages of those who have some."""
    drawn = np.concatenate([draw["wages"][HOLES] for draw in draws])
    wages = WHOLE["wages"][WHOLE["wages"] > 0]
    some = drawn[drawn != 0]
    assert abs(some.mean() - wages.mean()) < 0.7
    assert np.mean((some > 0) & (some < wages.min())) < 0.1


def test_the_median_is_the_atom_where_most_draws_are(fitted):
    rows = FRAME[HOLES]
    reader = copy.copy(fitted).set_params(method="median", n_trials=21)
    medians = reader.transform(rows)["wages"]
    drawn = [d["wages"] for d in reader.sample(rows, n_draws=21)]
    zeros = np.mean([d == 0 for d in drawn], axis=0)
    assert (medians[zeros > 0.5] == 0).all()
    assert (medians[zeros < 0.5] != 0).mean() > 0.9
    assert 0.2 < (zeros > 0.5).mean() < 0.8


def test_observed_cells_come_back_bit_for_bit(fitted, draws):
    for filled in (fitted.transform(FRAME), draws[0]):
        for name in FRAME:
            known = FRAME[name].notna()
            pd.testing.assert_series_equal(filled[name][known], FRAME[name][known])
        assert filled.notna().all().all()


def encoded_holes(fitted):
    """Rows with holes, encoded, and what is asked to fill them."""
    encoded = fitted.encoder_.encode(as_table(FRAME))
    rows = ~encoded.observed.all(axis=1)
    read_out = resolve(fitted.get_params(deep=False)).read_out
    filler = fitted.model_.filler(read_out, torch.device("cpu"))
    return encoded.x[rows], encoded.observed[rows], filler


def test_draws_are_snapped_while_they_are_encoded(fitted):
    x, observed, filler = encoded_holes(fitted)
    drawn, atoms = filler.draw(x, observed, 3), fitted.encoder_.atoms
    assert (drawn[:, observed] == x[observed]).all()
    for k in range(len(atoms.flag)):
        flag, number = drawn[..., atoms.flag[k]], drawn[..., atoms.number[k]]
        assert np.isin(flag, [atoms.low[k], atoms.high[k]]).all()
        assert ((number == atoms.value[k]) == (flag == atoms.high[k])).all()


def test_the_mean_is_not_snapped(fitted):
    x, observed, filler = encoded_holes(fitted)
    mean, atoms = filler.fill(x, observed), fitted.encoder_.atoms
    for k in range(len(atoms.flag)):
        holes = ~observed[:, atoms.flag[k]]
        assert not (mean[holes, atoms.number[k]] == atoms.value[k]).any()
        flag = mean[holes, atoms.flag[k]]
        assert not np.isin(flag, [atoms.low[k], atoms.high[k]]).any()


def test_intervals_hold_the_atom(fitted):
    told = fitted.intervals(FRAME[HOLES].head(60), level=0.8)
    told = told[told["column"] == "wages"]
    retired = (FRAME["status"].reindex(told["row"]) == "retired").to_numpy()
    assert (told["low"][retired] == 0).mean() > 0.9


def test_a_saved_model_draws_the_same(fitted, draws, tmp_path):
    path = tmp_path / "model.macfm"
    fitted.save(path)
    loaded = MACFMImputer.load(path)
    assert loaded.schema_ == fitted.schema_
    assert loaded.settings_["atoms"] is True
    for one, two in zip(loaded.sample(FRAME, N_DRAWS), draws, strict=True):
        pd.testing.assert_frame_equal(one, two, check_exact=True)
    told = describe_model(path)
    assert told["columns"][2]["atoms"] == [0.0]
    assert any("often repeated" in sentence for sentence in told["reveals"])


@pytest.mark.filterwarnings("ignore:.*holds a model of macfm:UserWarning")
@pytest.mark.parametrize("version", [1, 2])
def test_models_of_earlier_versions_have_no_atoms(version, tmp_path):
    loaded = MACFMImputer.load(DATA / f"model-v{version}.macfm")
    assert loaded.settings_["atoms"] is False
    assert all(column.atoms is None for column in loaded.schema_.columns)
    loaded.save(tmp_path / "again.macfm")
    again = MACFMImputer.load(tmp_path / "again.macfm")
    assert again.schema_ == loaded.schema_


def test_without_atoms_the_table_is_encoded_as_before():
    off = MACFMImputer(**STUB, atoms=False).fit(FRAME)
    assert off.encoder_.d == 4
    assert off.encoder_.is_num.tolist() == [False, True, True, True]
    paper = MACFMImputer(**STUB | {"preset": "paper"}).fit(FRAME)
    assert paper.encoder_.d == 4


@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
@pytest.mark.parametrize("changes", [{"guide": False}, {"backbone": "transformer"}])
def test_atoms_without_a_guide_and_in_a_transformer(changes):
    imputer = MACFMImputer(**STUB | {"n_heads": 2} | changes).fit(FRAME)
    drawn = imputer.sample(FRAME, n_draws=2)[0]
    assert (drawn["wages"][HOLES] == 0).any()
    assert drawn.notna().all().all()


@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
def test_atoms_do_not_cost_a_table_its_guide():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, MAX_COORDINATES // 2 + 1))
    x[rng.random(x.shape) < 0.4] = 0.0
    x[rng.random(x.shape) < 0.1] = np.nan
    wide = MACFMImputer(**STUB).fit(x)
    assert hasattr(wide.network_, "guide")
    assert wide.encoder_.d == x.shape[1]
    narrow = MACFMImputer(**STUB).fit(x[:, :9])
    assert narrow.encoder_.d == 18


def test_a_value_that_stands_among_few_others_is_drawn_as_itself():
    rng = np.random.default_rng(1)
    z = rng.normal(size=N)
    some = rng.random(N) < 1 / (1 + np.exp(2 - z))
    near = np.where(some, rng.choice([0.2, 0.4, 0.6, 0.8, 1.0], N), 0.0)
    holes = rng.random(N) < 0.3
    frame = pd.DataFrame({"z": z, "near": np.where(holes, np.nan, near)})
    drawn = MACFMImputer(**QUICK).fit(frame).sample(frame, n_draws=10)
    share = np.mean([draw.loc[holes, "near"] == 0 for draw in drawn])
    assert abs(share - (near[holes] == 0).mean()) < 0.08
