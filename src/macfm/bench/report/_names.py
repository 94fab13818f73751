"""The order, the printed names and the colours of methods, datasets, mechanisms."""

from __future__ import annotations

from collections.abc import Iterable

from macfm.page import THEME

MECHANISMS = {
    "mcar": "MCAR",
    "mar": "MAR",
    "mnar": "MNAR",
    "mnar-self": "MNAR, self-masking",
    "mnar-quantile": "MNAR, quantile censoring",
    "skip": "Skip patterns",
    "block": "Blocks by wave",
    "mixture": "Rules and chance",
}
SPLITS = {"in": "in-sample", "out": "out-of-sample"}
METRICS = {"mae": "MAE", "rmse": "RMSE"}

#: What kind of method each one is; pictures tell the kinds apart.
FAMILIES = {
    "mean": "simple",
    "median": "simple",
    "most-frequent": "simple",
    "knn": "statistical",
    "mice": "statistical",
    "em": "statistical",
    "softimpute": "statistical",
    "gcimpute": "statistical",
    "missforest": "trees",
    "extra-trees": "trees",
    "miceforest": "trees",
    "hyperimpute": "trees",
    "miracle": "learned",
    "remasker": "learned",
    "grape": "learned",
    "igrm": "learned",
    "miwae": "learned",
    "gain": "learned",
    "mcflow": "learned",
    "tabcsdi": "learned",
    "missdiff": "learned",
    "diffputer": "learned",
    "macfm": "ours",
    "macfm-median": "ours",
    "macfm-paper": "ours",
}
#: Our methods, the default first.
OURS = tuple(name for name, kind in FAMILIES.items() if kind == "ours")
FAMILY_COLOURS = {
    "simple": THEME.observed,
    "statistical": THEME.palette[4],
    "trees": THEME.palette[2],
    "learned": THEME.palette[0],
    "other": THEME.palette[3],
    "ours": THEME.filled,
}
FAMILY_MARKERS = {
    "simple": "v",
    "statistical": "s",
    "trees": "^",
    "learned": "D",
    "other": "P",
    "ours": "o",
}


def family(method: str) -> str:
    """Return the kind of a method, ``"other"`` if it is not one of ours to know."""
    return FAMILIES.get(method, "other")


def method_titles() -> dict[str, str]:
    """Return the printed names of the registered methods, in their order."""
    from macfm.judge.methods import METHODS

    return {name: getattr(entry, "title", name) for name, entry in METHODS.items()}


def ordered(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return distinct `names`: the known ones in their order, then the others.

    Examples
    --------
    >>> ordered(["b", "mine", "a", "b"], ["a", "b", "c"])
    ['a', 'b', 'mine']
    """
    present = dict.fromkeys(names)
    first = [name for name in known if name in present]
    return first + [name for name in present if name not in set(first)]


def rate_words(rate: float) -> str:
    """Return a rate as it is spoken of.

    Examples
    --------
    >>> rate_words(0.3), rate_words(0.125)
    ('30 %', '12.5 %')
    """
    return f"{100 * rate:.4g} %"
