"""What `make check` leaves out: tests that train a network or start a process."""

import multiprocessing.process
import os
import subprocess

import pytest


def pytest_addoption(parser):
    """Add the option of `make check`."""
    parser.addoption(
        "--quick",
        action="store_true",
        help="skip a test as soon as it trains a network or starts a process",
    )


@pytest.fixture(autouse=True, scope="session")
def _quick(request):
    """Skip at the door, so that no list of such tests has to be kept."""
    if not request.config.getoption("--quick"):
        yield
        return
    import torch

    doors = [
        (torch.optim.Optimizer, "__init__", "trains a network"),
        (subprocess.Popen, "__init__", "starts a process"),
        (multiprocessing.process.BaseProcess, "start", "starts a process"),
        (os, "fork", "starts a process"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        for place, name, reason in doors:
            patch.setattr(place, name, _skip(reason), raising=False)
        yield


def _skip(reason):
    def door(*_, **__):
        pytest.skip(reason)

    return door
