"""A fitted model is a value: read in several ways and threads, with no work twice."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer
from macfm.imputer import _settings
from macfm.table import TableEncoder

QUICK = {
    "max_steps": 20,
    "n_trees": 4,
    "evaluate_every": 10,
    "d_model": 16,
    "n_blocks": 1,
    "n_networks": 1,
    "batch_size": 64,
    "verbose": False,
    "device": "cpu",
    "random_state": 0,
}


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": x,
            "y": 2 * x + rng.normal(size=n),
            "ward": rng.choice(["A", "B"], n),
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 99, n), "D"),
        },
        index=[f"p{k}" for k in range(n)],
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


@pytest.fixture(scope="module")
def fitted():
    return MACFMImputer(**QUICK).fit(table())


def test_fit_transform_encodes_once_and_resolves_twice(monkeypatch):
    calls = []
    for owner, name in ((TableEncoder, "encode"), (_settings, "_from_values")):
        whole = getattr(owner, name)

        def counted(*args, _whole=whole, _name=name, **kwargs):
            calls.append(_name)
            return _whole(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)
    MACFMImputer(**QUICK).fit_transform(table())
    assert calls.count("encode") == 1
    assert calls.count("_from_values") == 2


def test_settings_after_fit_are_those_of_the_fitted_network(fitted):
    settings = fitted._settings()
    assert settings.path == fitted.model_.path
    assert settings.network.d_model == QUICK["d_model"]
    large = MACFMImputer(**{**QUICK, "d_model": None, "max_steps": 1, "n_trees": 1})
    frame = pd.concat([table()[["x", "y"]]] * 42)
    assert large.fit(frame)._settings().network.d_model == 256


def test_fit_transform_is_fit_then_transform(fitted):
    together = MACFMImputer(**QUICK).fit_transform(table())
    pd.testing.assert_frame_equal(together, fitted.transform(table()))


def test_a_fitted_model_cannot_be_changed(fitted):
    with pytest.raises(AttributeError):
        fitted.model_.seed = 1
    with pytest.raises(AttributeError):
        fitted.network_ = None


def test_method_draw_is_the_first_draw(fitted):
    one = MACFMImputer(**QUICK, method="draw").fit_transform(table())
    pd.testing.assert_frame_equal(one, fitted.sample(table(), 3)[0])


def test_fits_in_threads_are_those_of_fits_one_after_the_other():
    seeds = range(4)

    def fit(seed):
        return MACFMImputer(**QUICK | {"random_state": seed}).fit_transform(table())

    alone = [fit(seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, seeds))
    for one, other in zip(alone, together, strict=True):
        pd.testing.assert_frame_equal(one, other)


# Intervals


def test_intervals_tell_of_every_filled_cell_and_no_other(fitted):
    frame = table()
    told = fitted.intervals(frame, n_draws=40)
    holes = {(row, name) for name in frame for row in frame.index[frame[name].isna()]}
    assert set(zip(told["row"], told["column"], strict=True)) == holes
    filled = fitted.transform(frame)
    for cell in told.itertuples():
        assert cell.value == filled.loc[cell.row, cell.column]
        if cell.column == "ward":
            assert cell.low is None
            assert 0.25 <= cell.certainty <= 1
        else:
            assert cell.low <= cell.high
            assert np.isnan(cell.certainty)


def test_wider_levels_hold_narrower_ones(fitted):
    inner, outer = (fitted.intervals(table(), level, 50) for level in (0.5, 0.9))
    ranged = inner["column"] != "ward"
    assert (outer["low"] <= inner["low"])[ranged].all()
    assert (inner["high"] <= outer["high"])[ranged].all()
    assert (outer["low"] < inner["low"])[ranged].any()


def test_ends_are_draws_of_the_ranks_that_hold_the_level(fitted):
    frame = table()
    draws = np.stack([d["x"].to_numpy() for d in fitted.sample(frame, 19)])
    told = fitted.intervals(frame, 0.9, 19).query("column == 'x'")
    gone = frame["x"].isna().to_numpy()
    # The truth lies between the smallest and the largest of 19 draws 18 times in 20.
    assert told["low"].tolist() == draws.min(axis=0)[gone].tolist()
    assert told["high"].tolist() == draws.max(axis=0)[gone].tolist()


@pytest.mark.parametrize("level", [0, 1, "wide"])
def test_a_level_is_a_probability(fitted, level):
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        fitted.intervals(table(), level)


@pytest.mark.parametrize(
    ("level", "n_draws", "least"), [(0.9, 18, 19), (0.99, 100, 199), (0.5, 2, 3)]
)
def test_too_few_draws_for_a_level_are_pointed_out(fitted, level, n_draws, least):
    frame = table()
    with pytest.warns(UserWarning, match=f"pass n_draws={least} or more"):
        fitted.intervals(frame, level, n_draws)
    fitted.intervals(frame, level, least)  # warns of nothing, which would be an error


def test_intervals_of_arrays_and_of_whole_tables(fitted):
    array = table()[["x", "y"]].to_numpy()
    model = MACFMImputer(**QUICK, add_indicator=True).fit(array)
    told = model.intervals(array)
    assert sorted(set(told["row"])) == np.flatnonzero(np.isnan(array).any(1)).tolist()
    assert fitted.intervals(table().dropna()).empty


# Weights


def two_kinds(n=300):
    """Rows of which half say y = x and half y = -x."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    sign = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    return pd.DataFrame({"x": x, "y": sign * x + 0.1 * rng.normal(size=n)})


