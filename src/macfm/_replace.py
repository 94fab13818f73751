"""Files and folders that appear whole or not at all, whatever ends the process.

What is unfinished stands beside its place under a name of its own. A process that is
killed cannot remove it, so the next one that writes to the same place does.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing tells a leftover from work in progress
    fcntl = None  # type: ignore[assignment]

_UNFINISHED, _FORMER = "tmp", "old"


def replace_file(
    path: str | os.PathLike[str], data: bytes, *, overwrite: bool = True
) -> None:
    """Write a whole file or none: beside its place first, then over it.

    A link is followed, and a file that is there hands on its permissions; without
    `overwrite` it is refused. The ``filename`` of an OSError is `path`.
    """
    target = os.path.realpath(path)
    with _named(path):
        _remove_leftovers(target)
        with _beside(target, _touch) as beside:
            if os.path.exists(target):
                shutil.copymode(target, beside)
            _write(beside, data)
            if os.path.lexists(target) and not overwrite:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            os.replace(beside, target)


def move_file(finished: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Put a finished file of the same folder in the place of another, or of none."""
    with _named(path):
        os.replace(finished, path)


def replace_folder(
    path: str | os.PathLike[str],
    files: Iterable[tuple[str, bytes]],
    *,
    stale: Callable[[str], bool],
) -> None:
    """Write a folder of files that appears, or takes the place of another, at once.

    `files`, names and bytes, may be made one at a time. Files of the folder that is
    there do not go into the new one if their name is `stale`; all else does, as links
    to the same files where there are such. The ``filename`` of an OSError is `path`.
    """
    target = os.path.realpath(path)
    restore_folder(target)
    with _named(path):
        _remove_leftovers(target)
        with _beside(target, os.mkdir) as beside:
            names = set()
            for name, data in files:
                _write(os.path.join(beside, name), data)
                names.add(name)
            if not os.path.isdir(target):
                os.rename(beside, target)
                return
            for entry in os.scandir(target):
                goes = entry.name in names or (entry.is_file() and stale(entry.name))
                if not goes:
                    _keep(entry, os.path.join(beside, entry.name))
            shutil.copymode(target, beside)
            _exchange(beside, target)


def restore_folder(path: str | os.PathLike[str]) -> None:
    """Put back a folder that a killed process had moved away to replace it."""
    target = os.path.realpath(path)
    if os.path.lexists(target):
        return
    for former in _leftovers(target):
        if former.endswith(_FORMER):
            with contextlib.suppress(OSError):
                os.rename(former, target)
            return


def _exchange(beside: str, target: str) -> None:
    """Put one folder in the place of another, which goes."""
    former = _name(target, _FORMER)
    with _claim(target):
        try:
            os.rename(target, former)
            os.rename(beside, target)
        except BaseException:
            if not os.path.lexists(target) and os.path.lexists(former):
                os.rename(former, target)
            raise
        finally:
            if os.path.lexists(target):
                _remove(former)


def _keep(entry: os.DirEntry[str], place: str) -> None:
    """Have a file or folder at another place, too."""
    if entry.is_dir(follow_symlinks=False):
        shutil.copytree(entry.path, place, symlinks=True, copy_function=_link)
    else:
        _link(entry.path, place)


def _link(source: str, place: str) -> None:
    try:
        os.link(source, place, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(source, place, follow_symlinks=False)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _touch(path: str) -> None:
    with open(path, "xb"):
        pass


@contextlib.contextmanager
def _beside(target: str, make: Callable[[str], None]) -> Iterator[str]:
    """Make something unfinished beside a place, which goes unless it was renamed."""
    while True:
        name = _name(target, _UNFINISHED)
        try:
            make(name)
            with _claim(name) as held:
                # Others may have taken it for a leftover before it was claimed.
                if held:
                    yield name
                    return
        finally:
            _remove(name)


@contextlib.contextmanager
def _claim(path: str) -> Iterator[bool]:
    """Hold a lock that shows others a process at work; False where nothing is left."""
    if fcntl is None:
        yield True
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield os.path.lexists(path)
    finally:
        os.close(handle)


def _is_dead(path: str) -> bool:
    """Whether no process works on something any more."""
    if fcntl is None:
        return False
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _name(target: str, end: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f"{_start(name)}{secrets.token_hex(4)}.{end}")


def _start(name: str) -> str:
    """What unfinished names of a file begin with; no other file's do."""
    return f".{name[:40]}.{zlib.crc32(os.fsencode(name)):08x}"


def _leftovers(target: str) -> list[str]:
    """What dead processes left beside a place."""
    folder, name = os.path.split(target)
    ours = re.compile(
        rf"{re.escape(_start(name))}[0-9a-f]{{8}}\.(?:{_UNFINISHED}|{_FORMER})"
    ).fullmatch
    try:
        found = [os.path.join(folder, other) for other in os.listdir(folder)]
    except OSError:
        return []
    return [path for path in found if ours(os.path.basename(path)) and _is_dead(path)]


def _remove_leftovers(target: str) -> None:
    for path in _leftovers(target):
        _remove(path)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            Path(path).unlink()


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have an error of the system name the file that could not be written."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise
