"""What the tables say of made-up records."""

import pytest

from macfm.bench.report._ablations import ablation_section, studies
from macfm.bench.report._errors import error_sections, error_table, ratio_section
from macfm.bench.report._frame import main_cells, tidy
from macfm.bench.report._names import FAMILIES, FAMILY_COLOURS
from macfm.bench.report._published import FAULTS, published
from macfm.bench.report._scores import (
    categorical_section,
    distribution_section,
    failure_section,
    legal_section,
    rates_section,
)
from macfm.bench.report._table import ScoreTable
from macfm.bench.report._timing import timing_section
from macfm.judge.methods import METHODS


def table_of(records, **how):
    rows = main_cells(tidy(records))
    return error_table(rows, **{"split": "out", "metric": "mae", "beside": False} | how)


def row(table, key):
    (found,) = [row for row in table.rows if row.key == key]
    return found


def column(table, title):
    return [c.title for c in table.columns].index(title)


def test_three_mechanisms_give_twelve_tables(grid):
    records = grid(["mean", "knn"], ["letter"], ("mcar", "mar", "mnar"), n_masks=1)
    sections = error_sections(tidy(records), beside=False)
    slugs = [table.slug for section in sections for table in section.tables]
    assert len(slugs) == len(set(slugs)) == 12


def test_a_cell_is_the_mean_over_masks_times_100(grid):
    records = grid(["knn"], ["letter"])
    values = [100 * record["scores"]["out"]["mae"] for record in records]
    cell = row(table_of(records), "knn").cells[0]
    assert cell.value == pytest.approx(sum(values) / 3)
    assert cell.n == 3
    assert cell.std is not None


def test_bold_goes_to_the_best_whoever_it_is(grid):
    records = grid(["mean", "macfm"], ["letter"])
    for record in records:
        record["scores"]["out"]["mae"] = 0.1 if record["method"] == "mean" else 0.2
    table = table_of(records)
    assert row(table, "mean").cells[0].best
    assert not row(table, "macfm").cells[0].best


def test_ratio_and_rank_of_mean_imputation(grid):
    table = table_of(grid(["mean", "knn"], ["letter", "bean"]))
    assert row(table, "mean").cells[column(table, "ratio to Mean")].value == 1
    assert row(table, "mean").cells[column(table, "rank")].value == 2
    assert row(table, "knn").cells[column(table, "rank")].best


def test_an_empty_cell_says_why(grid, record):
    records = grid(["mean"], ["letter"], n_masks=1)
    records.append(record(method="em", status="timeout", error="stopped after 5 s"))
    table = table_of(records)
    cell = row(table, "em").cells[0]
    assert cell.value is None
    assert table.footnotes() == {"timeout: stopped after 5 s": "a"}


def test_fewer_masks_are_counted(grid):
    table = table_of(grid(["mean", "knn"], ["letter"])[:-1])
    assert not row(table, "mean").cells[0].short
    cell = row(table, "knn").cells[0]
    assert (cell.short, cell.n) == (True, 2)


def test_transductive_methods_are_marked_out_of_sample_only(grid):
    records = grid(["mean", "missforest"], ["letter"])
    assert row(table_of(records), "missforest").cells[0].marks == "†"
    assert any(note.startswith("†") for note in table_of(records).notes)
    assert row(table_of(records, split="in"), "missforest").cells[0].marks == ""


def test_published_values_stand_beside_ours_and_others_get_rows(grid):
    table = table_of(grid(["mean", "macfm-paper"], ["letter"]), beside=True)
    assert row(table, "macfm-paper").cells[0].published == 36.34
    other = row(table, "diffputer")
    assert (other.kind, other.title) == ("published", "DiffPuter")
    assert (other.cells[0].value, other.cells[0].published) == (None, 29.38)


def test_a_learned_baseline_stands_in_one_row_with_its_published_values(grid):
    table = table_of(grid(["mean", "diffputer"], ["letter"]), beside=True)
    mine = row(table, "diffputer")
    assert (mine.kind, mine.cells[0].published) == ("", 29.38)
    assert mine.cells[0].value is not None


