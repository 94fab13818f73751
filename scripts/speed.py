"""Measure how long fitting and filling take, and how that grows; write a record.

    python scripts/speed.py --output benchmarks/speed/cpu.json
    python scripts/speed.py --parts tables --device cuda --output speed.json

Parts, each on its own: `small`, `rows` and `columns` (seconds and peak memory of smooth
tables against their size, each in a process of its own), `million` (a million rows of
50 columns, fitted and filled), `calls` (a row at a time, rows a second, and draws, of a
fitted model), `tables` (fit, conditional mean and 50 trajectories of the training split
of public tables, which are read from MACFM_DATA, and the operations a second that the
networks' matrices made of them; trajectories of 10 Heun steps, as the paper's, beside
its printed seconds, and of as many as the default takes), `matrices` (the operations a
second of large ones).
Seconds are those of this machine; compare ratios, which are printed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from pandas.api.types import is_float_dtype

from macfm import MACFMImputer, __version__
from macfm.bench.cell import make_holes
from macfm.bench.datasets import load_dataset
from macfm.bench.report._published import published
from macfm.bench.spec import Cell
from macfm.flow import fast_products

PARTS = ("calls", "small", "rows", "columns", "million", "tables", "matrices")
TABLES = "letter,magic,bean,adult,shoppers,default,gesture,news"
# Trajectories of the paper: so many of each row, in so many Heun steps.
N_TRIALS, N_STEPS = 50, 10
# Rows of the tables that `rows` grows, and columns of those that `columns` does.
ROWS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = (10, 50, 100, 200, 500)
# Draws of so many rows, and what decides whether they are in bfloat16.
DRAWN_ROWS, N_DRAWS = 4_000, 20
BFLOAT16 = "macfm.imputer._filler.multiplies_bfloat16"
# A model that is read without them.
NO_TREES = {"n_trees": 0}
# Tables that are small: rows and columns.
SMALL = ((60, 8), (100, 14), (200, 3), (200, 20))
# Side of the matrices whose product tells what a device can do.
SIDE = 8_192
# One fit of this many rows fills all of them, as a user would do with a large table.
FIT_ROWS = 10_000


def make_table(n: int, d: int) -> np.ndarray:
    """Return a smooth table of five factors with 30 % holes."""
    rng = np.random.default_rng(0)
    table = np.tanh(rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)))
    table += 0.1 * rng.normal(size=table.shape)
    return np.where(rng.random(table.shape) < 0.3, np.nan, table)


def clock(device: str) -> float:
    """Return the time, when all that was asked of the device is done."""
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def seconds(
    function: Callable[[Any], Any], given: Any, *, device: str, repeats: int = 1
) -> float:
    """Return the least seconds of some calls."""
    least = float("inf")
    for _ in range(repeats):
        began = clock(device)
        function(given)
        least = min(least, clock(device) - began)
    return least


def make_imputer(device: str, **settings: Any) -> MACFMImputer:
    """Return an imputer as it comes."""
    return MACFMImputer(random_state=0, verbose=False, device=device, **settings)


def peak_memory() -> int:
    """Return the most memory this process has held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells there begins with the parent's
        lines = status.read_text().splitlines()
        [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
        return round(int(kilobytes) / 2**10)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def fit_and_fill(
    n: int, d: int, device: str, budget: float | None, only_fill: bool
) -> dict[str, Any]:
    """Fit and fill one table; called in a process of its own."""
    table = make_table(n, d)
    train = table[:FIT_ROWS] if only_fill else table
    imputer = make_imputer(device, budget=budget)
    fitting = seconds(imputer.fit, train, device=device)
    filling = seconds(imputer.transform, table, device=device)
    return {
        "rows": n,
        "columns": d,
        "rows fitted": len(train),
        "steps": imputer.n_iter_,
        "fit": round(fitting, 2),
        "fill": round(filling, 2),
        "peak memory, MB": peak_memory(),
    }


def growth(
    sizes: list[tuple[int, int]], options: argparse.Namespace, *, only_fill: bool
) -> list[dict[str, Any]]:
    """Measure tables of several sizes, smallest first."""
    context = multiprocessing.get_context("spawn")
    found = []
    for n, d in sizes:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            told = pool.submit(
                fit_and_fill, n, d, options.device, options.budget, only_fill
            ).result()
        found.append(told)
        print(json.dumps(told), flush=True)
    return found


def small_part(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Fit and fill tables of 60 to 200 rows."""
    return growth(list(SMALL), options, only_fill=False)


def rows_part(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Grow the rows of a table of 16 columns."""
    sizes = [(n, 16) for n in ROWS if options.least_rows <= n <= options.most_rows]
    return growth(sizes, options, only_fill=True)


def columns_part(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Grow the columns of a table of 2,000 rows."""
    sizes = [(2_000, d) for d in COLUMNS if d <= options.most_columns]
    return growth(sizes, options, only_fill=False)


def million_part(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Fit and fill a million rows of 50 columns."""
    return growth([(1_000_000, 50)], options, only_fill=False)


def calls_part(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Time calls of models fitted on few and on many rows of 16 columns."""
    found = []
    kinds = [(1_000, {}), (6_000, {"preset": "fast"}), (6_000, {}), (6_000, NO_TREES)]
    for n, asked in kinds:
        table = make_table(n, 16)
        # Speed of a call does not depend on how long the training was.
        imputer = make_imputer(options.device, max_steps=100, **asked).fit(table)
        many = np.tile(table, (20_000 // n + 1, 1))[:20_000]
        call, device = imputer.transform, options.device
        one = seconds(call, table[:1], device=device, repeats=20)
        all_rows = seconds(call, many, device=device, repeats=3)
        n_weights = sum(p.numel() for p in imputer.network_.parameters())
        few, draw = many[:DRAWN_ROWS], partial(imputer.sample, n_draws=N_DRAWS)
        drawing = seconds(draw, few, device=device, repeats=3)
        with patch(BFLOAT16, return_value=False):
            finely = seconds(draw, few, device=device, repeats=3)
        told = {
            "rows fitted": n,
            "preset": asked.get("preset", "default"),
            "trees a column": imputer.settings_["n_trees"],
            "one row, ms": round(1e3 * one, 1),
            "rows a second": round(len(many) / all_rows),
            f"{N_DRAWS} draws of {DRAWN_ROWS:,} rows, s": round(drawing, 2),
            "the same in float32": round(finely, 2),
            "GFLOP/s of its matrices": round(
                2e-9 * n_weights * len(many) / all_rows, 1
            ),
        }
        found.append(told)
        print(json.dumps(told), flush=True)
    return found


def tables_part(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Time fit, mean and trajectories of public tables."""
    found, device = [], options.device
    printed = published("seconds", "", "in")["macfm-paper"]
    for name in options.tables.split(","):
        cell = Cell(name, (), "mcar", 0.3, 0, "macfm")
        train = make_holes(load_dataset(name, data_dir=options.data_dir), cell).train
        numbers = [column for column in train if is_float_dtype(train[column])]
        imputer = make_imputer(device, budget=options.budget, numeric=numbers)
        fitting = seconds(imputer.fit, train, device=device)
        mean = seconds(imputer.transform, train, device=device, repeats=2)
        used, network = imputer.settings_, imputer.network_
        members = list(getattr(network, "members", [network]))
        n_weights = sum(p.numel() for member in members for p in member.parameters())
        # A weight costs two operations a row, and four more for its gradient.
        n_batches = imputer.n_iter_ / len(members)
        training = 6 * n_weights * used["batch_size"] * n_batches
        told = {
            "table": name,
            "rows": len(train),
            "columns": train.shape[1],
            "steps": imputer.n_iter_,
            "fit": round(fitting, 2),
            "TFLOP/s of training": round(1e-12 * training / fitting, 1),
            "mean": round(mean, 3),
        }
        if options.trajectories:
            for n_steps in (N_STEPS, used["n_steps"]):
                imputer.set_params(n_trials=N_TRIALS, n_steps=n_steps)
                whole = seconds(imputer.transform, train, device=device, repeats=2)
                n_points = 2 * n_steps * N_TRIALS * len(train)  # Heun takes two
                what = f"{N_TRIALS} trajectories of {n_steps} steps"
                told[what] = round(whole, 2)
                told[f"TFLOP/s of {what}"] = round(
                    1e-12 * 2 * n_weights * n_points / whole, 1
                )
            told["published seconds"] = printed.get(name)
        found.append(told)
        print(json.dumps(told), flush=True)
    return found


def matrices_part(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Time products of large matrices in the precisions that networks compute in."""
    device, found = options.device, []
    on_gpu = device == "cuda"
    side = SIDE if on_gpu else SIDE // 8
    fast = ("TF32" if on_gpu else "float32, as networks are multiplied", "float32")
    kinds = [("bfloat16", "bfloat16"), fast, *([] if on_gpu else [("float32",) * 2])]
    exact = torch.randn(side, side, device=device)
    truth = exact.double() @ exact.double()
    for name, dtype in kinds:
        matrix = exact.to(getattr(torch, dtype))
        with nullcontext() if name == "float32" else fast_products(matrix.device):
            least = seconds(matrix.matmul, matrix, device=device, repeats=10)
            gap = (matrix @ matrix).double() - truth
        told = {
            "precision": name,
            "TFLOP/s": round(2e-12 * side**3 / least, 2),
            "relative error": float(f"{(gap.std() / truth.std()).item():.1e}"),
        }
        found.append(told)
        print(json.dumps(told), flush=True)
    return found


def main() -> None:
    """Measure the parts asked for and write one record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    parser.add_argument("--parts", default="calls,small,rows,columns")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--tables", default=TABLES, help="of the part `tables`")
    parser.add_argument("--data-dir", default=os.environ.get("MACFM_DATA"))
    parser.add_argument("--budget", type=float, help="seconds of a fit")
    parser.add_argument("--least-rows", type=int, default=ROWS[0])
    parser.add_argument("--most-rows", type=int, default=ROWS[-2])
    parser.add_argument("--most-columns", type=int, default=COLUMNS[-1])
    parser.add_argument("--trajectories", action="store_true")
    options = parser.parse_args()
    parts = options.parts.split(",")
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; parts are {', '.join(PARTS)}")
    run = {
        "calls": calls_part,
        "small": small_part,
        "rows": rows_part,
        "columns": columns_part,
        "million": million_part,
        "tables": tables_part,
        "matrices": matrices_part,
    }
    card = torch.cuda.get_device_name() if options.device == "cuda" else None
    record = {
        "device": card or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "budget": options.budget,
        "versions": {"macfm": __version__, "torch": str(torch.__version__)},
        "results": {part: run[part](options) for part in parts},
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
