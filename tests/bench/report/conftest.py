"""Records as a run would write them, made up so that laws can be told from them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

DATASETS = {"letter": 0, "magic": 0, "bean": 0, "adult": 8, "shoppers": 7}
# Error relative to mean imputation, seconds, whether it draws.
METHODS = {
    "mean": (1.0, 0.01, False),
    "median": (0.99, 0.02, False),
    "most-frequent": (1.4, 0.02, False),
    "knn": (0.72, 6.0, False),
    "mice": (0.95, 9.0, True),
    "missforest": (0.62, 240.0, False),
    "em": (0.66, 2.0, False),
    "softimpute": (0.75, 1.5, False),
    "miceforest": (0.7, 60.0, True),
    "hyperimpute": (0.6, 900.0, False),
    "gcimpute": (0.64, 30.0, True),
    "macfm": (0.52, 190.0, True),
    "macfm-median": (0.525, 151.0, False),
    "macfm-paper": (0.6, 80.0, True),
}
OURS = {"macfm", "macfm-median", "macfm-paper"}


def make_record(**changes: Any) -> dict[str, Any]:
    """Return a record of a plausible outcome; its noise is a function of its cell."""
    cell = {
        "dataset": "letter",
        "quirks": [],
        "mechanism": "mcar",
        "rate": 0.3,
        "mask": 0,
        "method": "mean",
        "ablation": None,
        "status": "ok",
    } | changes
    method, ablation = cell["method"], cell["ablation"]
    label = method
    if ablation:
        label = f"{method} {ablation['name']}={ablation['value']}"
    key = repr([cell[k] for k in ("dataset", "mechanism", "rate", "mask")]) + label
    rng = np.random.default_rng(list(key.encode()))
    ratio, seconds, draws = METHODS.get(method, (0.8, 5.0, False))
    seconds *= rng.uniform(0.7, 1.4)
    n_categorical = DATASETS.get(cell["dataset"], 0)
    ok = cell["status"] == "ok"

    def scores(split: str) -> dict[str, Any]:
        hard = {"bean": 0.4, "adult": 1.3}.get(cell["dataset"], 1.0)
        mae = 0.75 * (ratio if ratio >= 0.95 else ratio * hard) * rng.normal(1, 0.012)
        here = draws and split == "out"
        return {
            "mae": mae,
            "rmse": 1.4 * mae * rng.normal(1, 0.01),
            "accuracy": 1 - 0.55 * ratio * rng.normal(1, 0.01)
            if n_categorical
            else None,
            "log_loss": 1.1 * ratio if n_categorical and method in OURS else None,
            "crps": 0.7 * mae if here else None,
            "energy": 0.4 * mae if here else None,
            "coverage_90": rng.normal(0.82, 0.02) if here else None,
        } | cell.get("more_scores", {})

    def realised() -> dict[str, Any]:
        columns = rng.normal(cell["rate"], 0.01, 8)
        names = {f"x{i}": float(rate) for i, rate in enumerate(columns)}
        return {"overall": float(columns.mean()), "columns": names}

    record = {
        "format": 2,
        **{name: cell[name] for name in cell if name != "more_scores"},
        "label": label,
        "error": None,
        "inductive": method not in {"missforest", "hyperimpute"},
        "learned": True,
        "settings": {"n_trials": 20} if method in OURS else {},
        "seeds": {"split": 1234, "mask": [0, 1], "method": 0},
        "n_train": 14000,
        "n_test": 6000,
        "n_numeric": 8,
        "n_categorical": n_categorical,
        "n_draws": 20 if draws else None,
        "realised_rate": {"train": realised(), "test": realised()},
        "scores": {"in": scores("in"), "out": scores("out")} if ok else None,
        "seconds": {
            "fit": seconds,
            "impute_in": seconds / 10,
            "impute_out": seconds / 20,
            "draw": seconds / 5 if draws else None,
        }
        if ok
        else None,
        "peak_memory_mb": 900.0 if ok else None,
        "peak_gpu_mb": 700.0 if ok and method in OURS else None,
        "network_evaluations_per_row": 20 if method in OURS else None,
        "fit_shared_with": "macfm" if method == "macfm-median" else None,
        "machine": {
            "device": "NVIDIA H200" if method in OURS else "cpu",
            "cpu": "Example CPU",
            "n_cores": 16,
            "n_threads": 2,
            "jobs": 8,
            "id": "0123456789ab",
        },
        "versions": {"macfm": "0.1.0", "python": "3.12.1", "numpy": "2.4.0"},
        "began": "2026-01-02T03:04:05+00:00",
    }
    return record | {k: v for k, v in changes.items() if k not in cell or k in record}


@pytest.fixture
def record() -> Callable[..., dict[str, Any]]:
    return make_record


@pytest.fixture
def grid() -> Callable[..., list[dict[str, Any]]]:
    """Records of all combinations of some methods, datasets, mechanisms and masks."""

    def make(
        methods: list[str] | None = None,
        datasets: list[str] | None = None,
        mechanisms: tuple[str, ...] = ("mcar",),
        n_masks: int = 3,
        **changes: Any,
    ) -> list[dict[str, Any]]:
        return [
            make_record(
                method=method,
                dataset=dataset,
                mechanism=mechanism,
                mask=mask,
                **changes,
            )
            for mechanism in mechanisms
            for dataset in datasets or DATASETS
            for method in methods or METHODS
            for mask in range(n_masks)
        ]

    return make
