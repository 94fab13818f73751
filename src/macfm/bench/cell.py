"""One place of the benchmark: split, hide, fit, impute, score, record.

Run as a module it reads a job from standard input and writes one record a line, those
of status "started" before a cell's outcome is known. That is how the runner keeps each
fit in a process of its own, and if need be in another environment.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from macfm.bench._machine import describe_machine, find_versions, peak_memory
from macfm.bench.datasets import DATASETS, LoadedTable, load_dataset, load_table
from macfm.bench.records import FORMAT, record_line
from macfm.bench.spec import Cell
from macfm.judge.mechanisms import STRUCTURAL, hide, realised_rate
from macfm.judge.methods import Method, check_learned, make_method
from macfm.judge.metrics import (
    Scale,
    draw_scores,
    illegal_scores,
    is_numeric,
    log_loss,
    point_scores,
)

__all__ = ["SPLIT_SEED", "Holes", "Job", "make_holes", "run_job"]

#: Seed of the split into training and test rows, the same for every method.
SPLIT_SEED = 1234
TRAIN_SHARE = 0.7
#: Quirks that belong to the masks rather than to a dataset.
MASK_QUIRKS = {
    "raw-drivers": "drive MAR and MNAR by raw instead of standardised values"
}


@dataclass(frozen=True)
class Job:
    """Cells that share a table, a mask and a fit, and how to run them."""

    cells: tuple[Cell, ...]
    #: Draws from methods that can draw.
    n_draws: int = 20
    #: Seed of the methods.
    seed: int = 0
    #: Where networks run.
    device: str = "auto"
    #: Threads of one job, and jobs at a time, for the record.
    n_threads: int = 1
    n_jobs: int = 1
    #: Folder with the datasets, or None for the usual order.
    data_dir: str | None = None
    #: A user's own file, in place of a registered dataset, and what is known of it: a
    #: column that is not a feature, numeric columns that are categories.
    table: str | None = None
    #: SHA-256 of that file when the run was planned.
    digest: str | None = None
    target: str | None = None
    categorical: tuple[str, ...] = ()
    #: Python files that register methods or datasets of their own.
    plugins: tuple[str, ...] = ()

    def asked(self, cell: Cell) -> str:
        """Return a digest of what else decides the outcome of a cell.

        A cell is known by its dataset, mask and method; this tells apart other
        settings, seeds, numbers of draws, and another file of the same name.
        """
        parts = (dict(cell.settings), self.seed, self.n_draws, self.digest, self.target)
        text = json.dumps([*parts, list(self.categorical)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def about_table(self) -> dict[str, Any] | None:
        """Return what a record says of a user's own file; None for a dataset."""
        if self.table is None:
            return None
        return {
            "file": Path(self.table).name,
            "target": self.target,
            "categorical": list(self.categorical),
        }

    def to_json(self) -> str:
        """Return the job as a line of text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Return the job that `to_json` wrote."""
        data = json.loads(text)
        data["cells"] = tuple(Cell.from_json(cell) for cell in data["cells"])
        lists = {name: tuple(data[name]) for name in ("plugins", "categorical")}
        return cls(**data | lists)


@dataclass(frozen=True)
class Holes:
    """A table split in two, with holes cut into both parts."""

    #: What methods see.
    train: pd.DataFrame
    test: pd.DataFrame
    #: What only the scores see.
    train_truth: pd.DataFrame
    test_truth: pd.DataFrame
    train_hidden: pd.DataFrame
    test_hidden: pd.DataFrame
    #: Units of the scores, from the observed cells of `train`.
    scale: Scale
    #: Seed of the masks.
    seed: tuple[int, ...]
    #: Columns without any observed training cell, which no method can learn from.
    left_out: tuple[str, ...] = ()


