"""The page on the architecture tells of the tree as it is."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "macfm"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\| .* \| `([\w/]+\.py)` \| `(\w+)` \|$", PAGE, re.M)
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)`", PAGE)))


def rows():
    """Packages and what the page says they use."""
    section = PAGE.partition("| package | knows | uses |")[2].partition("\n\n")[0]
    for line in section.splitlines()[2:]:
        _, package, _, uses, _ = line.split("|")
        yield package.strip(" `"), set(re.findall(r"`(\w+)`", uses))


@pytest.fixture(scope="module")
def allowed():
    path = ROOT / "tests" / "test_imports.py"
    spec = importlib.util.spec_from_file_location("imports_table", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ALLOWED


def test_the_page_walks_through_all_four():
    assert len(STEPS) > 40


@pytest.mark.parametrize(("file", "function"), STEPS)
def test_a_step_names_a_function_of_its_file(file, function):
    tree = ast.parse((SRC / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    assert function in {n.name for n in ast.walk(tree) if isinstance(n, kinds)}


@pytest.mark.parametrize("file", NAMED)
def test_files_it_names_are_there(file):
    homes = [SRC, SRC / "imputer", ROOT]
    assert any((home / file).is_file() for home in homes)


def test_the_arrows_are_those_of_the_imports(allowed):
    folders = {name for name in allowed if not name.startswith("_")}
    told = dict(rows())
    assert set(told) == folders
    for package, uses in told.items():
        assert uses == allowed[package][0] & folders, package
