"""MACFMImputer as its users meet it."""

import inspect
import pickle
import re
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from macfm import MACFMImputer

QUICK = {
    "max_steps": 30,
    "n_trees": 4,
    "evaluate_every": 10,
    "d_model": 32,
    "n_blocks": 1,
    "n_networks": 1,
    "batch_size": 64,
    "verbose": False,
    "device": "cpu",
}


def imputer(**changes):
    return MACFMImputer(**(QUICK | {"random_state": 0} | changes))


def mixed_frame(n=120, share=0.25, seed=0):
    """Numbers, text, booleans, categories and dates that hang together."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "weight": 70 + 10 * z + rng.normal(size=n),
            "visits": pd.array((5 + 2 * z).round().clip(0).astype(int), "Int64"),
            "sex": np.where(z + rng.normal(size=n) > 0, "f", "m"),
            "smoker": pd.array(z > 0.5, "boolean"),
            "stage": pd.Categorical.from_codes(
                np.digitize(z, [-1, 1]), ["I", "II", "III"], ordered=True
            ),
            "ward": np.array(["A", "B", "C"])[np.digitize(z, [-0.5, 0.5])],
            "admitted": pd.Timestamp("2024-01-01")
            + pd.to_timedelta((30 * z).round(), unit="D"),
        },
        index=[f"p{i}" for i in range(n)],
    )
    frame["sex"] = frame["sex"].astype(object)
    for name in frame:
        frame.loc[rng.random(n) < share, name] = None
    return frame


def array(n=150, d=6, share=0.25, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.1 * rng.normal(
        size=(n, d)
    )
    x[rng.random((n, d)) < share] = np.nan
    return x.astype(dtype)


@pytest.fixture(scope="module")
def fitted():
    frame = mixed_frame()
    return imputer().fit(frame), frame


def assert_same_where_observed(before, after):
    assert list(after.columns) == list(before.columns)
    assert after.index.equals(before.index)
    assert (after.dtypes == before.dtypes).all()
    for name in before:
        observed = before[name].notna()
        assert (before[name][observed] == after[name][observed]).all()


# What comes back


def test_completed_frame_has_no_holes_and_the_same_shape(fitted):
    model, frame = fitted
    before = frame.copy(deep=True)
    completed = model.transform(frame)
    assert not completed.isna().any().any()
    assert_same_where_observed(frame, completed)
    pd.testing.assert_frame_equal(frame, before)  # the input is not touched
    assert set(completed["ward"]) <= {"A", "B", "C"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_array_keeps_its_dtype_and_its_observed_bits(dtype):
    x = array(dtype=dtype)
    filled = imputer().fit_transform(x)
    assert filled.dtype == dtype
    assert np.isfinite(filled).all()
    observed = ~np.isnan(x)
    assert x[observed].tobytes() == filled[observed].tobytes()


def test_integers_beyond_the_floats_come_back_exactly():
    big = pd.array([2**62 + 1, 2**62 + 3, None, 2**62 + 7], "Int64")
    frame = pd.DataFrame({"id": big, "b": [1.0, None, 2.0, 3.0]})
    completed = imputer(max_steps=3).fit_transform(frame)
    assert completed["id"].tolist()[:2] == [2**62 + 1, 2**62 + 3]
    assert completed["id"].dtype == "Int64"


def test_polars_in_polars_out():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": ["x", "y", None, "x"]})
    completed = imputer(max_steps=3).fit_transform(frame)
    assert isinstance(completed, pl.DataFrame)
    assert completed.schema == frame.schema
    assert completed.null_count().sum_horizontal().item() == 0
    assert completed["a"][0] == 1.0


def test_rows_unseen_in_fit_are_filled_without_another_fit(fitted):
    model, _ = fitted
    weights = pickle.dumps(model.network_.state_dict())
    completed = model.transform(mixed_frame(seed=5))
    assert not completed.isna().any().any()
    assert pickle.dumps(model.network_.state_dict()) == weights


def test_imputation_beats_the_mean_on_a_low_rank_table():
    full = array(n=600, share=0.0)
    rng = np.random.default_rng(1)
    hidden = rng.random(full.shape) < 0.2
    x = np.where(hidden, np.nan, full)
    filled = MACFMImputer(
        random_state=0, max_steps=300, d_model=64, batch_size=128, verbose=False
    ).fit_transform(x)
    mean = np.where(hidden, np.nanmean(x, axis=0), full)
    error = np.sqrt(np.mean((filled - full)[hidden] ** 2))
    assert error < 0.35 * np.sqrt(np.mean((mean - full)[hidden] ** 2))


# Draws


def test_draws_are_complete_differ_and_keep_the_observed(fitted):
    model, frame = fitted
    draws = model.sample(frame, n_draws=4)
    assert len(draws) == 4
    for draw in draws:
        assert not draw.isna().any().any()
        assert_same_where_observed(frame, draw)
    assert not draws[0].equals(draws[1])


@pytest.mark.parametrize("read_out", [{}, {"n_trials": 4}])
def test_category_probabilities_are_those_of_the_filled_cells(fitted, read_out):
    model, frame = fitted
    model = pickle.loads(pickle.dumps(model)).set_params(**read_out)
    completed = model.transform(frame)
    found = model.category_probabilities(frame)
    assert list(found) == ["sex", "smoker", "ward"]  # "stage" is ordinal
    for name, shares in found.items():
        assert list(shares.index) == list(frame.index[frame[name].isna()])
        assert set(shares.columns) == set(frame[name].dropna())
        assert (shares >= 0).all(axis=None)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert list(shares.idxmax(axis=1)) == list(completed.loc[shares.index, name])


@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
def test_category_probabilities_of_many_categories_columns_not_filled_and_polars():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200)})
    frame["code"] = [f"c{i:02}" for i in rng.integers(0, 70, 200)]
    frame["kept"] = rng.choice(["a", "b"], 200)
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    model = imputer(only=["x", "code"]).fit(frame)
    (shares,) = model.category_probabilities(frame).values()
    assert model.schema_.columns[1].encoding == "bits"
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    model = imputer(only=["x", "code"]).fit(polars.from_pandas(frame))
    again = model.category_probabilities(polars.from_pandas(frame))["code"]
    assert list(again.index) == np.flatnonzero(frame["code"].isna()).tolist()
    numbers = imputer().fit(frame[["x"]])
    assert numbers.category_probabilities(frame[["x"]]) == {}


def test_first_draws_do_not_depend_on_their_number(fitted):
    model, frame = fitted
    for few, many in zip(
        model.sample(frame, n_draws=2), model.sample(frame, n_draws=5), strict=False
    ):
        pd.testing.assert_frame_equal(few, many)


def test_number_of_draws_may_be_a_numpy_integer(fitted):
    assert len(fitted[0].sample(fitted[1], n_draws=np.int64(2))) == 2


@pytest.mark.parametrize("n_draws", [0, -1, 2.0, True])
def test_number_of_draws_must_be_a_count(fitted, n_draws):
    with pytest.raises(ValueError, match="n_draws must be an integer of at least 1"):
        fitted[0].sample(fitted[1], n_draws=n_draws)


def test_spread_of_draws_covers_the_truth():
    """Draws of a noisy copy spread as wide as the noise: 90 % intervals hold 90 %."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=2000)
    full = np.column_stack([z, z + 0.5 * rng.normal(size=2000)])
    x = full.copy()
    hidden = rng.random(2000) < 0.3
    x[hidden, 1] = np.nan
    model = MACFMImputer(
        random_state=0, max_steps=300, d_model=64, batch_size=256, verbose=False
    ).fit(x)
    draws = np.stack([d[:, 1] for d in model.sample(x[hidden], n_draws=40)])
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    truth = full[hidden, 1]
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) < 0.97