def make_holes(loaded: LoadedTable, cell: Cell) -> Holes:
    """Split a table by the fixed seed and hide cells of both parts separately.

    Rules that holes follow are those of the whole table, which is therefore hidden
    before it is split. A cell with a limit of training rows takes the first of them in
    the order of the split, so that fewer rows are a part of more; the test rows and
    their holes do not depend on it. A column that is left without any observed training
    cell is taken out of both parts.
    """
    order = np.random.default_rng(SPLIT_SEED).permutation(len(loaded.frame))
    n_train = int(TRAIN_SHARE * len(order))
    where = f"{cell.dataset}|{cell.mechanism}|{cell.rate:g}"
    seed = (cell.mask, zlib.crc32(where.encode()))
    whole: pd.DataFrame | None = None
    if cell.mechanism in STRUCTURAL:
        whole = hide(loaded.frame, cell.mechanism, cell.rate, seed=seed)
    parts = []
    for part, rows in enumerate((order[:n_train][: cell.rows], order[n_train:])):
        truth = loaded.frame.iloc[rows].reset_index(drop=True)
        if whole is not None:
            hidden = whole.iloc[rows].reset_index(drop=True)
        else:
            hidden = hide(
                truth,
                cell.mechanism,
                cell.rate,
                seed=[*seed, part],
                n_counted=loaded.n_columns_counted,
                raw_drivers="raw-drivers" in cell.quirks,
            )
        parts.append((truth, hidden, truth.mask(hidden)))
    shown = parts[0][-1].notna().any()
    parts = [tuple(frame.loc[:, shown] for frame in part) for part in parts]
    (train_truth, train_hidden, train), (test_truth, test_hidden, test) = parts
    return Holes(
        train=train,
        test=test,
        train_truth=train_truth,
        test_truth=test_truth,
        train_hidden=train_hidden,
        test_hidden=test_hidden,
        scale=Scale.of(train),
        seed=seed,
        left_out=tuple(shown.index[~shown].map(str)),
    )


def load_for(job: Job) -> LoadedTable:
    """Load the table a job is about."""
    if job.table is not None:
        return load_table(job.table, target=job.target, categorical=job.categorical)
    cell = job.cells[0]
    quirks = tuple(quirk for quirk in cell.quirks if quirk not in MASK_QUIRKS)
    return load_dataset(cell.dataset, data_dir=job.data_dir, quirks=quirks)


def import_plugins(paths: tuple[str, ...]) -> None:
    """Import Python files, which register what they define."""
    for path in (Path(path).resolve() for path in paths):
        name = f"macfm_plugin_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
        if name in sys.modules:
            continue
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise FileNotFoundError(f"no Python file {path} to take a plugin from")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


