"""Made-up data are never mixed with real ones, nor held against what was published."""

import pytest

from macfm.bench.report._frame import tidy
from macfm.bench.report._published import published
from macfm.bench.report._report import make_sections, write_pages
from macfm.bench.report._table import ScoreTable
from macfm.bench.summary import ranking, ranking_table

STAND_IN = "ahei-synthetic"
METHODS = ["mean", "knn", "macfm-paper"]


def sections_of(records):
    return make_sections(tidy(records), published=True, sources=(), command=None)


def tables_of(records):
    found = [table for section in sections_of(records) for table in section.tables]
    return found + [table.tests for table in found if table.tests is not None]


@pytest.fixture
def real(grid):
    return grid(METHODS, ["letter", "ahei-s1"], ("mcar", "mnar"), n_masks=2)


@pytest.fixture
def made_up(grid):
    records = grid(METHODS, [STAND_IN], ("mcar", "mnar"), n_masks=2, synthetic=True)
    for value in (10, 20):
        change = {"name": "trials", "value": value}
        records += grid(["macfm"], [STAND_IN], ablation=change, synthetic=True)
    return records


def test_nothing_was_published_of_the_stand_in():
    known = published("mae", "mcar", "out")["macfm-paper"]
    assert "ahei-s1" in known
    assert STAND_IN not in known


def test_real_columns_read_as_if_there_were_no_synthetic_records(real, made_up):
    both = [t for t in tables_of(real + made_up) if "synthetic" not in t.slug]
    assert both == tables_of(real)


def test_no_table_holds_real_and_made_up_columns(real, made_up):
    for table in tables_of(real + made_up):
        titles = {column.title for column in table.columns}
        if STAND_IN in titles:
            assert not titles & {"letter", "ahei-s1"}
            assert table.slug.startswith("synthetic-")
            assert table.title.startswith("Synthetic data: ")


@pytest.mark.parametrize("name", [STAND_IN, "ahei-s1", "letter"])
def test_published_values_never_stand_beside_made_up_ones(grid, name):
    # Whatever a synthetic dataset is called, its record decides.
    real = tables_of(grid(METHODS, ["ahei-s1"]))
    assert any(c.published is not None for t in real for r in t.rows for c in r.cells)
    for table in tables_of(grid(METHODS, [name], synthetic=True)):
        assert all(row.kind != "published" for row in table.rows)
        assert all(cell.published is None for row in table.rows for cell in row.cells)
        assert not any("ublished" in note for note in table.notes)


def test_every_part_of_a_page_has_a_name_of_its_own(real, made_up):
    sections = sections_of(real + made_up)
    items = [item for section in sections for item in section.items]
    slugs = [part.slug for part in (*sections, *items)]
    slugs += [i.tests.slug for i in items if isinstance(i, ScoreTable) and i.tests]
    assert len(slugs) == len(set(slugs))
    assert "synthetic-mcar-30-out-mae" in slugs
    assert "synthetic-ablations" in slugs


def test_the_summary_says_what_is_made_up(real, made_up):
    told = " ".join(sections_of(real + made_up)[0].text)
    assert f"{STAND_IN} is synthetic" in told
    assert "synthetic" not in " ".join(sections_of(real)[0].text)


def test_pages_say_it_in_every_form(made_up, tmp_path):
    pytest.importorskip("jinja2")
    write_pages(made_up, tmp_path, figures=False)
    for name in ("index.html", "report.md", "tables.tex"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "Synthetic data: MAE out-of-sample" in text
    csv = (tmp_path / "csv" / "records.csv").read_text(encoding="utf-8").splitlines()
    where = csv[0].split(",").index("synthetic")
    assert {line.split(",")[where] for line in csv[1:]} == {"True"}


def test_the_ranking_of_a_run_leaves_made_up_data_out_unless_alone(real, made_up):
    assert ranking(real + made_up).equals(ranking(real))
    assert f"not counting synthetic data: {STAND_IN}" in ranking_table(real + made_up)
    assert f"nothing but synthetic data: {STAND_IN}" in ranking_table(made_up)
    assert "synthetic" not in ranking_table(real)
