"""From a path to checked contents, with one kind of error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from macfm.imputer._model_file._container import ModelFileError, read
from macfm.imputer._model_file._contents import ModelContents


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever a file's content brings about into one sentence about the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} {error}") from None
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # Only a forged file gets here: both parts are as they were written, yet no
        # imputer wrote them. Nothing inside is worth a stack trace.
        raise ModelFileError(
            f"{os.fspath(path)} holds no valid model ({_first_line(error)}); use a "
            "file written by macfm fit or MACFMImputer.save"
        ) from None


def open_model(path: str | os.PathLike[str]) -> ModelContents:
    """Read, verify and check a model file."""
    with reading(path):
        return ModelContents.from_parts(*read(path))


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:200]
