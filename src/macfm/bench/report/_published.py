"""The figures printed in the Impute-MACFM paper, to stand beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import pandas as pd
from scipy.stats import gmean

from macfm._words import listed

SOURCE = "the tables of the Impute-MACFM paper (30 % hidden, ten masks)"
IN_SAMPLE_NOTE = (
    "The paper's in-sample figures are shown for completeness and are not a target: "
    "under MCAR its in-sample errors are 0.89 of its out-of-sample ones, where methods "
    "that never see the hidden cells stay within 0.99 to 1.04."
)
NEWS_NOTE = (
    "The paper's News column under MNAR mixes methods scored with and without one "
    "corrupt row."
)
RATE = 0.3
#: How many times faster the paper's text calls its method in-sample, and its seconds.
CLAIMS = {"diffputer": 125.0, "missdiff": 13.5, "tabcsdi": 10.7}
CLAIMED_SECONDS = 15.4
#: The method of ours that a printed row is compared with.
COUNTERPARTS = {
    "Mean": "mean",
    "Median": "median",
    "Most frequent": "most-frequent",
    "KNN": "knn",
    "MICE": "mice",
    "MissForest": "missforest",
    "EM": "em",
    "SoftImpute": "softimpute",
    "HyperImpute": "hyperimpute",
    "MIRACLE": "miracle",
    "ReMasker": "remasker",
    "GRAPE": "grape",
    "IGRM": "igrm",
    "MIWAE": "miwae",
    "GAIN": "gain",
    "MCFlow": "mcflow",
    "TabCSDI": "tabcsdi",
    "MissDiff": "missdiff",
    "DiffPuter": "diffputer",
    "Impute-MACFM": "macfm-paper",
}


@dataclass(frozen=True)
class Fault:
    """What makes printed errors of a method worthless."""

    reason: str
    splits: tuple[str, ...] = ("in", "out")
    #: None for all of them.
    datasets: tuple[str, ...] | None = None


#: What the programs behind the printed rows do, by method.
FAULTS = {
    "miracle": Fault(
        "its fills drift away without bound while it trains", datasets=("letter",)
    ),
    "grape": Fault(
        "new rows are scaled by their own complete values, hidden cells included, and "
        "not as the training rows are",
        splits=("out",),
    ),
    "igrm": Fault(
        "for new rows the graph among rows and the layer after it are left out, which "
        "leaves noise",
        splits=("out",),
    ),
    "miwae": Fault(
        "a network of one hidden unit and one latent dimension, read by draws instead "
        "of means"
    ),
    "tabcsdi": Fault(
        "it trains on hidden cells, and what it fills is then divided by a deviation "
        "so large that mean imputation is left"
    ),
    "missdiff": Fault(
        "the weight of a noise level falls on the wrong rows, and a single lucky batch "
        "chooses the network that is kept"
    ),
}


@lru_cache
def _table() -> pd.DataFrame:
    """The printed figures: a row for each metric, mechanism, split and method."""
    path = files(__package__).joinpath("published.csv")
    with path.open(encoding="utf-8") as text:
        table = pd.read_csv(text).fillna({"mechanism": ""})
    return table.set_index(["metric", "mechanism", "split", "method"])


def printed_name(method: str) -> str:
    """Return what the paper calls one of our methods, the name itself if nothing.

    Examples
    --------
    >>> printed_name("macfm-paper"), printed_name("mine")
    ('Impute-MACFM', 'mine')
    """
    names = {ours: theirs for theirs, ours in COUNTERPARTS.items()}
    return names.get(method, method)


def fault_of(split: str, method: str, dataset: str) -> str:
    """Return why a printed error is worthless, "" if nothing is known against it.

    Examples
    --------
    >>> fault_of("in", "igrm", "letter"), fault_of("out", "remasker", "letter")
    ('', '')
    """
    fault = FAULTS.get(method)
    if fault is None or split not in fault.splits:
        return ""
    everywhere = fault.datasets is None or dataset in fault.datasets
    return fault.reason if everywhere else ""


def published(
    metric: str, mechanism: str, split: str, *, rate: float = RATE
) -> dict[str, dict[str, float]]:
    """Return the printed figures by method and dataset; none but for the rate 0.3.

    Errors are × 100, as printed; the mechanism of seconds is "". Keys are registry
    names where we have the method, else the printed name.

    Examples
    --------
    >>> published("mae", "mcar", "out")["macfm-paper"]["letter"]
    36.34
    """
    table = _table()
    if rate != RATE or (metric, mechanism, split) not in table.index.droplevel(3):
        return {}
    rows = table.xs((metric, mechanism, split))
    return {
        COUNTERPARTS.get(method, method): values.dropna().to_dict()
        for method, values in rows.iterrows()
    }


def claims_note() -> str:
    """Return the speed-ups in the paper's text beside those of its own table."""
    seconds = pd.DataFrame(published("seconds", "", "in"))
    ratios = seconds.div(seconds["macfm-paper"], axis=0)[list(CLAIMS)]
    names = [printed_name(method) for method in CLAIMS]
    said = listed([f"{claim:g}" for claim in CLAIMS.values()])
    means = listed([f"{mean:.1f}" for mean in ratios.mean()])
    geometric = listed([f"{mean:.1f}" for mean in gmean(ratios)])
    return (
        f"The paper's text calls Impute-MACFM {said} times faster than {listed(names)} "
        f"on average, at {CLAIMED_SECONDS} s; its table gives {means} as means of the "
        f"ratios, {geometric} as geometric means, and "
        f"{seconds['macfm-paper'].mean():.1f} s."
    )