@pytest.mark.parametrize("split", ["in", "out"])
def test_worthless_published_values_are_marked_with_their_reason(grid, split):
    records = grid(["mean", "tabcsdi"], ["letter", "magic"])
    table = table_of(records, split=split, beside=True)
    marked = {
        (line.key, head.title)
        for line in table.rows
        for head, cell in zip(table.columns, line.cells, strict=True)
        if cell.published_mark
    }
    everywhere = {"tabcsdi", "miwae", "missdiff"}
    everywhere |= {"igrm", "grape"} if split == "out" else set()
    both = {(method, name) for method in everywhere for name in ("letter", "magic")}
    assert marked == both | {("miracle", "letter")}
    (note,) = [note for note in table.notes if "‡" in note]
    assert note.startswith("Published")
    assert "TabCSDI: it trains on hidden cells" in note
    assert ("IGRM: " in note) == (split == "out")


def test_where_nothing_was_published_nothing_is_called_worthless(grid):
    table = table_of(grid(["mean", "tabcsdi"], ["letter"], rate=0.5), beside=True)
    assert not any("‡" in note for note in table.notes)
    assert not any(cell.published_mark for line in table.rows for cell in line.cells)


def test_every_fault_is_of_a_printed_row_and_every_printed_row_has_a_method():
    printed = published("mae", "mcar", "in")
    assert set(FAULTS) <= set(printed)
    assert set(printed) <= set(METHODS)


def test_every_method_belongs_to_a_family():
    assert set(FAMILIES) == set(METHODS)
    assert set(FAMILIES.values()) <= set(FAMILY_COLOURS)
    assert len(set(FAMILY_COLOURS.values())) == len(FAMILY_COLOURS)


def test_nothing_was_published_for_another_rate_or_an_own_table(grid):
    table = table_of(grid(["mean"], ["letter"], rate=0.5), beside=True)
    assert [row.kind for row in table.rows] == [""]
    table = table_of(grid(["mean"], ["mine"]), beside=True)
    assert [row.kind for row in table.rows] == [""]


def test_the_published_tables_are_whole():
    counts = {
        (mechanism, split): len(published("rmse", mechanism, split))
        for mechanism in ("mcar", "mar", "mnar")
        for split in ("in", "out")
    }
    assert {key: n for key, n in counts.items() if n != 20 - (key[1] == "out")} == {}
    assert published("seconds", "", "in")["macfm-paper"]["adult"] == 18.53


def test_few_pairs_are_said_to_be_few(grid):
    few = table_of(grid(["mean", "knn"], ["letter"]))
    assert "no difference could reach p < 0.05" in " ".join(few.notes)
    many = table_of(grid(["mean", "knn"], n_masks=3))
    assert "differs from 1 of 1 other methods" in " ".join(many.notes)
    assert [c.value for c in many.tests.rows[0].cells][1] == 15


def test_a_ratio_far_from_one_is_flagged(grid):
    records = grid(["mean", "knn"], ["letter"])
    for record in records:
        honest = record["method"] == "mean"
        record["scores"]["in"]["mae"] = 0.5 * (1 if honest else 0.9)
        record["scores"]["out"]["mae"] = 0.5
    table = ratio_section(tidy(records)).tables[0]
    assert not row(table, "mean").cells[0].flag
    assert row(table, "knn").cells[0].flag


def test_no_categories_no_draws_no_failures_no_sections(grid):
    frame = tidy(grid(["mean"], ["letter"]))
    assert categorical_section(frame) is None
    assert distribution_section(frame) is None
    assert failure_section(frame) is None
    assert legal_section(frame) is None
    assert ablation_section(frame) is None
    assert ratio_section(tidy(grid(["mean"], ["letter"], ("mar",)))) is None


def test_accuracy_is_better_when_higher(grid):
    frame = tidy(grid(["mean", "macfm"], ["adult", "letter"]))
    accuracy, log_loss = categorical_section(frame).tables
    assert [c.title for c in accuracy.columns] == ["adult, in", "adult, out"]
    assert row(accuracy, "macfm").cells[0].best
    assert [r.key for r in log_loss.rows] == ["macfm"]


