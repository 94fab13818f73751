"""Fetching a file: whole or not at all, going on where an earlier try stopped."""

from __future__ import annotations

import http.client
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from macfm._progress import make_progress
from macfm._replace import move_file
from macfm._version import __version__
from macfm.bench.datasets._dataset import DatasetError

CHUNK = 1 << 16

logger = logging.getLogger("macfm")


class DownloadError(DatasetError):
    """A file that could not be fetched."""


class _InterruptedError(Exception):
    """A transfer that may succeed when tried again."""


def fetch(
    url: str,
    path: Path,
    *,
    attempts: int = 4,
    timeout: float = 30.0,
    pause: float = 1.0,
) -> None:
    """Fetch `url` into `path`.

    What arrives is kept in ``<path>.part`` until it is complete, so that a later call
    asks for the rest only.

    Parameters
    ----------
    url, path
        From where and to where; the folder is made if need be.
    attempts
        How often a broken transfer is taken up again before giving up.
    timeout
        Seconds without an answer after which a transfer counts as broken.
    pause
        Seconds to wait before the second attempt, doubled at each further one.

    Raises
    ------
    DownloadError
        If there is no connection, the server refuses, or every attempt broke off.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    columns = ("{task.description}", "bar", "bytes", "speed", "left")
    with make_progress(*columns) as bar:
        show = partial(bar.update, bar.add_task(path.name, total=None))
        for attempt in range(attempts):
            try:
                _transfer(url, part, timeout=timeout, show=show)
                break
            except _InterruptedError as error:
                logger.info("%s: %s", url, error)
                if attempt == attempts - 1:
                    raise DownloadError(
                        f"{url} broke off {attempts} times, last with: {error}. What "
                        f"has come so far is kept; the next try goes on from there"
                    ) from error
                time.sleep(pause * 2**attempt)
    move_file(part, path)
    _tag_of(part).unlink(missing_ok=True)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one process at a time work on a file; the lock ends with the process.

    Where the platform has no such locks (Windows), nothing is held back.
    """
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        except ImportError:
            pass
        yield


def _transfer(
    url: str, part: Path, *, timeout: float, show: Callable[..., None]
) -> None:
    """Bring `part` from where it stands to the end of the file."""
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": f"macfm/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if _tag_of(part).exists():  # the rest of another version is of no use
            headers["If-Range"] = _tag_of(part).read_text(encoding="utf-8")
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            start = _resumes_at(response, start)
            length = response.headers.get("Content-Length")
            total = None if length is None else start + int(length)
            tag = response.headers.get("ETag") or response.headers.get("Last-Modified")
            # A weak tag promises no equal bytes, so it cannot guard a range.
            if tag and not tag.startswith("W/"):
                _tag_of(part).write_text(tag, encoding="utf-8")
            else:
                _tag_of(part).unlink(missing_ok=True)
            done = start
            with part.open("ab" if start else "wb") as file:
                show(completed=done, total=total)
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    done += len(chunk)
                    show(completed=done, total=total)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing left, or the file has shrunk: start again
            part.unlink()
            raise _InterruptedError("the part already fetched does not fit") from error
        if error.code >= 500 or error.code == 429:
            raise _InterruptedError(f"the server answered {error.code}") from error
        raise DownloadError(
            f"{url}: the server answered {error.code} {error.reason}; "
            "the file may have moved"
        ) from error
    except urllib.error.URLError as error:
        raise DownloadError(f"{url} cannot be reached ({error.reason})") from error
    except (OSError, http.client.HTTPException) as error:
        raise _InterruptedError(str(error) or type(error).__name__) from error
    if total is not None and done < total:
        raise _InterruptedError(f"{done:,} of {total:,} bytes came")


def _resumes_at(response: http.client.HTTPResponse, start: int) -> int:
    """Return where the body begins: `start` only if the server took up the range."""
    span = response.headers.get("Content-Range", "")
    resumed = response.status == 206 and span.startswith(f"bytes {start}-")
    return start if resumed else 0


def _tag_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")
