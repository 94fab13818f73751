"""Tables get the networks that the documentation promises for their size."""

import re
from pathlib import Path

import numpy as np
import pytest

from macfm import MACFMImputer


def promised():
    """The table of sizes in the documentation: rows, and the settings they get."""
    page = Path(__file__).parents[2] / "docs" / "explanation.md"
    found = page.read_text(encoding="utf-8").split("| rows | width, blocks |")[1]
    lines = [line for line in found.split("\n\n")[0].splitlines() if "steps" in line]
    names = "d_model n_blocks n_networks batch_size validation_share evaluate_every"
    for line, n_rows in zip(lines, [(10, 999), (1000, 4999), (5000,)], strict=True):
        cells = line.replace(",000", "000").replace("1,024", "1024").split("|")[2:8]
        numbers = [float(n) for cell in cells for n in re.findall(r"\d+", cell)]
        numbers = [*numbers[:4], numbers[4] / 100, numbers[-1]]
        for n in n_rows:
            yield n, dict(zip(names.split(), numbers, strict=True))


@pytest.mark.parametrize(("n_rows", "sizes"), list(promised()))
def test_larger_tables_get_the_networks_that_are_promised(n_rows, sizes):
    x = np.random.default_rng(0).normal(size=(n_rows, 2))
    quick = {"max_steps": 1, "stopping": "none", "guide": False, "verbose": False}
    model = MACFMImputer(**quick, random_state=0).fit(x)
    assert {name: model.settings_[name] for name in sizes} == sizes
