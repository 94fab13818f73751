"""Compare two record files cell by cell: the newer error over the older.

    python scripts/compare_records.py benchmarks/previous/ours.jsonl benchmarks/main

prints a Markdown table with one row for every dataset, mechanism and method that both
hold, geometric means over their common masks, in rows that were not fitted on.

    python scripts/compare_records.py benchmarks/main benchmarks/main --best

prints, for every dataset, mechanism and score, the best read-out of macfm in the newer
records beside the best other method in either, means over the masks of the newer.

    python scripts/compare_records.py benchmarks/main benchmarks/main --published

prints the same beside the best value in the paper's tables, each over the error of the
column mean, ours over that recorded and theirs over that printed: their masks are not
ours, and under MAR and MNAR not drawn in the same way, but for
`benchmarks/as_published`. `--masks 1` keeps to the first mask of each.

    python scripts/compare_records.py benchmarks/main benchmarks/main --spread

prints how wide macfm's draws are in the newer records: their spread over that of the
errors, pooled and as the mean over columns, and the share of cells that their 90 %
range holds; then the same by dataset, and the mean over datasets.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macfm.bench.records import read_records as all_records
from macfm.bench.report._published import fault_of, printed_name, published

SCORES = ("mae", "rmse", "crps")
PLACE = ["dataset", "mechanism", "method"]
# The share of hidden cells in most records.
RATE = 0.3
# Every score, and 1 where less is better.
ALL_SCORES = {
    **{"mae": 1, "rmse": 1, "crps": 1, "energy": 1},
    **{"accuracy": -1, "log_loss": 1},
}


def read_records(path: Path, n_masks: int) -> list[dict[str, Any]]:
    """Return the records of the first so many masks that have scores."""
    return [
        record
        for record in all_records(path)
        if record["status"] == "ok"
        and not record["ablation"]
        and record["mask"] < n_masks
    ]


def place_of(record: dict[str, Any]) -> dict[str, str]:
    """Return where a record belongs; parts of a table, and other rates, stand apart."""
    place = {name: record[name] for name in PLACE}
    if record.get("rows"):  # older records do not tell
        place["dataset"] += f", {record['rows']} rows"
    if record["rate"] != RATE:
        place["dataset"] += f", {record['rate']:.0%}"
    return place


def scores_of(path: Path, n_masks: int) -> pd.DataFrame:
    """Return out-of-sample scores, one row a cell that is no ablation."""
    rows = [
        {
            **place_of(record),
            "mask": record["mask"],
            **{name: record["scores"]["out"][name] for name in SCORES},
            "accuracy": record["scores"]["out"]["accuracy"],
        }
        for record in read_records(path, n_masks)
    ]
    return pd.DataFrame(rows).set_index([*PLACE, "mask"])


def best_of_each(old: Path, new: Path, n_masks: int) -> pd.DataFrame:
    """Return macfm's best of the newer records, and the best other of all of them."""
    rows = []
    for path in dict.fromkeys((old, new)):
        for record in read_records(path, n_masks):
            ours = record["method"] in ("macfm", "macfm-median")
            if ours and path != new:
                continue
            scores = {name: record["scores"]["out"].get(name) for name in ALL_SCORES}
            place = place_of(record)
            rows.append({**place, "mask": record["mask"], "ours": ours, **scores})
    table = pd.DataFrame(rows)
    masks = table[table["ours"]].groupby(PLACE[:2])["mask"].agg(set)
    found = []
    for place, cells in table.groupby(PLACE[:2]):
        if place not in masks:
            continue
        cells = cells[cells["mask"].isin(masks[place])]
        whole = cells.groupby("method")["mask"].nunique() == len(masks[place])
        means = cells.groupby(["ours", "method"])[list(ALL_SCORES)].mean()
        means = means[means.index.get_level_values("method").isin(whole[whole].index)]
        for name, sign in ALL_SCORES.items():
            known = (sign * means[name].astype(float)).dropna()
            if set(known.index.get_level_values("ours")) != {True, False}:
                continue
            ours, other = (known[flag].sort_values().head(1) for flag in (True, False))
            values = abs(ours.iloc[0]), abs(other.iloc[0])
            found.append(
                {
                    **dict(zip(PLACE[:2], place, strict=True)),
                    "score": name,
                    "macfm": f"{ours.index[0]}, {values[0]:.4f}",
                    "best other": f"{other.index[0]}, {values[1]:.4f}",
                    "ratio": values[0] / values[1],
                    "macfm is first": bool(ours.iloc[0] < other.iloc[0]),
                }
            )
    return pd.DataFrame(found)


