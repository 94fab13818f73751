"""Tables get the networks that the documentation promises for their size."""

import re
from pathlib import Path

import numpy as np
import pytest

from macfm import MACFMImputer
from macfm.imputer._settings import resolve


def promised():
    """The table of sizes in the documentation: rows, and the settings they get."""
    page = Path(__file__).parents[2] / "docs" / "explanation.md"
    found = page.read_text(encoding="utf-8").split("| rows | width, blocks |")[1]
    lines = [line for line in found.split("\n\n")[0].splitlines() if line[:2] == "| "]
    names = "n_networks n_trees batch_size max_steps validation_share evaluate_every"
    rows = [(10, 999), (1000, 4999), (5000,), (5000,)]
    for line, n_rows in zip(lines, rows, strict=True):
        cells = re.sub(r"(\d),(\d{3})", r"\1\2", line).replace("none", "0").split("|")
        size, *others = ([float(n) for n in re.findall(r"\d+", c)] for c in cells[2:9])
        sizes = dict(zip(["d_model", "n_blocks"], size, strict=True))
        # "10 %, at most 2,000 rows": the first number is the setting
        sizes |= dict(zip(names.split(), [cell[0] for cell in others], strict=True))
        for n in n_rows:
            share = {"validation_share": sizes["validation_share"] / 100}
            yield n, "GPU" in line, sizes | share


@pytest.mark.parametrize(
    ("n_rows", "sizes"), [(n, sizes) for n, on_gpu, sizes in promised() if not on_gpu]
)
def test_larger_tables_get_the_networks_that_are_promised(n_rows, sizes):
    x = np.random.default_rng(0).normal(size=(n_rows, 2))
    quick = {"max_steps": 1, "stopping": "none", "guide": False, "verbose": False}
    model = MACFMImputer(**quick, random_state=0).fit(x)
    usual = resolve(MACFMImputer().get_params(deep=False), n_rows=n_rows)
    found = model.settings_ | {"max_steps": usual.train.max_steps}
    assert {name: found[name] for name in sizes} == sizes


def test_large_tables_get_larger_networks_on_a_gpu():
    [(n_rows, sizes)] = [(n, sizes) for n, on_gpu, sizes in promised() if on_gpu]
    asked = MACFMImputer().get_params(deep=False)
    found = resolve(asked, n_rows=n_rows, on_gpu=True).values
    assert {name: found[name] for name in sizes} == sizes
    small = resolve(asked, n_rows=4999, on_gpu=True).values
    assert small == resolve(asked, n_rows=4999, on_gpu=False).values
