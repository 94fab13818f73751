"""Networks that are asked so often that compiling them pays."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn


def compiled(network: nn.Module, device: torch.device) -> Callable[..., Tensor]:
    """Return a network with its operations compiled together, if a GPU's can be.

    That takes Triton, which comes with PyTorch for GPUs on Linux, and a C compiler;
    without them the network is returned as it is. Compiling takes some ten seconds for
    each size of batches, when the first comes.
    """
    if device.type != "cuda" or find_spec("triton") is None or not _c_compiler():
        return network
    # torch.compile is not annotated.
    function: Any = torch.compile(network, dynamic=False)
    return function


def _c_compiler() -> str | None:
    """Return where a C compiler is that Triton finds as well."""
    named = os.environ.get("CC")
    found = (shutil.which(name) for name in ([named] if named else ["gcc", "clang"]))
    return next(filter(None, found), None)
