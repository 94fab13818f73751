"""`leave` and `derive` as users of the imputer meet them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import macfm
from macfm import MACFMImputer, describe_model

QUICK = {
    "max_steps": 15,
    "n_trees": 4,
    "evaluate_every": 5,
    "d_model": 16,
    "n_blocks": 1,
    "n_networks": 1,
    "batch_size": 64,
    "verbose": False,
    "device": "cpu",
    "random_state": 0,
}
RULES = {"age_dx": "diabetes == 'No'", "drug": "isna(age_dx)"}
FORMULAS = {"bmi": "weight / height**2"}


def imputer(**changes):
    return MACFMImputer(**(QUICK | changes))


def clinic(n=160, seed=0, share=0.25):
    rng = np.random.default_rng(seed)
    diabetes = rng.choice(["No", "Yes"], n)
    age = rng.integers(20, 80, n)
    frame = pd.DataFrame(
        {
            "diabetes": pd.Categorical(diabetes),
            "age": pd.array(age, "Int64"),
            "age_dx": pd.array(age - rng.integers(0, 10, n), "Int64"),
            "drug": pd.array(rng.choice(["a", "b"], n), "string"),
            "weight": rng.normal(75, 12, n),
            "height": rng.normal(1.7, 0.1, n),
        },
        index=[f"p{i}" for i in range(n)],
    )
    frame["bmi"] = frame["weight"] / frame["height"] ** 2
    for name in ("age_dx", "drug"):
        frame.loc[diabetes == "No", name] = pd.NA
    for name in frame:
        frame[name] = frame[name].mask(rng.uniform(size=n) < share)
    return frame


@pytest.fixture(scope="module")
def fitted():
    frame = clinic()
    return imputer(leave=RULES, derive=FORMULAS).fit(frame), frame


def assert_kept(frame, filled):
    """Observed cells, types, rules and formulas, all at once."""
    assert (filled.dtypes == frame.dtypes).all()
    assert filled.index.equals(frame.index)
    for name in frame:
        seen = frame[name].notna()
        assert (filled[name][seen] == frame[name][seen]).all()
    hole = frame["age_dx"].isna()
    assert filled["age_dx"].isna().equals(hole & (filled["diabetes"] == "No"))
    hole = frame["drug"].isna()
    assert filled["drug"].isna().equals(hole & filled["age_dx"].isna())
    rest = filled.drop(columns=["age_dx", "drug"])
    assert not rest.isna().any().any()
    value = filled["weight"] / filled["height"] ** 2
    np.testing.assert_allclose(filled["bmi"], value, rtol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "median", "n_trials": 3},
        {"n_trials": 2},
    ],
)
def test_rules_and_formulas_hold_whatever_is_filled_in(fitted, settings):
    model, frame = fitted
    before = model.get_params(deep=False)
    model.set_params(**settings)
    assert_kept(frame, model.transform(frame))
    assert_kept(new := clinic(seed=5), model.transform(new))
    model.set_params(**{name: before[name] for name in settings})


def test_each_draw_is_judged_by_its_own_values(fitted):
    model, frame = fitted
    draws = model.sample(frame, n_draws=6)
    for draw in draws:
        assert_kept(frame, draw)
    open_ = frame["diabetes"].isna() & frame["age_dx"].isna()
    empty = np.array([draw["age_dx"].isna()[open_] for draw in draws])
    assert (empty.any(axis=0) & ~empty.all(axis=0)).any()


def test_the_mask_of_filled_cells_is_what_was_filled():
    frame = clinic()
    model = imputer(leave=RULES, derive=FORMULAS, add_indicator=True)
    filled = model.fit_transform(frame)
    now = frame.isna() & filled[frame.columns].notna()
    assert (model.imputed_mask_ == now.to_numpy()).all()
    flags = filled.iloc[:, frame.shape[1] :]
    assert list(flags) == [f"missingindicator_{name}" for name in frame]
    assert (flags.to_numpy() == frame.isna().to_numpy()).all()


def test_a_mask_is_for_one_table():
    frame = clinic()
    mask = frame.isna() & (np.arange(len(frame)) % 2 == 0)[:, None]
    model = imputer(leave=mask)
    filled = model.fit_transform(frame)
    assert filled.isna().equals(mask)
    assert (model.imputed_mask_ == (frame.isna() & ~mask).to_numpy()).all()
    assert model.sample(frame, n_draws=2)[1].isna().equals(mask)
    with pytest.raises(ValueError, match=r"shape \(160, 7\), but the table .*\(5, 7\)"):
        model.transform(frame[:5])
    model.set_params(leave=mask[:5])
    assert model.transform(frame[:5]).isna().equals(mask[:5])
    with pytest.raises(ValueError, match="another index"):
        model.transform(frame[5:10])


def test_parameters_are_stored_untouched_and_checked_in_fit():
    mask = np.zeros((160, 7), dtype=bool)
    for leave, derive in ((RULES, FORMULAS), (mask, None), ("nonsense", 3)):
        model = imputer(leave=leave, derive=derive)
        assert model.get_params()["leave"] is leave
        assert model.get_params()["derive"] is derive
        copy = clone(model)
        assert type(copy.leave) is type(leave)
        assert copy.derive == derive
    with pytest.raises(TypeError, match="leave must be a dict"):
        imputer(leave="nonsense").fit(clinic())
    with pytest.raises(ValueError, match=r"leave of column 'age_dx': .*'diabetes'"):
        imputer(leave={"age_dx": "diabtes == 'No'"}).fit(clinic())


def test_probabilities_are_those_of_the_cells_that_are_filled(fitted):
    model, frame = fitted
    told = model.category_probabilities(frame)
    filled = model.transform(frame)
    now = frame["drug"].isna() & filled["drug"].notna()
    assert told["drug"].index.equals(frame.index[now])


def test_a_model_file_keeps_rules_and_formulas_but_no_mask(fitted, tmp_path):
    model, frame = fitted
    model.save(tmp_path / "m.macfm")
    again = MACFMImputer.load(tmp_path / "m.macfm")
    assert (again.leave, again.derive) == (RULES, FORMULAS)
    pd.testing.assert_frame_equal(again.transform(frame), model.transform(frame))
    told = describe_model(tmp_path / "m.macfm")["parameters"]
    assert (told["leave"], told["derive"]) == (RULES, FORMULAS)
    masked = clone(model).set_params(leave=frame.isna(), derive=None).fit(frame)
    masked.save(tmp_path / "mask.macfm")
    assert MACFMImputer.load(tmp_path / "mask.macfm").leave is None


def test_arrays_and_polars():
    frame = clinic()[["weight", "height", "bmi", "age"]]
    x = frame.astype(float).to_numpy()
    rules = {"derive": {"x2": "x0 / x1**2"}, "leave": {"x3": "x2 < 25"}}
    with pytest.warns(UserWarning, match="observed cells lie in rows where x2 < 25"):
        filled = imputer(**rules).fit_transform(x)
    np.testing.assert_allclose(filled[:, 2], filled[:, 0] / filled[:, 1] ** 2)
    hole = np.isnan(x[:, 3])
    assert (np.isnan(filled[:, 3]) == (hole & (filled[:, 2] < 25))).all()
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(x, schema=list(frame)).fill_nan(None)
    mask = table.select(pl.all().is_null())
    left = imputer(leave=mask).fit_transform(table)
    assert left.equals(table)
    kept = imputer(derive=FORMULAS).fit_transform(table)
    assert kept.schema == table.schema
    np.testing.assert_allclose(kept["bmi"], kept["weight"] / kept["height"] ** 2)


def test_an_empty_column_is_computed_without_a_warning():
    frame = clinic().assign(bmi=np.nan)
    filled = imputer(derive=FORMULAS).fit_transform(frame)
    value = filled["weight"] / filled["height"] ** 2
    np.testing.assert_allclose(filled["bmi"], value, rtol=1e-12)


def test_a_comparison_hides_cells_that_rules_would_leave():
    from macfm.judge import compare

    frame = clinic()
    model = imputer(leave=RULES, derive=FORMULAS, n_steps=2)
    found = compare(frame, imputer=model, methods=["mean"], repeats=1, n_draws=2)
    scores = found.table("rmse_ratio", "number")["macfm"].astype(float)
    assert scores.notna().all()
    assert "age_dx" in scores.index
    assert scores["bmi"] < 0.5  # most of it follows from the other two


@pytest.mark.parametrize("as_mask", [False, True])
def test_the_report_says_what_stays_empty_and_what_is_computed(as_mask):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    frame = clinic(n=300)
    leave = (
        frame.isna() & (frame[["diabetes"]] == "No").to_numpy() if as_mask else RULES
    )
    model = imputer(leave=leave, derive=FORMULAS, n_steps=2).fit(frame)
    page = macfm.report(frame, model, compare=False).html
    assert "computed: weight / height**2" in page
    assert "made to agree with bmi = weight / height**2" in page
    if as_mask:
        assert "marked as not applicable were left missing" in page
    else:
        assert "stays empty where diabetes == &#39;No&#39;" in page
        assert "left missing: age_dx (diabetes == &#39;No&#39;)" in page
    draws = model.sample(frame, n_draws=3)
    macfm.report(frame, model, compare=False, draws=draws)


def test_an_empty_column_of_text_keeps_its_type_if_it_stays_empty(fitted):
    model, _ = fitted
    new = clinic(seed=3)[:4].assign(diabetes=["No"] * 4, drug=np.nan, age_dx=pd.NA)
    new["diabetes"] = pd.Categorical(new["diabetes"], categories=["No", "Yes"])
    new["age_dx"] = new["age_dx"].astype("Int64")
    filled = model.transform(new)
    assert (filled.dtypes == new.dtypes).all()
    assert filled["drug"].isna().all()
    assert filled.index.equals(new.index)


@pytest.mark.parametrize("dtype", ["Int64", "float64"])
@pytest.mark.parametrize("method", ["mean", "draw"])
def test_draws_that_leave_a_cell_have_no_rank_in_its_interval(dtype, method):
    frame = clinic().astype({"age_dx": dtype})
    model = imputer(leave=RULES, method=method).fit(frame)
    found = model.intervals(frame, n_draws=40)
    own = found[found["column"] == "age_dx"].set_index("row")
    draws = [draw["age_dx"] for draw in model.sample(frame, n_draws=40)]
    drawn = pd.concat(draws, axis=1).loc[own.index].astype("Float64")
    assert drawn.isna().any(axis=None)  # some draws say No
    filled = drawn.notna().sum(axis=1) > 0
    assert own.loc[filled, ["low", "high"]].notna().all(axis=None)
    low, high = (own.loc[filled, end].astype(float) for end in ("low", "high"))
    assert (low >= drawn[filled].min(axis=1)).all()
    assert (high <= drawn[filled].max(axis=1)).all()
    assert (low <= high).all()


def test_who_has_an_age_of_diagnosis_has_been_diagnosed(fitted):
    model, frame = fitted
    told = frame["age_dx"].notna() & frame["diabetes"].isna()
    assert told.sum() > 5
    for filled in (model.transform(frame), *model.sample(frame, n_draws=10)):
        assert (filled.loc[told, "diabetes"] == "Yes").all()
    likely = model.category_probabilities(frame)["diabetes"]
    assert (likely.loc[told[told].index, "Yes"] == 1).all()
    assert (likely.loc[~likely.index.isin(told[told].index), "Yes"] < 1).all()
    row = frame[told][:1]
    assert model.transform(row)["diabetes"].tolist() == ["Yes"]
    found = model.intervals(frame, n_draws=20)
    own = found[(found["column"] == "diabetes") & found["row"].isin(frame.index[told])]
    assert (own["certainty"] == 1).all()