# Reproducibility: the same row gives the same value in any company

METHODS = pytest.mark.parametrize(
    "settings",
    [
        {"method": "mean"},
        {"n_trials": 30, "n_steps": 3},
        {"method": "median", "n_trials": 30, "n_steps": 3},
        {"preset": "paper", "n_trials": 2, "n_steps": 2},
        {"backbone": "transformer", "n_heads": 2, "n_trials": 2},
    ],
    ids=["mean", "trajectories", "median", "paper", "transformer"],
)


@METHODS
def test_value_of_a_row_does_not_depend_on_its_company(settings):
    x = array(n=200)
    model = imputer(**settings).fit(x)
    whole = model.transform(x)
    np.testing.assert_array_equal(model.transform(x), whole)
    order = np.random.default_rng(3).permutation(len(x))
    np.testing.assert_array_equal(model.transform(x[order]), whole[order])
    np.testing.assert_array_equal(model.transform(x[70:75]), whole[70:75])
    np.testing.assert_array_equal(model.transform(x[3:4]), whole[3:4])
    for size, n in ((1, 5), (7, 20), (64, 90)):  # the last batch of another size
        model.set_params(transform_batch_size=size)
        np.testing.assert_array_equal(model.transform(x[:n]), whole[:n])


@METHODS
def test_same_seed_same_model_another_seed_another(settings):
    x = array(n=200)
    first = imputer(**settings).fit_transform(x)
    np.testing.assert_array_equal(imputer(**settings).fit_transform(x), first)
    other = imputer(**(settings | {"random_state": 1})).fit_transform(x)
    assert not np.array_equal(other, first)


@pytest.mark.parametrize("backbone", ["mlp", "transformer"])
def test_number_of_threads_does_not_matter(backbone):
    x = array(n=300, d=7)
    n_threads = torch.get_num_threads()
    results = []
    try:
        for n in (1, 2, 3, 4):
            torch.set_num_threads(n)
            model = imputer(backbone=backbone, n_heads=2, d_model=64, max_steps=10).fit(
                x
            )
            results.append(model.transform(x))
            assert torch.get_num_threads() == n
    finally:
        torch.set_num_threads(n_threads)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_twins_get_the_same_mean_and_different_draws():
    x = array(n=100, share=0.0)
    x[:20] = x[0]
    x[:20, 1] = np.nan
    model = imputer().fit(x)
    assert len(np.unique(model.transform(x)[:20, 1])) == 1
    assert len(np.unique(model.sample(x, n_draws=1)[0][:20, 1])) == 20


def test_scrambled_hidden_values_change_nothing():
    """Nothing behind a missing cell is readable: values under nullable NA included."""
    values = np.arange(40.0)
    gone = np.arange(40) % 4 == 0

    def frame(secret):
        hidden = np.where(gone, secret, values)
        masked = pd.arrays.FloatingArray(hidden.copy(), gone.copy())
        return pd.DataFrame({"a": masked, "b": values[::-1].copy()})

    first = imputer(max_steps=5).fit_transform(frame(0.0))
    second = imputer(max_steps=5).fit_transform(frame(1e9))
    pd.testing.assert_frame_equal(first, second)


# Settings


def test_documented_parameters_and_defaults_are_those_of_the_signature():
    signature = inspect.signature(MACFMImputer).parameters
    section = MACFMImputer.__doc__.split("Attributes\n")[0]
    documented = {}
    for names, default in re.findall(
        r"^    ([a-z0-9_, ]+) : .*?default=([^\s]+)$", section, re.MULTILINE
    ):
        for name in names.split(", "):
            documented[name] = default.strip('"')
    shown = {n: str(p.default) for n, p in signature.items() if n != "more"}
    assert documented == shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"preset": "finest"},
            "preset must be one of 'default', 'fast', 'best', 'paper'",
        ),
        ({"method": "mode"}, "method must be one of 'mean', 'median', 'draw'"),
        (
            {"n_trials": -1},
            "n_trials must be None or an integer of at least 0, got n_trials=-1",
        ),
        ({"dropout": 1.0}, r"dropout must be a number in \[0, 1\)"),
        ({"hide_rate": (0.6, 0.2)}, "hide_rate must be a pair"),
        ({"gamma": 4}, r"gamma must be a number in \[1, 3\]"),
        ({"time_law": (0, 1)}, "time_law must be 'uniform' or a pair"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0"),
        ({"budget": -1}, "budget must be None, a number of seconds above 0"),
        ({"mask_input": 1}, "mask_input must be True or False"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu', 'cuda' or 'cuda:N'"),
        ({"device": "0"}, "device must be"),
        ({"schedule": "cosine"}, "method='mean' reads the velocity at t = 0"),
        ({"empty_columns": "drop"}, "empty_columns must be one of 'keep', 'error'"),
    ],
)
def test_wrong_setting_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        imputer(**settings).fit(array())


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_missing_gpu_is_said_plainly():
    with pytest.raises(ValueError, match="torch finds no CUDA device"):
        imputer(device="cuda").fit(array())