def beside_published(old: Path, new: Path, n_masks: int) -> pd.DataFrame:
    """Return macfm's errors over the mean's, and the lowest that was printed."""
    ours = scores_of(new, n_masks)[["mae", "rmse"]].astype(float)
    mean = scores_of(old, n_masks)[["mae", "rmse"]].astype(float)
    read_outs = {"mae": "macfm-median", "rmse": "macfm"}
    found = []
    for score, read_out in read_outs.items():
        both = pd.concat(
            {
                "ours": ours[score].xs(read_out, level="method"),
                "mean": mean[score].xs("mean", level="method"),
            },
            axis=1,
        ).dropna()
        ratios = np.exp(
            np.log(both["ours"] / both["mean"]).groupby(level=[0, 1]).mean()
        )
        for (dataset, mechanism), ratio in ratios.items():
            printed = {
                method: values[dataset]
                for method, values in published(score, mechanism, "out").items()
                if dataset in values and not fault_of("out", method, dataset)
            }
            if "mean" not in printed:
                continue
            base = printed.pop("mean")
            best = min(printed, key=printed.__getitem__)
            lowest = printed[best] / base
            found.append(
                {
                    "dataset": dataset,
                    "mechanism": mechanism,
                    "score": score,
                    "macfm": ratio,
                    "best published": f"{printed_name(best)}, {lowest:.3f}",
                    "ratio": ratio / lowest,
                    "macfm is first": bool(ratio < lowest),
                }
            )
    return pd.DataFrame(found)


def spread_of_draws(new: Path, n_masks: int) -> pd.DataFrame:
    """Return how wide macfm's draws are, by dataset and mechanism, over the masks."""
    rows = []
    for record in read_records(new, n_masks):
        if record["method"] != "macfm":
            continue
        place, scores = place_of(record), record["scores"]["out"]
        rows.append(
            {
                **{name: place[name] for name in PLACE[:2]},
                "pooled": scores["spread_ratio"],
                "by column": np.nanmean([*scores["spread_ratio_by_column"].values()]),
                "coverage": scores["coverage_90"],
            }
        )
    return pd.DataFrame(rows).groupby(PLACE[:2]).mean()


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
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--best", action="store_true", help="beside the best other")
    which.add_argument(
        "--published", action="store_true", help="beside what was printed"
    )
    which.add_argument("--spread", action="store_true", help="how wide draws are")
    parser.add_argument(
        "--masks", type=int, default=sys.maxsize, help="only the first so many"
    )
    arguments = parser.parse_args()
    masks = arguments.masks
    if arguments.best or arguments.published:
        beside = best_of_each if arguments.best else beside_published
        found = beside(arguments.old, arguments.new, masks)
        print(found.to_string(index=False, float_format="%.3f"))
        print(found.groupby("score")["macfm is first"].agg(["sum", "size"]))
        return 0
    if arguments.spread:
        wide = spread_of_draws(arguments.new, masks)
        by_table = wide.groupby(level=0).mean()
        for found in (wide, by_table, by_table.mean().to_frame("all").T):
            print(found.to_string(float_format="%.2f"), end="\n\n")
        return 0
    table = compare(scores_of(arguments.old, masks), scores_of(arguments.new, masks))
    print("| " + " | ".join([*PLACE, *table.columns]) + " |")
    print("|" + "---|" * (len(PLACE) + len(table.columns)))
    for place, row in table.iterrows():
        cells = [f"{v:.3f}" if np.isfinite(v) else "–" for v in row.iloc[:-1]]
        print("| " + " | ".join([*place, *cells, str(int(row["masks"]))]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
