"""Tables that come with scikit-learn: no download, no data folder, no network."""

from __future__ import annotations

import gzip
import importlib.resources
from collections.abc import Callable
from functools import partial

import pandas as pd

from macfm.bench.datasets._dataset import Dataset, DatasetError
from macfm.bench.datasets._fingerprint import known
from macfm.bench.datasets._read import read_text

PASSENGERS = "tests/data/openml/id_40945/data-v1-dl-16826755.arff.gz"
PASSENGER_COLUMNS = (
    *("pclass", "survived", "name", "sex", "age", "sibsp", "parch", "ticket", "fare"),
    *("cabin", "embarked", "boat", "body", "home.dest"),
)
PASSENGER_TEXT = (*("name", "sex", "ticket", "cabin", "embarked", "boat", "home.dest"),)
# Blank in every image.
EMPTY_PIXELS = ("pixel_0_0", "pixel_4_0", "pixel_4_7")


def read_sklearn(loader: str, target: str, **options: bool) -> pd.DataFrame:
    """Return a table of `sklearn.datasets`, its target as the last column."""
    import sklearn.datasets

    loaded = getattr(sklearn.datasets, loader)(**options)
    frame = pd.DataFrame(loaded.data, columns=list(loaded.feature_names))
    return frame.assign(**{target: loaded.target})


def read_titanic() -> pd.DataFrame:
    """Return the passenger list, which scikit-learn brings for its own tests."""
    file = importlib.resources.files("sklearn.datasets").joinpath(PASSENGERS)
    try:
        content = gzip.decompress(file.read_bytes())
    except OSError as error:
        raise DatasetError(
            "titanic comes with the tests of scikit-learn, which this installation "
            "lacks; install scikit-learn from its wheel"
        ) from error
    return read_text(
        content.partition(b"@data\n")[2],
        names=list(PASSENGER_COLUMNS),
        dtype=dict.fromkeys(PASSENGER_TEXT, str),
        escapechar="\\",
    )


def _measured(
    name: str, title: str, n_rows: int, source: str
) -> Callable[..., Dataset]:
    """Begin a dataset; its columns follow."""
    return partial(
        Dataset,
        name=name,
        title=title,
        n_rows=n_rows,
        source=f"{source}; comes with scikit-learn",
        licence="as scikit-learn distributes it (BSD 3-Clause)",
        fingerprint=known(name),
    )


CELL = (
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness"),
    *("concavity", "concave points", "symmetry", "fractal dimension"),
)

DATASETS = (
    _measured("breast-cancer", "Breast cancer, Wisconsin", 569, "Wolberg (1995)")(
        numeric=(
            *(f"mean {c}" for c in CELL),
            *(f"{c} error" for c in CELL),
            *(f"worst {c}" for c in CELL),
        ),
        categorical=(),
        target="diagnosis",
        read=partial(read_sklearn, "load_breast_cancer", "diagnosis"),
    ),
    _measured("wine", "Wine", 178, "Aeberhard and Forina (1991)")(
        numeric=(
            *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium"),
            *("total_phenols", "flavanoids", "nonflavanoid_phenols"),
            *("proanthocyanins", "color_intensity", "hue"),
            *("od280/od315_of_diluted_wines", "proline"),
        ),
        categorical=(),
        target="class",
        read=partial(read_sklearn, "load_wine", "class"),
    ),
    _measured("diabetes", "Diabetes", 442, "Efron and others (2004)")(
        numeric=("age", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"),
        categorical=("sex",),
        target="progression",
        read=partial(read_sklearn, "load_diabetes", "progression", scaled=False),
    ),
    _measured("digits", "Digits", 1_797, "Alpaydin and Kaynak (1998)")(
        numeric=tuple(
            f"pixel_{i}_{j}"
            for i in range(8)
            for j in range(8)
            if f"pixel_{i}_{j}" not in EMPTY_PIXELS
        ),
        categorical=(),
        target="digit",
        note="three pixels that are blank in every image are left out",
        read=partial(read_sklearn, "load_digits", "digit"),
    ),
    _measured("iris", "Iris", 150, "Fisher (1936)")(
        numeric=(
            *("sepal length (cm)", "sepal width (cm)"),
            *("petal length (cm)", "petal width (cm)"),
        ),
        categorical=(),
        target="species",
        read=partial(read_sklearn, "load_iris", "species"),
    ),
    _measured("titanic", "Titanic passengers", 1_309, "Harrell and Cason (2002)")(
        numeric=("age", "sibsp", "parch", "fare"),
        categorical=("pclass", "sex", "embarked"),
        target="survived",
        note="266 cells are missing in the source; names, tickets, cabins, boats, "
        "bodies and destinations are left out",
        read=read_titanic,
    ),
)
