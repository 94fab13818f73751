"""Presets are complete, legal, and what they claim to be."""

import inspect

from macfm import MACFMImputer
from macfm.imputer._parameters import PRESETS, resolve


def resolved(n_rows=1000, **parameters):
    return resolve(MACFMImputer(**parameters).get_params(), n_rows=n_rows)


def test_presets_set_exactly_the_parameters_left_at_none():
    signature = inspect.signature(MACFMImputer).parameters
    none = {name for name, p in signature.items() if p.default is None}
    columns = {"categorical", "numeric", "ordinal", "impute", "ignore"}
    columns |= {"leave", "derive"}
    for preset in PRESETS.values():
        assert set(preset) == none - columns - {"random_state"}


def test_paper_preset_is_the_paper():
    paper = resolved(preset="paper")
    assert (paper.method, paper.aggregate, paper.n_trials) == ("sample", "mean", 50)
    assert (paper.solver.solver, paper.solver.n_steps) == ("heun", 10)
    assert paper.solver.grid == "uniform"
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
    assert resolved(preset="paper", n_trials=7).n_trials == 7
    assert resolved(preset="paper", mask_input=True).network.n_masks == 1
