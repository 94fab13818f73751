"""Packages that can be called: ``macfm.report(df, imputer)``."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that stands for its function of the same name."""

    @property
    def _function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def __call__(self, *args: Any, **parameters: Any) -> Any:
        return self._function(*args, **parameters)


def make_callable(name: str) -> None:
    """Let the package ``a.b``, by its name, be called in place of ``a.b.b``."""
    sys.modules[name].__class__ = _Callable
