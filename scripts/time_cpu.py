"""Time the default preset on a table of 2,000 x 20 on the CPU, beside scikit-learn.

    python scripts/time_cpu.py --output benchmarks/time_cpu.json

All methods run one after the other on the same table in the same process; compare
their seconds with each other, not with another machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from macfm import MACFMImputer, __version__


def make_table(n: int = 2000, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return a smooth table of five factors and a little noise, and 30 % holes."""
    rng = np.random.default_rng(0)
    table = np.tanh(rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)))
    table += 0.1 * rng.normal(size=table.shape)
    return table, rng.random(table.shape) < 0.3


def main() -> None:
    """Run every method once and write one record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True, help="file to write the record to")
    options = parser.parse_args()
    table, hidden = make_table()
    holes = np.where(hidden, np.nan, table)
    trees = ExtraTreesRegressor(n_estimators=60, n_jobs=-1, random_state=0)
    methods = {
        "mean": SimpleImputer(),
        "kNN": KNNImputer(),
        "IterativeImputer": IterativeImputer(random_state=0, tol=1e-2),
        "IterativeImputer, 60 extra-trees": IterativeImputer(
            trees, max_iter=5, tol=0.1, random_state=0
        ),
        "macfm fast": MACFMImputer(preset="fast", random_state=0, device="cpu"),
        "macfm": MACFMImputer(random_state=0, device="cpu"),
    }
    results = {}
    for name, method in methods.items():
        began = time.perf_counter()
        filled = method.fit_transform(holes)
        seconds = time.perf_counter() - began
        error = np.sqrt(np.mean((filled - table)[hidden] ** 2)) / table.std()
        results[name] = {"seconds": round(seconds, 1), "rmse": round(float(error), 4)}
        print(f"{name:<34} {seconds:6.1f} s   RMSE {error:.3f}", flush=True)
    record = {
        "table": "2,000 x 20, 30 % of the cells missing at random",
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "versions": {"macfm": __version__, "torch": torch.__version__},
        "results": results,
    }
    Path(options.output).write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