# Edges


def test_empty_column_stays_empty_with_a_warning_or_an_error():
    frame = pd.DataFrame({"a": [1.0, 2.0, None], "void": [np.nan] * 3})
    with pytest.warns(UserWarning, match="no value was observed in column 'void'"):
        completed = imputer(max_steps=2).fit_transform(frame)
    assert completed["void"].isna().all()
    assert completed["a"].notna().all()
    with pytest.raises(ValueError, match="column 'void'"):
        imputer(empty_columns="error").fit(frame)


def test_constant_column_and_single_value_are_filled_with_what_was_seen():
    frame = pd.DataFrame(
        {"same": [3.0, None, 3.0], "once": [None, 5.0, None], "free": [1.0, 2.0, None]}
    )
    completed = imputer(max_steps=2).fit_transform(frame)
    assert completed["same"].tolist() == [3.0] * 3
    assert completed["once"].tolist() == [5.0] * 3


def test_table_in_which_nothing_varies_needs_no_network():
    frame = pd.DataFrame({"a": [1.0, None], "b": ["x", "x"]})
    model = imputer().fit(frame)
    assert model.network_ is None
    assert model.transform(frame)["a"].tolist() == [1.0, 1.0]
    assert len(model.sample(frame, n_draws=2)) == 2


def test_complete_table_comes_back_as_it_is(fitted):
    model, frame = fitted
    complete = frame.dropna()
    assert len(complete)
    pd.testing.assert_frame_equal(model.transform(complete), complete)


def test_no_rows_are_refused_in_fit_and_returned_in_transform(fitted):
    model, frame = fitted
    with pytest.raises(ValueError, match="0 rows"):
        imputer().fit(frame.iloc[:0])
    pd.testing.assert_frame_equal(model.transform(frame.iloc[:0]), frame.iloc[:0])


def test_one_row_one_column_and_more_columns_than_rows():
    one_row = imputer(max_steps=2).fit_transform(np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(one_row, [[1.0, 2.0]])
    column = np.array([[1.0], [3.0], [np.nan], [2.0]])
    filled = imputer(max_steps=2).fit_transform(column)
    assert np.isfinite(filled).all()
    wide = array(n=8, d=30)
    assert np.isfinite(imputer(max_steps=2).fit_transform(wide)).all()


def test_row_without_any_value_is_filled():
    x = array(n=60)
    x[5] = np.nan
    assert np.isfinite(imputer().fit_transform(x)).all()


def test_unseen_category_is_kept_and_does_not_inform(fitted):
    model, frame = fitted
    strange = frame.iloc[[0, 1]].copy()
    strange["ward"] = ["Z", strange["ward"].iloc[1]]
    strange.loc[strange.index[0], "weight"] = np.nan
    completed = model.transform(strange)
    assert completed["ward"].iloc[0] == "Z"
    unknown = strange.copy()
    unknown.loc[unknown.index[0], "ward"] = None
    assert model.transform(unknown)["weight"].iloc[0] == completed["weight"].iloc[0]


@pytest.mark.parametrize(
    ("mode", "error"), [("warn", pytest.warns), ("error", pytest.raises)]
)
def test_unseen_category_can_be_loud(fitted, mode, error):
    model, frame = fitted
    strange = frame.iloc[:3].copy()
    strange["ward"] = "Z"
    loud = pickle.loads(pickle.dumps(model)).set_params(handle_unknown=mode)
    kind = UserWarning if mode == "warn" else ValueError
    with error(kind, match="'ward': \\['Z'\\]"):
        loud.transform(strange)


@pytest.mark.parametrize("verb", ["fit", "fit_transform"])
def test_warnings_of_a_fit_point_at_the_callers_line(verb):
    frame = pd.DataFrame({"a": np.arange(60.0), "name": [f"n{i}" for i in range(60)]})
    frame["empty"] = np.nan
    with pytest.warns(UserWarning, match="column") as caught:
        getattr(imputer(max_steps=2, bounds={"a": (5, None)}), verb)(frame)
    told = [(str(w.message).split("'")[1], w.filename) for w in caught]
    assert sorted(told) == [(name, __file__) for name in ("a", "empty", "name")]


@pytest.mark.parametrize("verb", ["transform", "sample", "category_probabilities"])
def test_warning_of_an_unseen_category_points_at_the_callers_line(fitted, verb):
    model, frame = fitted
    loud = pickle.loads(pickle.dumps(model)).set_params(handle_unknown="warn")
    with pytest.warns(UserWarning, match="did not see") as caught:
        getattr(loud, verb)(frame.head(3).assign(ward="Z"))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        ({"bmi": [1.0, np.inf, 2.0]}, ValueError, "'bmi'.*inf"),
        ({"a": [1.0, 2.0], "mix": ["x", 3]}, (TypeError, ValueError), "'mix'.*'x'.*3"),
        ({"z": [1j, 2j]}, (TypeError, ValueError), "'z'"),
    ],
)
def test_impossible_columns_are_named(frame, error, message):
    with pytest.raises(error, match=message):
        imputer().fit(pd.DataFrame(frame))


