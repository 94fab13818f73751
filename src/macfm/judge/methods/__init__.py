"""Imputation methods behind one interface, in an explicit registry.

A method is a subclass of `Method` in a small file of its own. Packages it needs are
imported when it fits, so that listing the methods costs nothing.
"""

from __future__ import annotations

from typing import Any

from macfm._errors import ParameterError
from macfm.judge.methods._base import Method
from macfm.judge.methods._guard import check_learned
from macfm.judge.methods.constant import Mean, Median, MostFrequent
from macfm.judge.methods.diffputer import DiffPuter
from macfm.judge.methods.em import EM
from macfm.judge.methods.extra_trees import ExtraTrees
from macfm.judge.methods.gain import GAIN
from macfm.judge.methods.gcimpute import GCImpute
from macfm.judge.methods.grape import GRAPE
from macfm.judge.methods.hyperimpute import HyperImpute
from macfm.judge.methods.igrm import IGRM
from macfm.judge.methods.knn import KNN
from macfm.judge.methods.macfm import MACFM, MACFMMedian, MACFMPaper
from macfm.judge.methods.mcflow import MCFlow
from macfm.judge.methods.mice import MICE
from macfm.judge.methods.miceforest import MiceForest
from macfm.judge.methods.miracle import MIRACLE
from macfm.judge.methods.missdiff import MissDiff
from macfm.judge.methods.missforest import MissForest
from macfm.judge.methods.miwae import MIWAE
from macfm.judge.methods.remasker import ReMasker
from macfm.judge.methods.softimpute import SoftImpute
from macfm.judge.methods.tabcsdi import TabCSDI

__all__ = [
    "METHODS",
    "Method",
    "check_learned",
    "make_method",
    "register_method",
]

#: Every method by its name, in the order of the tables.
METHODS: dict[str, type[Method]] = {}


def register_method(method: type[Method]) -> type[Method]:
    """Add a method to the registry; serves as a decorator.

    Parameters
    ----------
    method : type of Method
        A class with `name`, `title` and `about`. Its name must be new.

    Returns
    -------
    type of Method
        The class itself.
    """
    for attribute in ("name", "title", "about"):
        if not isinstance(getattr(method, attribute, None), str):
            raise TypeError(
                f"{method.__name__} needs the class attribute {attribute!r}"
            )
    if METHODS.setdefault(method.name, method) is not method:
        raise ValueError(f"a method {method.name!r} is registered already")
    return method


def make_method(name: str, **parameters: Any) -> Method:
    """Make the method of that name.

    Parameters
    ----------
    name : str
        A name in `METHODS`.
    **parameters
        Seed, device, threads and the method's own settings, see `Method`.

    Returns
    -------
    Method

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, None, 3.0]})
    >>> make_method("mean").fit(table).impute(table)["x"].tolist()
    [1.0, 2.0, 3.0]
    """
    if name not in METHODS:
        raise ParameterError(
            f"there is no method {name!r}; the methods are: {', '.join(METHODS)}",
            parameter="methods",
        )
    return METHODS[name](**parameters)


for _method in (
    Mean,
    Median,
    MostFrequent,
    KNN,
    MICE,
    MissForest,
    ExtraTrees,
    EM,
    SoftImpute,
    MiceForest,
    HyperImpute,
    GCImpute,
    MIRACLE,
    ReMasker,
    GRAPE,
    IGRM,
    MIWAE,
    GAIN,
    MCFlow,
    TabCSDI,
    MissDiff,
    DiffPuter,
    MACFM,
    MACFMMedian,
    MACFMPaper,
):
    register_method(_method)
