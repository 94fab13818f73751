"""The comparison on a user's own cells."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer, judge
from macfm.judge import compare, expected_coverage, usual_methods
from macfm.judge._coverage import coverage_table, held_by_rank
from macfm.judge.frames import number_text, plain_frame
from macfm.judge.methods import METHODS, Method, make_method
from macfm.table import TableSchema, as_table


def tiny(**parameters):
    small = {"max_steps": 20, "n_trees": 4, "d_model": 16, "n_blocks": 1, "n_steps": 2}
    return MACFMImputer(**small | {"random_state": 0, "verbose": False} | parameters)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame(
        {
            "x": x,
            "copy": 3 * x + 1,
            "noise": rng.normal(size=300),
            "sign": np.where(x > 0, "plus", "minus"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.05)


@pytest.fixture(scope="module")
def trained(frame):
    """A comparison with enough training to learn a line."""
    imputer = tiny(max_steps=300, d_model=32, dropout=0.0, ema_decay=0.98)
    imputer.set_params(learning_rate=5e-3, stopping="none")
    return compare(frame, imputer=imputer, repeats=2)


def test_a_copy_is_found_and_noise_is_not(trained):
    ratios = trained.table("rmse_ratio", "number")
    for method in ("macfm", "mice"):
        assert ratios.loc["copy", method] < 0.45
        assert ratios.loc["noise", method] > 0.9
    assert (ratios["mean"] == 1).all()
    right = trained.table("accuracy", "category")
    assert right.loc["sign", "macfm"] > 0.85 > right.loc["sign", "mean"]


def test_overall_pools_the_columns(trained):
    ratios = trained.table("rmse_ratio", "number").astype(float)
    overall = trained.overall.set_index("method")
    assert trained.methods == ["macfm", "mean", "knn", "mice", "extra-trees"]
    assert overall.loc["mean", "rmse_ratio"] == 1
    for method in trained.methods:
        score = overall.loc[method, "rmse_ratio"]
        assert score == pytest.approx(np.sqrt((ratios[method] ** 2).mean()), abs=0.05)
        assert overall.loc[method, "seconds"] > 0
    assert overall["draws"].to_dict() == {
        **dict.fromkeys(["macfm", "mice"], True),
        **dict.fromkeys(["mean", "knn", "extra-trees"], False),
    }


def test_every_score_has_its_standard_error(trained):
    for table in (trained.columns, trained.overall):
        for score in ("rmse_ratio", "mae_ratio", "accuracy"):
            known = table[score].notna()
            assert (table.loc[known, f"{score}_se"] >= 0).all()
            assert table.loc[~known, f"{score}_se"].isna().all()
    assert trained.pairs.groupby("score").size().tolist() == [10, 10, 10]


def test_errors_pool_the_folds(trained):
    folds = trained.folds
    assert sorted(folds["fold"].unique()) == [0, 1]
    one = folds[(folds["method"] == "knn") & (folds["column"] == "x")]
    pooled = trained.columns
    pooled = pooled[(pooled["method"] == "knn") & (pooled["column"] == "x")].iloc[0]
    assert pooled["n_cells"] == one["n_cells"].sum()
    mae = np.average(one["mae"], weights=one["n_cells"])
    assert pooled["mae"] == pytest.approx(mae)


def test_the_same_seed_gives_the_same_answer(frame):
    first, second = (compare(frame, imputer=tiny(), repeats=1) for _ in range(2))
    without = lambda table: table.drop(columns="seconds", errors="ignore")  # noqa: E731
    tables = ("columns", "folds", "overall", "pairs", "calibration", "certainty")
    assert first.verdict == second.verdict
    assert first.advice.method == second.advice.method
    for name in tables:
        pd.testing.assert_frame_equal(
            without(getattr(first, name)), without(getattr(second, name))
        )
    other = compare(frame, imputer=tiny(), repeats=1, seed=1)
    assert not first.columns["rmse"].equals(other.columns["rmse"])


class Spy(Method):
    """Keeps what it was shown, and fills with nothing of use."""

    name, title, about = "spy", "Spy", "A spy."
    seen = ()

    def fit(self, train):
        Spy.seen = (*Spy.seen, train.copy())
        return self

    def impute(self, table):
        return table.apply(
            lambda c: c.fillna(0.0 if pd.api.types.is_float_dtype(c) else "?")
        )


def test_only_observed_cells_are_hidden_and_none_twice(frame, monkeypatch):
    monkeypatch.setitem(METHODS, "spy", Spy)
    Spy.seen = ()
    before = frame.copy()
    found = compare(frame, imputer=tiny(), methods=["spy"], repeats=4, share=0.25)
    pd.testing.assert_frame_equal(frame, before)
    holes = frame.isna().to_numpy()
    hidden = np.stack([table.isna().to_numpy() & ~holes for table in Spy.seen])
    assert len(hidden) == 4
    assert all((table.isna().to_numpy() >= holes).all() for table in Spy.seen)
    assert hidden.sum(axis=0).max() == 1
    assert hidden.sum() == found.n_cells
    assert all(table.notna().any().all() for table in Spy.seen)


def test_a_method_that_fails_is_named_and_left_out(frame, monkeypatch):
    class Broken(Spy):
        name = "broken"

        def fit(self, train):
            raise RuntimeError("no idea")

    monkeypatch.setitem(METHODS, "broken", Broken)
    found = compare(frame, imputer=tiny(), methods=["broken", "mean"], repeats=1)
    assert found.methods == ["macfm", "mean"]
    assert found.notes == ("broken failed: RuntimeError: no idea.",)
    assert "broken failed" in found.summary()


def test_tables_as_users_have_them():
    rng = np.random.default_rng(0)
    n = 120
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "skip": [object()] * n,
            "count": rng.integers(0, 5, n),
            "flag": rng.random(n) < 0.5,
            "day": pd.Series(day).where(rng.random(n) < 0.9),
            "stage": pd.Categorical(rng.choice(["I", "II"], n), ordered=True),
            "none": np.nan,
            "same": 1.0,
            "rare": np.where(np.arange(n) < 4, 1.5, np.nan) * np.arange(n),
        }
    )
    imputer = tiny(ignore=["skip"], bounds={"count": (0, 9), "same": (0, 2)})
    found = compare(frame, imputer=imputer, repeats=1, methods=["knn"])
    assert found.left_out == {
        "skip": "ignored",
        "id": "looks like an identifier",
        "none": "no value",
        "same": "one value only",
        "rare": "fewer than 10 observed cells",
    }
    kinds = found.columns.set_index("column")["kind"].to_dict()
    assert kinds == {
        "count": "number",
        "day": "number",
        "flag": "category",
        "stage": "category",
    }
    assert imputer.ignore == ["skip"]
    assert not hasattr(imputer, "network_")
    spread = found.columns.set_index("column")["sd"]["day"].iloc[0]
    assert 50 < spread < 120  # days


def test_names_of_several_levels_are_one_name_each(frame):
    columns = pd.MultiIndex.from_product([["a", "b"], ["u", "v"]])
    found = compare(
        frame.set_axis(columns, axis=1), imputer=tiny(), repeats=1, methods=["mean"]
    )
    names = columns.tolist()
    assert found.table("rmse_ratio", "number").index.tolist() == names[:3]
    assert found.table("accuracy", "category").index.tolist() == names[3:]
    lines = found.summary().splitlines()
    assert all(any(line.startswith(str(n)) for line in lines) for n in names)
    plain = compare(frame, imputer=tiny(), repeats=1, methods=["mean"])
    for score in ("rmse_ratio", "accuracy", "n_cells"):
        for kind in ("number", "category"):
            np.testing.assert_array_equal(
                found.table(score, kind), plain.table(score, kind)
            )


def test_only_columns_the_imputer_fills_are_scored(frame):
    found = compare(frame, imputer=tiny(only=["noise"]), repeats=1, methods=[])
    assert found.columns["column"].unique().tolist() == ["noise"]


def test_rows_are_sampled_and_it_says_so(frame):
    found = compare(frame, imputer=tiny(), repeats=1, max_rows=100, methods=[])
    assert (found.n_rows, found.n_rows_used) == (300, 100)
    assert "100 of 300 rows were looked at." in found.summary()


def test_a_time_limit_leaves_out_folds(frame, monkeypatch):
    clock = iter(np.arange(0, 10_000, 5.0))
    monkeypatch.setattr("macfm.judge._folds.time.perf_counter", lambda: next(clock))
    found = compare(frame, imputer=tiny(), methods=[], repeats=5, budget=30, n_draws=2)
    assert 1 <= found.n_folds < 5
    assert f"{found.n_folds} of 5 folds were run in 30 seconds." in found.notes


def test_progress_counts_the_fits(frame):
    said = []
    compare(
        frame,
        imputer=tiny(),
        methods=["knn"],
        repeats=2,
        progress=lambda *step: said.append(step),
    )
    assert said[0] == (0, 6, "knn")
    assert said[-1] == (6, 6, "macfm")


def test_json_is_plain(trained):
    plain = json.loads(json.dumps(trained.to_json(), allow_nan=False))
    assert plain["format"] == 2
    assert plain["verdict"] == trained.verdict
    assert plain["advice"]["method"] == trained.advice.method
    assert plain["advice"]["sentences"] == list(trained.advice.sentences)
    assert plain["n_cells"] == trained.n_cells > 0
    assert {row["method"] for row in plain["columns"]} == set(trained.methods)


def test_summary_shows_all_methods_and_the_coverage(trained):
    text = trained.summary()
    assert "RMSE, mean imputation = 1" in text
    assert "kNN" in text
    assert "90 % interval:" in text
    assert "(perfect: 81 %)" in text
    assert "seconds a fold" in text
    for sentence in (trained.rule, trained.error_rule, *trained.verdict):
        assert sentence in text
    assert text.splitlines()[-1] == trained.advice.sentences[-1]


def test_nothing_to_compare():
    frame = pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]})
    found = compare(frame, imputer=tiny(), repeats=1)
    assert found.n_cells == 0
    assert found.summary().startswith("Nothing could be compared.")
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize("discrete", [False, True])
def test_coverage_of_calibrated_draws_is_as_expected(discrete):
    rng = np.random.default_rng(0)
    x = rng.poisson(0.7, (21, 20_000)) if discrete else rng.normal(size=(21, 20_000))
    for level in (0.5, 0.8, 0.9):
        held = held_by_rank(x[1:], x[0], level).mean()
        assert held == pytest.approx(expected_coverage(level, 20), abs=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats must be at least 1, got repeats=0"),
        ({"share": 1.5}, r"share must lie between 0 and 1, got share=1\.5"),
        ({"repeats": 3, "share": 0.4}, r"repeats \* share must not exceed 1"),
        ({"n_draws": 1}, "n_draws must be at least 2, got n_draws=1"),
        ({"methods": ["mena"]}, "there is no method 'mena'"),
        ({"budget": "soon"}, "budget: 'soon' is not a length of time"),
        ({"n_threads": 0}, "n_threads must be at least 1, got n_threads=0"),
    ],
)
def test_wrong_options_are_named(frame, options, message):
    with pytest.raises(ValueError, match=message):
        compare(frame, **options)


def test_plain_forms_hold_every_type():
    frame = pd.DataFrame(
        {
            "whole": [1, 2],
            "flag": [True, False],
            "at": pd.to_datetime(["2024-01-01 12:00", "2024-07-01 08:00"]).tz_localize(
                "Europe/Berlin"
            ),
            "text": ["007", None],
            "odd": [{"a": 1}, None],
        }
    )
    plain = plain_frame(frame)
    assert plain.dtypes.astype(str).tolist()[:2] == ["Int64", "boolean"]
    assert plain["at"].iloc[0] == frame["at"].iloc[0]
    assert plain["odd"].tolist() == ["{'a': 1}", None]
    part = plain[["whole", "flag", "at", "text"]]
    table = number_text(part, TableSchema.infer(as_table(part)))
    assert table["whole"].tolist() == [1.0, 2.0]
    assert table["flag"].tolist() == ["True", "False"]
    assert table["text"].tolist() == ["007", None]
    at = pd.Timestamp(0, tz="UTC") + pd.Timedelta(days=table["at"][0])
    assert at == frame["at"][0]


def test_codes_are_written_as_whole_numbers():
    frame = pd.DataFrame({"code": [1.0, np.nan, 2.0], "half": [0.5, 1.0, np.nan]})
    schema = TableSchema.infer(as_table(frame), categorical=["code", "half"])
    table = number_text(frame, schema)
    assert table["code"].tolist() == ["1", None, "2"]
    assert table["half"].tolist() == ["0.5", "1", None]


def test_arrays_and_polars_frames_compare_alike(frame):
    pl = pytest.importorskip("polars")
    options = {"repeats": 1, "methods": ["knn"]}
    numbers = frame.drop(columns="sign")
    first = compare(numbers, imputer=tiny(), **options)
    second = compare(numbers.to_numpy(), imputer=tiny(), **options)
    third = compare(
        pl.DataFrame(numbers.to_dict("list"), nan_to_null=True),
        imputer=tiny(),
        **options,
    )
    assert first.columns["rmse"].tolist() == second.columns["rmse"].tolist()
    assert first.columns["rmse"].tolist() == third.columns["rmse"].tolist()


def test_the_public_names_are_there():
    for name in judge.__all__:
        assert hasattr(judge, name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"n_folds": 1}, {"repeats": 1}),
        ({"repeats": 1, "time_limit": 60}, {"repeats": 1, "budget": "1m"}),
    ],
)
def test_former_names_work_and_are_told(frame, old, new):
    options = {"imputer": tiny(), "methods": [], "n_draws": 2}
    with pytest.warns(FutureWarning, match="is now called"):
        first = compare(frame, **options, **old)
    second = compare(frame, **options, **new)
    pd.testing.assert_frame_equal(first.columns, second.columns)


def test_a_name_is_not_given_twice(frame):
    with pytest.raises(TypeError, match="n_folds is now called repeats"):
        compare(frame, n_folds=1, repeats=1)


def test_expected_coverage_tends_to_the_level_with_more_draws():
    few, many = expected_coverage(0.9, 20), expected_coverage(0.9, 400)
    assert few == pytest.approx(0.9 * 19 / 21)
    assert few < many == pytest.approx(0.9, abs=0.01)


class Truthful(Spy):
    """Knows a part of the truth: its error is a share of that of the mean."""

    name, title = "truthful", "Truthful"
    truth, share = None, 0.5

    def impute(self, table):
        filled = table.copy()
        for name in table:
            means = table[name].mean()
            guess = means + (1 - self.share) * (self.truth[name] - means)
            filled[name] = table[name].fillna(guess)
        return filled


class Twin(Truthful):
    name, title = "twin", "Twin"


@pytest.fixture
def liars(monkeypatch):
    """Register methods that know a share of the truth of a table."""

    def make(truth, **shares):
        for kind in (Truthful, Twin):
            about = {"truth": truth, "share": shares.get(kind.name, 0.5)}
            monkeypatch.setitem(METHODS, kind.name, type(kind.name, (kind,), about))

    return make


@pytest.fixture(scope="module")
def numbers():
    return pd.DataFrame(np.random.default_rng(1).normal(size=(200, 4))).rename(
        columns=str
    )


def versus(table, **options):
    options = {"methods": ["mean", "truthful", "twin"], "repeats": 2} | options
    return compare(table, imputer=tiny(), **options)


def test_identical_methods_are_no_clear_difference(numbers, liars):
    liars(numbers)
    found = versus(numbers)
    pair = found.pairs.query("method == 'truthful' and other == 'twin'")
    assert not pair["clear"].any()
    assert "with no clear difference to Twin" in found.verdict[0]


def test_a_method_that_is_better_is_named_and_advised(numbers, liars):
    liars(numbers, truthful=0.2, twin=0.6)
    found = versus(numbers)
    assert found.verdict[0].startswith("On numbers Truthful (0.20 ±")
    assert "does clearly best; then Twin (0.60 ±" in found.verdict[0]
    assert found.advice.method == "truthful"
    assert found.advice.draws == "macfm"
    assert "use macfm" in found.advice.sentences[1]


def test_a_planted_column_that_hardly_varies_changes_no_verdict(numbers, liars):
    planted = numbers.assign(rare=0.0)
    planted.loc[[5, 90], "rare"] = 1.5, 2.5
    liars(planted, truthful=0.4, twin=0.6)

    def far_off_where_it_does_not_matter(self, table):
        filled = Truthful.impute(self, table)
        return (
            filled.assign(rare=table["rare"].fillna(30.0))
            if "rare" in table
            else filled
        )

    METHODS["truthful"].impute = far_off_where_it_does_not_matter
    without, found = versus(numbers), versus(planted)
    assert found.flat == ("rare",)
    assert "hardly vary" in found.rule
    assert "rare" in found.summary().split("hardly vary")[1]
    assert found.table("rmse_ratio", "number").loc["rare", "truthful"] > 9
    for one in (without, found):
        assert one.advice.method == "truthful"
        assert "Truthful (0.40 ±" in one.verdict[0]
        assert "does clearly best" in one.verdict[0]


def test_where_columns_say_nothing_the_mean_is_advised(numbers):
    found = compare(numbers, imputer=tiny(), methods=["mice"], repeats=2)
    assert found.advice.method == "mean"
    assert "fill in the column mean" in found.advice.sentences[0]


def test_every_method_gets_the_same_threads(frame, monkeypatch):
    import torch
    from threadpoolctl import threadpool_info

    seen = []

    def look(own):
        pools = {pool["num_threads"] for pool in threadpool_info()}
        seen.append((own, torch.get_num_threads(), pools))

    class Counting(Spy):
        name = "counting"

        def fit(self, train):
            look(self.n_threads)
            return self

    class Imputer(MACFMImputer):
        def fit_transform(self, X, y=None):
            look(None)
            return super().fit_transform(X)

    monkeypatch.setitem(METHODS, "counting", Counting)
    ours = Imputer(**tiny().get_params())
    before = torch.get_num_threads()
    found = compare(frame, imputer=ours, methods=["counting"], repeats=1, n_threads=2)
    assert seen == [(2, 2, {2}), (None, 2, {2})]
    assert torch.get_num_threads() == before
    assert found.n_threads == 2
    assert compare(frame, imputer=ours, methods=["counting"], repeats=1).n_threads >= 1
    assert seen[2][0] == seen[2][1] == seen[3][1]


def test_a_column_is_named_if_chance_does_not_explain_its_coverage():
    rng = np.random.default_rng(0)
    cells = []
    for name, share in (("good", 0.81), ("narrow", 0.5), ("wide", 1.0)):
        held = (rng.random(150) < share).astype(float)
        cells.append(pd.DataFrame({"column": name, "level": 0.9, "held": held}))
    few = {"column": "few", "level": 0.9, "held": [1.0, 0.0, 0.0, 1.0]}
    table = coverage_table([*cells, pd.DataFrame(few)], n_draws=20).set_index("column")
    assert table["off"].dropna().to_dict() == {"narrow": "narrow", "wide": "wide"}


def test_columns_of_a_calibrated_table_are_seldom_named():
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(100):
        cells = [
            pd.DataFrame(
                {"column": f"c{j}", "level": 0.9, "held": rng.random(60) < 0.8143}
            )
            for j in range(10)
        ]
        named += coverage_table(cells, n_draws=20)["off"].notna().any()
    assert named <= 11  # at most one in twenty, and 3 standard errors


def test_columns_far_off_are_in_the_summary(trained):
    table = trained.calibration.copy()
    table["off"] = None
    mine = (table["column"] == "noise") & (table["level"] == 0.9)
    table.loc[mine, ["coverage", "off"]] = [0.5, "narrow"]
    found = replace(trained, calibration=table)
    assert "Far off, at 90 %: noise 50 % of" in found.summary()
    table.loc[mine, "off"] = None
    assert "Far off" not in replace(trained, calibration=table).summary()


def test_a_method_that_leaves_holes_failed(frame, monkeypatch):
    class Lazy(Spy):
        name = "lazy"

        def impute(self, table):
            return table

    monkeypatch.setitem(METHODS, "lazy", Lazy)
    found = compare(frame, imputer=tiny(), methods=["lazy"], repeats=1)
    assert found.methods == ["macfm", "mean"]
    assert "lazy failed: ValueError:" in found.notes[0]
    assert "left empty" in found.notes[0]


def test_training_cut_short_is_told(frame):
    found = compare(
        frame,
        imputer=MACFMImputer(random_state=0, verbose=False, stopping="none"),
        methods=[],
        repeats=1,
        budget=1,
    )
    assert any("time limit ended macfm's training" in note for note in found.notes)


def test_trees_are_usual_where_they_are_quick():
    assert "extra-trees" in usual_methods(155, 20)
    assert "extra-trees" not in usual_methods(5000, 20)
    assert "extra-trees" not in usual_methods(60, 70)
    assert "extra-trees" not in usual_methods(155, 20, budget=10)


def test_learned_baselines_take_modest_settings_and_their_share_of_the_time(
    frame, monkeypatch
):
    made = []

    def noted(name, **settings):
        made.append((name, settings))
        return make_method(name, **settings)

    monkeypatch.setattr("macfm.judge._folds.make_method", noted)
    found = compare(frame, imputer=tiny(), methods=["gain"], repeats=1, budget=8)
    assert found.methods == ["macfm", "gain", "mean"]
    settings = dict(made)
    assert settings["gain"]["quick"]
    assert 1 <= settings["gain"]["budget"] <= 8 / 3
    assert not {"quick", "budget"} & set(settings["mean"])