def test_infinity_in_an_array_is_named_by_its_column():
    x = array()
    x[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"'x2'.*inf"):
        imputer().fit(x)


def test_duplicated_names_are_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match=r"unique.*'a'"):
        imputer().fit(frame)


@pytest.mark.parametrize("parameter", ["ignore", "id", "categorical", "only"])
def test_a_list_of_names_is_not_one_name(parameter):
    match = f"{parameter} must be a list of column names, got 'sex'"
    with pytest.raises(TypeError, match=match):
        imputer(**{parameter: "sex"}).fit(mixed_frame())


def test_missing_extra_and_reordered_columns_are_named(fitted):
    model, frame = fitted
    with pytest.raises(ValueError, match=r"missing:\n- ward"):
        model.transform(frame.drop(columns="ward"))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- extra"):
        model.transform(frame.assign(extra=1.0))
    swapped = ["visits", "weight", *frame.columns[2:]]
    with pytest.raises(ValueError, match=r"Column 0 is 'visits', in fit .* 'weight'"):
        model.transform(frame[swapped])


def test_columns_with_numbers_for_names_are_compared_too():
    frame = pd.DataFrame(array(n=40, d=3))
    model = imputer(max_steps=2).fit(frame)
    with pytest.raises(ValueError, match="other order"):
        model.transform(frame[[2, 1, 0]])


def test_array_after_a_frame_goes_by_position_with_a_warning():
    x = array(n=60)
    model = imputer(max_steps=2).fit(pd.DataFrame(x).add_prefix("c"))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        filled = model.transform(x)
    assert np.isfinite(filled).all()


def test_impute_fills_only_its_columns_and_ignore_touches_nothing():
    frame = mixed_frame()
    frame["note"] = [object() for _ in range(len(frame))]  # cannot be modelled
    completed = imputer(only=["weight"], ignore=["note"]).fit_transform(frame)
    assert completed["weight"].notna().all()
    rest = [c for c in frame if c != "weight"]
    pd.testing.assert_frame_equal(completed[rest], frame[rest])


def test_bounds_are_respected_and_observed_values_are_not_clipped():
    frame = mixed_frame()
    with pytest.warns(UserWarning, match="'weight'"):
        completed = imputer(bounds={"weight": (69.0, 71.0)}).fit_transform(frame)
    filled = completed["weight"][frame["weight"].isna()]
    assert filled.between(69.0, 71.0).all()
    assert_same_where_observed(frame, completed)


def test_interruption_keeps_a_usable_model_with_a_warning(monkeypatch):
    import macfm.flow._trainer as trainer

    class Impatient:
        n_calls = 0

        def __call__(self, *args, **kwargs):
            self.n_calls += 1
            if self.n_calls == 25:
                raise KeyboardInterrupt
            return loss(*args, **kwargs)

    loss = trainer.flow_matching_loss
    monkeypatch.setattr(trainer, "flow_matching_loss", Impatient())
    x = array()
    with pytest.warns(UserWarning, match="interrupted after 24 steps"):
        model = imputer().fit(x)
    assert model.n_steps_ == 24
    assert np.isfinite(model.transform(x)).all()


