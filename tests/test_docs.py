"""What the pages show runs, what they link to is there, and the site builds."""

import importlib.util
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(
    r"(?P<skip><!-- no-run[^>]*-->\n+)?^```python\n(?P<code>.*?)^```$", re.M | re.S
)
LINK = re.compile(r"!?\[[^\]]*\]\((?!\w+:|#)([^)\s#]+)(?:#[^)]*)?\)")

# Pages whose blocks are shown rather than run: the reason, and a word of the block.
SHOWN = {
    "benchmark-data.md": ("reads the benchmark's tables, or a file of one's own", ""),
    "benchmark-methods.md": ("fragments of a method of one's own", ""),
    "gallery.md": ("includes the examples, which have their own test", ""),
}
# What a preset becomes here: the page is tested, not the accuracy.
QUICK = {
    "max_steps": 20,
    "evaluate_every": 10,
    "n_networks": 1,
    "d_model": 16,
    "n_blocks": 1,
    "batch_size": 64,
    "n_trials": 2,
    "n_steps": 2,
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page that are to be run, each at its own line."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        if not match["skip"] and page.name not in SHOWN:
            line = text.count("\n", 0, match.start("code"))
            found.append("\n" * line + match["code"])
    return found


@pytest.fixture
def patients():
    rng = np.random.default_rng(0)
    n = 80
    table = pd.DataFrame(
        {
            "patient_id": [f"p{i:03}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "ward": rng.choice(["north", "south"], n),
            "weight": rng.normal(75, 12, n).round(1),
        }
    )
    table["age"] = table["age"].astype("Int64").mask(rng.uniform(size=n) < 0.2)
    table["weight"] = table["weight"].mask(rng.uniform(size=n) < 0.2)
    table["ward"] = table["ward"].mask(rng.uniform(size=n) < 0.1)
    return table


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=name_of)
def test_the_python_of_a_page_runs(page, patients, monkeypatch, tmp_path):
    import matplotlib.pyplot as plt

    from macfm.imputer import _parameters

    for preset, values in _parameters.PRESETS.items():
        monkeypatch.setitem(_parameters.PRESETS, preset, values | QUICK)
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    patients.to_csv("patients.csv", index=False)
    # The names that pages take for granted: a table of one's own.
    known = patients.drop(columns="patient_id")
    names = {
        "__name__": page.stem,
        "train": known,
        "new_rows": known[:5],
        "df": known,
        "df_next_month": patients[:5],
    }
    if page.name == "README.md":
        names["df_next_month"] = pd.read_csv("patients.csv")[:5]
    try:
        for block in blocks(page):
            with warnings.catch_warnings():
                # What a page's table gives rise to (an identifier left in) is not
                # its subject.
                warnings.simplefilter("ignore", UserWarning)
                exec(compile(block, name_of(page), "exec"), names)
    finally:
        plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_somewhere(page):
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    broken = [to for to in LINK.findall(text) if not (page.parent / to).exists()]
    assert broken == []


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location(
        "build_gallery", ROOT / "scripts" / "build_gallery.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_gallery"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["build_gallery"]


def test_the_gallery_page_is_the_one_the_examples_give(gallery):
    found = gallery.examples()
    assert len(found) >= 8
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == gallery.page(found)


def test_every_example_has_a_picture_of_bearable_size(gallery):
    for example in gallery.examples():
        picture = gallery.PICTURES / f"{example.name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size <= gallery.MOST_BYTES, picture.name


def test_no_page_is_left_out_of_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert f" {page.relative_to(DOCS).as_posix()}\n" in menu


def test_the_site_builds_strictly_and_fetches_nothing(tmp_path):
    for package in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(package.partition(".")[0])
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", tmp_path]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    fetched = re.compile(
        r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//"
    )
    for page in tmp_path.rglob("*.html"):
        assert not fetched.search(page.read_text(encoding="utf-8")), page.name
    shutil.rmtree(tmp_path)
