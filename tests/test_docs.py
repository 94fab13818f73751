"""What the pages show runs, what they link to is there, and the site builds."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^```python\n(?P<code>.*?)^```$", re.M | re.S)
LINK = re.compile(r"!?\[[^\]]*\]\((?!\w+:|#)([^)\s#]+)(?:#[^)]*)?\)")

# What parameters left at None become here: the page is tested, not the accuracy.
QUICK = {
    "max_steps": 20,
    "n_trees": 4,
    "evaluate_every": 10,
    "n_networks": 1,
    "d_model": 16,
    "n_blocks": 1,
    "batch_size": 64,
    "n_steps": 2,
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page, each at its own line."""
    text = page.read_text(encoding="utf-8")
    if page.name == "gallery.md":  # includes the examples, which have their own test
        return []
    lines = (text.count("\n", 0, m.start("code")) for m in FENCE.finditer(text))
    codes = (m["code"] for m in FENCE.finditer(text))
    return ["\n" * line + code for line, code in zip(lines, codes, strict=True)]


@pytest.fixture
def run_page(monkeypatch, tmp_path):
    """Run a page from top to bottom, with nothing but what it defines itself."""
    import matplotlib.pyplot as plt

    from macfm.bench.datasets import DATASETS
    from macfm.judge.methods import METHODS

    def run(page: Path) -> None:
        names = {"__name__": page.stem}
        for block in blocks(page):
            exec(compile(block, name_of(page), "exec"), names)

    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    # Pages that show how to register something do so for themselves alone.
    with patch.dict(METHODS), patch.dict(DATASETS):
        yield run
    plt.close("all")


RUNNABLE = pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=name_of)


@RUNNABLE
# Twenty steps on a small table teach little, and fit says so.
@pytest.mark.filterwarnings("ignore:on held-out rows:UserWarning")
def test_the_python_of_a_page_runs(page, run_page, monkeypatch):
    from macfm import MACFMImputer

    fit = MACFMImputer._fit

    def fit_quickly(self, X, sample_weight):
        given = self.get_params()
        left = {name: QUICK[name] for name in QUICK if given[name] is None}
        return fit(self.set_params(**left), X, sample_weight)

    monkeypatch.setattr(MACFMImputer, "_fit", fit_quickly)
    run_page(page)


@RUNNABLE
@pytest.mark.slow
def test_the_python_of_a_page_runs_at_its_full_length(page, run_page):
    run_page(page)


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


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("mkdocs", "material", "mkdocstrings_handlers"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    yield {page: page.read_text(encoding="utf-8") for page in folder.rglob("*.html")}
    shutil.rmtree(folder)


def test_the_site_builds_strictly_and_fetches_nothing(site):
    fetched = re.compile(
        r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//"
    )
    assert [page.name for page, html in site.items() if fetched.search(html)] == []


def test_the_site_works_from_a_folder_search_included(site):
    for page, html in site.items():
        if page.name == "404.html":  # a server's page
            continue
        assert "assets/iframe-worker.js" in html
        for to in re.findall(r"\b(?:href|src)=\"?([^\s\">]+)", html):
            path = unquote(urlsplit(to).path)
            if path and not urlsplit(to).scheme:
                assert (page.parent / path).is_file(), f"{page.name}: {to}"
    (home,) = (page for page in site if page.name == "index.html")
    index = (home.parent / "search" / "search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index = ")
    assert "how-to/bounds.html" in index