def test_fitted_attributes_tell_what_happened(fitted):
    model, frame = fitted
    assert [c.name for c in model.schema_.columns] == list(frame)
    assert list(model.history_) == [
        *("network", "step", "loss", "fm", "stab", "cons", "val_error"),
        *("learning_rate", "seconds"),
    ]
    assert model.history_["step"].iloc[-1] == model.n_steps_ == model.n_iter_
    assert model.history_["seconds"].is_monotonic_increasing
    assert isinstance(model.network_, torch.nn.Module)


def test_pickled_model_gives_the_same_table(fitted):
    model, frame = fitted
    copy = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(copy.transform(frame), model.transform(frame))


def test_progress_is_silent_without_a_terminal(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        imputer(verbose=True).fit(array())
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_clone_forgets_the_fit(fitted):
    assert not hasattr(clone(fitted[0]), "network_")


def test_frame_after_an_array_counts_as_an_array_with_a_warning():
    x = array(n=60)
    model = imputer(max_steps=2).fit(x)
    with pytest.warns(UserWarning, match="has feature names"):
        filled = model.transform(pd.DataFrame(x).add_prefix("c"))
    np.testing.assert_array_equal(filled, model.transform(x))


def test_values_of_numpy_and_the_verbose_idiom_are_welcome():
    imputer(mask_input=np.True_, n_trials=np.int64(3), verbose=0, max_steps=2).fit(
        array()
    )


def test_column_of_text_or_dates_without_a_value_is_filled_at_transform(fitted):
    model, frame = fitted
    empty = frame.iloc[:3].copy()
    for name in ("ward", "admitted", "sex"):
        empty[name] = np.nan
        assert empty[name].dtype == float
    completed = model.transform(empty)
    assert completed.notna().all().all()
    assert set(completed["ward"]) <= {"A", "B", "C"}


def test_failed_fit_leaves_nothing_to_transform_with(fitted):
    frame = fitted[1]
    model = imputer(max_steps=2).fit(frame)
    with pytest.raises(ValueError, match="0 rows"):
        model.fit(frame.iloc[:0])
    with pytest.raises(NotFittedError):
        model.transform(frame)


def test_path_of_a_fitted_network_cannot_be_changed_by_accident():
    x = array()
    model = imputer(schedule="power", velocity_space="s").fit(x)
    filled = model.transform(x)
    with pytest.warns(UserWarning, match="preset, .*take effect with the next fit"):
        model.set_params(schedule="linear", velocity_space="t", preset="paper")
    np.testing.assert_array_equal(model.transform(x), filled)


def test_diverged_training_is_said_in_fit():
    with pytest.raises(ValueError, match=r"training diverged.*lower learning_rate"):
        imputer(learning_rate=1e30, clip_norm=1e30).fit(array())


def test_interruption_before_anything_was_learned_goes_through(monkeypatch):
    import macfm.flow._trainer as trainer

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "flow_matching_loss", interrupt)
    with pytest.raises(KeyboardInterrupt):
        imputer().fit(array())


@pytest.mark.parametrize("value", ["patients.csv", {"a": [1.0]}])
def test_what_is_no_table_is_said_plainly(value):
    with pytest.raises(TypeError, match="expected a pandas or polars DataFrame"):
        imputer().fit(value)


@pytest.mark.parametrize("dtype", [object, str])
def test_text_in_an_array_is_refused_by_its_column(dtype):
    array = np.array([[1.0, "2"], [3.0, "hi"]] * 20, dtype=dtype)
    if dtype is object:
        array[0] = None, np.nan
    with pytest.raises(ValueError, match=r"column 1 .* holds 'hi'.* pass a DataFrame"):
        MACFMImputer().fit(array)


def test_masked_array_is_refused_with_a_cure():
    with pytest.raises(TypeError, match=r"X\.filled\(np\.nan\)"):
        imputer().fit(np.ma.masked_invalid(array()))


def test_progress_on_a_terminal_tells_loss_and_validation(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    monkeypatch.setenv("COLUMNS", "120")
    imputer(verbose=True).fit(array())
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"network 1 of 1.*loss .*validation", shown.err)


