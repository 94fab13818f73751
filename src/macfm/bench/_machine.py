"""What a record says of the machine, the versions and the memory."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from macfm.judge.methods import Method

DISTRIBUTIONS = ("macfm", "numpy", "pandas", "scipy", "scikit-learn", "torch")


def describe_machine(device: str, method: Method | None) -> dict[str, Any]:
    """Return what the machine is; its GPU if a method uses it."""
    torch = sys.modules.get("torch")
    networked = method is not None and method.network_evaluations_per_row() is not None
    used = "cpu"
    if networked and device != "cpu" and torch and torch.cuda.is_available():
        used = torch.cuda.get_device_name()
    cpu, n_cores = _cpu(), os.cpu_count() or 1
    identity = f"{platform.system()}|{platform.machine()}|{cpu}|{n_cores}"
    return {
        "device": used,
        "cpu": cpu,
        "n_cores": n_cores,
        "id": hashlib.sha256(identity.encode()).hexdigest()[:12],
    }


def find_versions(method: Method) -> dict[str, str]:
    """Return the versions of what a method runs on."""
    found = {"python": platform.python_version()}
    names = [_distribution(requirement) for requirement in method.requires]
    for name in (*DISTRIBUTIONS, *names):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if "macfm" not in found:  # run from its source, not installed
        from macfm._version import __version__

        found["macfm"] = __version__
    return found


def peak_memory() -> dict[str, float | None]:
    """Return the most memory this process has held."""
    memory: dict[str, float | None] = {"peak_memory_mb": None, "peak_gpu_mb": None}
    try:
        import resource
    except ImportError:  # not on Windows
        return memory
    unit = 1e6 if sys.platform == "darwin" else 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory["peak_memory_mb"] = peak / unit
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available() and torch.cuda.is_initialized():
        memory["peak_gpu_mb"] = torch.cuda.max_memory_allocated() / 1e6
    return memory


def _cpu() -> str:
    """Name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _distribution(requirement: str) -> str:
    """The name in a requirement string."""
    from packaging.requirements import Requirement

    return Requirement(requirement).name
