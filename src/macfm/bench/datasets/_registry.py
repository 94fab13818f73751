"""Every dataset the benchmark knows, by name."""

from __future__ import annotations

from difflib import get_close_matches

from macfm.bench.datasets._dataset import Dataset
from macfm.bench.datasets.sets import (
    adult,
    ahei,
    ahei_synthetic,
    bean,
    bundled,
    clinical,
    default,
    gesture,
    letter,
    magic,
    news,
    nhanes,
    shoppers,
)

#: Name to dataset, in the order of tables.
DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        letter.DATASET,
        gesture.DATASET,
        magic.DATASET,
        bean.DATASET,
        adult.DATASET,
        default.DATASET,
        shoppers.DATASET,
        news.DATASET,
        *ahei.DATASETS,
        ahei_synthetic.DATASET,
        nhanes.DATASET,
        *clinical.DATASETS,
        *bundled.DATASETS,
    )
}

_BUILT_IN = frozenset(DATASETS)


def register_dataset(dataset: Dataset) -> Dataset:
    """Add a dataset to the registry, and return it.

    One that was registered before under the same name is replaced, so that a file may
    be imported twice; the names of macfm's own datasets cannot be taken.

    Examples
    --------
    >>> import pandas as pd
    >>> def read() -> pd.DataFrame:
    ...     return pd.DataFrame({"x": range(100), "y": range(100)})
    >>> toy = register_dataset(
    ...     Dataset(
    ...         name="toy", title="Toy", numeric=("x", "y"), categorical=(), read=read
    ...     )
    ... )
    >>> DATASETS.pop("toy") is toy
    True
    """
    if dataset.name in _BUILT_IN:
        raise ValueError(f"{dataset.name!r} is a dataset of macfm; choose another name")
    DATASETS[dataset.name] = dataset
    return dataset


def get_dataset(name: str) -> Dataset:
    """Return a dataset of the registry, or raise an error that lists them."""
    if name in DATASETS:
        return DATASETS[name]
    close = get_close_matches(name, DATASETS, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(
        f"there is no dataset {name!r}{hint}; the datasets are: {', '.join(DATASETS)}"
    )
