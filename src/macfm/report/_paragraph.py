"""A paragraph for a methods section, from the facts of a run."""

from __future__ import annotations

import pandas as pd

from macfm._version import __version__
from macfm._words import count, listed, percent
from macfm.judge import Comparison
from macfm.report._done import beside_words, center_words
from macfm.report._facts import Facts
from macfm.report._polish import drawn_by_rank
from macfm.table import is_mask

CITATIONS = (
    "Liu D, Wang H, Fang H. Impute-MACFM: Imputation based on Mask-Aware Flow "
    "Matching. Preprint, arXiv:2509.23126, 2025.",
    f"The macfm authors. macfm: imputation of tables by mask-aware conditional flow "
    f"matching, version {__version__}.",
)
RUBIN = (
    "Rubin DB. Multiple Imputation for Nonresponse in Surveys. Wiley, New York, 1987."
)
CAVEAT = (
    "Imputation assumes that values are missing at random (MAR), that is, that "
    "given the observed values the missingness does not depend on the missing "
    "values themselves. This cannot be verified from the data; where it is in "
    "doubt, a sensitivity analysis under plausible departures from it is advised. "
    "Imputed values are estimates under the model, not observations."
)


def methods_paragraphs(facts: Facts) -> list[str]:
    """Return sentences in paragraphs: what was missing and done, checks, caveats."""
    if not facts.profile.n_missing:
        return ["The data were complete; no values were imputed."]
    if not int(facts.n_filled.sum()):
        return [f"{_missing(facts)} No values were imputed."]
    checks = _checks(facts.comparison) if facts.comparison else ""
    parts = [
        f"{_missing(facts)} {_method(facts)} {_use(facts)}",
        checks,
        CAVEAT,
    ]
    return [part for part in parts if part]


def references(facts: Facts) -> list[str]:
    """What the paragraph cites."""
    return [*CITATIONS, RUBIN] if facts.draws_given else list(CITATIONS)


def _missing(facts: Facts) -> str:
    """How much was missing, and the test of MCAR."""
    found = facts.profile
    rates = sorted(c.missing_rate for c in found.columns if c.n_missing)
    each = (
        f"in one variable ({percent(rates[0])} of its values)"
        if len(rates) == 1
        else f"in {len(rates)} of {found.n_columns} variables (between "
        f"{percent(rates[0])} and {percent(rates[-1])} of their values)"
    )
    complete = found.patterns
    n_cells = found.n_rows * found.n_columns
    said = (
        f"Of {n_cells:,} values ({count(found.n_rows, 'observation')} of "
        f"{count(found.n_columns, 'variable')}), {found.n_missing:,} "
        f"({percent(found.missing_rate)}) were missing, {each}; "
        f"{count(complete.n_complete, 'observation')} "
        f"({percent(complete.complete_share)}) {_were(complete.n_complete)} complete."
    )
    little = found.little
    if little is not None and little.p_value is not None:
        verdict = "was rejected" if little.p_value < 0.05 else "was not rejected"
        on = " on normal scores" if little.normal_scores else ""
        said += (
            f" The hypothesis that numeric values were missing completely at random "
            f"{verdict} by Little's test{on} ({little.numbers})."
        )
    return said


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def _method(facts: Facts) -> str:
    """What was fitted to what."""
    used = facts.imputer.settings_
    modelled = facts.schema.modelled
    groups = {
        "continuous": ("numeric",),
        "integer-valued": ("integer",),
        "binary or categorical": ("boolean", "categorical"),
        "ordinal": ("ordinal",),
        "date or time": ("datetime", "timedelta"),
    }
    counts = {w: sum(c.kind in kinds for c in modelled) for w, kinds in groups.items()}
    kinds = listed([f"{n} {words}" for words, n in counts.items() if n])
    networks = count(used["n_networks"], "network")
    said = (
        f"Missing values were imputed with macfm {__version__} (mask-aware conditional "
        f"flow matching; Liu, Wang and Fang, 2025; preset “{facts.imputer.preset}”, "
        f"{networks}{beside_words(facts, 'variable')}; "
        f"{facts.imputer.n_steps_:,} training steps, {_seed(facts)}). "
        f"All {len(modelled)} variables of the model ({kinds}) served as predictors of "
        f"each other."
    )
    if len(modelled) == 1:
        said = said.replace(
            f"All 1 variables of the model ({kinds}) served as predictors of each "
            "other.",
            f"The model held one variable ({kinds}), so that nothing informs its "
            "missing values but its own distribution.",
        )
    by_rank = drawn_by_rank(facts)
    if by_rank:
        said += (
            f" Draws of {listed(by_rank)} are made by rank, since held-out rows say "
            "that this is better."
        )
    ignored = [c.name for c in facts.schema.columns if c.kind == "ignored"]
    if ignored:
        said += f" Left out of the model: {listed(ignored)}."
    bounded = [c.name for c in facts.schema.columns if c.bounds is not None]
    if bounded:
        said += f" Imputed values were kept within bounds for {listed(bounded)}."
    return said + _wishes(facts)


