"""Measure what leaks and faults of published comparisons are worth.

    python scripts/leaks.py --jobs 2 --output benchmarks/leaks.json
    python scripts/leaks.py --show benchmarks/leaks.json

Each fault is put into one of the benchmark's own methods: it is shown what it must not
see, or its answer is changed before it is scored. The same method without the fault,
with the same seed, settings, rows and cells, stands beside it. Errors are told over
those of the method without it, in-sample (training rows) and out-of-sample (rows that
were not fitted on). `--show` prints a record as the tables of the documentation.

Nothing here is registered: no command and no function of macfm can reach a fault.
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.distributions import StudentT

from macfm.bench._machine import describe_machine, find_versions
from macfm.bench.cell import SPLIT_SEED, Holes, make_holes
from macfm.bench.datasets import load_dataset
from macfm.bench.report._published import published
from macfm.bench.spec import Cell
from macfm.judge.learned import _edm
from macfm.judge.learned._base import MinMax, Rows
from macfm.judge.learned.miwae import _Cells
from macfm.judge.learned.tabcsdi import _signed
from macfm.judge.methods import METHODS, Method, make_method
from macfm.judge.methods._encoding import TableCode
from macfm.judge.methods._learned import LearnedMethod
from macfm.judge.metrics import Scale, point_scores

MECHANISM, RATE = "mcar", 0.3
PARTS = ("in", "out")
#: Over the quick settings, so that a core measures a table in half an hour. TabCSDI is
#: told columns before its first attention and learns sooner to use a row. GAIN has its
#: authors' steps, since fewer are one of the faults.
SMALLER: dict[str, dict[str, Any]] = {
    "grape": {"n_steps": 4_000},
    "igrm": {"n_steps": 4_000},
    "gain": {"n_steps": 10_000},
    "tabcsdi": {
        "columns_first": True,
        "n_steps": 3_000,
        "learning_rate": 1e-3,
        "d_model": 32,
        "n_levels": 50,
    },
}
#: Diffusions take minutes to fill: the most rows they are given in each part, then.
FEW_ROWS = {"tabcsdi": 256, "missdiff": 256}
#: A table whose source lists some rows twice.
TWINS = "gesture"
#: Tables of the paper that anyone can have.
PUBLIC = ("letter", "gesture", "magic", "bean", "adult", "default", "shoppers", "news")

Scores = dict[str, dict[str, float]]
"""`mae` and `rmse` by part."""


class Trial:
    """One method on one table, without a fault.

    Parameters
    ----------
    name : str
        A registered method.
    holes : Holes
        The table, split, with cells hidden.
    settings : mapping
        The method's settings.
    seed : int
        Seed of the method.
    device : str
        Where networks run.
    n_scored : int or None
        Most rows to fill and score in each part; None for all.
    """

    def __init__(
        self,
        name: str,
        holes: Holes,
        settings: Mapping[str, Any],
        *,
        seed: int,
        device: str,
        n_scored: int | None,
    ) -> None:
        self.name = name
        self.holes = holes
        self.settings = settings
        self.seed = seed
        self.device = device
        rows = slice(n_scored)
        self.tables = {"in": holes.train[rows], "out": holes.test[rows]}
        self._truth = {"in": holes.train_truth[rows], "out": holes.test_truth[rows]}
        self._hidden = {"in": holes.train_hidden[rows], "out": holes.test_hidden[rows]}

    def make(self, **settings: Any) -> Method:
        """Return the method before it is fitted."""
        settings = {**self.settings, **settings}
        return make_method(self.name, seed=self.seed, device=self.device, **settings)

    @cached_property
    def fitted(self) -> Method:
        """The method, fitted on the training rows with their holes."""
        return self.make().fit(self.holes.train)

    @cached_property
    def filled(self) -> dict[str, pd.DataFrame]:
        """Both parts as it fills them."""
        return self.fill(self.fitted)

    def fill(self, method: Method) -> dict[str, pd.DataFrame]:
        """Return both parts as a method fills them."""
        return {part: method.impute(table) for part, table in self.tables.items()}

    def score(self, filled: Mapping[str, pd.DataFrame]) -> Scores:
        """Score filled parts as the benchmark does."""
        return self.score_in(self.holes.scale, filled)

    def score_in(self, scale: Scale, filled: Mapping[str, pd.DataFrame]) -> Scores:
        """Score filled parts in units of another scale."""
        scores = {}
        for part, table in filled.items():
            truth, hidden = self._truth[part], self._hidden[part]
            found = point_scores(table, truth, hidden, scale)
            scores[part] = {name: found[name] for name in ("mae", "rmse")}
        return scores

    def score_restandardised(self, filled: Mapping[str, pd.DataFrame]) -> Scores:
        """Score each filled column in its own mean and spread, the truth in others.

        The truth is measured by the complete training rows.
        """
        scale = Scale.of(self.holes.train_truth)
        moved = {part: moved_to(scale, table) for part, table in filled.items()}
        return self.score_in(scale, moved)


def moved_to(scale: Scale, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose numeric columns are given the mean and spread of `scale`."""
    numbers = table[scale.columns]
    values = Scale.of(numbers).apply(numbers)
    columns = values * scale.spread.to_numpy() + scale.center.to_numpy()
    return table.assign(**dict(zip(scale.columns, columns.T, strict=True)))


