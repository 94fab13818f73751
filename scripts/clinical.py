"""Fill clinical tables with macfm as it comes, and with the benchmark's methods.

    python scripts/clinical.py --output clinical.json

Of each table 10 % of the observed cells are hidden at random, on top of what the source
is missing. macfm is given the table as pandas reads it, codes as numbers, without any
setting; the other methods are told which columns are categories. Every method has one
thread. Needs the natural tables in the folder MACFM_DATA or --data-dir.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from macfm import MACFMImputer, __version__
from macfm.judge.mechanisms import mcar
from macfm.judge.methods import METHODS, make_method
from macfm.judge.metrics import coverage

SHARE = 0.1
N_DRAWS = 20
SAMPLE_SEED = 1234
COMPARED = ("macfm", "mice", "extra-trees", "em", "mean")

# Identifiers and survey design; what only repeats another column; what no adult has;
# what fewer than one adult in six has, except for the age at which diabetes was found.
NHANES_LEFT_OUT = (
    *("ID", "WTINT2YR", "WTMEC2YR", "SDMVPSU", "SDMVSTRA"),
    *("Gender", "AgeMonths", "HHIncome", "BMI_WHO", "BPSysAve", "BPDiaAve"),
    *("Length", "HeadCirc", "BMICatUnder20yrs", "TVHrsDayChild", "CompHrsDayChild"),
    *("UrineVol2", "UrineFlow2", "AgeRegMarij"),
)
HEPATITIS_NUMERIC = ("AGE", "BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME")


def read_nhanes(folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the adults of NHANES, 60 columns, and the names of those with codes."""
    people = pd.read_parquet(folder / "natural" / "nhanes_raw.parquet")
    adults = people[people["Age"] >= 20].drop(columns=list(NHANES_LEFT_OUT))
    return adults, []


