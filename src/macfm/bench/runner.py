"""Runs a spec: every cell in a process of its own, every outcome a record."""

from __future__ import annotations

import hashlib
import os
import queue
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from macfm.bench._process import Processes, converse
from macfm.bench.cell import Job, blank_record, import_plugins
from macfm.bench.datasets import get_dataset
from macfm.bench.records import append_record, latest, read_records, record_key
from macfm.bench.spec import Cell, Spec
from macfm.judge.methods import METHODS, Method, make_method

__all__ = ["Plan", "find_peers", "interpreter_for", "make_plan"]

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Plan:
    """What is left to run of a spec, and where the records go."""

    #: Jobs in the order of the spec.
    jobs: tuple[Job, ...]
    #: Seconds for one cell; the first of a job has its loading and its fit in them.
    time_limit: float
    #: File of the records.
    output: Path
    #: Folder with the environments of `make peers`.
    peers: Path
    #: Cells that have a record already.
    n_done: int = 0
    #: Jobs at a time.
    n_jobs: int = 1

    @property
    def n_cells(self) -> int:
        """Cells left to run."""
        return sum(len(job.cells) for job in self.jobs)

    def run(self) -> Generator[dict[str, Any], None, None]:
        """Run what is left; each record is written, then yielded.

        Stopping the iteration, by an exception or Ctrl-C, ends the processes that run.
        What they had not finished has no record and is run again next time.
        """
        self.output.parent.mkdir(parents=True, exist_ok=True)
        pool, processes = ThreadPoolExecutor(self.n_jobs), Processes()
        # What the jobs have to tell: records, and None when one of them is over.
        told: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        try:
            futures = [
                pool.submit(self._run_job, job, processes, told) for job in self.jobs
            ]
            n_running = len(futures)
            while n_running:
                record = told.get()
                if record is None:
                    n_running -= 1
                    continue
                append_record(self.output, record)
                yield record
            for future in futures:
                future.result()  # an error of ours, of which no record tells
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()

    def _run_job(self, job: Job, processes: Processes, told: queue.SimpleQueue) -> None:
        """Run one job; whatever happens, each of its cells gets a record."""
        n_told = 0

        def tell(record: dict[str, Any]) -> None:
            nonlocal n_told
            told.put(record)
            n_told += 1

        try:
            self._attempt(job, processes, tell)
        except Exception as error:
            reason = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
            for cell in job.cells[n_told:]:
                tell(blank_record(cell, job) | reason)
        finally:
            told.put(None)

    def _attempt(self, job: Job, processes: Processes, tell: Tell) -> None:
        """Run one job in a process, and account for each of its cells in turn.

        A process that ends early takes the cell it is at with it. The cells after that
        one run in another process, unless the fit they share is what did not end.
        """
        method = METHODS[job.cells[0].method]
        python = interpreter_for(method, self.peers)
        if python is None:
            for cell in job.cells:
                tell(_unavailable(cell, job, method))
            return
        while job.cells and not processes.stopped:
            records, begun, outcome = converse(
                job,
                python,
                limit=self.time_limit,
                processes=processes,
                on_record=tell,
            )
            rest = job.cells[len(records) :]
            fitted = begun is not None and begun["seconds"] is not None
            n_lost = 1 if fitted else len(rest)
            for cell in rest[:n_lost]:
                known = blank_record(cell, job) if begun is None else begun
                about = cell.to_json() | {"label": cell.label, "asked": job.asked(cell)}
                tell(known | about | outcome)
            job = replace(job, cells=rest[n_lost:])


