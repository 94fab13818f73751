"""The registry: counts of the protocol, names, quirks, and a dataset of one's own."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from macfm.bench.datasets import (
    DATASETS,
    Dataset,
    DatasetError,
    dataset_status,
    get_dataset,
    load_dataset,
    register_dataset,
)

DOCS = Path(__file__).parents[3] / "docs" / "benchmark-data.md"

# Rows, numeric, categorical of the protocol; news without its corrupt article.
PROTOCOL = {
    "letter": (20_000, 16, 0),
    "gesture": (9_873, 32, 0),
    "magic": (19_020, 10, 0),
    "bean": (13_611, 16, 0),
    "adult": (32_561, 6, 8),
    "default": (30_000, 14, 9),
    "shoppers": (12_330, 10, 7),
    "news": (39_643, 45, 2),
}
BUNDLED = ("breast-cancer", "wine", "diabetes", "digits", "iris", "titanic")


@pytest.fixture
def registry(monkeypatch):
    copy = dict(DATASETS)
    yield DATASETS
    DATASETS.clear()
    DATASETS.update(copy)


@pytest.fixture(autouse=True)
def no_folders(monkeypatch, tmp_path):
    monkeypatch.delenv("MACFM_DATA", raising=False)
    monkeypatch.setenv("MACFM_CACHE", str(tmp_path / "cache"))


def toy(**changes):
    def read():
        return pd.DataFrame({"x": [1, 2, 3], "kind": [1, 2, None], "id": [7, 8, 9]})

    given = {"name": "toy", "title": "Toy", "numeric": ("x",), "categorical": ("kind",)}
    return Dataset(**(given | {"read": read} | changes))


@pytest.mark.parametrize("name", PROTOCOL)
def test_counts_are_those_of_the_protocol(name):
    dataset = DATASETS[name]
    counts = (dataset.n_rows, len(dataset.numeric), len(dataset.categorical))
    assert counts == PROTOCOL[name]


def test_the_eight_come_first_in_the_order_of_the_tables():
    assert list(DATASETS)[:8] == list(PROTOCOL)


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_dataset_says_whose_it_is(dataset):
    assert dataset.source
    assert dataset.licence
    assert get_dataset(dataset.name) is dataset


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tables_load_without_files_or_network(name):
    dataset, table = DATASETS[name], load_dataset(name, download=False)
    assert table.frame.shape == (dataset.n_rows, dataset.n_features)
    assert table.n_columns_counted == dataset.n_features + 1
    assert dataset.target not in table.frame
    for column in table.frame:
        numeric = pd.api.types.is_float_dtype(table.frame[column])
        assert numeric == (column in dataset.numeric)
    assert table.frame.nunique().min() > 1


def test_titanic_keeps_the_holes_of_its_source():
    frame = load_dataset("titanic").frame
    missing = frame.isna().sum()
    assert missing[missing > 0].to_dict() == {"age": 263, "fare": 1, "embarked": 2}
    assert set(frame["pclass"]) == {"1", "2", "3"}


def test_the_stand_in_for_ahei_is_told_from_the_private_tables():
    made_up = [name for name in DATASETS if dataset_status(name) == "synthetic"]
    assert made_up == ["ahei-synthetic"]
    private = [dataset for dataset in DATASETS.values() if dataset.private]
    assert [dataset.name for dataset in private] == ["ahei-s1", "ahei-s3", "ahei-s4"]
    assert not any(dataset.synthetic for dataset in private)
    assert "227 rows and 20 columns" in DATASETS["ahei-s1"].note  # whose shape it has
    assert load_dataset("ahei-synthetic", download=False).frame.shape == (227, 20)


def test_the_stand_in_for_ahei_is_the_same_whatever_was_drawn_before():
    one = load_dataset("ahei-synthetic").frame
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    pd.testing.assert_frame_equal(load_dataset("ahei-synthetic").frame, one)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_scores_of_the_stand_in_for_ahei_end_at_floors_and_ceilings():
    scores = load_dataset("ahei-synthetic").frame
    assert scores.notna().all(axis=None)
    assert scores.min(axis=None) == 0
    assert scores.max(axis=None) == 10
    at_a_limit = (scores == 0) | (scores == 10)
    assert at_a_limit.mean().min() > 0.05  # of every column
    assert scores.nunique().min() > 100


def test_subjects_of_the_stand_in_for_ahei_stay_themselves_from_visit_to_visit():
    scores = load_dataset("ahei-synthetic").frame
    first, second = (scores.filter(regex=f"_{visit}$") for visit in (1, 2))
    components = [name.removesuffix("_1") for name in first]
    assert components == [name.removesuffix("_2") for name in second]
    across = np.corrcoef(first.T, second.T)[:10, 10:]
    steady, others = np.diag(across), across[~np.eye(10, dtype=bool)]
    assert 0.3 < steady.min() <= steady.max() < 0.6  # a habit and the day
    assert steady.min() > others.max()
    # The quality of the whole diet: components of one subject go together.
    assert 0.05 < others.mean() < 0.25


def test_an_unknown_dataset_is_an_error_that_lists_them():
    with pytest.raises(ValueError, match=r"no dataset 'lettr' \(did you mean 'letter'"):
        load_dataset("lettr")


def test_an_unknown_quirk_is_an_error_that_lists_those_of_the_dataset():
    with pytest.raises(ValueError, match="its quirks are: twin-video"):
        load_dataset("gesture", quirks=["lost-first-row"])
    with pytest.raises(ValueError, match="its quirks are: none"):
        load_dataset("wine", quirks=["twin-video"])


def test_a_registered_dataset_loads_by_name_and_may_be_replaced(registry):
    assert register_dataset(toy()) is registry["toy"]
    table = load_dataset("toy")
    assert table.frame["x"].tolist() == [1.0, 2.0, 3.0]
    assert table.frame["kind"].dropna().tolist() == ["1", "2"]
    assert (table.target, table.n_columns_counted) == (None, 2)
    register_dataset(toy(title="Another"))
    assert registry["toy"].title == "Another"


def test_the_name_of_a_built_in_dataset_cannot_be_taken():
    with pytest.raises(ValueError, match="'wine' is a dataset of macfm"):
        register_dataset(toy(name="wine"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "My Toy"}, "small letters, digits, '-' and '_' only, got 'My Toy'"),
        ({"categorical": ("x",)}, "'x' has two roles"),
        ({"target": "kind"}, "'kind' has two roles"),
        ({"numeric": (), "categorical": ()}, "neither numeric nor categorical"),
        ({"read": None}, "needs one of read, download and obtain"),
        ({"read": None, "obtain": "Ask.", "synthetic": True}, "toy is synthetic and"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        toy(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_rows": 4}, "toy must have 4 rows, got 3"),
        ({"numeric": ("x", "y")}, "toy: the table has no column 'y'"),
    ],
)
def test_a_table_unlike_its_entry_is_an_error(registry, changes, message):
    register_dataset(toy(**changes))
    with pytest.raises(DatasetError, match=message):
        load_dataset("toy")


def test_quirks_reach_the_repair(registry):
    def repair(source, quirks):
        return source if "all" in quirks else source.iloc[1:]

    register_dataset(toy(n_rows=2, repair=repair, quirks={"all": "every row"}))
    assert len(load_dataset("toy").frame) == 2
    table = load_dataset("toy", quirks=["all"])
    assert (len(table.frame), table.quirks) == (3, ("all",))


def test_the_example_of_the_docs_registers_its_dataset(registry, tmp_path):
    text = DOCS.read_text(encoding="utf-8")
    code = re.search(r"```python\n(# spirals\.py.*?)```", text, re.DOTALL).group(1)
    exec(compile(code, "spirals.py", "exec"), {"__name__": "spirals"})
    table = load_dataset("spirals")
    dataset = registry["spirals"]
    assert table.frame.shape == (dataset.n_rows, dataset.n_features)
    assert table.target == dataset.target


def test_the_docs_name_every_dataset_with_its_counts_and_quirks():
    text = DOCS.read_text(encoding="utf-8")
    for dataset in DATASETS.values():
        assert f"`{dataset.name}`" in text
        for quirk in dataset.quirks:
            assert f"`{quirk}`" in text
        if not dataset.private:
            counts = f"{len(dataset.numeric)} | {len(dataset.categorical)}"
            row = f"| `{dataset.name}` | {dataset.n_rows:,} | {counts} "
            assert f"{row}| {dataset.target or 'none'} |" in text
