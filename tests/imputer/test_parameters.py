"""Presets are complete, legal, and what they claim to be."""

import inspect

import pytest
from sklearn.base import clone

from macfm import MACFMImputer
from macfm._errors import ParameterError
from macfm.imputer._parameters import EXPERT, PRESETS
from macfm.imputer._settings import resolve


def resolved(n_rows=1000, **parameters):
    return resolve(MACFMImputer(**parameters).get_params(deep=False), n_rows=n_rows)


def test_every_preset_sets_every_setting():
    for preset in PRESETS.values():
        assert set(preset) == {*EXPERT, "n_trials"}


def test_the_constructor_shows_few_parameters_and_every_other_is_a_setting():
    shown = set(inspect.signature(MACFMImputer).parameters) - {"more"}
    assert not shown & set(EXPERT)
    assert set(MACFMImputer().get_params()) == shown | set(EXPERT)
    assert set(MACFMImputer().get_params(deep=False)) == shown


def test_a_setting_is_the_same_by_keyword_in_settings_and_by_set_params():
    one = MACFMImputer(max_steps=5, dropout=0.1)
    other = MACFMImputer(settings={"max_steps": 5}).set_params(dropout=0.1)
    assert one.get_params() == other.get_params()
    assert one.get_params()["settings"] == {"max_steps": 5, "dropout": 0.1}
    assert clone(one).get_params() == one.get_params()
    assert one.set_params(max_steps=None, dropout=None).settings is None


@pytest.mark.parametrize("wrong", ["max_step", "n_epochs"])
def test_a_setting_that_is_none_is_refused_wherever_it_comes(wrong):
    with pytest.raises(TypeError, match=f"no parameter '{wrong}'"):
        MACFMImputer(**{wrong: 1})
    with pytest.raises(ValueError, match=wrong):
        MACFMImputer().set_params(**{wrong: 1})
    with pytest.raises(ParameterError, match=f"no parameter '{wrong}'"):
        resolved(settings={wrong: 1})
    with pytest.raises(ParameterError, match="settings must be a dict"):
        resolved(settings=[wrong])


def test_errors_name_the_parameter():
    with pytest.raises(ParameterError) as caught:
        resolved(dropout=2)
    assert caught.value.parameter == "dropout"
    with pytest.raises(ParameterError, match="stands still") as caught:
        resolved(schedule="cosine")
    assert caught.value.parameter == "schedule"
    assert resolved(schedule="cosine", n_trials=5).read_out.n_trials == 5


def test_a_median_of_no_trajectories_is_refused():
    with pytest.raises(ParameterError, match="give n_trials=100 or none") as caught:
        resolved(method="median", n_trials=0)
    assert caught.value.parameter == "n_trials"
    assert resolved(method="median").read_out.n_trials == 100
    assert resolved(method="median", preset="paper").read_out.n_trials == 50


def test_a_budget_is_seconds_or_text():
    assert resolved(budget="1m30s").train.max_seconds == 90
    assert resolved(budget=90).values["budget"] == 90


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"impute": ["a"]}, {"only": ["a"]}),
        ({"max_seconds": 3}, {"budget": 3}),
        ({"method": "sample"}, {"n_trials": 100}),
        ({"method": "sample", "n_trials": 7}, {"n_trials": 7}),
        ({"method": "sample", "preset": "paper"}, {"preset": "paper"}),
        (
            {"method": "sample", "aggregate": "median", "n_trials": 7},
            {"method": "median", "n_trials": 7},
        ),
        ({"aggregate": "median"}, {"method": "median"}),
    ],
)
def test_old_spellings_work_and_say_what_is_new(old, new):
    with pytest.warns(FutureWarning, match="is now"):
        one = MACFMImputer(**old)
    assert one.get_params() == MACFMImputer(**new).get_params()
    with pytest.warns(FutureWarning, match="is now"):
        other = MACFMImputer().set_params(**old)
    assert other.get_params() == MACFMImputer(**new).get_params()


def test_paper_preset_is_the_paper():
    paper = resolved(preset="paper")
    assert (paper.read_out.method, paper.read_out.n_trials) == ("mean", 50)
    solver = paper.read_out.solver
    assert (solver.solver, solver.n_steps, solver.grid) == ("heun", 10, "uniform")
    assert paper.train.stopping == "objective"
    network = paper.network
    assert network.backbone == "mlp"
    assert not any([network.n_masks, network.residual, network.precondition])
    assert not network.guide
    assert network.dropout == network.n_frequencies == 0
    assert paper.time_law.share_t0 == 0
    assert paper.n_networks == 1
    assert min(paper.loss.lambda_stab, paper.loss.lambda_cons, paper.loss.sigma_in) > 0


def test_larger_tables_get_larger_networks_unless_told_otherwise():
    small, large = resolved(4_999), resolved(5_000)
    assert small.network.d_model < large.network.d_model
    assert resolved(5_000, d_model=64).network.d_model == 64


def test_parameters_override_their_preset():
    assert resolved(preset="paper", n_trials=7).read_out.n_trials == 7
    assert resolved(preset="paper", mask_input=True).network.n_masks == 1
