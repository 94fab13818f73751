"""Who did best: a few lines of text for the end of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from macfm.bench.records import record_key

__all__ = ["ranking", "ranking_table"]


def ranking(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the methods of records, best first.

    Failures are left out, and so are ablations and synthetic datasets unless there is
    nothing else. One row a method: average rank of the out-of-sample MAE and RMSE over
    cells, their means and that of the accuracy, seconds to fit and impute, cells
    counted. Ranks compare methods only in cells that all of them finished.
    """
    done = [record for record in records if record["status"] == "ok"]
    done = [r for r in done if not r.get("synthetic")] or done
    rows = [
        {
            "cell": record_key(r)[:-1],
            "method": r["label"],
            "MAE": r["scores"]["out"]["mae"],
            "RMSE": r["scores"]["out"]["rmse"],
            "accuracy": r["scores"]["out"]["accuracy"],
            "seconds": r["seconds"]["fit"] + r["seconds"]["impute_out"],
        }
        for r in [r for r in done if r["ablation"] is None] or done
    ]
    frame = pd.DataFrame(
        rows, columns=["cell", "method", "MAE", "RMSE", "accuracy", "seconds"]
    )
    whole = frame.groupby("cell")["method"].transform("size")
    common = frame[whole == frame["method"].nunique()]
    scores = ["MAE", "RMSE"] if frame["MAE"].notna().any() else ["accuracy"]
    ranks = common.groupby("cell")[scores].rank(ascending=scores != ["accuracy"])
    rank = ranks.mean(axis=1).groupby(common["method"]).mean()
    numbers = frame.groupby("method")[["MAE", "RMSE", "accuracy", "seconds"]]
    table = numbers.mean().astype(float)
    table.insert(0, "rank", rank)
    table["cells"] = frame.groupby("method").size()
    return table.sort_values(["rank", scores[0]])


def ranking_table(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the ranking as text; errors in units of a column's deviation x 100."""
    records = list(records)
    table = ranking(records)
    if table.empty:
        return "no cell has a result yet"
    wide = max(len(str(name)) for name in table.index)
    lines = [
        f"{'method':<{wide}}  rank    MAE   RMSE  accuracy  seconds  cells",
    ]
    for name, row in table.iterrows():
        lines.append(
            f"{name:<{wide}}  {_cell(row['rank'], 4, 1)}"
            f"  {_cell(100 * row['MAE'], 5, 1)}  {_cell(100 * row['RMSE'], 5, 1)}"
            f"  {_cell(row['accuracy'], 8, 3)}"
            f"  {_cell(row['seconds'], 7, 1)}  {row['cells']:5.0f}"
        )
    done = [record for record in records if record["status"] == "ok"]
    made_up = {r["dataset"] for r in done if r.get("synthetic")}
    if made_up:
        only = all(r.get("synthetic") for r in done)
        of_it = "nothing but" if only else "not counting"
        lines.append(f"{of_it} synthetic data: {', '.join(sorted(made_up))}")
    return "\n".join(lines)


def _cell(value: float, width: int, digits: int) -> str:
    """A number, or a dash if there is none."""
    return f"{'-':>{width}}" if pd.isna(value) else f"{value:{width}.{digits}f}"
