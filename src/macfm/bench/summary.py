"""What came of a run: how much of it worked, and who did best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from macfm.bench.records import record_key

__all__ = ["Outcomes", "ranking", "ranking_table"]


@dataclass(frozen=True)
class Outcomes:
    """How many cells have a result, and how many have none.

    Examples
    --------
    >>> Outcomes.of([{"status": "failed"}, {"status": "timeout"}])
    Outcomes(n_ok=0, n_failed=2)
    """

    n_ok: int
    n_failed: int

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> Outcomes:
        """Count records; `macfm.bench.records.latest` leaves one a cell."""
        done = [record["status"] == "ok" for record in records]
        return cls(sum(done), len(done) - sum(done))

    @property
    def all_failed(self) -> bool:
        """Whether cells were run and none has a result."""
        return self.n_failed > 0 and self.n_ok == 0


def ranking(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the methods of records, best first.

    Failures are left out, and ablations unless there is nothing else. One row a method:
    average rank of the out-of-sample MAE and RMSE over cells, their means and that of
    the accuracy, seconds to fit and impute, cells counted. Ranks compare methods only
    in cells that all of them finished.
    """
    done = [record for record in records if record["status"] == "ok"]
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
    return "\n".join(lines)


def _cell(value: float, width: int, digits: int) -> str:
    """A number, or a dash if there is none."""
    return f"{'-':>{width}}" if pd.isna(value) else f"{value:{width}.{digits}f}"
