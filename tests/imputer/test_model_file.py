"""Model files: what is saved comes back the same, and nothing else is believed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from macfm import MACFMImputer, describe_model
from macfm.flow import coarse
from macfm.imputer import _parameters
from macfm.imputer._model_file import _container

DATA = Path(__file__).parents[1] / "data"
QUICK = {
    "max_steps": 10,
    "n_trees": 4,
    "evaluate_every": 5,
    "d_model": 16,
    "n_blocks": 1,
    "n_frequencies": 2,
    "n_networks": 1,
    "batch_size": 64,
    "verbose": False,
    "device": "cpu",
    "random_state": 0,
}


def array(dtype=np.float64, n=60, d=4):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(size=(n, d))
    x[rng.random((n, d)) < 0.25] = np.nan
    return x.astype(dtype)


def mixed_frame(n=60):
    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    day = pd.Timestamp("2024-01-01")
    frame = pd.DataFrame(
        {
            "weight": 70 + 10 * z,
            "visits": pd.array((5 + 2 * z).round().astype(int), "Int64"),
            "code": np.digitize(z, [-1, 0, 1]) * 10.0,
            "smoker": pd.array(z > 0.5, "boolean"),
            "stage": pd.Categorical.from_codes(
                np.digitize(z, [-1, 1]), ["I", "II", "III"], ordered=True
            ),
            "ward": np.array(['A"', "B\u00f8", "C\\"])[np.digitize(z, [-0.5, 0.5])],
            "grade": np.array(["low", "mid", "high"])[np.digitize(z, [-0.3, 0.3])],
            "admitted": day + pd.to_timedelta((30 * z).round(), unit="D"),
            "seen": (day + pd.to_timedelta(np.round(1e6 * z), unit="s")).tz_localize(
                "Europe/Berlin", nonexistent="shift_forward", ambiguous="NaT"
            ),
            "stay": pd.to_timedelta(np.round(1e5 * np.exp(z)), unit="s"),
            "born": [(day + pd.Timedelta(days=round(v * 99))).date() for v in z],
            "note": [f"text {i}" for i in range(n)],
            "site": "only",
            "big": [2**70 + int(1000 * v) for v in z],
        },
        index=[f"p{i}" for i in range(n)],
    )
    frame["born"] = frame["born"].astype(object)
    frame["big"] = frame["big"].astype(object)
    for name in frame:
        frame.loc[rng.random(n) < 0.2, name] = None
    return frame


WISHES = {
    "categorical": ["code"],
    "ordinal": {"grade": ["low", "mid", "high", "unseen"]},
    "bounds": {
        "weight": (40, None),
        "visits": "observed",
        "admitted": (pd.Timestamp("2023-06-01"), "2025-01-01"),
        "seen": (pd.Timestamp("2023-06-01", tz="Europe/Berlin"), None),
    },
    "numeric_transform": {"weight": "quantile", "stay": "auto"},
    "only": ["weight", "visits", "code", "grade", "admitted", "seen", "site", "born"],
    "ignore": ["note"],
    "add_indicator": True,
}


def numbered_names():
    return pd.DataFrame(
        {0: array()[:, 0], ("a", 1): array()[:, 1], None: array()[:, 2]}
    )


def polars_frame():
    polars = pytest.importorskip("polars")
    frame = mixed_frame()[["weight", "visits", "smoker", "ward", "admitted", "seen"]]
    return polars.from_pandas(frame)


CASES = {
    "array": (array, {}),
    "float32 array": (lambda: array(np.float32), {}),
    "mixed frame": (
        lambda: mixed_frame().drop(columns="note"),
        {"numeric": ["code"], "bounds": None},
    ),
    "limits of the data": (
        lambda: mixed_frame()[["visits", "code", "stay", "ward"]],
        {"categorical": ["code"]},
    ),
    "all wishes": (mixed_frame, WISHES),
    "observed bounds": (
        lambda: mixed_frame()[["weight", "seen"]],
        {"bounds": "observed"},
    ),
    "polars": (polars_frame, {}),
    "names that are no text": (numbered_names, {"bounds": {("a", 1): (-9, 9)}}),
    "analog bits": (lambda: mixed_frame()[["weight", "ward"]], {"max_one_hot": 2}),
    "atoms": (
        lambda: mixed_frame(200)[["weight", "visits"]].assign(
            paid=mixed_frame(200)["weight"].clip(70.3)
        ),
        {"numeric_transform": {"paid": "quantile"}},
    ),
    "scores": (
        lambda: pd.DataFrame(
            {
                "a": np.random.default_rng(0).normal(size=2100),
                "b": np.random.default_rng(1).lognormal(2, 1.2, 2100),
            }
        ),
        {},
    ),
    "quantiles": (array, {"numeric_transform": "quantile"}),
    "several networks": (array, {"n_networks": 3}),
    "several networks, categories": (
        lambda: mixed_frame()[["weight", "ward", "visits"]],
        {"n_networks": 2},
    ),
    "paper": (
        lambda: mixed_frame()[["weight", "ward"]],
        {"preset": "paper", "n_trials": 3},
    ),
    "power schedule": (
        array,
        {
            "schedule": "power",
            "gamma": 1.5,
            "n_trials": 2,
            "time_law": (1.0, 2.0),
        },
    ),
    "transformer": (array, {"backbone": "transformer", "n_heads": 2}),
    "transformer without masks": (
        lambda: mixed_frame()[["weight", "ward"]],
        {"backbone": "transformer", "n_heads": 2, "mask_input": False},
    ),
    "constant": (
        lambda: pd.DataFrame({"a": [1.0, None, 1.0], "b": ["x", "x", None]}),
        {},
    ),
    "RandomState": (array, {"random_state": np.random.RandomState(3)}),
    "no seed": (array, {"random_state": None}),
    "numpy settings": (array, {"max_steps": np.int64(5), "dropout": np.float64(0.1)}),
}


def assert_same(one, two):
    """Equal in type and to the last bit."""
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        assert one.dtype == two.dtype
        assert one.tobytes() == two.tobytes()
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, two, check_exact=True)
    else:
        assert one.equals(two)


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory):
    make, changes = CASES[request.param]
    table = make()
    fitted = MACFMImputer(**(QUICK | changes)).fit(table)
    path = tmp_path_factory.mktemp("models") / "model.macfm"
    fitted.save(path)
    return fitted, MACFMImputer.load(path), table, path


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file with two columns, as bytes."""
    frame = mixed_frame()[["weight", "ward"]]
    fitted = MACFMImputer(**(QUICK | {"numeric_transform": "quantile"})).fit(frame)
    path = tmp_path_factory.mktemp("models") / "small.macfm"
    fitted.save(path)
    return path.read_bytes()


