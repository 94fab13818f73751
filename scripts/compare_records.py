"""Compare two record files cell by cell: the newer error over the older.

    python scripts/compare_records.py benchmarks/main/ours.jsonl benchmarks/one_mask

prints a Markdown table with one row for every dataset, mechanism and method that both
hold, geometric means over their common masks, in rows that were not fitted on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from macfm.bench.records import read_records

SCORES = ("mae", "rmse", "crps")
PLACE = ["dataset", "mechanism", "method"]


def scores_of(path: Path) -> pd.DataFrame:
    """Return out-of-sample scores, one row a cell that is no ablation."""
    rows = [
        {
            **{name: record[name] for name in (*PLACE, "mask", "rate")},
            **{name: record["scores"]["out"][name] for name in SCORES},
            "accuracy": record["scores"]["out"]["accuracy"],
        }
        for record in read_records(path)
        if record["status"] == "ok" and not record["ablation"]
    ]
    return pd.DataFrame(rows).set_index([*PLACE, "rate", "mask"])


def compare(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return ratios new / old, and both accuracies, by dataset, mechanism, method."""
    common = old.index.intersection(new.index)
    old, new = old.loc[common].astype(float), new.loc[common].astype(float)
    ratios = np.log(new[list(SCORES)] / old[list(SCORES)])
    table = np.exp(ratios.groupby(level=PLACE).mean())
    for name, part in (("accuracy, old", old), ("accuracy, new", new)):
        table[name] = part["accuracy"].groupby(level=PLACE).mean()
    table["masks"] = ratios.groupby(level=PLACE).size()
    return table


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    arguments = parser.parse_args()
    table = compare(scores_of(arguments.old), scores_of(arguments.new))
    print("| " + " | ".join([*PLACE, *table.columns]) + " |")
    print("|" + "---|" * (len(PLACE) + len(table.columns)))
    for place, row in table.iterrows():
        cells = [f"{v:.3f}" if np.isfinite(v) else "–" for v in row.iloc[:-1]]
        print("| " + " | ".join([*place, *cells, str(int(row["masks"]))]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
