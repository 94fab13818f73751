"""Imports point one way, and importing macfm has no effects."""

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SRC = Path(__file__).parents[1] / "src" / "macfm"

# One row per folder or top-level file of src/macfm: which other rows it may import,
# by their public names, and which packages beside the standard library.
# "macfm" is the row of __init__.py.
ALLOWED = {
    "_errors": (set(), set()),
    "_version": (set(), set()),
    "_warn": (set(), set()),
    "_replace": (set(), set()),
    "_words": (set(), set()),
    "_plain": (set(), set()),
    "_renamed": ({"_warn"}, set()),
    "_callable": (set(), set()),
    "_parallel": (set(), set()),
    "_progress": (set(), {"rich"}),
    "table": (
        {"_errors", "_parallel", "_warn"},
        {"numpy", "pandas", "polars", "pyarrow", "scipy"},
    ),
    "flow": ({"_parallel"}, {"numpy", "scipy", "sklearn", "threadpoolctl", "torch"}),
    "imputer": (
        {
            *("table", "flow", "_errors", "_plain", "_progress", "_replace"),
            *("_version", "_warn", "_words"),
        },
        {"numpy", "pandas", "sklearn", "torch", "safetensors"},
    ),
    "macfm": ({"imputer", "judge", "plot", "profile", "report", "_version"}, set()),
    "files": ({"_errors", "_replace", "table"}, {"numpy", "pandas"}),
    "profile": (
        {"table", "_callable", "_words", "_plain"},
        {"numpy", "pandas", "scipy"},
    ),
    "plot": ({"_errors", "table", "profile"}, {"numpy", "matplotlib"}),
    "page": ({"plot", "_words"}, {"jinja2", "markupsafe"}),
    "judge": (
        {"imputer", "flow", "table", "_errors", "_plain", "_renamed", "_words"},
        {
            *("numpy", "pandas", "scipy", "sklearn", "joblib", "torch"),
            *("threadpoolctl", "miceforest", "hyperimpute", "gcimpute"),
        },
    ),
    "bench": (
        {
            *("judge", "page", "files", "profile", "table"),
            *("_errors", "_plain", "_progress", "_replace", "_version", "_words"),
        },
        {
            *("numpy", "pandas", "scipy", "sklearn", "packaging"),
            *("matplotlib", "pyarrow"),
        },
    ),
    "report": (
        {
            *("imputer", "judge", "page", "plot", "profile", "table"),
            *("_callable", "_errors", "_replace", "_version", "_words"),
        },
        {"numpy", "pandas", "matplotlib"},
    ),
    "cli": (
        {
            *("macfm", "bench", "judge", "files", "profile", "report"),
            *("_errors", "_progress", "_words"),
        },
        {"click", "pandas", "rich"},
    ),
    "__main__": ({"cli"}, set()),
}
# Installed only with an extra, so never imported where merely importing would fail.
OPTIONAL = {
    *("matplotlib", "jinja2", "markupsafe", "polars", "pyarrow", "openpyxl", "xlrd"),
    *("zstandard", "miceforest", "hyperimpute", "gcimpute"),
}


def module_name(path: Path) -> str:
    """Dotted name of a file, `macfm.flow.__init__` for a package."""
    return ".".join(path.relative_to(SRC.parent).with_suffix("").parts)


def row_of(dotted: str) -> str:
    """The row of the table a dotted name inside macfm belongs to."""
    parts = dotted.split(".")
    named = len(parts) > 1 and parts[1] in ALLOWED
    return parts[1] if named else "macfm"