def test_loaded_model_transforms_bit_for_bit(pair):
    fitted, loaded, table, _ = pair
    assert_same(loaded.transform(table), fitted.transform(table))


def test_loaded_model_draws_bit_for_bit(pair):
    fitted, loaded, table, _ = pair
    draws = zip(fitted.sample(table, 2), loaded.sample(table, 2), strict=True)
    for one, two in draws:
        assert_same(one, two)


def test_loaded_model_finds_the_same_medians(tmp_path):
    table = array(n=200)
    fitted = MACFMImputer(**QUICK).fit(table)
    assert fitted.network_.polish.in_median is not None
    fitted.save(tmp_path / "m")
    loaded = MACFMImputer.load(tmp_path / "m")
    for one in (fitted, loaded):
        one.set_params(method="median", n_trials=6)
    assert_same(loaded.transform(table), fitted.transform(table))


def test_loaded_model_gives_the_same_probabilities(pair):
    fitted, loaded, *_ = pair
    x = np.random.default_rng(1).normal(size=(20, fitted.encoder_.d))
    for column in fitted.schema_.modelled:
        if column.encoding != "scalar":
            args = (x, column.name)
            assert_same(
                loaded.encoder_.category_probabilities(*args),
                fitted.encoder_.category_probabilities(*args),
            )


def test_loaded_model_has_the_same_attributes(pair):
    fitted, loaded, *_ = pair
    # Which cells were missing in `fit` is not kept: it tells of the training rows. Nor
    # is what ended the training.
    of_fit_alone = {"imputed_mask_", "out_of_time_"}
    assert set(vars(loaded)) == set(vars(fitted)) - of_fit_alone
    assert loaded.schema_ == fitted.schema_
    assert loaded.settings_ == fitted.settings_
    assert (loaded.seed_, loaded.n_steps_) == (fitted.seed_, fitted.n_steps_)
    pd.testing.assert_frame_equal(loaded.history_, fitted.history_)
    assert type(loaded.network_) is type(fitted.network_)
    assert loaded.n_features_in_ == fitted.n_features_in_
    for name in ("feature_names_in_", "indicator_features_"):
        if hasattr(fitted, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))


