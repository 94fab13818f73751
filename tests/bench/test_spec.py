"""Specs: what they expand to, and what they refuse."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from macfm.bench.datasets import DATASETS
from macfm.bench.spec import Cell, Spec
from macfm.judge.methods import make_method

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

TEXT = """
datasets = ["wine", "iris"]
mechanisms = ["mcar", "mar"]
rates = [0.3, 0.5]
masks = 2
methods = ["mean", "knn"]
settings.knn = { n_neighbors = 3 }
quirks.wine = ["odd"]
quirks.masks = ["raw-drivers"]

[[ablations]]
name = "trials"
method = "macfm-paper"
datasets = ["iris"]
mechanisms = ["mcar"]
rates = [0.3]
masks = 1
variants.10 = { n_trials = 10 }
variants.few = { n_trials = 2 }
"""


@pytest.fixture
def spec(tmp_path) -> Spec:
    path = tmp_path / "spec.toml"
    path.write_text(TEXT)
    return Spec.read(path)


def test_a_spec_is_the_product_of_its_lists_and_its_ablations(spec):
    cells = list(spec.cells())
    assert len(cells) == 2 * 2 * 2 * 2 * 2 + 2
    assert len({cell.key for cell in cells}) == len(cells)
    assert {cell.mask for cell in cells} == {0, 1}


def test_settings_and_quirks_reach_their_cells(spec):
    cells = list(spec.cells())
    assert all(
        cell.settings == ({"n_neighbors": 3} if cell.method == "knn" else {})
        for cell in cells
        if cell.ablation is None
    )
    assert {c.quirks for c in cells if c.dataset == "wine"} == {("odd", "raw-drivers")}
    assert {c.quirks for c in cells if c.dataset == "iris"} == {("raw-drivers",)}


def test_a_limit_of_rows_reaches_every_cell(spec):
    assert {cell.rows for cell in spec.cells()} == {None}
    assert {cell.rows for cell in replace(spec, rows=50).cells()} == {50}
    assert {cell.rows for cell in spec.narrowed(rows=20).cells()} == {20}
    cell = next(spec.narrowed(rows=20).cells())
    assert cell.key != next(spec.cells()).key


def test_ablations_carry_their_value_as_a_number_where_it_is_one(spec):
    ablated = [cell for cell in spec.cells() if cell.ablation]
    assert [cell.ablation["value"] for cell in ablated] == [10, "few"]
    assert ablated[0].label == "macfm-paper trials=10"
    assert ablated[0].settings == {"n_trials": 10}


def test_narrowing_narrows_the_ablations_too(spec):
    kept = spec.narrowed(datasets=["iris"], methods=["mean", "macfm-paper"], masks=1)
    labels = {cell.label for cell in kept.cells() if cell.ablation}
    assert labels == {"macfm-paper trials=10", "macfm-paper trials=few"}
    assert spec.narrowed(methods=["mean"]).ablations == ()
    assert spec.narrowed(datasets=["wine"]).ablations == ()
    assert spec.narrowed(rates=[0.5]).ablations == ()
    assert spec.narrowed() == replace(
        spec, ablations=(replace(spec.ablations[0], masks=1),)
    )


def test_masks_come_one_after_the_other(spec):
    masks = [cell.mask for cell in spec.cells() if cell.ablation is None]
    assert masks == sorted(masks)


def test_a_cell_survives_the_way_through_json(spec):
    for cell in spec.cells():
        assert Cell.from_json(cell.to_json()) == cell


def test_ablations_can_be_run_alone(spec):
    alone = spec.only_ablations(["trials"])
    ablated = [cell for cell in spec.cells() if cell.ablation]
    assert ablated
    assert list(alone.cells()) == ablated
    everywhere = replace(spec.ablations[0], datasets=None)
    wide = replace(spec, ablations=(everywhere,)).only_ablations(["trials"])
    assert {cell.dataset for cell in wide.cells()} == {"wine", "iris"}
    with pytest.raises(ValueError, match="no ablation 'trial'; there are: trials"):
        spec.only_ablations(["trial"])


@pytest.mark.parametrize("name", sorted(p.stem for p in BENCHMARKS.glob("*.toml")))
def test_the_specs_of_the_repository_are_sound(name):
    spec = Spec.read(BENCHMARKS / f"{name}.toml")
    for cell in spec.cells():
        assert cell.dataset in DATASETS
        make_method(cell.method, **cell.settings)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("masks = 2", "mask = 2", "no key 'mask'; there are: datasets, methods"),
        ("masks = 2", "masks = 0", "masks must be at least 1, got 0"),
        ("[0.3, 0.5]", "[30]", "rates must lie between 0 and 1, got 30"),
        ('"mcar", "mar"', '"mrac"', "no mechanism 'mrac'; there are: mcar"),
        ("settings.knn", "settings.kn", "settings for 'kn', which is not in methods"),
        ("variants.10 =", "variant.10 =", "no key 'variant'"),
        ('datasets = ["wine", "iris"]', "", "datasets"),
        ('["wine", "iris"]', '"wine"', "datasets must be a list, got 'wine'"),
        ("masks = 2", "masks = ", "is not a TOML file"),
        ("masks = 2", "masks = 2\ntime_limit = 0", "time_limit must be positive"),
        ("masks = 2", "masks = 2\nn_draws = 1", "n_draws must be at least 2"),
        ("masks = 2", "masks = 2\nrows = 3", "rows must be at least 10, got 3"),
    ],
)
def test_a_mistake_in_a_spec_is_named_with_its_file(tmp_path, old, new, message):
    path = tmp_path / "broken.toml"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"broken\.toml") as caught:
        Spec.read(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["main", "paper"])
def test_every_variant_of_an_ablation_can_be_fitted_and_read(name):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table = table.mask(rng.random(table.shape) < 0.3)
    small = {"max_steps": 2, "n_networks": 1, "d_model": 16, "n_blocks": 1}
    read = {"n_trials": 2, "n_steps": 2}
    variants = [
        (ablation.method, settings)
        for ablation in Spec.read(BENCHMARKS / f"{name}.toml").ablations
        for settings in ablation.variants.values()
    ]
    assert len(variants) > 20
    for method, settings in variants:
        fitted = make_method(method, **small | settings | read).fit(table)
        assert fitted.impute(table).notna().all(axis=None), (method, settings)