def complete_rows(trial: Trial) -> Scores:
    """Train on the complete training rows: every cell counts as observed."""
    return trial.score(trial.fill(trial.make().fit(trial.holes.train_truth)))


def complete_moments(trial: Trial) -> Scores:
    """Standardise by mean and spread of the complete training rows."""
    method = trial.make()
    method.code_ = TableCode.fit(trial.holes.train_truth)
    method.learn(method.code_.one_hot(trial.holes.train))
    return trial.score(trial.fill(method))


def complete_range(trial: Trial) -> Scores:
    """Scale to [0, 1] by least and largest value of the complete training rows."""
    method = trial.make()
    method.code_ = TableCode.fit(trial.holes.train)
    complete = method._rows(method.code_.one_hot(trial.holes.train_truth))
    fit = MinMax.fit
    with patch.object(MinMax, "fit", lambda rows, columns: fit(complete, columns)):
        method.learn(method.code_.one_hot(trial.holes.train))
    return trial.score(trial.fill(method))


def own_range(trial: Trial) -> Scores:
    """Scale test rows to [0, 1] by themselves, complete, and not by training rows."""
    method = with_own_model(trial.fitted)
    complete = method._rows(method.code_.one_hot(trial.holes.test_truth))
    method.model_._scale = MinMax.fit(complete, method.model_.columns)
    return trial.score({"out": method.impute(trial.tables["out"])})


def restandardised(trial: Trial) -> Scores:
    """Score filled columns in units of their own mean and spread."""
    return trial.score_restandardised(trial.filled)


def not_put_back(trial: Trial) -> Scores:
    """Keep what the diffusion leaves at observed cells, then re-standardise."""
    raw = {part: raw_fill(trial.fitted, table) for part, table in trial.tables.items()}
    return trial.score_restandardised(raw)