def read_support2(folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return SUPPORT2, 47 columns, and the names of those with codes."""
    table = pd.read_parquet(folder / "natural" / "support2.parquet")
    return table, ["death", "hospdead", "diabetes", "dementia"]


def read_hepatitis(folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return hepatitis, 20 columns, and the names of those with codes."""
    table = pd.read_parquet(folder / "natural" / "hepatitis.parquet")
    return table, [name for name in table if name not in HEPATITIS_NUMERIC]


TABLES: dict[str, Callable[[Path], tuple[pd.DataFrame, list[str]]]] = {
    "nhanes": read_nhanes,
    "support2": read_support2,
    "hepatitis": read_hepatitis,
}


def with_roles(frame: pd.DataFrame, coded: list[str]) -> pd.DataFrame:
    """Return a table in the benchmark's form: numbers as float64, the rest text."""
    columns = {}
    for name, column in frame.items():
        values = column.to_numpy(dtype=object)
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(dtype=float)
            if name in coded:
                values = [None if np.isnan(v) else f"{v:g}" for v in values]
        columns[name] = pd.Series(values, frame.index)
    return pd.DataFrame(columns)


def broken_laws(values: np.ndarray, observed: np.ndarray) -> dict[str, np.ndarray]:
    """Flag the numbers that break a law which every observed value of a column keeps.

    The laws: one of two values; a whole number; not negative; a share, up to 1.
    """
    known = np.unique(observed)
    never = np.zeros(len(values), dtype=bool)
    gap = np.abs(values[:, None] - known).min(axis=1)
    fraction = np.abs(values - np.round(values)) > 1e-6
    two_valued = len(known) == 2
    whole = bool(np.all(known == np.round(known))) and not two_valued
    positive = known.min() >= 0 and not two_valued
    share = positive and known.max() <= 1
    return {
        "other_value": gap > 1e-6 if two_valued else never,
        "fraction": fraction if whole else never,
        "negative": values < 0 if positive else never,
        "above_one": values > 1 if share else never,
    }


def nearest_code(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return the observed value next to each number."""
    known = np.unique(observed)
    return known[np.abs(values[:, None] - known).argmin(axis=1)]


def fill_macfm(
    shown: pd.DataFrame, seed: int
) -> tuple[pd.DataFrame, list[pd.DataFrame], float, float]:
    """Return the completed table, draws, and the seconds for either."""
    began = time.perf_counter()
    imputer = MACFMImputer(random_state=seed, device="cpu", verbose=False)
    filled = imputer.fit_transform(shown)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    draws = imputer.sample(shown, N_DRAWS)
    return filled, draws, seconds, time.perf_counter() - began


def fill_other(
    name: str, shown: pd.DataFrame, coded: list[str], seed: int
) -> tuple[pd.DataFrame, list[pd.DataFrame], float, float]:
    """As `fill_macfm`, by a method of the benchmark."""
    table = with_roles(shown, coded)
    method = make_method(name, seed=seed, n_threads=1)
    began = time.perf_counter()
    filled = method.fit(table).impute(table)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    draws = method.draw(table, N_DRAWS) if method.draws else []
    return filled, draws, seconds, time.perf_counter() - began


def score(
    filled: pd.DataFrame,
    draws: list[pd.DataFrame],
    truth: pd.DataFrame,
    hidden: pd.DataFrame,
    coded: list[str],
) -> dict[str, Any]:
    """Compare a completed table with what was hidden.

    A category counts as right if it is the code itself; `categories_nearest` takes a
    number between codes for the nearest. Numbers are measured in standard deviations of
    the cells left. Illegal values are counted in all numbers filled, as they came.
    """
    shown, plain = with_roles(truth.mask(hidden), coded), with_roles(truth, coded)
    guess = with_roles(filled, coded)
    drawn = [with_roles(draw, coded) for draw in draws]
    hits, close, misses, baseline, held = [], [], [], [], []
    illegal: dict[str, int] = {}
    n_filled = n_illegal = 0
    for name in truth:
        rows = hidden[name].to_numpy()
        holes = truth[name].isna().to_numpy() | rows
        wanted = plain[name].to_numpy()[rows]
        hit = guess[name].to_numpy()[rows] == wanted
        near = hit
        if pd.api.types.is_numeric_dtype(truth[name]):
            values = filled[name].to_numpy()[holes].astype(float)
            seen = truth[name].to_numpy(dtype=float)[~holes]
            laws = broken_laws(values, seen)
            n_filled += len(values)
            n_illegal += int(np.any(list(laws.values()), axis=0).sum())
            for law, flags in laws.items():
                illegal[law] = illegal.get(law, 0) + int(flags.sum())
            hidden_truth = truth[name].to_numpy(dtype=float)[rows]
            near = nearest_code(values[rows[holes]], seen) == hidden_truth
        if not pd.api.types.is_float_dtype(plain[name]):
            hits.append(hit)
            close.append(near)
            continue
        center, spread = shown[name].mean(), shown[name].std(ddof=0)
        if not rows.any() or shown[name].nunique() < 2:
            continue
        misses.append((guess[name].to_numpy()[rows] - wanted) / spread)
        baseline.append((center - wanted) / spread)
        if drawn:
            values = np.stack([draw[name].to_numpy()[rows] for draw in drawn])
            held += [coverage(values, wanted)] * len(wanted)
    error, unit = np.concatenate(misses), np.concatenate(baseline)
    return {
        "categories_right": float(np.concatenate(hits).mean()),
        "categories_nearest": float(np.concatenate(close).mean()),
        "rmse_over_mean": float(np.sqrt(np.mean(error**2) / np.mean(unit**2))),
        "illegal": n_illegal,
        "illegal_by_law": illegal,
        "illegal_share": n_illegal / max(n_filled, 1),
        "coverage_90": float(np.mean(held)) if held else None,
    }


def run(name: str, truth: pd.DataFrame, coded: list[str], seed: int) -> dict[str, Any]:
    """Hide, fill and score once; a method that fails says why."""
    hidden = mcar(truth, SHARE, seed=seed)
    shown = truth.mask(hidden)
    try:
        if name == "macfm":
            filled, draws, seconds, drawing = fill_macfm(shown, seed)
        else:
            filled, draws, seconds, drawing = fill_other(name, shown, coded, seed)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    scores = score(filled, draws, truth, hidden, coded)
    if draws:
        scores["seconds_draw"] = round(drawing, 1)
    return scores | {"seconds": round(seconds, 1)}


def line(result: dict[str, Any]) -> str:
    """Return a result in words."""
    if "error" in result:
        return f"failed: {result['error']}"
    covered, laws = result["coverage_90"], result["illegal_by_law"]
    beyond = sum(n for law, n in laws.items() if law != "fraction")
    return (
        f"categories {result['categories_right']:6.1%}   "
        f"RMSE / mean {result['rmse_over_mean']:.3f}   "
        f"illegal {result['illegal']:5d}, out of range {beyond:4d}   "
        f"coverage {'  -  ' if covered is None else f'{covered:5.1%}'}   "
        f"{result['seconds']:6.1f} s"
    )


def main() -> None:
    """Run every method on every table and seed, and write one record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2500, help="most rows of a table")
    parser.add_argument("--seeds", type=int, default=3, help="times cells are hidden")
    parser.add_argument("--methods", help="only these, comma-separated")
    parser.add_argument("--tables", help="only these, comma-separated")
    parser.add_argument("--data-dir", help="folder with natural/; else MACFM_DATA")
    parser.add_argument("--output", help="file to write the record to")
    options = parser.parse_args()
    folder = Path(options.data_dir or os.environ.get("MACFM_DATA", "."))
    there = [name for name in COMPARED if name == "macfm" or name in METHODS]
    methods = options.methods.split(",") if options.methods else there
    tables = options.tables.split(",") if options.tables else list(TABLES)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # convergence, and columns macfm points out
    record: dict[str, Any] = {
        "about": f"{SHARE:.0%} of the observed cells hidden at random",
        "n_draws": N_DRAWS,
        "machine": platform.machine(),
        "versions": {"macfm": __version__, "torch": torch.__version__},
        "tables": {},
    }
    for table in tables:
        truth, coded = TABLES[table](folder)
        rng = np.random.default_rng(SAMPLE_SEED)
        rows = np.sort(rng.permutation(len(truth))[: options.rows])
        truth = truth.iloc[rows].reset_index(drop=True)
        print(f"{table}, {len(truth):,} x {truth.shape[1]}", flush=True)
        results: dict[str, list[dict[str, Any]]] = {name: [] for name in methods}
        record["tables"][table] = {"shape": list(truth.shape), "results": results}
        for seed in range(options.seeds):
            for name in methods:
                with threadpool_limits(1):
                    result = run(name, truth, coded, seed)
                results[name].append({"seed": seed} | result)
                print(f"  {seed}  {name:<12} {line(result)}", flush=True)
                if options.output:  # after each, so that a run broken off is of use
                    text = json.dumps(record, indent=2) + "\n"
                    Path(options.output).write_text(text)


if __name__ == "__main__":
    main()