def test_coverage_has_no_best_and_states_what_to_expect(grid):
    section = distribution_section(tidy(grid(["mean", "macfm", "mice"], ["letter"])))
    coverage = section.tables[-1]
    assert [r.key for r in coverage.rows] == ["mice", "macfm"]
    assert not any(cell.best for r in coverage.rows for cell in r.cells)
    assert "0.81 with 20 draws" in section.text[0]


def test_illegal_values_are_shown_where_they_were_counted(record):
    def made(method, **scores):
        return record(method=method, more_scores=scores)

    records = [
        made("mean", illegal=0.5, illegal_range=0.0, spread_ratio=None),
        made("macfm", illegal=0.0, illegal_range=0.0, spread_ratio=0.7),
    ]
    frame = tidy(records)
    outside, illegal = legal_section(frame).tables
    assert [cell.value for cell in row(illegal, "mean").cells] == [50, 50]
    assert row(illegal, "macfm").cells[0].best
    assert not row(illegal, "mean").cells[0].best
    assert all(row(outside, name).cells[0].best for name in ("mean", "macfm"))
    (spread,) = [
        table
        for table in distribution_section(frame).tables
        if table.slug.endswith("spread-ratio")
    ]
    assert row(spread, "macfm").cells[0].value == pytest.approx(0.7)
    assert legal_section(tidy([record()])) is None


def test_realised_rates_are_read_once_for_each_mask(grid):
    table = rates_section(tidy(grid(["mean", "knn"], ["letter"]))).tables[0]
    assert [r.title for r in table.rows] == ["MCAR, 30 %, train", "MCAR, 30 %, test"]
    assert table.rows[0].cells[0].n == 3


def test_failures_are_listed_with_masks_and_reason(grid):
    records = grid(["em"], ["letter"], status="failed", error="Singular\nmatrix")
    (line,) = failure_section(tidy(records)).tables[0].rows
    assert [cell.value for cell in line.cells][2:] == ["0, 1, 2", "failed: Singular"]


def test_machines_are_never_mixed(grid):
    records = grid(["mean", "macfm"], ["letter"])
    elsewhere = grid(["knn"], ["letter"])
    for record in elsewhere:
        record["machine"] = record["machine"] | {"id": "other"}
    tables = timing_section(tidy(records + elsewhere), beside=False).tables
    costs = [table for table in tables if table.slug.endswith("-cost")]
    assert [[r.key for r in table.rows] for table in costs] == [
        ["mean", "macfm"],
        ["knn"],
    ]
    (speed,) = [table for table in tables if table.slug.endswith("-speed-up")]
    assert [r.key for r in speed.rows] == ["mean"]


def test_speed_up_is_their_time_over_ours(grid):
    records = grid(["knn", "macfm"], ["letter"])
    for record in records:
        slow = 30.0 if record["method"] == "knn" else 10.0
        record["seconds"] = {"fit": slow, "impute_in": slow, "impute_out": slow}
    tables = timing_section(tidy(records), beside=False).tables
    (speed,) = [table for table in tables if table.slug.endswith("-speed-up")]
    assert row(speed, "knn").cells[0].value == pytest.approx(3)


def pictures(records):
    return timing_section(tidy(records), beside=False).pictures


def test_a_method_without_some_dataset_has_its_place_where_all_have_results(grid):
    records = grid(["mean", "knn"], ["letter", "bean"]) + grid(["gain"], ["letter"])
    whole, shared = pictures(records)
    assert "without a result on some of the datasets: GAIN." in whole.caption
    assert [p.label for p in whole.draw.args[0]["mae"]] == ["Mean", "kNN"]
    assert (shared.slug, "letter" in shared.title) == ("pareto-machine-1-shared", True)
    assert [p.label for p in shared.draw.args[0]["mae"]] == ["Mean", "kNN", "GAIN"]
    assert "Left out" not in shared.caption


def test_where_nothing_is_shared_there_is_no_second_picture(grid):
    records = grid(["mean", "knn"], ["letter", "bean"]) + grid(["gain"], ["magic"])
    records += grid(["mean"], ["magic"])
    (picture,) = pictures(records)
    assert [p.label for p in picture.draw.args[0]["mae"]] == ["Mean"]
    assert "datasets: kNN, GAIN." in picture.caption