def make_plan(
    spec: Spec,
    output: str | Path,
    *,
    n_jobs: int = 1,
    n_threads: int | None = None,
    device: str = "auto",
    seed: int = 0,
    data_dir: str | None = None,
    table: str | None = None,
    target: str | None = None,
    categorical: Sequence[str] = (),
    plugins: Sequence[str] = (),
    peers: str | Path | None = None,
    retry: bool = False,
) -> Plan:
    """Work out what is left to run of a spec.

    Parameters
    ----------
    spec : Spec
        The run.
    output : path
        File of the records; cells with a record there are not run again.
    n_jobs : int, default=1
        Processes at a time.
    n_threads : int, default=None
        Threads of each; None shares the cores among the jobs.
    device : str, default="auto"
        Where networks run: "auto", "cpu", "cuda".
    seed : int, default=0
        Seed of the methods.
    data_dir : str, default=None
        Folder with the datasets; None for the usual order.
    table : str, default=None
        A user's own file; the spec's only dataset is then its name.
    target : str, default=None
        Column of that file to leave out of the features.
    categorical : sequence of str, default=()
        Numeric columns of that file to treat as categories.
    plugins : sequence of str, default=()
        Python files that register methods or datasets.
    peers : path, default=None
        Folder with the environments of `make peers`; None takes MACFM_PEERS or .peers.
    retry : bool, default=False
        Run again the cells whose record says that they failed.

    Returns
    -------
    plan : Plan
        The jobs, ready to run.
    """
    import_plugins(tuple(plugins))
    output = Path(output)
    cells = list({cell.key: cell for cell in spec.cells()}.values())
    for name in {cell.dataset for cell in cells} if table is None else ():
        get_dataset(name)  # an unknown name is an error before anything runs
    if n_threads is None:
        n_threads = max(1, (os.cpu_count() or 1) // n_jobs)
    common = Job(
        cells=(),
        n_draws=spec.n_draws,
        seed=seed,
        device=device,
        n_threads=n_threads,
        n_jobs=n_jobs,
        data_dir=data_dir,
        table=table,
        digest=None if table is None else _digest(table),
        target=target,
        categorical=tuple(categorical),
        plugins=tuple(str(Path(path).resolve()) for path in plugins),
    )
    done = {}
    if output.exists():
        for record in latest(read_records(output)):
            if not (retry and record["status"] != "ok"):
                done[record_key(record)] = record.get("asked")
    # Records of other settings or of another file do not count.
    pending = [
        cell
        for cell in cells
        if cell.key not in done or done[cell.key] not in (None, common.asked(cell))
    ]
    groups: dict[Any, list[Cell]] = {}
    for cell in pending:
        groups.setdefault(_group(cell), []).append(cell)
    return Plan(
        jobs=tuple(replace(common, cells=tuple(group)) for group in groups.values()),
        time_limit=spec.time_limit,
        output=output,
        peers=find_peers(peers),
        n_done=len(cells) - len(pending),
        n_jobs=n_jobs,
    )


def _digest(path: str) -> str:
    """SHA-256 of a file, read once for all cells."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def find_peers(folder: str | Path | None) -> Path:
    """Return the folder with the peers' environments: given, MACFM_PEERS or .peers."""
    return Path(folder or os.environ.get("MACFM_PEERS", ".peers"))


def interpreter_for(method: type[Method], peers: Path) -> Path | None:
    """Return the Python that has what a method requires, or None.

    The present one if it will do, else that of the method's environment in `peers`.
    """
    if all(_satisfied(requirement) for requirement in method.requires):
        return Path(sys.executable)
    if method.environment is not None:
        folder = peers.resolve() / method.environment
        for place in ("bin/python", "Scripts/python.exe"):
            if (folder / place).exists():
                return folder / place
    return None


def _satisfied(requirement: str) -> bool:
    """Whether the present environment has a distribution that will do."""
    from packaging.requirements import Requirement

    wanted = Requirement(requirement)
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return False
    return wanted.specifier.contains(version, prereleases=True)


def _group(cell: Cell) -> Any:
    """What cells must share to be run on one fit."""
    key = make_method(cell.method, **cell.settings).fit_key()
    return (*cell.place, cell.label if key is None else key)


def _unavailable(cell: Cell, job: Job, method: type[Method]) -> dict[str, Any]:
    """The record of a cell whose method is not installed."""
    needed = ", ".join(method.requires)
    error = f"needs {needed}; `make peers` builds an environment that has them"
    return blank_record(cell, job) | {"status": "unavailable", "error": error}
