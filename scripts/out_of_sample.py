"""Out-of-sample error on letter, magic and adult, 30 % MCAR.

70 % of the rows are for training, the rest for testing. Cells are hidden in both before
anything else sees the table; the imputer is fitted on the training rows and fills the
test rows without another fit. Errors are taken over hidden numeric cells of the test
rows, in units of the standard deviation of the observed training cells, and divided by
the error of filling in the training mean.

    python scripts/out_of_sample.py --data DIR --output records.jsonl
    python scripts/out_of_sample.py --table records.jsonl
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

SPLIT_SEED = 1234
RATE = 0.3
N_DRAWS = 20
TARGETS = {"letter": "lettr", "magic": "class", "adult": "income"}
PAPER = {"letter": (0.473, 0.528), "magic": (0.576, 0.685), "adult": (0.816, 0.940)}


def split_and_hide(frame: pd.DataFrame, mask: int) -> tuple[pd.DataFrame, ...]:
    """Return training rows, test rows with holes, and complete test rows."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(frame))
    n_train = int(0.7 * len(frame))
    train, test = frame.iloc[order[:n_train]], frame.iloc[order[n_train:]]
    rng = np.random.default_rng(mask)
    return (
        train.mask(rng.random(train.shape) < RATE),
        test.mask(rng.random(test.shape) < RATE),
        test,
    )


def scores(filled, holes, truth, center, scale) -> dict[str, float]:
    """Return 100 x MAE and RMSE over hidden numeric cells."""
    numeric = list(center.index)
    hidden = (holes[numeric].isna() & truth[numeric].notna()).to_numpy()
    miss = ((filled[numeric] - truth[numeric]) / scale).to_numpy(dtype=float)[hidden]
    return {
        "mae": 100 * float(np.abs(miss).mean()),
        "rmse": 100 * float(np.sqrt((miss**2).mean())),
    }


def accuracy(filled, holes, truth, numeric) -> float | None:
    """Return the share of hidden categorical cells filled with their true category."""
    hits = [
        (filled[name] == truth[name])[holes[name].isna() & truth[name].notna()]
        for name in truth
        if name not in numeric
    ]
    return float(np.mean(np.concatenate(hits))) if hits else None


def coverage(draws, holes, truth, numeric) -> float:
    """Return how often the 90 % interval of the draws holds the hidden value."""
    stacked = np.stack([draw[numeric].to_numpy(dtype=float) for draw in draws])
    low, high = np.quantile(stacked, [0.05, 0.95], axis=0)
    hidden = (holes[numeric].isna() & truth[numeric].notna()).to_numpy()
    values = truth[numeric].to_numpy(dtype=float)
    return float(((low <= values) & (values <= high))[hidden].mean())


def calibrated_coverage(n: int = 100_000) -> float:
    """Return what `coverage` gives when draws and truth have the same law."""
    rng = np.random.default_rng(0)
    truth, draws = rng.normal(size=n), rng.normal(size=(N_DRAWS, n))
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return float(np.mean((low <= truth) & (truth <= high)))