def run_job(
    job: Job, *, on_start: Callable[[dict[str, Any]], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Run the cells of a job, one fit for all, and yield a record for each.

    `on_start` is given each record when its cell begins, and again when its model is
    fitted: what is known of the cell if the process does not live to finish it.
    """
    try:
        import_plugins(job.plugins)
        holes = make_holes(load_for(job), job.cells[0])
    except Exception as error:
        for cell in job.cells:
            yield blank_record(cell, job) | {"status": "failed", "error": _line(error)}
        return
    fitted: Method | None = None
    fit_seconds = 0.0
    for cell in job.cells:
        record = blank_record(cell, job) | _about(holes)
        record["seeds"]["mask"] = list(holes.seed)
        if on_start:
            on_start(record)
        try:
            method = make_method(
                cell.method,
                seed=job.seed,
                device=job.device,
                n_threads=job.n_threads,
                **cell.settings,
            )
            if fitted is None:
                for name in method.imports:  # before the clock starts
                    importlib.import_module(name)
                began = time.perf_counter()
                method.fit(holes.train.copy())
                fit_seconds = time.perf_counter() - began
                fitted, shared = method, None
            else:
                method.adopt(fitted)
                shared = fitted.name
            record["fit_shared_with"] = shared
            record["seconds"] = {"fit": fit_seconds}
            if on_start:
                on_start(record)
            record |= _score(method, holes, job.n_draws)
            record["seconds"]["fit"] = fit_seconds
            record["settings"] = method.resolved()
            record["machine"] = _machine(job, method)
            record["status"] = "ok"
        except Exception as error:
            traceback.print_exc()
            record |= {"status": "failed", "error": _line(error)}
        record |= peak_memory()
        yield record


def blank_record(cell: Cell, job: Job) -> dict[str, Any]:
    """Return the record of a cell before anything has come of it."""
    method = make_method(cell.method, **cell.settings)
    return {
        "format": FORMAT,
        **cell.to_json(),
        "label": cell.label,
        "asked": job.asked(cell),
        "table": job.about_table(),
        "synthetic": _is_synthetic(cell, job),
        "status": "failed",
        "error": None,
        "inductive": method.inductive,
        "learned": method.learned,
        "seeds": {"split": SPLIT_SEED, "mask": None, "method": job.seed},
        "scores": None,
        "seconds": None,
        "peak_memory_mb": None,
        "peak_gpu_mb": None,
        "network_evaluations_per_row": None,
        "fit_shared_with": None,
        "machine": _machine(job, None),
        "versions": find_versions(method),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _score(method: Method, holes: Holes, n_draws: int) -> dict[str, Any]:
    """Impute both parts, check what came back, and score it."""
    parts = {
        "in": (holes.train, holes.train_truth, holes.train_hidden),
        "out": (holes.test, holes.test_truth, holes.test_hidden),
    }
    seconds: dict[str, float | None] = {"fit": None, "draw": None}
    scores: dict[str, dict[str, Any]] = {}
    for name, (table, truth, hidden) in parts.items():
        began = time.perf_counter()
        filled = method.impute(table.copy())
        seconds[f"impute_{name}"] = time.perf_counter() - began
        _check_completed(filled, table)
        check_learned(method, holes.train, filled, table)
        scores[name] = point_scores(filled, truth, hidden, holes.scale)
        scores[name] |= illegal_scores(filled, table, holes.train)
        absent = ("log_loss", "crps", "coverage_90", "spread_ratio", "energy")
        scores[name] |= dict.fromkeys(absent)
    table, truth, hidden = parts["out"]
    probabilities = method.probabilities(table.copy())
    if probabilities:
        scores["out"]["log_loss"] = log_loss(probabilities, truth, hidden)
    if method.draws:
        began = time.perf_counter()
        draws = method.draw(table.copy(), n_draws)
        seconds["draw"] = time.perf_counter() - began
        for draw in draws:
            _check_completed(draw, table)
        scores["out"] |= draw_scores(draws, truth, hidden, holes.scale)
    return {
        "scores": scores,
        "seconds": seconds,
        "n_draws": n_draws if method.draws else None,
        "network_evaluations_per_row": method.network_evaluations_per_row(),
    }


def _check_completed(filled: pd.DataFrame, table: pd.DataFrame) -> None:
    """Refuse a table that lost its shape, an observed cell, or kept a hole."""
    if list(filled.columns) != list(table.columns) or len(filled) != len(table):
        raise ValueError("the completed table has other rows or columns")
    for name in table:
        observed = table[name].notna().to_numpy()
        same = filled[name].to_numpy()[observed] == table[name].to_numpy()[observed]
        if not np.all(same):
            raise ValueError(f"observed cells of column {name!r} were changed")
        if filled[name].isna().any():
            raise ValueError(f"column {name!r} still has missing cells")
        if is_numeric(filled[name]) and not np.isfinite(filled[name]).all():
            raise ValueError(f"column {name!r} was filled with infinite values")


def _is_synthetic(cell: Cell, job: Job) -> bool:
    """Whether a cell is about values that a dataset of the registry makes up."""
    known = cell.dataset in DATASETS and job.table is None
    return known and DATASETS[cell.dataset].synthetic


def _machine(job: Job, method: Method | None) -> dict[str, Any]:
    """What the machine is, and how much of it a job has."""
    share = {"n_threads": job.n_threads, "jobs": job.n_jobs}
    return describe_machine(job.device, method) | share


def _about(holes: Holes) -> dict[str, Any]:
    """What a record says of its table and its masks."""
    rates = {}
    for part in ("train", "test"):
        truth, hidden = (getattr(holes, f"{part}_{of}") for of in ("truth", "hidden"))
        overall, columns = realised_rate(truth, hidden)
        names = map(str, truth.columns)
        rates[part] = {
            "overall": overall,
            "columns": dict(zip(names, columns.tolist(), strict=True)),
        }
    n_numeric = sum(pd.api.types.is_float_dtype(dtype) for dtype in holes.train.dtypes)
    return {
        "n_train": len(holes.train),
        "n_test": len(holes.test),
        "n_numeric": n_numeric,
        "n_categorical": holes.train.shape[1] - n_numeric,
        "realised_rate": rates,
        "columns_left_out": list(holes.left_out),
    }


def _line(error: BaseException) -> str:
    """An error as one line, without places on the machine."""
    text = " ".join(str(error).split())
    if not text:
        frames = traceback.extract_tb(error.__traceback__)
        text = f"without a message, in {frames[-1].name}" if frames else "no message"
    text = text.replace(str(Path.home()), "~")
    return f"{type(error).__name__}: {text}"[:500]


def main() -> None:
    """Run the job on standard input; records go to standard output, nothing else."""
    records = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a method prints does not mix with the records
    job = Job.from_json(sys.stdin.read())

    def write(record: dict[str, Any]) -> None:
        records.write(record_line(record))
        records.flush()

    started = {"status": "started"}
    for record in run_job(job, on_start=lambda record: write(record | started)):
        write(record)


if __name__ == "__main__":
    main()
