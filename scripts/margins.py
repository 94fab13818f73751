"""Ask what margins bring: how often draws have each category, and how good they are.

    python scripts/margins.py --output benchmarks/margins.json

Of each table 2,000 training rows are fitted on a CPU, 30 % of the cells hidden at
random (the benchmark's first mask), once with `margins` and once without. Of 20 draws
of the test rows' hidden cells it writes, by column, the total variation distance from
the true shares of categories to those drawn and to the mean probability, how often
categories of less than 5 % are drawn and true, and of the table CRPS and energy
distance of the numbers. Tables are read from MACFM_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from macfm import MACFMImputer, __version__
from macfm.bench.cell import Holes, make_holes
from macfm.bench.datasets import load_dataset
from macfm.bench.spec import Cell
from macfm.judge.metrics import draw_scores

TABLES = ("adult", "shoppers", "default")
N_ROWS, N_DRAWS = 2_000, 20
RARE = 0.05


def holes_of(table: str) -> Holes:
    """Return the first mask of a table."""
    cell = Cell(
        dataset=table,
        quirks=(),
        mechanism="mcar",
        rate=0.3,
        mask=0,
        method="macfm",
        rows=N_ROWS,
    )
    return make_holes(load_dataset(table), cell)


def shares_of(imputer: MACFMImputer, holes: Holes, draws: list) -> dict[str, Any]:
    """Return how often categories are drawn, true and expected, by column."""
    found: dict[str, Any] = {}
    for name, likely in imputer.category_probabilities(holes.test).items():
        rows = holes.test_hidden[name].to_numpy() & holes.test_truth[name].notna()
        counts = {
            "drawn": pd.concat([draw.loc[rows, name] for draw in draws]),
            "true": holes.test_truth.loc[rows, name],
        }
        shares = {
            key: part.value_counts(normalize=True) for key, part in counts.items()
        }
        likely = likely.loc[likely.index.isin(np.flatnonzero(rows))]
        table = pd.DataFrame({**shares, "expected": likely.mean()}).fillna(0.0)
        rare = table["true"] < RARE
        found[name] = {
            "distance": float((table["drawn"] - table["true"]).abs().sum() / 2),
            "distance expected": float(
                (table["expected"] - table["true"]).abs().sum() / 2
            ),
            "rare drawn": float(table.loc[rare, "drawn"].sum()),
            "rare true": float(table.loc[rare, "true"].sum()),
        }
    return found


def measure(table: str) -> list[dict[str, Any]]:
    """Fit a table with and without margins, and ask both."""
    holes = holes_of(table)
    numeric = [name for name in holes.train if is_float_dtype(holes.train[name])]
    told = []
    for margins in (True, False):
        imputer = MACFMImputer(
            numeric=numeric,
            margins=margins,
            device="cpu",
            random_state=0,
            verbose=False,
        ).fit(holes.train)
        draws = imputer.sample(holes.test, N_DRAWS)
        scores = draw_scores(draws, holes.test_truth, holes.test_hidden, holes.scale)
        columns = shares_of(imputer, holes, draws)
        rare = [
            sum(one[key] for one in columns.values())
            for key in ("rare drawn", "rare true")
        ]
        told.append(
            {
                "table": table,
                "margins": margins,
                "distance": float(
                    np.mean([one["distance"] for one in columns.values()])
                ),
                "rare, drawn over true": rare[0] / rare[1] if rare[1] else None,
                "crps": scores["crps"],
                "energy": scores["energy"],
                "columns": columns,
            }
        )
        print({k: v for k, v in told[-1].items() if k != "columns"}, flush=True)
    return told


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    told = [line for table in options.tables.split(",") for line in measure(table)]
    record = {
        "macfm": __version__,
        "rows": N_ROWS,
        "draws": N_DRAWS,
        "cores": os.cpu_count(),
        "tables": told,
    }
    if options.output:
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
