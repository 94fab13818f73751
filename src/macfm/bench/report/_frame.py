"""Records as one tidy DataFrame: a row for each cell of the benchmark."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from macfm.bench.datasets import DATASETS
from macfm.bench.records import FORMAT
from macfm.bench.report._names import MECHANISMS, method_titles, ordered

STATUSES = ("ok", "failed", "timeout", "unavailable")
REQUIRED = ("dataset", "mechanism", "rate", "mask", "method", "status")

SCORES = (
    *("mae", "rmse", "accuracy", "log_loss", "crps", "energy", "coverage_90"),
    *("spread_ratio", "illegal", "illegal_range"),
)
CELL = ["dataset", "mechanism", "rate", "mask"]
SECONDS = ("fit", "impute_in", "impute_out", "draw")
MACHINE = ("id", "device", "cpu", "n_cores", "n_threads", "jobs")
_KEY = [*CELL, "label", "ablation", "value"]


def tidy(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row for each record that counts.

    The last record of a cell wins, on each machine. ``latest`` marks the last one on
    any machine: scores are read from those alone, times from all. A record that a
    method was not installed never replaces another.

    Parameters
    ----------
    records : iterable of mappings
        Records, as written by the runner.

    Returns
    -------
    DataFrame
        Columns ``dataset`` (with its quirks, and its training rows if they are
        limited), ``printed_as`` ("" if it is not what was published), ``synthetic``,
        ``mechanism``, ``rate``, ``mask``, ``method``, ``label``, ``ablation``,
        ``value`` and ``value_text``, ``status``, ``reason``, ``inductive``,
        ``in_mae`` … ``out_illegal_range``, ``seconds_fit`` …, ``machine_id`` … and
        ``record``, the record itself. In registry order.
    """
    rows = []
    for number, record in enumerate(records, start=1):
        _check(record, f"record {number}")
        rows.append(_row(record) | {"place": number})
    frame = pd.DataFrame(rows, columns=_columns())
    frame["absent"] = frame["status"] == "unavailable"
    # A stable sort keeps the order of the records; absences go before results.
    frame = frame.sort_values("absent", ascending=False, kind="stable")
    frame = frame.drop_duplicates([*_KEY, "machine_id"], keep="last")
    frame["latest"] = ~frame.duplicated(_KEY, keep="last")
    return _in_order(frame)


def _check(record: Mapping[str, Any], place: str) -> None:
    """Refuse what the tables could not read."""
    if record.get("format") != FORMAT:
        raise ValueError(
            f"{place}: format {record.get('format')!r}; this version reads {FORMAT}"
        )
    for name in REQUIRED:
        if name not in record:
            raise ValueError(f"{place} has no {name!r}")
    if record["status"] not in STATUSES:
        raise ValueError(
            f"{place}: status must be one of {', '.join(STATUSES)}, got "
            f"{record['status']!r}"
        )


def _columns() -> list[str]:
    scores = [f"{split}_{name}" for split in ("in", "out") for name in SCORES]
    return [
        *("place", "dataset", "printed_as", "synthetic"),
        *("mechanism", "rate", "mask"),
        *("method", "label"),
        *("ablation", "value", "value_text", "status", "reason", "inductive"),
        *scores,
        *(f"seconds_{name}" for name in SECONDS),
        *("peak_memory_mb", "peak_gpu_mb", "network_evaluations_per_row"),
        *("fit_shared_with", *(f"machine_{name}" for name in MACHINE), "record"),
    ]


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    ablation = record.get("ablation") or {}
    quirks = record.get("quirks") or []
    scores = record.get("scores") or {}
    machine = record.get("machine") or {}
    status = record["status"]
    # A cell that was fitted and then failed has a time too, but not a whole one.
    seconds = (record.get("seconds") or {}) if status == "ok" else {}
    row = {
        "dataset": " + ".join([_name(record), *quirks]) + _rows(record),
        "printed_as": _printed_as(record),
        "synthetic": record.get("synthetic") is True,
        **{name: record[name] for name in ("mechanism", "mask", "method")},
        "rate": float(record["rate"]),
        "label": record.get("label") or record["method"],
        "ablation": ablation.get("name") or "",
        "value": json.dumps(ablation.get("value")),
        "value_text": value_text(ablation.get("value")),
        "status": status,
        "reason": _reason(status, record.get("error")),
        "inductive": record.get("inductive", True) is not False,
        "fit_shared_with": record.get("fit_shared_with"),
        "record": record,
    }
    for split in ("in", "out"):
        part = (scores.get(split) or {}) if status == "ok" else {}
        row |= {f"{split}_{name}": _number(part.get(name)) for name in SCORES}
    row |= {f"seconds_{name}": _number(seconds.get(name)) for name in SECONDS}
    for name in ("peak_memory_mb", "peak_gpu_mb", "network_evaluations_per_row"):
        row[name] = _number(record.get(name))
    for name in MACHINE:
        row[f"machine_{name}"] = machine.get(name)
    row["machine_id"] = machine.get("id") or "unknown"
    return row