def test_where_all_have_results_there_is_one_picture(grid):
    (picture,) = pictures(grid(["mean", "knn", "gain"], ["letter", "bean"]))
    assert "Left out" not in picture.caption


def test_a_dataset_without_mean_imputation_drives_no_method_out(grid):
    records = grid(["mean", "knn"], ["letter"]) + grid(["macfm"], ["letter", "bean"])
    (picture,) = pictures(records)
    points = picture.draw.args[0]["mae"]
    assert [point.label for point in points] == ["Mean", "kNN", "MACFM"]


def test_methods_timed_on_another_machine_are_named(grid):
    records = grid(["knn"], ["letter"])
    for record in records:
        record["machine"] = record["machine"] | {"id": "other"}
    (picture,) = pictures(records + grid(["mean", "gain"], ["letter"]))
    assert "Without a time on this machine: kNN." in picture.caption


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ((1, 1), ""),
        ((8, 8), "All of them ran beside other jobs."),
        ((1, 8), "Of them these ran beside other jobs: GAIN."),
        ((None, 8), "Of them these ran beside other jobs: GAIN."),
    ],
)
def test_the_picture_says_who_ran_beside_other_jobs(grid, jobs, said):
    records = grid(["mean", "gain"], ["letter"])
    for record in records:
        n_jobs = jobs[record["method"] == "gain"]
        record["machine"] = record["machine"] | {"jobs": n_jobs}
    (picture,) = pictures(records)
    assert said in picture.caption
    assert ("other jobs" in picture.caption) == bool(said)


def ablated(grid, name, values, settings=None):
    return [
        record | {"settings": {"value": value}}
        for value in values
        for record in grid(
            ["macfm"], ["letter"], ablation={"name": name, "value": value}
        )
    ]


def test_numbers_are_sorted_and_choices_keep_their_order(grid):
    records = ablated(grid, "trials", [50, 10]) + ablated(grid, "solver", ["b", "a"])
    trials, solver = studies(tidy(records))
    assert (trials.arms, trials.numbers) == (("10", "50"), (10, 50))
    assert (solver.arms, solver.numbers, solver.base) == (("b", "a"), None, "b")


def test_the_base_is_the_value_the_method_comes_with(grid):
    main = [r | {"settings": {"value": "a"}} for r in grid(["macfm"], ["letter"])]
    (study,) = studies(tidy(main + ablated(grid, "solver", ["b", "a"])))
    assert study.base == "a"
    (study,) = studies(tidy(main + ablated(grid, "solver", ["b", "c"])))
    assert (study.base, study.arms) == ("default", ("default", "b", "c"))


def test_a_value_called_default_is_not_joined_by_newer_records_of_the_method(grid):
    main = [r | {"settings": {"value": "new"}} for r in grid(["macfm"], ["letter"])]
    (study,) = studies(tidy(main + ablated(grid, "preset", ["default", "best"])))
    assert (study.base, study.arms) == ("default", ("default", "best"))
    assert len(study.changes()) > 0


def test_changes_are_relative_to_the_base_in_the_same_cell(grid):
    records = ablated(grid, "schedule", ["linear", "cosine"])
    for record in records:
        twice = 1.1 if record["ablation"]["value"] == "cosine" else 1.0
        record["scores"]["out"]["mae"] = twice * (1 + record["mask"])
    (study,) = studies(tidy(records))
    changes = study.changes()
    here = changes[(changes["arm"] == "cosine") & (changes["error"] == "out_mae")]
    assert here["change"].tolist() == pytest.approx([10.0] * 3)


@pytest.mark.parametrize(("hours", "said"), [(0, False), (2, True)])
def test_seconds_taken_on_different_occasions_are_marked(grid, hours, said):
    records = ablated(grid, "schedule", ["linear", "cosine"])
    for record in records:
        late = hours if record["ablation"]["value"] == "cosine" else 0
        record["began"] = f"2026-01-01T{10 + late}:00:00+00:00"
    section = ablation_section(tidy(records))
    (table,) = (item for item in section.items if isinstance(item, ScoreTable))
    assert any("more than an hour apart" in note for note in table.notes) == said