@pytest.mark.filterwarnings("ignore:budget=0.2 left time:UserWarning")
def test_time_budget_reaches_training():
    model = imputer(budget=0.2, max_steps=10**6, evaluate_every=10**5).fit(array())
    assert model.n_steps_ < 10**5
    assert model.out_of_time_


@pytest.mark.parametrize("budget", [None, 600.0])
def test_time_that_sufficed_ended_nothing(budget):
    assert not imputer(budget=budget).fit(array()).out_of_time_


def test_network_stopped_half_way_does_not_spoil_a_finished_one(monkeypatch):
    import macfm.flow._trainer as trainer

    loss, calls = trainer.flow_matching_loss, []

    def impatient(*args, **kwargs):
        calls.append(1)
        if len(calls) == 45:  # the first network took 30 steps
            raise KeyboardInterrupt
        return loss(*args, **kwargs)

    x = array()
    # Who interrupts does not wait for trees.
    alone = imputer(n_trees=0).fit_transform(x)
    monkeypatch.setattr(trainer, "flow_matching_loss", impatient)
    with pytest.warns(UserWarning, match="interrupted after 44 steps"):
        model = imputer(n_networks=2).fit(x)
    np.testing.assert_array_equal(model.transform(x), alone)


@pytest.mark.parametrize(
    "place", ["macfm.flow._forest._packed", "macfm.imputer._hearing.leave_out"]
)
def test_interrupting_the_trees_keeps_the_networks(monkeypatch, place):
    def impatient(*args, **kwargs):
        raise KeyboardInterrupt

    x = array()
    networks = imputer(n_trees=0).fit(x)
    monkeypatch.setattr(place, impatient)
    with pytest.warns(UserWarning, match=r"interrupted after \d+ steps"):
        model = imputer().fit(x)
    assert model.n_steps_ == networks.n_steps_
    np.testing.assert_array_equal(model.transform(x), networks.transform(x))


def test_trees_are_told_what_is_left_of_the_budget(monkeypatch):
    import macfm.imputer._hearing as hearing

    grow, told = hearing.fit_trees, []

    def asked(*args, max_seconds, **kwargs):
        told.append(max_seconds)
        return grow(*args, max_seconds=0.0, **kwargs)

    monkeypatch.setattr(hearing, "fit_trees", asked)
    x = array()
    model = imputer(budget=60.0).fit(x)
    (seconds,) = told
    assert 0 < seconds < 60
    networks = imputer(n_trees=0).fit(x)
    np.testing.assert_array_equal(model.transform(x), networks.transform(x))