def run(dataset: str, mask: int, preset: str, data: str, device: str) -> list[dict]:
    """Fit one model and score its read-outs on the test rows."""
    import torch

    from macfm import MACFMImputer, __version__

    frame = pd.read_parquet(Path(data) / f"{dataset}.parquet")
    frame = frame.drop(columns=TARGETS[dataset])
    numeric = list(frame.select_dtypes("number"))
    frame[numeric] = frame[numeric].astype(float)
    train, holes, truth = split_and_hide(frame, mask)
    center, scale = train[numeric].mean(), train[numeric].std(ddof=0)
    baseline = scores(holes[numeric].fillna(center), holes, truth, center, scale)

    began = time.perf_counter()
    imputer = MACFMImputer(preset=preset, random_state=0, device=device).fit(train)
    fit_seconds = time.perf_counter() - began
    common = {
        "dataset": dataset,
        "mechanism": "MCAR",
        "rate": RATE,
        "mask": mask,
        "preset": preset,
        "split_seed": SPLIT_SEED,
        "n_train": len(train),
        "n_test": len(holes),
        "realised_rate": float(holes.isna().to_numpy().mean()),
        "mean_mae": baseline["mae"],
        "mean_rmse": baseline["rmse"],
        "fit_seconds": fit_seconds,
        "n_steps": imputer.n_steps_,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "versions": {
            "macfm": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "pandas": pd.__version__,
            "python": platform.python_version(),
        },
    }
    readouts = {"its own": {}}
    if preset != "paper":
        readouts = {
            "mean": {"method": "mean"},
            "median": {"method": "sample", "aggregate": "median"},
        }
    records = []
    for name, settings in readouts.items():
        imputer.set_params(**settings)
        began = time.perf_counter()
        filled = imputer.transform(holes)
        record = common | {"readout": name}
        record["transform_seconds"] = time.perf_counter() - began
        record |= scores(filled, holes, truth, center, scale)
        record["accuracy"] = accuracy(filled, holes, truth, numeric)
        records.append(record)
    draws = imputer.sample(holes, n_draws=N_DRAWS)
    records[0]["coverage_90"] = coverage(draws, holes, truth, numeric)
    return records


def table(records: list[dict]) -> str:
    """Return the records as a Markdown table, averaged over masks."""
    frame = pd.DataFrame(records)
    frame["mae_ratio"] = frame["mae"] / frame["mean_mae"]
    frame["rmse_ratio"] = frame["rmse"] / frame["mean_rmse"]
    lines = [
        "| dataset | preset | read-out | MAE x 100 | RMSE x 100 | MAE / Mean | "
        "RMSE / Mean | paper | fit s | masks |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    keys = ["dataset", "preset", "readout"]
    for (dataset, preset, readout), cells in frame.groupby(keys, sort=False):
        mean = cells.mean(numeric_only=True)
        printed = PAPER[dataset]
        lines.append(
            f"| {dataset} | {preset} | {readout} | {mean['mae']:.1f} | "
            f"{mean['rmse']:.1f} | {mean['mae_ratio']:.3f} | "
            f"{mean['rmse_ratio']:.3f} | {printed[0]:.3f} / {printed[1]:.3f} | "
            f"{mean['fit_seconds']:.0f} | {len(cells)} |"
        )
    lines += ["", f"Hidden numbers within the 90 % range of {N_DRAWS} draws, default:"]
    held = frame[frame["preset"] == "default"].groupby("dataset")["coverage_90"].mean()
    lines += [f"{dataset} {share:.2f}" for dataset, share in held.items()]
    lines.append(f"a calibrated sampler {calibrated_coverage():.2f}")
    return "\n".join(lines)


def main() -> None:
    """Run what was asked for, or print the table of a record file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with letter.parquet and the others")
    parser.add_argument("--datasets", nargs="+", default=list(TARGETS))
    parser.add_argument("--presets", nargs="+", default=["paper", "default"])
    parser.add_argument("--masks", type=int, default=2, help="number of masks")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--output", help="file to append records to")
    parser.add_argument("--table", help="print the table of this file and stop")
    options = parser.parse_args()
    if options.table:
        lines = Path(options.table).read_text(encoding="utf-8").splitlines()
        print(table([json.loads(line) for line in lines]))
        return
    if not options.data or not options.output:
        parser.error("--data and --output are needed")
    jobs = [
        (dataset, mask, preset, options.data, options.device)
        for preset in options.presets
        for dataset in options.datasets
        for mask in range(options.masks)
    ]
    records = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, *job) for job in jobs]):
            records += future.result()
            with Path(options.output).open("a", encoding="utf-8") as file:
                for record in future.result():
                    file.write(json.dumps(record) + "\n")
            print(f"{len(records)} records", file=sys.stderr, flush=True)
    print(table(sorted(records, key=lambda r: (r["dataset"], r["preset"]))))


if __name__ == "__main__":
    main()
