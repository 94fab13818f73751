"""Tell whether pooled slopes are right where holes lie beyond what was observed.

    python scripts/linear_tables.py --output linear_tables.json

Linear tables of normal columns, of which all but the first lose cells with a
probability that rises with the first (a logistic of strength 2), so that most holes lie
where few rows are complete. Each is filled 20 times by macfm and by the benchmark's
chained linear regressions (MICE), the last column is regressed on the others in each,
and the slopes are averaged. Told are the slopes' mean and scatter over seeds, and the
spread of the draws over their errors where the first column is low and where high.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from macfm import MACFMImputer, __version__
from macfm.judge.methods import make_method

N_DRAWS = 20
METHODS = ("macfm", "mice")


def make_table(n: int, d: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a complete table and which of its cells are hidden."""
    rng = np.random.default_rng([seed, n, d])
    noise = rng.normal(size=(n, d))
    x = np.empty((n, d))
    x[:, 0] = noise[:, 0]
    for j in range(1, d):
        x[:, j] = 0.6 * x[:, 0] + 0.5 * (j > 1) * x[:, j - 1] + 0.7 * noise[:, j]
    hidden = rng.random((n, d)) < 1 / (1 + np.exp(0.5 - 2 * x[:, [0]]))
    hidden[:, 0] = False
    return pd.DataFrame(x, columns=[f"c{j}" for j in range(d)]), hidden


def true_slopes(d: int) -> np.ndarray:
    """Slopes of the last column on the others."""
    slopes = np.zeros(d - 1)
    slopes[0] = 0.6
    if d > 2:
        slopes[-1] = 0.5
    return slopes


def slopes_of(x: np.ndarray) -> np.ndarray:
    """Least-squares slopes of the last column on the others."""
    design = np.column_stack([np.ones(len(x)), x[:, :-1]])
    return np.linalg.lstsq(design, x[:, -1], rcond=None)[0][1:]


def run(n: int, d: int, seed: int) -> dict[str, Any]:
    """Fill one table by every method."""
    warnings.simplefilter("ignore")
    complete, hidden = make_table(n, d, seed)
    table, truth = complete.mask(hidden), complete.to_numpy()
    found: dict[str, Any] = {"n": n, "d": d, "seed": seed}
    found["complete"] = slopes_of(truth)
    for name in METHODS:
        if name == "macfm":
            imputer = MACFMImputer(random_state=seed, verbose=False, device="cpu")
            draws = imputer.fit(table).sample(table, N_DRAWS)
        else:
            draws = make_method(name, seed=seed).fit(table).draw(table, N_DRAWS)
        stack = np.stack([np.asarray(draw) for draw in draws])
        found[name] = np.mean([slopes_of(draw) for draw in stack], axis=0)
        high = truth[:, [0]] > 0
        for region, cells in (("low", hidden & ~high), ("high", hidden & high)):
            spread = stack.var(axis=0, ddof=1)[cells].mean()
            error = ((stack.mean(axis=0) - truth)[cells] ** 2).mean()
            # The mean of m draws has 1/m of their variance beside its own error.
            found[f"{name}, {region}"] = spread / (error * N_DRAWS / (N_DRAWS + 1))
    return found


def summary(runs: list[dict[str, Any]], n: int, d: int) -> dict[str, Any]:
    """Sum up the seeds of one size."""
    runs = [one for one in runs if (one["n"], one["d"]) == (n, d)]
    truth = true_slopes(d)
    told: dict[str, Any] = {"n": n, "d": d, "seeds": len(runs)}
    told["true slopes"] = [truth[0], truth[-1]]
    for name in ("complete", *METHODS):
        slopes = np.array([one[name] for one in runs])
        error = slopes.std(axis=0, ddof=1)
        told[name] = {
            "mean": slopes.mean(axis=0)[[0, -1]].round(4).tolist(),
            "standard error": (error / np.sqrt(len(runs)))[[0, -1]].round(4).tolist(),
            "scatter": round(float(np.sqrt((error**2).mean())), 4),
        }
        if name in METHODS:
            for region in ("low", "high"):
                ratio = np.mean([one[f"{name}, {region}"] for one in runs])
                told[name][f"spread / error, {region}"] = round(float(ratio**0.5), 3)
    ratio = told["macfm"]["scatter"] / told["mice"]["scatter"]
    told["scatter, macfm / mice"] = round(ratio, 3)
    return told


def main() -> int:
    """Run, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--sizes", default="200x2,200x5,200x10,1000x2,1000x5,1000x10")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in arguments.sizes.split(",")]
    results = []
    for n, d in sizes:
        runs = Parallel(n_jobs=arguments.jobs)(
            delayed(run)(n, d, seed) for seed in range(arguments.seeds)
        )
        results.append(summary(runs, n, d))
        print(json.dumps(results[-1]), flush=True)
    if arguments.output:
        record = {"macfm": __version__, "n_draws": N_DRAWS, "results": results}
        arguments.output.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
