"""Parameters that go on working under the name they had."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from macfm._warn import warn_old

Function = TypeVar("Function", bound=Callable[..., Any])


def renamed(**names: str) -> Callable[[Function], Function]:
    """Let a function take parameters by former names too, with a FutureWarning.

    The names are given as ``former="present"``.
    """

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for old, new in names.items():
                if old not in given:
                    continue
                if new in given:
                    raise TypeError(f"{old} is now called {new}: give one of them")
                warn_old(f"{old} is now called {new}")
                given[new] = given.pop(old)
            return function(*args, **given)

        return call  # type: ignore[return-value]

    return wrap
