"""The files of a report."""

import csv
import io
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from macfm.bench.report import write_pages
from macfm.bench.report._figure_bars import _label_place
from macfm.bench.report._figure_pareto import Point, draw_pareto
from macfm.bench.report._frame import tidy
from macfm.bench.report._latex import escape
from macfm.bench.report._names import FAMILIES
from macfm.judge.methods import METHODS

pytest.importorskip("jinja2")


class Page(HTMLParser):
    """Addresses, identifiers and open tags of a page."""

    void = ("meta", "input", "br", "img", "link")

    def __init__(self, text):
        super().__init__()
        self.addresses, self.ids, self.open, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.addresses += [v for k, v in attributes if k in ("src", "href")]
        self.ids += [named["id"]] if "id" in named else []
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.void:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def written(records, tmp_path, **how):
    paths = write_pages(records, tmp_path, **{"figures": False} | how)
    assert all(path.exists() for path in paths)
    return {str(p.relative_to(tmp_path)): p for p in paths}


def test_all_forms_are_written(grid, tmp_path):
    pytest.importorskip("matplotlib")
    records = grid(["mean", "macfm"], ["letter"], n_masks=2)
    for value in (10, 20):
        change = {"name": "trials", "value": value}
        records += grid(["macfm"], ["letter"], n_masks=1, ablation=change)
    for value in ("on", "off"):
        change = {"name": "mask-aware", "value": value}
        records += grid(["macfm"], ["letter"], n_masks=1, ablation=change)
    files = written(records, tmp_path, figures=True)
    assert {"index.html", "report.md", "tables.tex", "csv/records.csv"} <= set(files)
    drawn = {name for name in files if name.startswith("figures/")}
    stems = {name.rsplit(".", 1)[0] for name in drawn}
    assert stems == {
        "figures/bars-mcar-30-mae",
        "figures/bars-mcar-30-rmse",
        "figures/pareto-machine-1",
        "figures/curves-trials-macfm",
        "figures/choices-macfm",
    }
    assert len(drawn) == 2 * len(stems)
    page = Page(files["index.html"].read_text(encoding="utf-8"))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(address.startswith("#") for address in page.addresses)
    for stem in stems:
        assert f"({stem}.png)" in files["report.md"].read_text(encoding="utf-8")


def test_the_same_records_give_the_same_bytes(grid, tmp_path):
    records = grid(["mean", "knn"], ["letter"])
    one, two = (
        [p.read_bytes() for p in write_pages(records, tmp_path / name, figures=False)]
        for name in "ab"
    )
    assert one == two


def test_text_from_records_is_escaped_everywhere(record, tmp_path):
    bad = record(status="failed", error="<script>alert(1)</script> 5 % of a_b | c & d")
    files = written([bad], tmp_path)
    assert "<script>alert" not in files["index.html"].read_text(encoding="utf-8")
    assert "<script>" not in files["report.md"].read_text(encoding="utf-8")
    assert r"5 \% of a\_b" in files["tables.tex"].read_text(encoding="utf-8")


@pytest.mark.parametrize("figures", [False, True])
def test_when_everything_failed_there_is_still_a_page(grid, tmp_path, figures):
    if figures:
        pytest.importorskip("matplotlib")
    records = grid(["mean", "em"], ["letter"], status="failed", error="boom")
    files = written(records, tmp_path, figures=figures)
    page = Page(files["index.html"].read_text(encoding="utf-8"))
    assert "0 have scores, 6 failed" in page.text
    assert "failed: boom" in page.text


def test_no_records_are_said_to_be_none(tmp_path):
    files = written([], tmp_path)
    assert "There are no records." in files["report.md"].read_text(encoding="utf-8")


def test_the_switch_is_there_only_with_published_values(grid, tmp_path):
    records = grid(["mean"], ["letter"])
    shown = written(records, tmp_path / "a")["index.html"]
    assert 'id="show-published"' in shown.read_text(encoding="utf-8")
    hidden = written(records, tmp_path / "b", published=False)
    assert 'id="show-published"' not in hidden["index.html"].read_text("utf-8")
    assert "[76.90]" not in hidden["report.md"].read_text(encoding="utf-8")


