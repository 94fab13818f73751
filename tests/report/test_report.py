"""The page about an imputation."""

import copy
import datetime as dt
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import macfm
from macfm import MACFMImputer
from macfm.judge import compare
from macfm.report import Report
from macfm.report._facts import gather
from macfm.report._filled import filled_section
from macfm.report._words import number

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

EVIL = "<script>alert(1)</script>"
SECTIONS = ["missing", "done", "quality", "filled", "methods"]


class Page(HTMLParser):
    """Addresses, identifiers, tags and text of a page that is well formed."""

    void = ("meta", "br", "img", "link")

    def __init__(self, text):
        super().__init__()
        self.addresses, self.ids, self.open, self.tags = [], [], [], []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        names = ("src", "href", "xlink:href", "action", "data", "srcset", "poster")
        self.addresses += [v for k, v in attributes if k in names]
        self.ids += [v for k, v in attributes if k == "id"]
        assert not any(k.startswith("on") for k, _ in attributes)
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.void:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


def tiny(**parameters):
    small = {"max_steps": 20, "n_trees": 4, "d_model": 16, "n_blocks": 1, "n_steps": 2}
    small |= {"batch_size": 64, "evaluate_every": 10, "max_one_hot": 8}
    return MACFMImputer(**small | {"random_state": 0, "verbose": False} | parameters)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the pictures, which take most of the time."""
    for name in ("missing", "done", "quality_figures", "filled"):
        monkeypatch.setattr(f"macfm.report._{name}.figure", lambda *a, **k: "")


def page_of(frame, *, imputer=None, **options):
    imputer = (imputer or tiny()).fit(frame)
    options = {"compare": False, "date": dt.date(2025, 1, 2)} | options
    report = macfm.report(frame, imputer, **options)
    return report, Page(report.html)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 150
    age = rng.normal(50, 12, n).round(1)
    day = pd.Timestamp("2023-05-01") + pd.to_timedelta(rng.integers(0, 400, n), "D")
    frame = pd.DataFrame(
        {
            "age": age,
            "visits": pd.array(rng.poisson(2, n), dtype="Int64"),
            EVIL: np.where(age > 50, "old & wise", "<b>young</b>"),
            "when": day,
            "smoker": pd.array(rng.random(n) < 0.3, dtype="boolean"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.12)


@pytest.fixture(scope="module")
def made(frame):
    imputer = tiny(bounds={"age": (0, 120)}).fit(frame)
    comparison = compare(frame, imputer=imputer, repeats=2)
    options = {"name": f"{EVIL}.csv", "date": dt.date(2025, 1, 2)}
    return macfm.report(frame, imputer, compare=comparison, **options)


@pytest.fixture(scope="module")
def page(made):
    return Page(made.html)


def test_all_sections_are_there_and_linked(page):
    assert [slug for slug in page.ids if slug in SECTIONS] == SECTIONS
    inside = [a for a in page.addresses if a.startswith("#")]
    assert set(inside) <= {f"#{slug}" for slug in page.ids}
    assert len(page.ids) == len(set(page.ids))


def test_it_asks_nothing_from_outside(made, page):
    assert all(a.startswith(("#", "data:image/png")) for a in page.addresses)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", made.html)
    assert "script" not in page.tags
    assert "default-src 'none'" in made.html


def test_names_and_values_show_as_text(made, page):
    assert "<script" not in made.html
    assert "<b>young" not in made.html
    assert EVIL in page.text
    assert "<b>young</b>" in page.text
    assert "old & wise" in page.text


def test_the_header_says_what_and_when(frame, page):
    n_filled = int(frame.isna().sum().sum())
    for text in ("150 × 5", f"{n_filled:,}", "2025-01-02", "default", "Seed"):
        assert text in page.text


def test_what_was_missing_is_told(frame, page):
    assert f"{int(frame.isna().sum().sum())} cells of 750" in page.text
    assert "Little's test" in page.text
    assert "MNAR" in page.text


def test_what_was_done_is_told(page):
    for text in ("whole number", "category (2)", "yes or no", "0 to 120", "20 steps"):
        assert text in page.text


def test_how_good_it_is_is_told(made, page):
    for text in ("kNN", "MICE", "All columns", "Is the stated uncertainty right?"):
        assert text in page.text
    assert f"{made.comparison.n_cells:,} cells in all" in page.text


def test_what_was_filled_is_told(page):
    assert "The least certain numbers" in page.text
    assert "The least certain categories" in page.text
    assert re.search(r"20\d\d-\d\d-\d\d to 20\d\d-\d\d-\d\d", page.text)
    assert page.tags.count("svg") >= 8


def test_the_paragraph_has_the_facts_and_the_caveats(frame, page):
    text = " ".join(page.text.split())
    n_filled = int(frame.isna().sum().sum())
    assert f"Of 750 values (150 observations of 5 variables), {n_filled}" in text
    assert "missing at random (MAR)" in text
    assert "cannot be verified from the data" in text
    assert "not observations" in text
    assert "single imputation" in text
    assert "Rubin" not in text
    assert "random seed 0" in text
    assert "arXiv:2509.23126" in text


def test_the_paragraph_speaks_of_ordered_categories_by_themselves(frame):
    part = frame[["age", "smoker"]].copy()
    part["stage"] = pd.Series(["I", "II", "III"] * 50, index=part.index)
    part.loc[part.index[:9], "stage"] = None
    imputer = tiny(ordinal={"stage": ["I", "II", "III"]}).fit(part)
    text = " ".join(Page(macfm.report(part, imputer, compare=False).html).text.split())
    assert "ordered categories were replaced by the one nearest to" in text
    assert "missing other categories were replaced by the most probable one" in text


def test_draws_bring_rubin_and_their_number(frame, undrawn):
    imputer = tiny().fit(frame)
    draws = imputer.sample(frame, n_draws=3)
    report = macfm.report(frame, imputer, draws=draws, compare=False)
    text = " ".join(Page(report.html).text.split())
    assert "imputed 3 times by draws" in text
    assert "Rubin's rules" in text
    assert "single imputation" not in text


def words(report):
    """The text of a page, with single spaces."""
    return " ".join(Page(report.html).text.split())


@pytest.fixture(scope="module")
def leaning():
    """Numbers of a long tail that the others tell something of, and a model of them."""
    rng = np.random.default_rng(0)
    skill, years = rng.normal(size=(2, 400))
    income = np.exp(3 + 0.9 * skill + 0.5 * np.abs(years) + 0.6 * rng.normal(size=400))
    table = pd.DataFrame({"skill": skill, "years": years, "income": income})
    table = table.mask(rng.random(table.shape) < [0.1, 0.1, 0.3])
    return table, tiny().fit(table)


TREES = "and 4 trees a {0} for {1} of the 3 {0}s, which count as far as held-out rows"
RANKS = (
    "by rank, since held-out rows say",
    "numbers of 1 column by rank",
    "standardised, drawn by rank",
)


@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
def test_trees_and_ranks_are_named_where_they_count(leaning, undrawn):
    table, model = leaning
    polish = model.network_.polish
    n_columns = sum(bool(polish.share[one.place].any()) for one in polish.trees)
    assert n_columns
    assert len(polish.scores) == 1
    text = words(macfm.report(table, model, compare=False))
    assert TREES.format("column", n_columns) in text
    assert TREES.format("variable", n_columns) in text
    assert f"Draws of income are made {RANKS[0]}" in text
    assert all(said in text for said in RANKS)


def test_trees_and_ranks_that_do_not_count_are_not_named(leaning, undrawn):
    table, model = leaning
    model = copy.deepcopy(model)
    polish = model.network_.polish
    polish.share.zero_()
    polish.scores = polish.scores.take(polish.scores.number < 0)
    assert any(column.scores for column in model.schema_.columns)
    text = words(macfm.report(table, model, compare=False))
    assert "trees" not in text
    assert not any(said in text for said in RANKS)
    assert "around a normal distribution fitted by EM" in text


@pytest.mark.parametrize("n_draws", [3, 18, 19, 39])
def test_few_draws_are_called_a_range_and_not_an_interval(leaning, undrawn, n_draws):
    table, model = leaning
    draws = model.sample(table, n_draws=n_draws)
    text = words(macfm.report(table, model, draws=draws, compare=False))
    if n_draws < 19:
        assert f"Range of {n_draws} draws" in text
        assert (
            f"The widest ranges of {n_draws} draws, too few for 90 % intervals, in"
        ) in text
        assert "90 % interval" not in text.replace("too few for 90 % intervals", "")
    else:
        assert f"The widest 90 % intervals of {n_draws} draws" in text
        assert "Range of" not in text


@pytest.mark.parametrize("n_draws", [3, 39])
def test_the_widest_intervals_are_those_of_the_imputer(leaning, undrawn, n_draws):
    table, model = leaning
    draws = model.sample(table, n_draws=n_draws)
    facts = gather(
        table,
        model,
        completed=None,
        draws=draws,
        compare=False,
        seed=0,
        seconds=1.0,
        title="",
        name="",
        date=dt.date(2025, 1, 2),
        flags=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of too few draws
        told = model.intervals(table, 0.9, n_draws).set_index(["row", "column"])
    shown = filled_section(facts)["widest"]
    assert len(shown) > 3
    for row in shown:
        cell = told.loc[(int(row["row"]), row["column"])]
        assert [row["low"], row["high"]] == [number(cell["low"]), number(cell["high"])]


@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
def test_names_of_several_levels(frame, undrawn):
    names = pd.MultiIndex.from_product([["a", "b"], ["u", "v"]])
    table = frame[["age", "visits", "smoker", EVIL]].set_axis(names, axis=1)
    model = tiny().fit(table)
    comparison = compare(table, imputer=model, repeats=1, methods=["mean"])
    text = words(macfm.report(table, model, compare=comparison))
    assert all(str(name) in text for name in names)


def test_the_same_seed_gives_the_same_page(frame):
    options = {"compare": False, "date": dt.date(2025, 1, 2), "seconds": 1.0}
    part = frame[["age", "smoker"]]
    imputer = tiny().fit(part)
    imputer.history_["seconds"] = 1.0
    first, second = (macfm.report(part, imputer, **options).html for _ in range(2))
    assert first == second


def test_it_is_saved_whole_and_shown_in_a_frame(made, frame, tmp_path):
    path = made.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == made.html
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    shown = made._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown
    assert repr(made).startswith("Report('Imputation report'")
    part = frame[["smoker"]]
    page = macfm.report(part, tiny().fit(part), compare=False)
    target = page.save(tmp_path / "b.html")
    assert target.stat().st_size > 10_000


def test_a_quick_comparison_is_made_if_none_is_given(frame, undrawn):
    report, page = page_of(frame[["age", "visits"]], compare=True)
    assert report.comparison.n_folds == 2
    assert "All columns" in page.text


def test_without_a_comparison_it_says_so(frame, undrawn):
    _, page = page_of(frame[["age", "visits"]])
    assert "No comparison was made." in page.text


def test_nothing_missing(frame):
    _, page = page_of(frame.dropna())
    assert "Nothing is missing" in page.text
    assert "No cell was filled." in page.text
    assert "no values were imputed" in page.text


@pytest.mark.parametrize(
    "columns", [["age"], ["when"], [EVIL, "smoker"]], ids=["one", "dates", "categories"]
)
def test_tables_of_one_kind(frame, columns):
    comparison = compare(frame[columns], imputer=tiny(), repeats=1)
    _, page = page_of(frame[columns], compare=comparison)
    assert "What was filled" in page.text
    assert str(columns[0]) in page.text


def test_odd_columns(frame, undrawn):
    odd = frame.assign(none=np.nan, same=1.0, thing=[object()] * len(frame))
    with pytest.warns(UserWarning, match="no value was observed in column 'none'"):
        _, page = page_of(odd, imputer=tiny(ignore=["thing"]))
    text = " ".join(page.text.split())
    assert "left empty; 150 left missing" in text
    assert "missing in every row" in text
    assert "Left out of the model: thing" in text


def test_wide_tables_can_be_opened(undrawn):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(
        rng.normal(size=(60, 100)), columns=[f"c{j}" for j in range(100)]
    )
    wide = wide.mask(rng.random(wide.shape) < 0.2)
    comparison = compare(wide, imputer=tiny(n_trees=0), repeats=1, methods=["mean"])
    report, page = page_of(wide, imputer=tiny(n_trees=0), compare=comparison)
    text = " ".join(page.text.split())
    assert text.count("70 more columns") == 3  # missing, errors, filled
    assert page.tags.count("details") == page.tags.count("summary") == 4
    for label in ("Missing cells by column", "Errors of numbers", "Filled values"):
        tables = report.html.split(f'aria-label="{label}')[1:]
        rows = [part.split("</table>")[0].count('scope="row"') for part in tables]
        assert sum(rows) - (label == "Errors of numbers") == 100  # the total aside
    assert "Not drawn: 88 columns with fewer filled cells." in text


def test_arrays_and_polars_frames(undrawn):
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    x[rng.random(x.shape) < 0.2] = np.nan
    for table in (x, pl.DataFrame(x, nan_to_null=True)):
        _, page = page_of(table)
        assert "60 × 3" in page.text


def test_indicators_are_not_shown_as_columns(frame, undrawn):
    _, page = page_of(frame, imputer=tiny(add_indicator=True))
    assert "missingindicator" not in page.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compare": "quick"}, "compare must be True, False or a Comparison, got"),
        ({"completed": "short"}, "150 rows and the completed one 149"),
    ],
)
def test_wrong_options_are_named(frame, options, message):
    imputer = tiny().fit(frame)
    if options.get("completed"):
        options = {"completed": imputer.transform(frame).iloc[1:], "compare": False}
    with pytest.raises(ValueError, match=message):
        macfm.report(frame, imputer, **options)


def test_an_imputer_must_be_fitted(frame):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        macfm.report(frame, tiny())


def test_absent_packages_are_named(frame, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r'needs jinja2: pip install "macfm\[report\]"'
    ):
        macfm.report(frame, tiny())


def test_a_report_is_a_plain_value():
    report = Report(title="a & b", html="<p>", comparison=None)
    assert 'title="a &amp; b"' in report._repr_html_()


def test_print_opens_what_is_collapsed(made):
    rules = made.html.split("</style>")[0].split("@media print", 1)[1]
    assert "details::details-content { content-visibility: visible;" in rules


def test_rows_go_by_their_labels(frame, undrawn):
    part = frame[["age", "smoker"]].set_axis(
        pd.Index([f"patient {i}" for i in range(len(frame))], name="who"), axis=0
    )
    report, _ = page_of(part)
    holes = part.index[part["age"].isna()]
    listed = re.findall(r'<th scope="row">(patient \d+)</th>', report.html)
    assert listed
    assert set(listed) <= set(part.index[part.isna().any(axis=1)])
    assert set(listed) & set(holes)
    assert '<th scope="col">who</th>' in report.html


@pytest.mark.parametrize("flags", [False, True])
def test_advice_speaks_the_callers_language(undrawn, flags):
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(80, 2))
    table = pd.DataFrame(x, columns=["dose A", "b"]).mask(rng.random(x.shape) < 0.2)
    imputer = tiny().fit(table)
    filled = imputer.transform(table)
    filled = filled.where(table.notna(), -1.0)
    report = macfm.report(table, imputer, completed=filled, compare=False, flags=flags)
    text = Page(report.html).text
    assert ("--bounds 'dose A=0:'" in text) is flags
    assert ("bounds={'dose A': (0, None)}" in text) is not flags
    assert ("--no-compare" in text) is flags
    assert ("compare=True" in text) is not flags


def test_the_verdict_the_rules_and_the_advice_are_told(made, page):
    found, text = made.comparison, " ".join(page.text.split())
    assert found.advice.sentences
    for said in (*found.verdict, *found.advice.sentences, found.rule, found.error_rule):
        assert said in text
    assert "Time of a fit" in text
    assert "(advised)" in text


def test_other_methods_are_advised_with_what_macfm_could_do(frame, made, undrawn):
    found = made.comparison
    overall = found.overall.assign(rmse_ratio=[0.9, 1.0, 0.8, 0.2, 0.7])
    pairs = found.pairs.assign(clear=True, se=0.0)
    part = frame.drop(columns="when")
    better = replace(found, overall=overall, pairs=pairs)
    for flags, words in ((False, "preset='best'"), (True, "--preset best")):
        report = macfm.report(part, tiny().fit(part), compare=better, flags=flags)
        text = Page(report.html).text
        assert "Advice: use MICE" in text
        assert words in text


def test_columns_far_off_are_named(frame, made, undrawn):
    found = made.comparison
    table = found.calibration.assign(off=None)
    mine = (table["column"] == "age") & (table["level"] == 0.9)
    table.loc[mine, ["coverage", "n_cells", "off"]] = [0.51, 200, "narrow"]
    for off in ("narrow", None):
        table.loc[mine, "off"] = off
        comparison = replace(found, calibration=table.copy())
        _, page = page_of(frame, compare=comparison)
        named = "intervals are too narrow for age (51 % of 200)" in page.text
        assert named is (off is not None)


@pytest.mark.parametrize(("seconds", "n_folds"), [(1.0, 2), (40.0, 1)])
def test_a_slow_fit_is_repeated_once(frame, undrawn, seconds, n_folds):
    report, _ = page_of(frame[["age", "visits"]], compare=True, seconds=seconds)
    assert report.comparison.n_folds == n_folds
    assert report.comparison.share * n_folds == pytest.approx(0.2)


def test_rows_are_named_by_the_columns_that_name_them(frame):
    named = frame.assign(patient=[f"P-{k:03d}" for k in range(len(frame))])
    model = tiny().set_params(id=["patient"]).fit(named)
    page = macfm.report(named, model, compare=False).html
    gone = frame.index.get_indexer(frame.index[frame.isna().any(axis=1)])
    assert any(f">P-{k:03d}<" in page for k in gone)
    assert "looks like identifiers" not in page
