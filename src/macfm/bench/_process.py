"""The process a job runs in: what is said to it, what it answers, and its end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from macfm.bench.cell import Job

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def converse(
    job: Job, python: Path, *, limit: float, running: set[subprocess.Popen]
) -> tuple[list[dict[str, Any]], dict[str, Any] | None, dict[str, Any]]:
    """Give a job to a process, which is in the set `running` while it lives.

    Returns the finished records, what is known of a cell that was begun and not
    finished, and what became of the process. Each record may take `limit` seconds.
    """
    records, begun = [], None
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
        subprocess.Popen(
            [str(python), "-m", "macfm.bench.cell"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            env=_environment(job.n_threads),
        ) as process,
    ):
        running.add(process)
        outcome = {"status": "failed"}
        try:
            for record in _talk(process, job.to_json(), limit):
                if record["status"] == "started":
                    begun = record
                else:
                    records.append(record)
                    begun = None
                if len(records) == len(job.cells):
                    break
        except TimeoutError:
            reason = f"stopped after {limit:.0f} s"
            outcome = {"status": "timeout", "error": reason}
            kill(process)
        finally:
            _end(process)
            running.discard(process)
        log.seek(0)
        last = [line.strip() for line in log.read().splitlines() if line.strip()]
    if "error" not in outcome:
        said = f": {last[-1][:300]}" if last else ""
        outcome["error"] = f"the process ended with {process.returncode}{said}"
    return records, begun, outcome


def kill(process: subprocess.Popen) -> None:
    """End a process and those it started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass


def _talk(
    process: subprocess.Popen, message: str, limit: float
) -> Iterator[dict[str, Any]]:
    """Send a message and yield the records that come back.

    Raises TimeoutError if `limit` seconds pass without a finished one.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def pass_on() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=pass_on, daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # it may be dead already
        process.stdin.write(message)
        process.stdin.close()
    deadline = time.monotonic() + limit
    while True:
        try:
            line = lines.get(timeout=max(deadline - time.monotonic(), 0))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return
        if not line.endswith("\n"):  # a kill may leave half a line
            continue
        record = json.loads(line)
        yield record
        if record["status"] != "started":
            deadline = time.monotonic() + limit


def _end(process: subprocess.Popen, patience: float = 10) -> None:
    """Wait for a process that has said all, and end it if it stays."""
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        kill(process)


def _environment(n_threads: int) -> dict[str, str]:
    """The variables of a job's process."""
    threads = dict.fromkeys(THREAD_VARIABLES, str(n_threads))
    return dict(os.environ) | threads | {"PYTHONHASHSEED": "0"}