def test_a_published_value_never_passes_for_a_failed_one_of_ours(record, tmp_path):
    records = [record(), record(method="knn", status="timeout", error="5 s")]
    files = written(records, tmp_path)
    text = files["report.md"].read_text(encoding="utf-8")
    (line,) = [x for x in text.splitlines() if x.startswith("| kNN") and "[62.16]" in x]
    assert "– (a) [62.16]" in line
    text = files["tables.tex"].read_text(encoding="utf-8")
    assert r"--$^\mathrm{a}$ {\scriptsize[62.16]}" in text


def test_a_worthless_published_value_is_marked_in_every_form(record, tmp_path):
    records = [record(), record(method="miwae"), record(method="remasker")]
    files = written(records, tmp_path)
    reason = "a network of one hidden unit"
    text = files["report.md"].read_text(encoding="utf-8")
    assert "[81.88‡]" in text
    assert "[34.68]" in text
    assert reason in text
    text = files["tables.tex"].read_text(encoding="utf-8")
    assert r"{\scriptsize[81.88$^\ddagger$]}" in text
    assert reason in text
    text = files["index.html"].read_text(encoding="utf-8")
    assert "81.88<sup>‡</sup>" in text
    assert f'title="{reason}' in text
    assert f"MIWAE: {reason}" in text
    text = files["csv/mcar-30-out-mae.csv"].read_text(encoding="utf-8")
    lines = {
        (line["row"], line["column"]): line
        for line in csv.DictReader(io.StringIO(text))
    }
    marked, sound = lines["miwae", "letter"], lines["remasker", "letter"]
    assert (marked["published"], marked["published_mark"]) == ("81.88", "‡")
    assert marked["published_note"].startswith(reason)
    assert (sound["published_mark"], sound["published_note"]) == ("", "")


def test_csv_holds_every_cell(grid, tmp_path):
    files = written(grid(["mean", "knn"], ["letter", "bean"]), tmp_path)
    text = files["csv/mcar-30-out-mae.csv"].read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(text)))
    ours = [line for line in lines if line["value"]]
    assert {(x["row"], x["column"]) for x in ours} >= {
        (method, dataset)
        for method in ("mean", "knn")
        for dataset in ("letter", "bean")
    }


def test_latex_rows_have_as_many_entries_as_columns(grid, tmp_path):
    text = written(grid(["mean", "missforest"]), tmp_path)["tables.tex"].read_text(
        "utf-8"
    )
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 4
    for block in text.split(r"\begin{tabular}{")[1:]:
        n_columns = block.index("}")
        rows = [x for x in block.split(r"\end{tabular}")[0].splitlines() if "&" in x]
        assert {x.replace(r"\&", "").count("&") for x in rows} == {n_columns - 1}


def test_latex_escapes_its_own_signs():
    assert escape(r"\{}") == r"\textbackslash{}\{\}"


def test_the_summary_names_files_machine_versions_and_command(grid, tmp_path):
    records = grid(["mean", "knn"], ["letter"])
    files = written(records, tmp_path, sources=["a.jsonl"])
    text = files["report.md"].read_text(encoding="utf-8")
    for part in ("2 methods on 1 dataset", "a.jsonl", "Example CPU, 16 cores"):
        assert part in text
    assert "macfm 0.1.0" in text
    assert "`macfm bench run --datasets letter --methods mean,knn" in text
    files = written(records, tmp_path, command="make bench")
    assert "`make bench`" in files["report.md"].read_text(encoding="utf-8")


def test_the_command_limits_the_rows_as_the_records_do(grid, tmp_path):
    write_pages(grid(["mean"], ["letter"], rows=500), tmp_path, figures=False)
    text = (tmp_path / "report.md").read_text()
    assert "letter (500 rows)" in text
    assert "--rows 500 --masks 3`" in text


def test_the_command_of_a_table_of_ones_own_names_its_file(grid, tmp_path):
    about = {"file": "my table.csv", "target": "y", "categorical": ["ward", "sex"]}
    records = [r | {"table": about} for r in grid(["mean", "knn"], ["letter"])]
    files = written(records, tmp_path)
    text = files["report.md"].read_text(encoding="utf-8")
    command = "macfm bench run --table 'my table.csv' --target y --categorical ward,sex"
    assert f"`{command} --methods mean,knn" in text
    assert "--datasets" not in text


