"""Every read-out of a fitted imputer fills with legal values."""

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer

# Columns are drawn apart from each other here, and fit says so.
pytestmark = pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
QUICK = {
    "max_steps": 20,
    "n_trees": 4,
    "evaluate_every": 10,
    "d_model": 16,
    "n_blocks": 1,
    "n_networks": 1,
    "batch_size": 64,
    "n_steps": 3,
    "n_trials": 3,
    "verbose": False,
    "device": "cpu",
    "random_state": 0,
}
READ_OUTS = {
    "mean": {"method": "mean"},
    "mean of trajectories": {"n_trials": 20},
    "median of trajectories": {"method": "median"},
}
LEGAL = {
    "charges": lambda v: v > 0,
    "cost": lambda v: v >= 0,
    "bilirubin": lambda v: v > 0,
    "survival": lambda v: (v >= 0) & (v <= 1),
    "saturation": lambda v: (v >= 0) & (v <= 100),
    "age": lambda v: (v > 0) & (v % 1 == 0),
    "visits": lambda v: (v >= 0) & (v % 1 == 0),
    "answer": lambda v: (v >= 1) & (v <= 5) & (v % 1 == 0),
    "sex": lambda v: np.isin(v, [1, 2]),
    "dead": lambda v: np.isin(v, [0, 1]),
    "tube": lambda v: np.isin(v, [0.5, 0.75]),
    "debt": lambda v: v < 0,
}


def hospital(n=200, share=0.3):
    """A table as `pd.read_csv` gives it: integers with holes are float64."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "charges": np.exp(10 + 1.5 * z + rng.normal(size=n)),
            "cost": np.exp(9 + z) * (z > -0.5),
            "bilirubin": np.exp(-0.5 * z + rng.normal(size=n)).astype("f4"),
            "survival": 1 / (1 + np.exp(3 * z + rng.normal(size=n))),
            "saturation": np.minimum((96 - 4 * z).round(), 100),
            "age": (60 + 15 * rng.normal(size=n)).round().clip(18),
            "visits": rng.poisson(np.exp(0.5 + 0.5 * z)),
            "answer": np.digitize(z, [-1.5, -0.5, 0.5, 1.5]) + 1,
            "sex": rng.integers(1, 3, n),
            "dead": (z > 1).astype(int),
            "tube": np.where(z > 0, 0.5, 0.75),
            "debt": -np.exp(rng.normal(size=n)),
        }
    )
    assert list(frame) == list(LEGAL)
    return frame.mask(rng.random(frame.shape) < share)


FORMS = {
    "floats": hospital,
    "nullable": lambda: hospital().convert_dtypes(),
    "objects": lambda: hospital().astype(object),
    "polars": lambda: pytest.importorskip("polars").from_pandas(
        hospital().convert_dtypes()
    ),
    "array": lambda: hospital().to_numpy(float),
}


def plain(table):
    """Any form of the table as floats."""
    if isinstance(table, np.ndarray):
        return pd.DataFrame(table, columns=list(LEGAL))
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    return frame.astype(float)


def check(table, filled):
    """Filled cells are legal, observed ones as they were, types kept."""
    assert type(filled) is type(table)
    if not isinstance(table, np.ndarray):
        assert list(filled.dtypes) == list(table.dtypes)
    before, after = plain(table), plain(filled)
    for name, legal in LEGAL.items():
        assert legal(after[name].to_numpy()).all(), name
    seen = before.notna()
    pd.testing.assert_frame_equal(after[seen], before, check_exact=True)


@pytest.mark.parametrize("preset", ["default", "fast", "paper"])
@pytest.mark.parametrize("form", FORMS)
def test_every_read_out_is_legal(form, preset, tmp_path):
    table = FORMS[form]()
    imputer = MACFMImputer(**QUICK, preset=preset).fit(table)
    for read_out in READ_OUTS.values():
        check(table, imputer.set_params(**read_out).transform(table))
    draws = imputer.sample(table, 3)
    for draw in draws:
        check(table, draw)
    imputer.save(tmp_path / "model")
    again = MACFMImputer.load(tmp_path / "model").sample(table, 3)
    for one, two in zip(draws, again, strict=True):
        pd.testing.assert_frame_equal(plain(one), plain(two), check_exact=True)


def test_probabilities_list_the_two_values_of_a_column():
    frame = hospital()
    found = MACFMImputer(**QUICK).fit(frame).category_probabilities(frame)
    assert {name: list(table) for name, table in found.items()} == {
        "sex": [1, 2],
        "dead": [0, 1],
        "tube": [0.5, 0.75],
    }


def test_without_limits_the_network_has_the_last_word():
    frame = hospital()[["charges", "bilirubin", "survival"]]
    # nor are draws read off the scale of ranks, which ends with the values seen
    free = MACFMImputer(**QUICK, bounds=None, scores=False).fit(frame)
    assert all(column.bounds is None for column in free.schema_.columns)
    assert (pd.concat(free.sample(frame, 5)) < 0).any().all()


@pytest.mark.filterwarnings("ignore:column 'charges'.*outside bounds:UserWarning")
def test_bounds_hold_where_observed_cells_lie_on_both_sides_of_them():
    frame = hospital()[["charges", "age"]]
    low, high = frame["charges"].quantile([0.4, 0.6])
    imputer = MACFMImputer(**QUICK, bounds={"charges": (low, high)}).fit(frame)
    missing = frame["charges"].isna()
    for filled in (imputer.transform(frame), *imputer.sample(frame, 3)):
        assert filled["charges"][missing].between(low, high).all()


def test_plain_numbers_are_neither_rounded_nor_categories():
    frame = hospital()[["age", "visits", "sex"]]
    imputer = MACFMImputer(**QUICK, numeric=["age", "sex"]).fit(frame)
    filled = imputer.transform(frame)
    assert [(filled[name] % 1 != 0).any() for name in frame] == [True, False, True]
    assert imputer.category_probabilities(frame) == {}


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_draws_do_not_pile_up_on_a_limit_that_the_data_avoid(preset):
    frame = hospital(n=400)[["charges", "survival", "debt"]]
    imputer = MACFMImputer(**QUICK, preset=preset).fit(frame)
    missing = frame.isna()
    draws = pd.concat(draw[missing] for draw in imputer.sample(frame, 10))
    for column in imputer.schema_.columns:
        drawn, seen = draws[column.name].dropna(), frame[column.name].dropna()
        hair = 1e-4 * seen.std()
        for end in column.bounds:
            if end is not None:
                share = ((seen - end).abs() < hair).mean()
                noise = 3 * np.sqrt((share + 1e-3) / len(seen))
                assert ((drawn - end).abs() < hair).mean() <= share + noise


@pytest.mark.parametrize("method", ["mean", "median"])
def test_fills_are_the_same_in_any_unit(method):
    """Positive numbers up to 1 are shares to begin with, but may be tiny."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=120)
    x = pd.DataFrame({"z": z, "v": 3 + 0.3 * z + rng.normal(0, 0.05, 120)})
    x.loc[::4, "v"] = np.nan
    fills = []
    for unit in (1.0, 1e-3, 1e-19):
        imputer = MACFMImputer(**QUICK, method=method)
        fills.append(imputer.fit_transform(x.assign(v=unit * x.v)).v[::4] / unit)
    assert fills[0].nunique() > 25
    np.testing.assert_allclose(fills[1], fills[0], rtol=0.02)
    np.testing.assert_allclose(fills[2], fills[0], rtol=0.02)
