"""Where networks compute, and torch's settings while they do."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from macfm._errors import ParameterError, Said
from macfm.flow import fast_products
from macfm.imputer._threads import look_anew, worthwhile_threads

# torch's generator and its number of threads are those of the whole process.
_ALONE = threading.RLock()


def _forget_who_was_at_work() -> None:
    """Free a forked process of the threads it has left behind."""
    global _ALONE
    _ALONE = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_who_was_at_work)


def resolve_device(device: str) -> torch.device:
    """Turn the user's word for a device into one that is there."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ParameterError(
            Said(
                "{device} was asked for, but torch finds no CUDA device; use 'auto' or "
                "'cpu'",
                device=device,
            ),
            parameter="device",
        )
    index = device.partition(":")[2]
    return torch.device("cuda", int(index) if index else torch.cuda.current_device())


@contextmanager
def alone(device: torch.device, *, few: bool) -> Iterator[None]:
    """Set torch's threads and precision, and put both back afterwards.

    One at a time: Python threads that fit at once wait for each other, and each gets
    the model it would get alone.

    Elementwise functions on the CPU cut their work by the number of threads, and the
    last bits of a cut that is no multiple of the vector length differ. Powers of two
    always give whole vectors, so as many threads are used, and no more than pay: for a
    few rows one, and nobody looks how many cores are free.
    """
    with _ALONE, fast_products(device):
        n_threads = torch.get_num_threads()
        n_used = 1 if few else worthwhile_threads(n_threads)
        if n_used != n_threads:
            torch.set_num_threads(n_used)
        try:
            yield
        finally:
            if torch.get_num_threads() != n_threads:  # training may have changed it
                torch.set_num_threads(n_threads)


@contextmanager
def reproducible(seed: int, device: torch.device) -> Iterator[None]:
    """Be `alone`, with torch seeded for layers and dropout, for as long as a fit."""
    look_anew()  # which is worth a moment of what takes seconds
    devices = [device] if device.type == "cuda" else []
    with alone(device, few=False), torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.manual_seed_all(seed)
        yield
