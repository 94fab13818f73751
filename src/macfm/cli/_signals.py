"""Signals that end a command: it cleans up as after Ctrl-C, its code tells which."""

from __future__ import annotations

import signal
from types import FrameType

_ended_by: list[int] = []


class Ended(KeyboardInterrupt):
    """What a signal raises.

    A plain KeyboardInterrupt that passes through the `exec` of a text, which makes
    dataclasses, would have Python end itself by SIGINT, whatever is made of it.
    """


def end_politely() -> None:
    """Have a process that is told to end clean up as Ctrl-C does."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        usual = (signal.SIG_DFL, signal.default_int_handler)
        # A process of nohup or of a script's background ignores some, and goes on to.
        if number is not None and signal.getsignal(number) in usual:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    if number != signal.SIGINT:
        signal.signal(number, signal.SIG_IGN)  # cleaning up is not interrupted
    _ended_by.append(number)
    raise Ended


def ended_by() -> int:
    """Return the first signal that came, Ctrl-C's if none did."""
    return _ended_by[0] if _ended_by else signal.SIGINT


def heed() -> None:
    """Raise again what the library caught, to keep what training had learned."""
    if _ended_by:
        raise Ended
