"""What a fitted model adds to its networks: trees, and draws by rank."""

from __future__ import annotations

from collections.abc import Hashable

from macfm._words import count
from macfm.report._facts import Facts


def trees_words(facts: Facts, what: str) -> str:
    """Say how many trees help with how many columns, if any do; `what` is a column."""
    polish = getattr(facts.imputer.network_, "polish", None)
    if polish is None:
        return ""
    sizes = [len(one.roots) for one in polish.trees if polish.share[one.place].any()]
    if not sizes:
        return ""
    n_columns = len(facts.schema.modelled)
    return (
        f"{count(max(sizes), 'tree')} a {what} for {len(sizes)} of the {n_columns} "
        f"{what}s, which count as far as held-out rows say"
    )


def drawn_by_rank(facts: Facts) -> list[Hashable]:
    """Name the columns whose draws are read off their normal scores."""
    polish = getattr(facts.imputer.network_, "polish", None)
    if polish is None:
        return []
    group = facts.imputer.encoder_.group[polish.scores.number.numpy()]
    return [facts.schema.modelled[place].name for place in group]