def test_parameters_come_back(pair):
    fitted, loaded, *_ = pair
    expected = fitted.get_params()
    if isinstance(expected["random_state"], np.random.RandomState):
        expected["random_state"] = fitted.seed_
    assert loaded.get_params() == expected
    clone(loaded)


def test_saving_again_gives_the_same_file(pair, tmp_path):
    _, loaded, _, path = pair
    loaded.save(tmp_path / "again.macfm")
    assert (tmp_path / "again.macfm").read_bytes() == path.read_bytes()


def test_other_programs_can_read_the_weights(pair):
    fitted, _, _, path = pair
    tensors = safetensors.numpy.load_file(path)
    stored = sum(a.size for name, a in tensors.items() if name.startswith("network."))
    network = fitted.network_
    parameters = [] if network is None else network.parameters()
    assert stored >= sum(p.numel() for p in parameters)


def test_description_is_json_and_says_what_it_reveals(pair):
    fitted, _, _, path = pair
    told = json.loads(json.dumps(describe_model(path), allow_nan=False))
    assert told["file_bytes"] == path.stat().st_size
    assert told["versions"]["torch"] == str(torch.__version__)
    assert told["training"]["seed"] == fitted.seed_
    assert [c["name"] for c in told["columns"]] == list(map(str, fitted.schema_.names))
    for column, entry in zip(fitted.schema_.columns, told["columns"], strict=True):
        assert entry["kind"] == column.kind
        categories = entry.get("categories")
        assert categories == (column.categories and list(map(str, column.categories)))
        assert any("categories" in r or "only" in r for r in entry["reveals"]) == bool(
            categories
        )
    assert all(sentence.endswith(".") for sentence in told["reveals"])


def test_margins_are_told_of():
    sentences = describe_model(DATA / "model-v6.macfm")["reveals"]
    assert any("near 33 quantiles" in sentence for sentence in sentences)
    older = describe_model(DATA / "model-v5.macfm")["reveals"]
    assert not any("quantiles" in sentence for sentence in older)


def test_description_keeps_lists_and_mappings_of_parameters(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, None, 4], "b": ["x", "y", None, "x"], "c": 0})
    wishes = {"ignore": ["c"], "bounds": {"a": (0, 9)}, "ordinal": {"b": ["x", "y"]}}
    model = MACFMImputer(**wishes, max_steps=2, verbose=False, device="cpu").fit(frame)
    model.save(tmp_path / "m")
    told = describe_model(tmp_path / "m")["parameters"]
    assert told["ignore"] == ["c"]
    assert told["bounds"] == {"a": [0, 9]}
    assert told["ordinal"] == {"b": ["x", "y"]}


def test_description_gives_statistics_on_the_scale_of_the_column(tmp_path):
    frame = mixed_frame()[["weight", "visits", "admitted", "seen", "stay", "grade"]]
    wishes = {
        "numeric_transform": {"weight": "quantile"},
        "bounds": {"stay": (0, None)},
    }
    fitted = MACFMImputer(**QUICK, **wishes).fit(frame)
    fitted.save(tmp_path / "m")
    told = {c["name"]: c for c in describe_model(tmp_path / "m")["columns"]}
    weight = frame["weight"].dropna()
    low, *_, high = told["weight"]["quantiles"]
    assert (low, high) == pytest.approx((weight.min(), weight.max()))
    assert told["weight"]["quantiles"][2] == pytest.approx(weight.median(), rel=0.02)
    assert any("48 of its values" in learned for learned in told["weight"]["reveals"])
    visits = frame["visits"].dropna().astype(float)
    assert told["visits"]["mean"] == pytest.approx(visits.mean())
    assert told["visits"]["std"] == pytest.approx(visits.std(ddof=0))
    assert told["admitted"]["mean"] == str(frame["admitted"].mean().date())
    assert told["seen"]["mean"].startswith(
        str(frame["seen"].dt.tz_convert("UTC").mean())[:10]
    )
    assert told["seen"]["mean"].endswith("Z")
    assert told["stay"]["bounds"] == ["0:00:00", None]
    assert sum(told["grade"]["frequencies"]) == pytest.approx(1)


