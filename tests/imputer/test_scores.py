"""Numbers that lean far to one side are drawn as they are spread."""

import copy

import numpy as np
import pandas as pd
import pytest

from macfm import MACFMImputer, describe_model
from macfm.flow import MAX_COORDINATES

# Nothing tells of the years, and fit says so.
pytestmark = pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
N, N_DRAWS = 3200, 20
QUICK = {
    "max_steps": 300,
    "evaluate_every": 50,
    "d_model": 64,
    "n_blocks": 2,
    "n_networks": 1,
    "n_trees": 0,
    "batch_size": 256,
    "verbose": False,
    "device": "cpu",
    "random_state": 0,
}
STUB = QUICK | {"max_steps": 4, "evaluate_every": 2, "warmup_steps": 0}


def table(n=N):
    """Incomes of a long tail, what they depend on, and holes."""
    rng = np.random.default_rng(0)
    skill, years = rng.normal(size=(2, n))
    income = np.exp(3 + 0.9 * skill + 0.5 * np.abs(years) + 0.6 * rng.normal(size=n))
    whole = pd.DataFrame({"skill": skill, "years": years, "income": income})
    return whole.mask(rng.random(whole.shape) < [0.1, 0.1, 0.3]), whole


FRAME, WHOLE = table()
HOLES = FRAME["income"].isna()


@pytest.fixture(scope="module")
def fitted():
    return MACFMImputer(**QUICK).fit(FRAME)


@pytest.fixture(scope="module")
def draws(fitted):
    return fitted.sample(FRAME, n_draws=N_DRAWS)


def crps(draws):
    """CRPS of the incomes drawn, in standard deviations of those observed."""
    drawn = np.sort([draw["income"][HOLES] for draw in draws], axis=0)
    miss = np.abs(drawn - WHOLE["income"][HOLES].to_numpy()).mean()
    weights = 2 * np.arange(1, len(drawn) + 1) - len(drawn) - 1
    pairs = (weights[:, None] * drawn).sum(axis=0) / (len(drawn) * (len(drawn) - 1))
    return (miss - pairs.mean()) / FRAME["income"].std()


def test_draws_are_spread_as_incomes_are(fitted, draws):
    assert [column.scores for column in fitted.schema_.columns] == [False, False, True]
    assert len(fitted.network_.polish.scores) == 1
    drawn = np.log(np.concatenate([draw["income"][HOLES] for draw in draws]))
    truth = np.log(WHOLE["income"][HOLES])
    at = [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98]
    miss = np.quantile(drawn, at) - np.quantile(truth, at)
    assert np.abs(miss).max() < 0.3 * truth.std()
    # by themselves, without what makes the column as a whole look right
    alone = QUICK | {"margins": False}
    drawn, without = (
        MACFMImputer(**alone, scores=scores).fit(FRAME).sample(FRAME, N_DRAWS)
        for scores in (True, False)
    )
    assert crps(drawn) < 0.97 * crps(without)
    assert crps(draws) < 0.99 * crps(without)


def test_draws_stay_among_what_was_seen_and_observed_cells_as_they_are(draws):
    seen = FRAME["income"]
    for draw in draws:
        assert draw["income"].between(seen.min(), seen.max()).all()
        pd.testing.assert_frame_equal(draw.where(FRAME.notna()), FRAME)


def test_the_mean_is_that_of_the_number_itself(fitted):
    """Were it read off the mean score, it would lie below, as a median does."""
    filled = fitted.transform(FRAME)["income"][HOLES]
    truth = WHOLE["income"][HOLES]
    assert abs(filled.mean() / truth.mean() - 1) < 0.1
    median = copy.deepcopy(fitted).set_params(method="median", n_trials=40)
    below = median.transform(FRAME)["income"][HOLES]
    assert below.mean() < 0.9 * filled.mean()
    assert np.abs(below - truth).mean() < np.abs(filled - truth).mean()


def test_intervals_hold_what_they_say(fitted):
    told = fitted.intervals(FRAME, level=0.8)
    told = told[told["column"] == "income"]
    truth = WHOLE["income"].reindex(told["row"]).to_numpy()
    inside = (told["low"] <= truth) & (truth <= told["high"])
    assert 0.72 < inside.mean() < 0.88
    assert (told["low"] >= FRAME["income"].min()).all()


def test_rows_are_drawn_the_same_alone(fitted, draws):
    rows = FRAME[HOLES].iloc[5:8]
    alone = fitted.sample(rows, n_draws=N_DRAWS)
    for one, all_rows in zip(alone, draws, strict=True):
        pd.testing.assert_frame_equal(one, all_rows.loc[rows.index], check_exact=True)


def test_a_saved_model_draws_the_same(fitted, draws, tmp_path):
    path = tmp_path / "model.macfm"
    fitted.save(path)
    loaded = MACFMImputer.load(path)
    assert loaded.schema_ == fitted.schema_
    assert loaded.settings_["scores"] is True
    for one, two in zip(loaded.sample(FRAME, N_DRAWS), draws, strict=True):
        pd.testing.assert_frame_equal(one, two, check_exact=True)
    told = describe_model(path)
    assert any("up to 1,000 values" in sentence for sentence in told["reveals"])
    assert any("of its values" in what for what in told["columns"][2]["reveals"])


@pytest.mark.parametrize("changes", [{"preset": "paper"}, {"guide": False}])
def test_without_a_guide_there_are_none(changes):
    assert MACFMImputer(**STUB | changes).fit(FRAME).encoder_.d == 3


def test_scores_do_not_cost_a_table_its_guide_nor_its_atoms():
    rng = np.random.default_rng(0)
    x = rng.lognormal(3, 1.2, size=(2300, MAX_COORDINATES // 3 + 1))
    x[rng.random(x.shape) < 0.4] = 0.0
    x[rng.random(x.shape) < 0.05] = np.nan
    wide = MACFMImputer(**STUB).fit(x)
    assert hasattr(wide.network_, "guide")
    assert wide.encoder_.d == 2 * x.shape[1]
    narrow = MACFMImputer(**STUB).fit(x[:, :4])
    assert narrow.encoder_.d == 12