def test_trees_are_grown_by_more_threads_than_a_small_network_is_trained_by(
    monkeypatch,
):
    import macfm.imputer._hearing as hearing
    import macfm.imputer._training as training

    train, grow, told = training.train, hearing.fit_trees, set()

    def by_one(*args, **kwargs):
        results = train(*args, **kwargs)
        torch.set_num_threads(1)
        return results

    def asked(*args, n_jobs, **kwargs):
        told.add((n_jobs, torch.get_num_threads()))
        return grow(*args, n_jobs=n_jobs, **kwargs)

    monkeypatch.setattr(training, "train", by_one)
    monkeypatch.setattr(hearing, "fit_trees", asked)
    monkeypatch.setattr("macfm.imputer._device.worthwhile_threads", lambda n: 2)
    before = torch.get_num_threads()
    imputer().fit(array())
    assert told == {(2, 1)}
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("pace", "in_full"), [(0.0, True), (10.0, False)])
def test_in_a_hurry_fewer_cells_tell_of_trust(monkeypatch, pace, in_full):
    import macfm.imputer._training as training

    measure, n_asked, late = training.measure_trust, [], [0.0]

    def asked(network, guide, validation, **kwargs):
        n_asked.append(len(validation.x) // validation.n_rows)
        late[0] += pace
        return measure(network, guide, validation, **kwargs)

    clock = time.perf_counter
    watched = SimpleNamespace(perf_counter=lambda: clock() + late[0])
    monkeypatch.setattr(training, "measure_trust", asked)
    monkeypatch.setattr(training, "time", watched)
    x = array()
    imputer().fit(x)
    assert len(n_asked) == 1
    [whole] = n_asked
    assert whole > 1
    imputer(budget=600.0).fit(x)
    assert n_asked == ([whole, 1, whole] if in_full else [whole, 1])


def test_few_rows_are_left_out_in_turn_and_many_are_not(monkeypatch):
    import macfm.imputer._hearing as hearing

    leave_out, n_asked = hearing.leave_out, []

    def asked(rows, **kwargs):
        n_asked.append(rows.n_rows)
        return leave_out(rows, **kwargs)

    monkeypatch.setattr(hearing, "leave_out", asked)
    x = array()
    few = imputer().fit(x)
    assert n_asked == [len(x)]
    monkeypatch.setattr(hearing, "_FOLDED_ROWS", len(x))
    many = imputer().fit(x)
    imputer(n_trees=0).fit(x)  # there is nothing to hear about
    assert len(n_asked) == 1
    shares = few.network_.polish.share, many.network_.polish.share
    assert not np.array_equal(*shares)


def test_folds_that_time_does_not_allow_are_not_heard(monkeypatch):
    import macfm.imputer._hearing as hearing
    import macfm.imputer._training as training

    leave_out, calibrate, n_heard, late = hearing.leave_out, hearing.calibrate, [], []

    def slow(rows, **kwargs):
        for fold in leave_out(rows, **kwargs):
            late.append(fold)
            yield fold

    def heard(held_out, folds, **kwargs):
        n_heard.append(len(folds))
        return calibrate(held_out, folds, **kwargs)

    monkeypatch.setattr(hearing, "leave_out", slow)
    monkeypatch.setattr(hearing, "calibrate", heard)
    left = training._Course._seconds_left
    monkeypatch.setattr(
        training._Course, "_seconds_left", lambda course: -1 if late else left(course)
    )
    x = array()
    imputer().fit(x)
    assert n_heard == [0]
    assert len(late) == 1  # and nobody waits for the rest
    monkeypatch.undo()
    monkeypatch.setattr(hearing, "calibrate", heard)
    imputer().fit(x)
    assert n_heard == [0, 4]


def test_trees_that_cannot_all_be_grown_again_in_time_stay_as_they_were(monkeypatch):
    import macfm.imputer._hearing as hearing

    fit_trees, forests = hearing.fit_trees, []

    def short(x, *args, only, **kwargs):
        trees = fit_trees(x, *args, only=only, **kwargs)
        if only is not None:  # again, from all rows
            trees = trees[:1]
        forests.append(trees)
        return trees

    monkeypatch.setattr(hearing, "fit_trees", short)
    model = imputer().fit(array())
    kept = model.network_.polish.trees
    first, again = forests[0], forests[-1]
    assert len(again) == 1 < len(kept)
    of = {int(one.place[0]): one for one in first}
    for one in kept:
        assert torch.equal(one.threshold, of[int(one.place[0])].threshold)


def test_settings_in_force_are_shown():
    x = np.random.default_rng(0).normal(size=(50, 3))
    model = imputer(preset="paper", d_model=None).fit(x)
    assert model.settings_["max_steps"] == QUICK["max_steps"]
    assert model.settings_["d_model"] == 512
    assert (model.settings_["method"], model.settings_["n_trials"]) == ("mean", 50)
    with pytest.warns(UserWarning, match="max_steps takes effect with the next fit"):
        model.set_params(method="median", max_steps=7)
    assert model.settings_["method"] == "median"
    assert model.settings_["max_steps"] == QUICK["max_steps"]  # that is what was taken
    with pytest.raises(NotFittedError):
        _ = imputer().settings_


def test_imputed_mask_is_true_where_fit_transform_fills():
    frame = pd.DataFrame(
        {
            "filled": [1.0, np.nan, 3.0, 4.0],
            "text": ["x", None, "y", "x"],
            "constant": [1.0, 1.0, 1.0, np.nan],
            "ignored": [np.nan, 2.0, 3.0, 5.0],
            "empty": [np.nan] * 4,
        }
    )
    imputer = MACFMImputer(max_steps=5, random_state=0, ignore=["ignored"])
    with pytest.warns(UserWarning, match="empty"):
        completed = imputer.fit_transform(frame)
    expected = (frame.isna() & completed.notna()).to_numpy()
    assert np.array_equal(imputer.imputed_mask_, expected)
    assert expected.sum() == 3
