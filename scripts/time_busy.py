"""Time a fit on idle cores, and again while other programs keep all of them busy.

    python scripts/time_busy.py --output benchmarks/time_busy.json

The fit of 1,000 x 12 is the same both times, bit for bit. Told is the ratio of the two;
on cores that are not idle to begin with it says nothing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
from pathlib import Path

import numpy as np
import torch

from macfm import MACFMImputer, __version__


def make_table(n: int = 1000, d: int = 12) -> np.ndarray:
    """Return a smooth table with 20 % holes."""
    rng = np.random.default_rng(0)
    table = np.tanh(rng.normal(size=(n, 4)) @ rng.normal(size=(4, d)))
    return np.where(rng.random(table.shape) < 0.2, np.nan, table)


def spin() -> None:
    """Keep a core busy for ever."""
    while True:
        sum(range(10_000))


def timed(table: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit and fill once; return the table and the seconds."""
    imputer = MACFMImputer(random_state=0, verbose=False, device="cpu")
    began = time.perf_counter()
    return imputer.fit_transform(table), time.perf_counter() - began


def main() -> None:
    """Fit twice and write one record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True, help="file to write the record to")
    options = parser.parse_args()
    table = make_table()
    MACFMImputer(random_state=0, verbose=False, max_steps=5).fit(table)  # warm up
    idle, idle_seconds = timed(table)
    n_cores = len(os.sched_getaffinity(0))
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n_cores)]
    for other in others:
        other.start()
    busy, busy_seconds = timed(table)
    for other in others:
        other.terminate()
    record = {
        "table": "1,000 x 12, 20 % of the cells missing at random",
        "cores": n_cores,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "versions": {"macfm": __version__, "torch": str(torch.__version__)},
        "seconds": {"idle": round(idle_seconds, 1), "busy": round(busy_seconds, 1)},
        "busy / idle": round(busy_seconds / idle_seconds, 2),
        "same result": bool(np.array_equal(idle, busy)),
    }
    Path(options.output).write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
