"""scikit-learn's contract: its own checks, and the company of its tools."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from macfm import MACFMImputer

QUICK = {
    "max_steps": 3,
    "n_trees": 4,
    "evaluate_every": 3,
    "d_model": 16,
    "n_blocks": 1,
    "n_networks": 1,
    "batch_size": 32,
    "verbose": False,
    "device": "cpu",
}


# It passes a keyword of the name of the signature's catch-all, which is no setting.
STRICT = {
    "check_do_not_raise_errors_in_init_or_set_params": "unknown keywords are refused"
}


@parametrize_with_checks(
    [MACFMImputer(**QUICK)], expected_failed_checks=lambda estimator: STRICT
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name",
    [
        "check_dataframe_column_names_consistency",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_output_transform_pandas",
        "check_global_set_output_transform_polars",
        "check_inplace_ensure_writeable",
    ],
)
# These checks mix frames and arrays on purpose, which scikit-learn warns of.
@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")
def test_checks_the_suite_leaves_out(name):
    if "polars" in name:
        pytest.importorskip("polars")
    getattr(estimator_checks, name)("MACFMImputer", MACFMImputer(**QUICK))


@pytest.fixture(scope="module")
def iris():
    frame, target = load_iris(return_X_y=True, as_frame=True)
    hidden = np.random.default_rng(0).random(frame.shape) < 0.2
    return frame.mask(hidden), target


def quick(**changes):
    return MACFMImputer(**(QUICK | {"random_state": 0} | changes))


def test_pipeline_and_grid_search_choose_among_settings(iris):
    frame, target = iris
    search = GridSearchCV(
        make_pipeline(quick(), LogisticRegression(max_iter=1000)),
        {"macfmimputer__method": ["mean", "median"], "macfmimputer__max_steps": [2]},
        cv=2,
    ).fit(frame, target)
    assert search.best_score_ > 0.5
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_column_transformer_hands_over_its_columns(iris):
    frame, _ = iris
    chosen = list(frame.columns[:2])
    both = ColumnTransformer(
        [("fill", quick(), chosen)], remainder="passthrough"
    ).set_output(transform="pandas")
    completed = both.fit_transform(frame)
    assert list(completed)[:2] == [f"fill__{name}" for name in chosen]
    assert completed.iloc[:, :2].notna().all().all()
    assert completed.iloc[:, 2:].isna().any().all()


def test_set_output_keeps_the_types_of_a_frame():
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["a", None, "b", "a"]),
            "b": pd.array([True, None, False, True], "boolean"),
            "d": pd.to_datetime(["2024-01-01", None, "2024-01-05", "2024-01-09"]),
        }
    )
    completed = quick().set_output(transform="pandas").fit_transform(frame)
    assert (completed.dtypes == frame.dtypes).all()
    assert completed.notna().all().all()


@pytest.mark.parametrize("as_frame", [True, False])
def test_indicator_columns_are_those_of_scikit_learn(iris, as_frame):
    frame = iris[0].copy()
    frame.iloc[:, 1] = 1.5  # a column without holes gets no indicator
    table = frame if as_frame else frame.to_numpy()
    ours = quick(add_indicator=True).fit(table)
    theirs = SimpleImputer(add_indicator=True).fit(table)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    completed = np.asarray(ours.transform(table), dtype=float)
    flags = MissingIndicator().fit_transform(table)
    np.testing.assert_array_equal(completed[:, 4:].astype(bool), flags)
    assert not np.isnan(completed).any()


def test_tags_say_that_missing_values_are_welcome():
    tags = MACFMImputer().__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert not tags.input_tags.sparse