@pytest.mark.parametrize(
    "changes",
    [
        {"table": {"file": "letter.csv", "target": None, "categorical": []}},
        {"rows": 500},
        {"rows": 500, "quirks": ["twin-video"]},
    ],
)
def test_what_was_not_published_has_no_published_values(grid, tmp_path, changes):
    plain = written(grid(["mean"], ["letter"]), tmp_path / "plain")["report.md"]
    other = written(grid(["mean"], ["letter"], **changes), tmp_path / "other")
    assert "Published values" in plain.read_text(encoding="utf-8")
    text = other["report.md"].read_text(encoding="utf-8")
    assert "DiffPuter, published" not in text
    assert "Published values" not in text


def test_columns_that_were_left_out_are_named(grid, tmp_path):
    records = grid(["mean", "knn"], ["letter"])
    text = written(records, tmp_path)["report.md"].read_text(encoding="utf-8")
    assert "taken out" not in text
    records[0]["columns_left_out"] = ["rare"]
    text = written(records, tmp_path)["report.md"].read_text(encoding="utf-8")
    assert "In 1 cell columns were taken out" in text
    assert "hidden: rare of letter." in text


def test_a_failed_cell_that_was_fitted_is_not_timed(grid, tmp_path):
    records = grid(["mean", "knn"], ["letter"], n_masks=2)
    lost = {"status": "timeout", "error": "stopped after 9 s", "scores": None}
    records[-1] |= lost | {"seconds": {"fit": 1e6}}
    text = written(records, tmp_path)["report.md"].read_text(encoding="utf-8")
    assert "1 ran out of time" in text
    assert "hours" not in text


def test_labels_of_the_pareto_picture_do_not_overlap():
    pytest.importorskip("matplotlib")
    points = [
        Point(f"method {i}", "knn", 1.0 + 0.3 * i, 0.5 + 0.02 * (i % 3), True)
        for i in range(10)
    ]
    figure = draw_pareto({"mae": points})
    renderer = figure.canvas.get_renderer()
    boxes = [
        t.get_window_extent(renderer) for t in figure.axes[0].texts if t.get_text()
    ]
    assert len(boxes) == 10
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])


def test_the_names_of_all_methods_find_room_and_their_kinds_a_sign():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    seconds = np.exp(rng.uniform(np.log(0.05), np.log(2000), len(METHODS)))
    errors = np.exp(rng.normal(-0.6, 0.25, len(METHODS)))
    points = [
        Point(entry.title, name, second, error, complete=True)
        for (name, entry), second, error in zip(
            METHODS.items(), seconds, errors, strict=True
        )
    ]
    figure = draw_pareto({"mae": points, "rmse": points})
    renderer = figure.canvas.get_renderer()
    frame = figure.axes[0].get_window_extent(renderer)
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    assert {text.get_text() for text in texts} == {p.label for p in points}
    boxes = [text.get_window_extent(renderer) for text in texts]
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
    signs = {
        (line.get_marker(), line.get_markeredgecolor())
        for line in figure.axes[0].lines
        if line.get_marker() != "None"
    }
    assert len(signs) == len({FAMILIES[name] for name in METHODS})


def test_a_missing_package_is_named_with_its_extra(record, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "macfm\[report\]"'):
        write_pages([record()], tmp_path)


def test_one_cell_is_enough(record, tmp_path):
    page = Page(written([record()], tmp_path)["index.html"].read_text("utf-8"))
    assert page.open == []
    assert len(tidy([record()])) == 1


@pytest.mark.parametrize("out", [0.05, 0.3, 0.9, 1.75, 1.99, 2.0, 3.0])
@pytest.mark.parametrize("inside", [0.01, 0.5, 1.2, 1.7, 1.97, np.nan])
def test_numbers_of_bars_stay_on_the_picture_and_clear_of_the_circle(out, inside):
    limit, width = 2.0, 0.26
    end, within = _label_place(out, inside, limit)
    low, high = (end - width, end) if within else (end, end + width)
    assert low >= 0
    assert high <= limit
    drawn = inside <= 2.0 < out  # a clipped bar's number stands at its end
    assert drawn or not low < inside < high
