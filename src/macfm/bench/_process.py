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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from macfm.bench.cell import Job

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
#: Seconds for a process to go, or to be found dead.
PATIENCE = 10.0
GLANCE = 0.5


class Processes:
    """The processes that run, and whether new ones may."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def stop(self) -> None:
        """End them all, and every one that is started from now on."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                kill(process)

    @contextlib.contextmanager
    def started(self, command: list[str], **options: Any) -> Iterator[subprocess.Popen]:
        """Start a process; at the end of the block it is ended with its children."""
        process = subprocess.Popen(command, start_new_session=True, **options)
        with self._lock:
            self._running.add(process)
            if self.stopped:
                kill(process)
        try:
            yield process
        finally:
            kill(process)
            process.wait()
            with self._lock:
                self._running.discard(process)


def converse(
    job: Job,
    python: Path,
    *,
    limit: float,
    processes: Processes,
    on_record: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[list[dict[str, Any]], dict[str, Any] | None, dict[str, Any]]:
    """Give a job to a process; each of its records may take `limit` seconds.

    `on_record` is given each record as soon as it is finished. Returns the finished
    records, what is known of a cell that was begun and not finished, and what became of
    the process.
    """
    records: list[dict[str, Any]] = []
    begun, outcome = None, {"status": "failed"}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        with processes.started(
            [str(python), "-m", "macfm.bench.cell"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            env=_environment(job.n_threads),
        ) as process:
            try:
                for record in _talk(process, job.to_json(), limit):
                    if record["status"] == "started":
                        begun = record
                        continue
                    records.append(record)
                    if on_record is not None:
                        on_record(record)
                    begun = None
                    if len(records) == len(job.cells):
                        return records, None, {"status": "ok"}
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)  # it has closed its pipe: let it go
            except TimeoutError:
                reason = f"stopped after {limit:.0f} s"
                outcome = {"status": "timeout", "error": reason}
        log.seek(0)
        last = [line.strip() for line in log.read().splitlines() if line.strip()]
    if "error" not in outcome:
        said = f": {last[-1][:300]}" if last else ""
        outcome["error"] = f"the process ended with {process.returncode}{said}"
    return records, begun, outcome


def kill(process: subprocess.Popen) -> None:
    """End a process and those it started."""
    # A group whose members are all dead is not found, or on macOS not permitted.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _talk(
    process: subprocess.Popen, message: str, limit: float
) -> Iterator[dict[str, Any]]:
    """Send a message and yield the records that come back, until the process ends.

    Raises TimeoutError if `limit` seconds pass without a finished one. Each end of the
    two pipes belongs to a thread, which also closes it: a process that does not read,
    or that leaves a child with its pipe behind, keeps nobody waiting.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None

    def send() -> None:
        # A dead process breaks the pipe, on Windows as an invalid argument.
        with contextlib.suppress(OSError), stdin:
            stdin.write(message)

    def pass_on() -> None:
        with stdout:
            for line in stdout:
                lines.put(line)
        lines.put(None)

    for task in (send, pass_on):
        threading.Thread(target=task, daemon=True).start()
    deadline = time.monotonic() + limit
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            line = lines.get(timeout=min(left, GLANCE))
        except queue.Empty:
            if process.poll() is not None and lines.empty():
                return  # it is dead, and a child of it holds the pipe
            continue
        if line is None:
            return
        record = _parse(line)
        if record is None:
            continue
        yield record
        if record["status"] != "started":
            deadline = time.monotonic() + limit


def _parse(line: str) -> dict[str, Any] | None:
    """A line as a record; None if it is not one, or was cut off by a kill."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "status" in record else None


def _environment(n_threads: int) -> dict[str, str]:
    """The variables of a job's process."""
    threads = dict.fromkeys(THREAD_VARIABLES, str(n_threads))
    return dict(os.environ) | threads | {"PYTHONHASHSEED": "0"}