@torch.no_grad()
def raw_fill(method: Method, table: pd.DataFrame) -> pd.DataFrame:
    """Return TabCSDI's medians of all cells, with none held at its observed value.

    The network sees observed cells as ever; the walk is told of none, so that it lets
    them drift by what the network says where nothing was ever asked of it.
    """
    model = copy.copy(method.model_)
    rows = method._rows(method.code_.one_hot(table))
    filled = torch.empty_like(rows.x)
    size = model.batches(model.settings["n_samples"]).n_rows
    for place, part in rows.chunks(size):
        x, shown = _signed(part, model.columns), part.observed

        def network(_x: Tensor, noisy: Tensor, _shown: Tensor, level: Tensor) -> Tensor:
            # Several samples of the rows may come at once.
            seen = (a.repeat(len(noisy) // len(a), 1) for a in (x, shown))  # noqa: B023
            known, where = seen
            return method.model_.network(known, noisy, where, level)

        model.network = network
        none = torch.zeros_like(shown)
        walked = model.fill(Rows(part.x, none, part.keys))
        filled[place] = walked[: place.stop - place.start]
    values = method.code_.from_one_hot(filled.double().cpu().numpy())
    return pd.DataFrame(values, index=table.index, columns=table.columns)


def half_network(trial: Trial) -> Scores:
    """Leave two of IGRM's layers out where test rows are filled, re-standardise."""
    method = copy.deepcopy(trial.fitted)
    method.model_._friends = lambda rows, shares, friends: rows
    method.model_._head.node = nn.Identity()
    out = method.impute(trial.tables["out"])
    return trial.score_restandardised({"out": out})


def one_unit(trial: Trial) -> Scores:
    """Give MIWAE's networks one hidden unit and one latent dimension."""
    method = trial.make(width=1, n_latents=1).fit(trial.holes.train)
    return trial.score(trial.fill(method))


def one_unit_drawn(trial: Trial) -> Scores:
    """In addition weigh ten draws of the cells in place of their means."""
    method = trial.make(width=1, n_latents=1, n_samples=10).fit(trial.holes.train)
    with torch.random.fork_rng(), patch.object(_Cells, "mean", drawn_cells):
        torch.manual_seed(trial.seed)
        return trial.score(trial.fill(method))


def drawn_cells(cells: _Cells) -> Tensor:
    """Draw numbers from their Student t."""
    numbers = StudentT(cells.freedom, cells.center, cells.scale).sample()
    return cells.layout.join(numbers, cells.log_shares.exp())


def settings_dropped(trial: Trial) -> Scores:
    """Train GAIN with the steps and the weight that a port's lost settings leave."""
    n_steps, alpha = (trial.make().settings[name] for name in ("n_steps", "alpha"))
    method = trial.make(n_steps=n_steps // 10, alpha=alpha / 10)
    return trial.score(trial.fill(method.fit(trial.holes.train)))


def refitted(trial: Trial) -> Scores:
    """Fit again on the test rows, with their holes, as many as there were others."""
    method = trial.make().fit(trial.holes.test[: len(trial.holes.train)])
    return trial.score({"out": method.impute(trial.tables["out"])})


def weights_of_others(trial: Trial) -> Scores:
    """Let every row's weight of its noise level meet the errors of all rows."""
    with patch.object(_edm, "edm_loss", mixed_loss):
        method = trial.make().fit(trial.holes.train)
    return trial.score(trial.fill(method))


def mixed_loss(
    denoise: Callable[[Tensor, Tensor], Tensor],
    noisy: Tensor,
    sigma: Tensor,
    x: Tensor,
    counted: Tensor,
) -> Tensor:
    """As `edm_loss`, but for a product of shapes (n, 1) and (n_cells,).

    Its mean over both is the product of two means.
    """
    weight = (sigma.square() + 0.25) / (sigma / 2).square()
    squared = (denoise(noisy, sigma) - x).square().masked_fill(~counted, 0.0)
    return weight.mean() * squared.sum() / counted.sum().clamp(min=1)


def with_own_model(method: Method) -> Method:
    """Return a copy whose model may be changed and shares all it has learned."""
    method = copy.copy(method)
    method.model_ = copy.copy(method.model_)
    return method


@dataclass(frozen=True)
class Fault:
    """One thing done wrong, and the methods to show it with."""

    about: str
    """What is done wrong, in a few words."""
    methods: tuple[str, ...]
    """Names in the registry."""
    score: Callable[[Trial], Scores]
    """Scores of a trial with the fault."""


FAULTS = {
    "complete-rows": Fault(
        "hidden training cells are training targets",
        ("em", "knn", "miwae", "tabcsdi", "macfm"),
        complete_rows,
    ),
    "complete-moments": Fault(
        "standardised by complete rows", ("em", "knn", "miwae"), complete_moments
    ),
    "complete-range": Fault("min-max by complete rows", ("mcflow",), complete_range),
    "own-range": Fault(
        "test rows min-maxed by themselves", ("grape", "mcflow", "gain"), own_range
    ),
    "restandardised": Fault(
        "predictions re-standardised",
        (
            *("mean", "knn", "em", "grape", "igrm", "miwae", "gain", "mcflow"),
            *("tabcsdi", "macfm"),
        ),
        restandardised,
    ),
    "not-put-back": Fault(
        "observed cells not put back, re-standardised", ("tabcsdi",), not_put_back
    ),
    "half-network": Fault(
        "two layers left out, re-standardised", ("igrm",), half_network
    ),
    "one-unit": Fault("one hidden unit, one latent", ("miwae",), one_unit),
    "one-unit-drawn": Fault(
        "the same, ten draws in place of means", ("miwae",), one_unit_drawn
    ),
    "settings-dropped": Fault(
        "a tenth of the steps and of the weight", ("gain",), settings_dropped
    ),
    "refitted": Fault("fitted again on the test rows", ("gain",), refitted),
    "weights-of-others": Fault(
        "weights of other rows", ("missdiff",), weights_of_others
    ),
}


def ratios(scores: Scores, base: Scores) -> Scores:
    """Return scores over others, where they are known."""
    return {
        part: {name: value / base[part][name] for name, value in found.items()}
        for part, found in scores.items()
    }


def make_trial(name: str, holes: Holes, options: argparse.Namespace) -> Trial:
    """Return a trial with the settings asked for, quick ones unless in full."""
    settings: dict[str, Any] = {}
    n_scored = options.scored
    if not options.full:
        settings |= SMALLER.get(name, {})
        settings |= {"quick": True} if issubclass(METHODS[name], LearnedMethod) else {}
        n_scored = min(n_scored, FEW_ROWS.get(name, n_scored))
    return Trial(
        name,
        holes,
        settings,
        seed=options.seed,
        device=options.device,
        n_scored=n_scored,
    )


def hide(
    table: str, options: argparse.Namespace, *, rows: int | None, quirk: str = ""
) -> Holes:
    """Load a table, with a quirk of its source or without, and hide cells."""
    quirks = (quirk,) if quirk else ()
    cell = Cell(table, quirks, MECHANISM, RATE, options.mask, "mean", rows=rows)
    return make_holes(
        load_dataset(table, data_dir=options.data_dir, quirks=quirks), cell
    )


def measure(table: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run methods without and with the faults on one table."""
    torch.set_num_threads(1)
    holes = hide(table, options, rows=options.rows)
    methods, faults = {}, []
    shown = {name for fault in options.faults for name in FAULTS[fault].methods}
    for name in (name for name in METHODS if name in shown):
        trial = make_trial(name, holes, options)
        with threadpool_limits(1):
            began = time.perf_counter()
            honest = trial.score(trial.filled)
            mean = trial.score(trial.fill(make_method("mean").fit(holes.train)))
            methods[name] = {
                "settings": trial.fitted.resolved(),
                "rows scored": {part: len(rows) for part, rows in trial.tables.items()},
                "scores": honest,
                "over mean": ratios(honest, mean),
                "seconds": round(time.perf_counter() - began, 1),
            }
            print(f"{table}: {name}", json.dumps(rounded(honest)), flush=True)
            for fault in options.faults:
                if name not in FAULTS[fault].methods:
                    continue
                began = time.perf_counter()
                found = FAULTS[fault].score(trial)
                told = {
                    "fault": fault,
                    "method": name,
                    "scores": found,
                    "over honest": ratios(found, honest),
                    "seconds": round(time.perf_counter() - began, 1),
                }
                faults.append(told)
                ratio = json.dumps(rounded(told["over honest"]))
                print(f"{table}: {name}, {fault}", ratio, flush=True)
    return {
        "n_train": len(holes.train),
        "n_test": len(holes.test),
        "n_columns": holes.train.shape[1],
        "seed of the mask": list(holes.seed),
        "methods": methods,
        "faults": faults,
    }


def measure_twins(options: argparse.Namespace) -> dict[str, Any]:
    """Score test rows of gesture, of which some were trained on, over column means."""
    found: dict[str, Any] = {}
    for told, quirk in (("without twins", ""), ("with twins", "twin-video")):
        holes = hide(TWINS, options, rows=None, quirk=quirk)
        trained = set(holes.train_truth.itertuples(index=False, name=None))
        rows = list(holes.test_truth.itertuples(index=False, name=None))
        found[told] = {
            "n_train": len(holes.train),
            "n_test": len(rows),
            "share of test rows trained on": float(
                np.mean([row in trained for row in rows])
            ),
            "over mean": {},
        }
        mean = make_trial("mean", holes, options)
        for name in ("knn", "em"):
            trial = make_trial(name, holes, options)
            over = ratios(trial.score(trial.filled), mean.score(mean.filled))
            found[told]["over mean"][name] = over
        print(TWINS, told, json.dumps(found[told]), flush=True)
    return found


def printed() -> dict[str, Any]:
    """Return what the paper prints under MCAR: errors, and in-sample over out."""
    found: dict[str, Any] = {}
    for metric in ("mae", "rmse"):
        within, beyond = (published(metric, MECHANISM, part) for part in PARTS)
        for method in (name for name in within if name in beyond):
            both = {
                table: {"in": within[method][table], "out": beyond[method][table]}
                for table in PUBLIC
                if table in within[method] and table in beyond[method]
            }
            logs = [np.log(one["in"] / one["out"]) for one in both.values()]
            told = found.setdefault(method, {})
            told[metric] = both
            told[f"{metric}, in over out"] = float(np.exp(np.mean(logs)))
    return found


def rounded(scores: Scores) -> Scores:
    """Round scores for the terminal."""
    return {
        part: {name: round(value, 3) for name, value in found.items()}
        for part, found in scores.items()
    }


def pair(scores: Mapping[str, float], *, factor: int = 1, digits: int = 2) -> str:
    """Write MAE and RMSE."""
    return " / ".join(f"{factor * scores[name]:.{digits}f}" for name in ("mae", "rmse"))


def fault_table(record: Mapping[str, Any], fault: str) -> str:
    """Return what a fault does, as a table in Markdown."""
    lines = [
        "| table, method | in-sample | with the fault | ratio "
        "| out-of-sample | with the fault | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for table, found in record["tables"].items():
        for told in found["faults"]:
            if told["fault"] != fault:
                continue
            name = told["method"]
            cells = [f"{table}, {METHODS[name].title}"]
            for part in PARTS:
                if part not in told["scores"]:
                    cells += ["", "", ""]
                    continue
                honest = found["methods"][name]["scores"][part]
                cells += [
                    pair(honest, factor=100, digits=1),
                    pair(told["scores"][part], factor=100, digits=1),
                    pair(told["over honest"][part]),
                ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and write one record, or show one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="letter,magic", help="comma-separated")
    parser.add_argument("--faults", default=",".join(FAULTS), help="comma-separated")
    parser.add_argument("--rows", type=int, default=2000, help="training rows; 0: all")
    parser.add_argument("--scored", type=int, default=2000, help="rows scored a part")
    parser.add_argument("--full", action="store_true", help="the authors' sizes")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--mask", type=int, default=0, help="number of the mask")
    parser.add_argument("--seed", type=int, default=0, help="seed of the methods")
    parser.add_argument("--jobs", type=int, default=1, help="tables at a time")
    parser.add_argument("--data-dir", default=os.environ.get("MACFM_DATA"))
    parser.add_argument("--output", type=Path, help="file to write the record to")
    parser.add_argument("--show", type=Path, help="print this record as tables")
    options = parser.parse_args()
    if options.show:
        record = json.loads(options.show.read_text(encoding="utf-8"))
        for name, fault in FAULTS.items():
            print(f"{name}: {fault.about}\n\n{fault_table(record, name)}\n")
        return
    options.faults = options.faults.split(",")
    unknown = sorted(set(options.faults) - set(FAULTS))
    if unknown:
        known = ", ".join(FAULTS)
        parser.error(f"there is no fault {unknown[0]!r}; faults are {known}")
    options.rows = options.rows or None
    tables = options.tables.split(",")
    beside = {TWINS: measure_twins(options), "printed": printed()}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        found = list(pool.map(partial(measure, options=options), tables))
    arguments = [Path(sys.argv[0]).name, *sys.argv[1:]]
    record = {
        "about": f"{RATE:.0%} of the cells hidden at random ({MECHANISM})",
        "command": shlex.join(["python", f"scripts/{arguments[0]}", *arguments[1:]]),
        "seeds": {"split": SPLIT_SEED, "mask": options.mask, "method": options.seed},
        "machine": describe_machine(options.device, make_method("gain")),
        "versions": find_versions(make_method("gain")),
        "tables": dict(zip(tables, found, strict=True)),
    } | beside
    if options.output:
        text = json.dumps(record, indent=1) + "\n"
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