def _wishes(facts: Facts) -> str:
    """What was computed rather than imputed, and what was left because it must be."""
    leave, derive = facts.imputer.leave, facts.imputer.derive
    said = ""
    if derive:
        formulas = [f"{name} = {formula}" for name, formula in derive.items()]
        said += f" Imputed values were made to agree with {listed(formulas)}."
    if is_mask(leave):
        said += " Values marked as not applicable were left missing."
    elif leave:
        rules = [f"{name} ({rule})" for name, rule in leave.items()]
        said += f" Values that do not apply were left missing: {listed(rules)}."
    return said


def _seed(facts: Facts) -> str:
    seed = facts.imputer.random_state
    return f"random seed {seed}" if isinstance(seed, int) else "no fixed random seed"


def _use(facts: Facts) -> str:
    """Single or multiple imputation, and what follows for the analysis."""
    n_filled, left = int(facts.n_filled.sum()), int(facts.completed.isna().sum().sum())
    rest = f"; {left:,} missing values were left as they are" if left else ""
    if facts.draws_given:
        m = len(facts.draws)
        return (
            f"The {n_filled:,} missing values were imputed {m} times by draws from "
            f"their estimated conditional distributions given the observed values of "
            f"the same observation{rest}. Analyses are to be run in each of the {m} "
            f"completed data sets and their results combined by Rubin's rules (Rubin, "
            f"1987). The draws come from one fitted model and do not carry the "
            f"uncertainty of its parameters, so that the between-imputation variance "
            f"may be somewhat too small."
        )
    said = _centers(facts)
    return (
        f"{said}, given the observed values of the same observation (single "
        f"imputation; {count(n_filled, 'value')}{rest}). "
        f"Standard errors and tests computed from the completed data as if they had "
        f"been observed are too optimistic; where inference is the aim, multiple "
        f"imputation should be used."
    )


def _centers(facts: Facts) -> str:
    """What the filled values are, by kind of variable."""
    center = center_words(facts.imputer.settings_)
    columns = [facts.column(name) for name in facts.filled_columns]
    ordered = any(column.kind == "ordinal" for column in columns)
    numbers = any(column.is_numeric for column in columns)
    named = any(not c.is_numeric and c.kind != "ordinal" for c in columns)
    said = []
    if numbers:
        said.append(f"numbers were replaced by their {center}")
    if ordered:
        said.append(
            f"ordered categories were replaced by the one nearest to the {center} of "
            "their places"
        )
    if named:
        others = "other categories" if ordered else "categories"
        said.append(f"{others} were replaced by the most probable one")
    return f"Missing {', and missing '.join(said)}"


def _checks(found: Comparison) -> str:
    """The test on hidden observed values."""
    if not found.n_cells:
        return ""
    overall = found.overall.set_index("method")
    sample = ""
    if found.n_rows_used < found.n_rows:
        sample = f", in a random sample of {found.n_rows_used:,} observations"
    said = (
        f"As a check, {count(found.n_cells, 'observed value')} were hidden completely "
        f"at random ({100 * found.share:g} % of each variable in "
        f"{'one round' if found.n_folds == 1 else f'each of {found.n_folds} rounds'}) "
        f"and imputed from the rest{sample}."
    )
    rivals = [m for m in found.methods if m not in ("macfm", "mean")]
    titles = overall["title"]
    if overall["rmse_ratio"].notna().any():
        beside = [f"{_with_error(overall, m)} ({titles[m]})" for m in rivals]
        than = f", against {listed(beside)}" if beside else ""
        said += (
            f" The root mean squared error in standard deviations of each variable, "
            f"pooled over variables and relative to mean imputation, was "
            f"{_with_error(overall, 'macfm')}{than} (± standard error)."
        )
    if overall["accuracy"].notna().any():
        names = [m for m in ("mean", *rivals) if m in overall.index]
        words = {"mean": "most frequent category"}
        beside = [
            f"{percent(overall.loc[m, 'accuracy'])} ({words.get(m, titles[m])})"
            for m in names
        ]
        said += (
            f" {percent(overall.loc['macfm', 'accuracy'])} of the hidden categories "
            f"were recovered, against {listed(beside)}."
        )
    whole = found.calibration[found.calibration["column"].isna()]
    if len(whole):
        row = whole.iloc[-1]
        said += (
            f" Central {100 * row['level']:.0f} % intervals from {found.n_draws} draws "
            f"contained {percent(row['coverage'])} of the hidden numbers "
            f"({percent(row['expected'])} expected under perfect calibration with that "
            f"number of draws)."
        )
    return said


def _with_error(overall: pd.DataFrame, method: str) -> str:
    """A pooled error and its standard error."""
    row = overall.loc[method]
    return f"{row['rmse_ratio']:.2f} ± {row['rmse_ratio_se']:.2f}"
