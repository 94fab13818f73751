"""Measure the source tree: lines, largest pieces, import cycles, names used twice.

    python scripts/house.py                # the tree as it lies here
    python scripts/house.py --at 81cdecd   # the tree of a commit

The figures of "Before and after" in docs/architecture.md come from these two commands.
Needs macfm's packages: how often a table is encoded is counted in a small fit.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import io
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The packages in which a parameter is declared, checked and passed on.
KNOW_SETTINGS = ("macfm", "imputer", "_model_file")
# Functions through which settings are resolved and tables encoded, old and new.
COUNTED = {
    "settings resolved": ("resolved_values", "preset_values"),
    "table encoded": ("TableEncoder.encode",),
}
PROBE = """
import collections, sys
import numpy as np
from macfm import MACFMImputer

calls = collections.Counter()

def count(frame, event, _):
    code = frame.f_code
    if event == "call" and "macfm" in code.co_filename:
        calls[code.co_qualname] += 1

table = np.random.default_rng(0).normal(size=(60, 3))
table[::5, 0] = np.nan
imputer = MACFMImputer(max_steps=20, device="cpu", verbose=False, random_state=0)
sys.setprofile(count)
imputer.fit_transform(table)
sys.setprofile(None)
print(*(calls[name] for name in sys.argv[1:]))
"""


def modules(src: Path) -> dict[str, Path]:
    """Return every file by its dotted name, ``macfm.flow.__init__`` for a package."""
    return {
        ".".join(path.relative_to(src).with_suffix("").parts): path
        for path in sorted((src / "macfm").rglob("*.py"))
    }


def package_of(module: str) -> str:
    """Return the folder below macfm, "macfm" for the files beside the folders."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 else "macfm"


def unit_of(module: str) -> str:
    """Return the folder or the file right below macfm."""
    return module.split(".")[1]


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name and the lines of code of each function, docstring left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n_lines = node.end_lineno - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                n_lines -= first.end_lineno - first.lineno + 1
            yield node.name, n_lines


def imported(tree: ast.AST, module: str, known: dict[str, Path]) -> set[str]:
    """Return the files of macfm that a file imports, when it is loaded or later."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                package = module.rpartition(".")[0]
                origin = importlib.util.resolve_name("." * node.level + origin, package)
            wanted = [f"{origin}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        else:
            continue
        for name in wanted:
            above = name.rpartition(".")[0]
            for file in (name, f"{name}.__init__", f"{above}.__init__", above):
                if file in known:
                    found.add(file)
                    break
    return found - {module}


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of names that reach each other."""

    def reached(start: str) -> set[str]:
        found, left = set(), [start]
        while left:
            for there in graph.get(left.pop(), set()) - found:
                found.add(there)
                left.append(there)
        return found

    reach = {name: reached(name) for name in graph}
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach.get(other, ())))
        for name in graph
        if name in reach[name]
    }
    return sorted(map(list, groups))


def settings(source: str) -> list[str]:
    """Return the names of the expert settings, by the presets' keys or their own."""
    declared = re.findall(r"Parameter\(\s*\"(\w+)\"", source)
    if declared:
        return declared
    start = source.index("_PAPER: dict")
    return re.findall(
        r"^    \"(\w+)\":", source[start : source.index("}", start)], re.M
    )


def show(src: Path) -> None:
    """Measure a tree and print what was found."""
    files = modules(src)
    texts = {module: path.read_text("utf-8") for module, path in files.items()}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    n_lines = {module: len(text.splitlines()) for module, text in texts.items()}

    print("lines of Python")
    by_package, n_files = Counter(), Counter()
    for module, n in n_lines.items():
        by_package[package_of(module)] += n
        n_files[package_of(module)] += 1
    for package, n in sorted(by_package.items()):
        print(f"  {package:<12} {n:>6,} in {n_files[package]} files")
    print(f"  {'all':<12} {sum(n_lines.values()):>6,} in {len(files)} files")

    print("largest files")
    for module, n in Counter(n_lines).most_common(3):
        print(f"  {n:>6,} {module}")

    print("longest functions, without their docstrings")
    lengths = Counter()
    for module, tree in trees.items():
        for name, n in functions(tree):
            lengths[f"{module}.{name}"] = max(lengths[f"{module}.{name}"], n)
    for name, n in lengths.most_common(5):
        print(f"  {n:>6,} {name}")
    print(f"  {sum(n > 50 for n in lengths.values()):>6,} of more than 50 lines")

    print("import cycles")
    graph = {module: imported(tree, module, files) for module, tree in trees.items()}
    folders: dict[str, set[str]] = defaultdict(set)
    for module, there in graph.items():
        here = unit_of(module)
        folders[here] |= {unit_of(other) for other in there} - {here}
    for kind, found in (("folders", cycles(folders)), ("files", cycles(graph))):
        print(f"  {len(found)} between {kind}")
        for group in found:
            print(f"    {', '.join(group)}")

    print("classes of one name in two files")
    homes = defaultdict(list)
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    for name, where in sorted(homes.items()):
        if len(where) > 1:
            print(f"  {name}: {', '.join(where)}")

    print("lines of the imputer that name one expert setting")
    home = next(m for m in files if m.endswith(("imputer._parameters", "m._settings")))
    counts = {
        name: sum(
            bool(re.search(rf"\b{name}\b", line))
            for module, text in texts.items()
            if package_of(module) in KNOW_SETTINGS
            for line in text.splitlines()
        )
        for name in settings(texts[home])
    }
    print(f"  {len(counts)} settings, median {statistics.median(counts.values()):g}")
    print("  " + ", ".join(f"{name} {n}" for name, n in counts.items()))


def count_calls(src: Path) -> None:
    """Count calls in one `fit_transform` of a tree and print them."""
    names = [name for group in COUNTED.values() for name in group]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROBE, *names],
        env=os.environ | {"PYTHONPATH": str(src)},
        capture_output=True,
        text=True,
        check=True,
    )
    calls = dict(zip(names, map(int, done.stdout.split()), strict=True))
    print("in one fit_transform")
    for what, group in COUNTED.items():
        print(f"  {what} {sum(calls[name] for name in group)} times")


def main() -> None:
    """Measure this tree or that of a commit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", metavar="COMMIT", help="measure this commit's tree")
    commit = parser.parse_args().at
    if commit is None:
        show(ROOT / "src")
        count_calls(ROOT / "src")
        return
    command = ["git", "archive", commit, "src"]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        show(Path(folder) / "src")
        count_calls(Path(folder) / "src")


if __name__ == "__main__":
    main()