def nodes(tree: ast.AST, *, eager: bool) -> Iterator[ast.AST]:
    """All nodes; with `eager`, only those that run when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if eager and (later or typing):
            continue
        yield node
        yield from nodes(node, eager=eager)


def imports(source: str, module: str, *, eager: bool) -> Iterator[tuple[str, str]]:
    """Pairs of an imported module and the name taken from it ("" for the module)."""
    for node in nodes(ast.parse(source), eager=eager):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                package = module.rpartition(".")[0]
                relative = "." * node.level + origin
                origin = importlib.util.resolve_name(relative, package)
            yield from ((origin, alias.name) for alias in node.names)


def violations(source: str, module: str) -> list[str]:
    """What `source`, the text of `module`, imports against the table."""
    here = row_of(module)
    rows, packages = ALLOWED[here]
    found = []
    for origin, name in imports(source, module, eager=False):
        target = f"{origin}.{name}" if name else origin
        top = target.split(".")[0]
        if top != "macfm":
            if top not in sys.stdlib_module_names | packages:
                found.append(f"{module} imports {target}: {here} may not use {top}")
            continue
        there = row_of(target)
        if there == here:
            continue
        inside = target.split(".")[1 if there == "macfm" else 2 :]
        private = any(p.startswith("_") and not p.endswith("__") for p in inside)
        if there not in rows:
            found.append(f"{module} imports {target}: {here} may not know {there}")
        elif private:
            found.append(f"{module} imports {target}: private to {there}")
    for origin, _ in imports(source, module, eager=True):
        if origin.split(".")[0] in OPTIONAL:
            found.append(f"{module} imports {origin} outside a function")
    return found


FILES = sorted(SRC.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_follow_the_table(path):
    unit = path.relative_to(SRC).parts[0].removesuffix(".py")
    assert unit == "__init__" or unit in ALLOWED, f"{unit} has no row in ALLOWED"
    assert violations(path.read_text(encoding="utf-8"), module_name(path)) == []


def load_house() -> ModuleType:
    """Load the script that measures the tree: one finder of cycles for both."""
    path = Path(__file__).parents[1] / "scripts" / "house.py"
    spec = importlib.util.spec_from_file_location("house", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOUSE = load_house()
MODULES = {module_name(path): path for path in FILES}
GRAPH = {
    name: HOUSE.imported(ast.parse(path.read_text("utf-8")), name, MODULES)
    for name, path in MODULES.items()
}
cycles = HOUSE.cycles


def test_no_folder_leads_back_to_itself():
    rows = {row: set() for row in ALLOWED}
    for name, there in GRAPH.items():
        rows[row_of(name)] |= {row_of(other) for other in there} - {row_of(name)}
    assert cycles(rows) == []


def test_no_file_leads_back_to_itself():
    assert cycles(GRAPH) == []


def test_a_planted_cycle_is_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("row", ALLOWED)
def test_every_permission_is_used(row):
    rows, packages = ALLOWED[row]
    used = set()
    for path in FILES:
        module = module_name(path)
        if row_of(module) != row:
            continue
        for origin, name in imports(path.read_text("utf-8"), module, eager=False):
            inside = origin.split(".")[0] == "macfm"
            used.add(row_of(f"{origin}.{name}") if inside else origin.split(".")[0])
    assert sorted((rows | packages) - used) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("macfm.table._encoder", "import torch"),
        ("macfm.table._encoder", "import macfm.flow"),
        ("macfm.table._encoder", "from .. import flow"),
        ("macfm.table._encoder", "from ..flow import Masks"),
        ("macfm.table._encoder", "def f():\n    from macfm.flow import Masks"),
        ("macfm.table.__init__", "from ..flow import Masks"),
        ("macfm.table._io", "import pyarrow"),
        ("macfm.table._io", "try:\n    import polars\nexcept ImportError:\n    pass"),
        ("macfm.flow._path", "import pandas as pd"),
        ("macfm.flow._path", "from pandas import Series"),
        ("macfm.flow._path", "from macfm.table import TableEncoder"),
        ("macfm.flow._path", "from macfm import MACFMImputer"),
        ("macfm.flow._path", "from ..imputer import MACFMImputer"),
        ("macfm.imputer._training", "from ..flow._solver import heun"),
        ("macfm.imputer._estimator", "from macfm.table import _encoder"),
        ("macfm.imputer._estimator", "from macfm import describe_model"),
        ("macfm.imputer._estimator", "import macfm.bench"),
        ("macfm.bench.runner", "from macfm.imputer._estimator import MACFMImputer"),
        ("macfm.bench.runner", "from macfm import MACFMImputer"),
        ("macfm.bench.runner", "from macfm.flow import Masks"),
        ("macfm.bench.runner", "import macfm.cli"),
        ("macfm.bench.report", "import matplotlib.pyplot as plt"),
        ("macfm.cli", "from macfm.bench._private import thing"),
        ("macfm.__init__", "from .cli import main"),
    ],
)
def test_a_planted_violation_is_caught(module, source):
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("macfm.table._encoder", "import json\nimport numpy as np\nimport pandas"),
        ("macfm.table._encoder", "from ._schema import Schema"),
        ("macfm.table._io", "def f():\n    import polars"),
        (
            "macfm.table._io",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import polars",
        ),
        ("macfm.table.__init__", "from ._schema import Schema"),
        ("macfm.flow._path", "import math\nfrom torch import nn"),
        ("macfm.flow._path", "from macfm.flow._masks import Masks"),
        (
            "macfm.imputer._estimator",
            "from ._saved import x\nfrom macfm.table import y",
        ),
        ("macfm.bench.runner", "from macfm.judge import compare, mechanisms"),
        ("macfm.cli", "from macfm.bench.runner import run"),
        ("macfm.__init__", "from .imputer import MACFMImputer"),
    ],
)
def test_what_the_table_allows_passes(module, source):
    assert violations(source, module) == []


# The dependencies come first: what *they* do when imported is not ours to answer for
# (scikit-learn adds warning filters, pandas imports pyarrow where it finds it).
PROBE = """
import hashlib, importlib, json, random, sys, warnings
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
import numpy, torch

def state():
    kind, keys, *rest = numpy.random.get_state()
    return {
        "random": repr(random.getstate()),
        "numpy.random": [kind, hashlib.sha256(keys.tobytes()).hexdigest(), repr(rest)],
        "torch.random": torch.get_rng_state().tolist(),
        "torch dtype": str(torch.get_default_dtype()),
        "torch device": str(torch.get_default_device()),
        "torch threads": torch.get_num_threads(),
        "torch determinism": torch.are_deterministic_algorithms_enabled(),
        "warning filters": [repr(entry) for entry in warnings.filters],
    }

before, loaded = state(), set(sys.modules)
import macfm
after = state()
print(json.dumps({
    "changed": [key for key in before if before[key] != after[key]],
    "loaded": sorted({name.partition(".")[0] for name in set(sys.modules) - loaded}),
}))
"""


@pytest.fixture(scope="module")
def probe():
    dependencies = {
        origin
        for path in FILES
        if row_of(module_name(path)) not in {"bench", "cli"}
        for origin, _ in imports(
            path.read_text(encoding="utf-8"), module_name(path), eager=True
        )
        if origin.split(".")[0] not in {"macfm", "__future__"} | OPTIONAL
    }
    command = [sys.executable, "-c", PROBE, json.dumps(sorted(dependencies))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_macfm_changes_no_global_state(probe):
    assert probe["changed"] == []


def test_importing_macfm_loads_no_optional_package(probe):
    assert OPTIONAL.isdisjoint(probe["loaded"])