def test_description_needs_no_torch(small, tmp_path):
    (tmp_path / "m").write_bytes(small)
    source = f"""
import sys, macfm
macfm.describe_model({str(tmp_path / "m")!r})
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0


def test_read_out_may_be_set_before_saving_and_after_loading(tmp_path):
    table = array()
    fitted = MACFMImputer(**QUICK).fit(table).set_params(n_trials=2)
    fitted.save(tmp_path / "m")
    loaded = MACFMImputer.load(tmp_path / "m")
    assert_same(loaded.transform(table), fitted.transform(table))
    for model in (fitted, loaded):
        model.set_params(n_trials=0)
        with pytest.warns(UserWarning, match="d_model takes effect with the next fit"):
            model.set_params(d_model=99)
    assert loaded.settings_ == fitted.settings_
    assert_same(loaded.transform(table), fitted.transform(table))


def test_a_preset_that_changes_later_changes_no_saved_model(tmp_path, monkeypatch):
    table = array()
    fitted = MACFMImputer(**QUICK).fit(table)
    before = fitted.transform(table)
    fitted.save(tmp_path / "m")
    other = _parameters.PRESETS["paper"] | {"schedule": "cosine", "velocity_space": "s"}
    monkeypatch.setitem(_parameters.PRESETS, "default", other)
    assert_same(MACFMImputer.load(tmp_path / "m").transform(table), before)


def test_set_output_is_kept(tmp_path):
    fitted = MACFMImputer(**QUICK).fit(array()).set_output(transform="pandas")
    fitted.save(tmp_path / "m")
    assert_same(
        MACFMImputer.load(tmp_path / "m").transform(array()), fitted.transform(array())
    )


def test_loading_leaves_generators_and_threads_alone(small, tmp_path):
    (tmp_path / "m").write_bytes(small)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    MACFMImputer.load(tmp_path / "m")
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002


def test_device_is_that_of_the_saved_model_or_the_given_one(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    path = tmp_path / "m"
    fitted = MACFMImputer(**QUICK).fit(array())
    fitted.save(path)
    assert MACFMImputer.load(path).device == "cpu"
    assert MACFMImputer.load(path, device="auto").device == "auto"
    with pytest.raises(ValueError, match="no CUDA device"):
        MACFMImputer.load(path, device="cuda")
    with pytest.raises(ValueError, match="device must be 'auto'"):
        MACFMImputer.load(path, device="tpu")
    fitted.set_params(device="cuda:1").save(path)
    assert MACFMImputer.load(path).device == "auto"


def test_subclass_is_loaded_as_itself(small, tmp_path):
    class Own(MACFMImputer):
        pass

    (tmp_path / "m").write_bytes(small)
    assert type(Own.load(tmp_path / "m")) is Own


# Writing


def test_unfitted_imputer_is_refused(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MACFMImputer().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_parameter_that_cannot_be_written_is_named(tmp_path):
    fitted = MACFMImputer(**QUICK).fit(array())
    with pytest.warns(UserWarning, match="bounds takes effect with the next fit"):
        fitted.set_params(bounds={"x0": (b"a", 1)})
    message = "cannot be saved: in the parameter bounds, a value of type bytes"
    with pytest.raises(ValueError, match=message):
        fitted.save(tmp_path / "m")


def test_what_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    fitted = MACFMImputer(**QUICK).fit(array())
    monkeypatch.setattr(_container, "MAX_HEADER", 1000)
    with pytest.raises(ValueError, match=r"names and categories take \d+ bytes"):
        fitted.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_save_leaves_the_old_file_and_no_debris(
    small, tmp_path, monkeypatch, error
):
    path = tmp_path / "m"
    path.write_bytes(small)
    loaded = MACFMImputer.load(path)

    def fail(*_):
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(type(error)):
        loaded.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert path.read_bytes() == small


def test_save_replaces_a_file_and_follows_a_link(small, tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    (tmp_path / "m").write_bytes(small)
    MACFMImputer.load(tmp_path / "m").save(str(link))
    assert link.is_symlink()
    assert real.read_bytes() == small


def test_save_names_a_place_it_cannot_write_to(small, tmp_path):
    (tmp_path / "m").write_bytes(small)
    loaded = MACFMImputer.load(tmp_path / "m")
    with pytest.raises(IsADirectoryError, match="is not a file"):
        loaded.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        loaded.save(tmp_path / "nowhere" / "m")


# The files of every format, kept for ever


def frame_from_text(texts):
    frame = pd.DataFrame(texts, dtype=object)
    number = {"weight": "Float64", "income": "Float64", "visits": "Int64"}
    for name, kind in number.items():
        frame[name] = pd.array(
            [None if v is None else float(v) for v in frame[name]], kind
        )
    flags = {"True": True, "False": False, None: None}
    frame["smoker"] = pd.array([flags[v] for v in frame["smoker"]], "boolean")
    frame["admitted"] = pd.to_datetime(frame["admitted"])
    return frame


def test_models_of_the_old_network_say_that_they_should_be_fitted_again():
    with pytest.warns(UserWarning, match=r"misled by holes .* fit it again"):
        loaded = MACFMImputer.load(DATA / "model-v1.macfm")
    assert loaded.settings_["guide"] is False


@pytest.mark.filterwarnings("ignore:.*fit it again:UserWarning")
def test_models_of_the_old_network_can_be_saved_again(tmp_path):
    old = MACFMImputer.load(DATA / "model-v1.macfm")
    old.save(tmp_path / "again.macfm")
    again = MACFMImputer.load(tmp_path / "again.macfm")
    told = json.loads((DATA / "model-v1.json").read_text(encoding="utf-8"))
    given = frame_from_text(told["given"])
    pd.testing.assert_frame_equal(again.transform(given), old.transform(given))


@pytest.mark.filterwarnings("ignore:.*fit it again:UserWarning")
@pytest.mark.parametrize("format_version", [1, 2, 3, 4, 5, 6, 7, 8])
def test_files_of_every_format_are_read(format_version, monkeypatch):
    # The draws were written down by a CPU that has no products in bfloat16.
    monkeypatch.setattr(
        "macfm.imputer._filler.multiplies_bfloat16", lambda device: False
    )
    path = DATA / f"model-v{format_version}.macfm"
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    given = frame_from_text(told["given"])
    loaded = MACFMImputer.load(path)
    assert describe_model(path)["format_version"] == format_version
    results = {
        "filled": loaded.transform(given),
        "first_draw": loaded.sample(given, 1)[0],
    }
    for name, filled in results.items():
        expected = frame_from_text(told[name])
        for column in expected:
            if expected[column].dtype == "Float64":
                np.testing.assert_allclose(
                    filled[column].to_numpy(float),
                    expected[column].to_numpy(float),
                    rtol=1e-5,
                )
            else:
                same = (filled[column] == expected[column]) | filled[column].isna()
                assert same.all(), column
                assert (filled[column].isna() == expected[column].isna()).all()


def test_a_model_with_a_calm_path_keeps_it_and_fills_every_row_by_itself(tmp_path):
    path = DATA / "model-v7.macfm"
    given = frame_from_text(json.loads(path.with_suffix(".json").read_text())["given"])
    loaded = MACFMImputer.load(path)
    calm = loaded.network_.calm
    assert calm.share.any()
    assert coarse(loaded.network_).calm is calm
    loaded.save(tmp_path / "again.macfm")
    again = MACFMImputer.load(tmp_path / "again.macfm")
    assert torch.equal(again.network_.calm.share, calm.share)
    assert again.network_.calm.n_steps == calm.n_steps == 3
    for method in ("mean", "median"):
        together = loaded.set_params(method=method).transform(given)
        again.set_params(method=method)
        alone = [again.transform(given.iloc[[k]]) for k in range(len(given))]
        pd.testing.assert_frame_equal(pd.concat(alone), together)


def test_means_and_medians_are_read_along_the_calm_path():
    path = DATA / "model-v7.macfm"
    given = frame_from_text(json.loads(path.with_suffix(".json").read_text())["given"])
    hole = given["weight"].isna()
    filled = []
    for calm in (True, False):
        loaded = MACFMImputer.load(path)
        if not calm:
            loaded.network_.calm = None
        for method in ("mean", "median"):
            told = loaded.set_params(method=method).transform(given)
            filled.append(told["weight"][hole].to_numpy(float))
    for with_path, without in zip(filled[:2], filled[2:], strict=True):
        assert (with_path != without).all()