@pytest.mark.parametrize("guide", [True, False])
def test_rows_count_as_much_as_they_weigh(guide):
    frame = two_kinds()
    first = (np.arange(len(frame)) < len(frame) // 2).astype(float)
    ask = pd.DataFrame({"x": [-1.0, 1.0], "y": [np.nan, np.nan]})
    settings = QUICK | {"guide": guide, "max_steps": 300}
    slopes = []
    for weight in (first, 1 - first):
        model = MACFMImputer(**settings).fit(frame, sample_weight=weight)
        low, high = model.transform(ask)["y"]
        slopes.append((high - low) / 2)
    assert slopes[0] > 0.7
    assert slopes[1] < -0.7


def test_equal_weights_are_no_weights():
    frame = table()
    plain = MACFMImputer(**QUICK).fit_transform(frame)
    alike = MACFMImputer(**QUICK).fit_transform(frame, sample_weight=[2.0] * len(frame))
    pd.testing.assert_frame_equal(plain, alike)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "one number a row, 120, got an array of shape"),
        ([-1.0] * 120, "none below 0"),
        ([np.nan] * 120, "finite numbers"),
        ([0.0] * 120, "not all zero"),
    ],
)
def test_weights_are_checked(weights, message):
    with pytest.raises(ValueError, match=message):
        MACFMImputer(**QUICK).fit(table(), sample_weight=weights)


def test_a_notebook_is_told_what_was_learned(fitted):
    html = fitted._repr_html_()
    assert fitted._repr_mimebundle_()["text/html"].endswith(html[-200:])
    for fact in ("120", "2 numeric, 1 categorical, 1 datetime", "held-out", ">20<"):
        assert fact in html
    assert "held-out" not in MACFMImputer()._repr_html_()


def test_a_pyarrow_table_comes_back_as_one():
    pa = pytest.importorskip("pyarrow")
    frame = table().reset_index(drop=True).astype({"x": "float32"})
    native = pa.Table.from_pandas(frame, preserve_index=False)
    model = MACFMImputer(**QUICK)
    completed = model.fit_transform(native)
    assert completed.schema == native.schema
    assert not any(column.null_count for column in completed.columns)
    expected = MACFMImputer(**QUICK).fit_transform(frame)
    assert completed["x"].to_pylist() == expected["x"].tolist()
    assert model.sample(native, 1)[0].schema == native.schema
    with pytest.raises(ValueError, match="Column 0 is 'ward', in fit it was 'x'"):
        model.transform(native.select(["ward", "y", "x", "day"]))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_a_copied_model_reads_its_own_network(fitted, copied):
    fitted.transform(table())
    model = copied(fitted.model_)
    assert model.copies.network is model.network
    assert model.network is not fitted.network_


def numbers(draws):
    return np.stack([draw[["x", "y"]].to_numpy(float) for draw in draws])


@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
def test_draws_in_bfloat16_are_nearly_the_same_and_a_row_keeps_its_own(monkeypatch):
    frame = table(300)
    model = MACFMImputer(**QUICK | {"d_model": 128}).fit(frame)
    model.network_.trust.fill_(1.0)  # so short a training earns none
    found = {}
    for has_it in (False, True):
        monkeypatch.setattr(
            "macfm.imputer._filler.multiplies_bfloat16", lambda device, has=has_it: has
        )
        copied = copy.deepcopy(model)  # without its copies
        found[has_it] = numbers(copied.sample(frame, n_draws=20))
        # a row is drawn as it is in any company
        alone = numbers(copied.sample(frame[40:43], n_draws=20))
        np.testing.assert_array_equal(alone, found[has_it][:, 40:43])
    hole = frame[["x", "y"]].isna().to_numpy()
    gap = (found[True] - found[False])[:, hole] / found[False][:, hole].std()
    assert 0 < np.sqrt((gap**2).mean()) < 0.01
    assert not (found[True] - found[False])[:, ~hole].any()
