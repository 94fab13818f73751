"""Bytes in from a path or standard input, out to a path or standard output."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from macfm._errors import Said
from macfm._replace import replace_file, replace_folder, restore_folder
from macfm.files._errors import FileError


def display_name(path: str) -> str:
    """Name of a source in messages."""
    return "standard input" if path == "-" else path


def read_bytes(path: str) -> bytes:
    """Read a whole file, or standard input for "-"."""
    name = display_name(path)
    try:
        if path != "-":
            return Path(path).read_bytes()
        if sys.stdin is None or sys.stdin.isatty():
            raise FileError("standard input: nothing to read; pipe a table into it")
        data = sys.stdin.buffer.read()
    except IsADirectoryError:
        raise FileError(f"{name}: is a folder, not a file") from None
    except FileNotFoundError:
        raise FileError(f"{name}: no such file") from None
    except OSError as error:
        raise FileError(f"{name}: cannot be read ({error.strerror})") from None
    if not data:
        raise FileError("standard input: nothing to read; pipe a table into it")
    return data


def is_folder(path: str, format: str | None) -> bool:
    """Whether several tables written to a path become a folder of files.

    So they do if the path is a folder already, ends in a slash, or has no suffix while
    no format is given for a single file.
    """
    if path == "-":
        return False
    if path.endswith(("/", os.sep)) or os.path.isdir(path):
        return True
    return format is None and "." not in os.path.basename(path)


def check_target(
    path: str | os.PathLike[str],
    *,
    draws: bool = False,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Refuse a place that cannot be written to, before any work is done for it.

    Parameters
    ----------
    path : str or path
        Where a file is to be written; "-" is standard output.
    draws : bool, default=False
        Whether several tables are to be written, as by `TableFile.write_draws`, which
        may make a folder.
    format : str, optional
        The format that will be given to `TableFile.write_draws`.
    force : bool, default=False
        Whether an existing file may be replaced.

    Raises
    ------
    FileError
        If the file exists and `force` is False, if `path` is a folder, if the folder
        it is to stand in is missing or may not be written to, or if standard output is
        closed.
    """
    path = os.fspath(path)
    if path == "-":
        _check_stdout()
        return
    if _is_device(path):
        return
    if draws and is_folder(path, format):
        _check_folder(path, force=force)
        return
    parent = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise FileError(f"{path}: is a folder, not a file")
    if os.path.lexists(path) and not force:
        raise FileError(
            Said(f"{path}: exists already; use {{force}} to replace it", force=True)
        )
    if not os.path.isdir(parent):
        raise FileError(f"{path}: there is no folder {parent}")
    if not os.access(parent, os.W_OK):
        raise FileError(f"{path}: cannot be written (Permission denied)")


def write_bytes(path: str, data: bytes, *, force: bool) -> None:
    """Write a file that is there whole or not at all.

    A reader that closed the pipe early, as ``head`` does, is no error.
    """
    check_target(path, force=force)
    try:
        if path == "-":
            _write_stdout(data)
        elif _is_device(path):
            with open(path, "wb") as device:
                device.write(data)
        else:
            replace_file(path, data, overwrite=force)
    except FileExistsError:
        check_target(path, force=force)
        raise
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror})") from None


def write_folder(
    folder: str, files: Iterable[tuple[str, bytes]], *, stale: str, force: bool
) -> None:
    """Write several files into a folder that appears when all of them are there.

    It must be new or empty, unless `force`: then files that an earlier run left, of the
    pattern `stale`, go, and all else in it stays. `files` may be made one at a time.
    """
    _check_folder(folder, force=force)
    try:
        replace_folder(folder, files, stale=lambda name: fnmatchcase(name, stale))
    except OSError as error:
        raise FileError(f"{folder}: cannot be written ({error.strerror})") from None


def _check_folder(folder: str, *, force: bool) -> None:
    """Refuse a folder that cannot take files, or holds some already."""
    target = Path(os.path.realpath(folder))
    restore_folder(target)
    if target.exists() and not target.is_dir():
        raise FileError(f"{folder}: is a file, not a folder")
    if target.is_dir() and any(target.iterdir()) and not force:
        why = f"{folder}: is a folder that holds files; use {{force}} to replace them"
        raise FileError(Said(why, force=True))
    if not target.parent.is_dir():
        raise FileError(f"{folder}: there is no folder {target.parent}")
    if target.is_dir() and (
        os.path.ismount(target) or Path(os.path.realpath(".")).is_relative_to(target)
    ):
        what = "a mounted" if os.path.ismount(target) else "the current"
        raise FileError(
            f"{folder}: is {what} folder, which cannot be replaced as a whole; name a "
            "folder inside it"
        )
    if not os.access(target.parent, os.W_OK):
        raise FileError(f"{folder}: cannot be written (Permission denied)")


def _check_stdout() -> None:
    """Refuse a standard output that is closed or full."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        os.write(sys.stdout.fileno(), b"")
    except io.UnsupportedOperation:  # a stream in memory
        return
    except OSError as error:
        raise _stdout_failed(error) from None


def _write_stdout(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        # What is still buffered would fail again when Python closes down.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise _stdout_failed(error) from None


def _stdout_failed(error: OSError) -> FileError:
    reason = "it is closed" if error.errno == errno.EBADF else error.strerror
    return FileError(f"standard output: cannot be written ({reason})")


def _is_device(path: str) -> bool:
    """Whether the path is a device or a pipe, which is written to as it stands."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