def _name(record: Mapping[str, Any]) -> str:
    """A dataset's name; a table of the user's own is no dataset that is called so."""
    name, own = record["dataset"], record.get("table")
    return f"{name} (own table)" if own and name in DATASETS else name


def _printed_as(record: Mapping[str, Any]) -> str:
    """What publications call this dataset, "" if it is a part of it, or another."""
    is_it = record.get("rows") is None and not record.get("table")
    return record["dataset"] if is_it else ""


def _rows(record: Mapping[str, Any]) -> str:
    """What a dataset's name says of a limit of training rows."""
    rows = record.get("rows")
    return "" if rows is None else f" ({rows:,} rows)"


def _number(value: Any) -> float:
    """A finite float, or NaN."""
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else math.nan


def _reason(status: str, error: str | None) -> str:
    if status == "ok":
        return ""
    first = (error or "").strip().splitlines()
    return f"{status}: {first[0]}" if first else status


def value_text(value: Any) -> str:
    """Return the value of an ablation as it is printed.

    Examples
    --------
    >>> value_text(True), value_text([0.1, 0.9]), value_text("cosine")
    ('on', '0.1 to 0.9', 'cosine')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return " to ".join(map(value_text, value))
    return "none" if value is None else str(value)


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    known = {
        "mechanism": list(MECHANISMS),
        "dataset": list(DATASETS),
        "method": list(method_titles()),
    }
    keys = {}
    for name, names in known.items():
        order = ordered(frame.sort_values("place")[name], names)
        keys[name] = frame[name].map({key: i for i, key in enumerate(order)})
    keys = pd.DataFrame(keys).assign(
        rate=frame["rate"], mask=frame["mask"], place=frame["place"]
    )
    order = keys.sort_values(["mechanism", "rate", "dataset", "method", "mask"]).index
    return frame.loc[order].drop(columns="absent").reset_index(drop=True)


def main_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows the error tables read: no ablation, one for each cell."""
    return frame[frame["latest"] & (frame["ablation"] == "")]


def crowded(frame: pd.DataFrame) -> pd.Series:
    """Say which cells ran beside others of their run; False where it is not known."""
    return frame["machine_jobs"].astype(float) > 1


def row_titles(frame: pd.DataFrame) -> dict[str, str]:
    """Return the printed name of each label, in table order."""
    titles = method_titles()
    labels = frame[["label", "method"]].drop_duplicates("label")
    known = ordered(labels["method"], titles)
    labels = labels.assign(order=labels["method"].map(known.index))
    labels = labels.sort_values("order", kind="stable")
    return {
        label: titles.get(label, label) if label == method else label
        for label, method in zip(labels["label"], labels["method"], strict=True)
    }


def method_of(frame: pd.DataFrame) -> dict[str, str]:
    """Return the registry name behind each label."""
    pairs = frame[["label", "method"]].drop_duplicates("label")
    return dict(zip(pairs["label"], pairs["method"], strict=True))


def datasets_of(frame: pd.DataFrame) -> list[str]:
    """Return the datasets of some rows in registry order."""
    return ordered(frame["dataset"], DATASETS)


def printed_names(frame: pd.DataFrame) -> list[str]:
    """Return what publications call the datasets of `datasets_of`."""
    names = dict(zip(frame["dataset"], frame["printed_as"], strict=True))
    return [names[dataset] for dataset in datasets_of(frame)]
