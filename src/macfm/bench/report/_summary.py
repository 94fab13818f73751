"""What the records are, in plain sentences."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import pandas as pd

from macfm._words import count
from macfm.bench.report._frame import datasets_of, main_cells, row_titles
from macfm.bench.report._names import MECHANISMS, rate_words
from macfm.bench.report._table import Section
from macfm.bench.report._timing import total_seconds


def summary_section(
    frame: pd.DataFrame, *, sources: Sequence[str], command: str | None
) -> Section:
    """Return the sentences at the top of the report."""
    if frame.empty:
        return Section("summary", "Summary", ("There are no records.",))
    text = [_what(frame), _made_up(frame), _outcome(frame), _left_out(frame)]
    text += [*_where(frame), _versions(frame)]
    if sources:
        text.append(f"Records: {', '.join(sources)}.")
    text.append(f"To run it again: `{command or _command(frame)}`")
    return Section("summary", "Summary", tuple(part for part in text if part))


def _what(frame: pd.DataFrame) -> str:
    main = main_cells(frame)
    used = main if len(main) else frame
    mechanisms = [MECHANISMS.get(m, m) for m in used["mechanism"].unique()]
    rates = ", ".join(rate_words(rate) for rate in sorted(used["rate"].unique()))
    counts = used.groupby(["dataset", "mechanism", "rate"])["mask"].nunique()
    masks = count(int(counts.max()), "mask")
    if counts.min() < counts.max():
        masks = f"{counts.min()} to {masks}"
    n_methods = len(row_titles(used))
    datasets = datasets_of(used)
    return (
        f"{count(n_methods, 'method')} on {count(len(datasets), 'dataset')} "
        f"({', '.join(datasets)}) under {'; '.join(mechanisms)} with {rates} of the "
        f"cells hidden, {masks} for each setting."
    )


def _made_up(frame: pd.DataFrame) -> str:
    """Name the datasets that say nothing of real ones."""
    names = datasets_of(frame[frame["synthetic"]])
    if not names:
        return ""
    are = (
        "are synthetic, their values" if len(names) > 1 else "is synthetic, its values"
    )
    return (
        f"{', '.join(names)} {are} made up: what is told of made-up values stands in "
        "sections of its own, without published values and outside all averages over "
        "real tables."
    )


def _outcome(frame: pd.DataFrame) -> str:
    rows = frame[frame["latest"]]
    counts = rows["status"].value_counts()
    parts = [f"{counts.get('ok', 0):,} have scores"]
    for status, words in (
        ("failed", "failed"),
        ("timeout", "ran out of time"),
        ("unavailable", "could not run for want of a package"),
    ):
        if counts.get(status, 0):
            parts.append(f"{counts[status]:,} {words}")
    n_ablation = int((rows["ablation"] != "").sum())
    of_them = f" ({n_ablation:,} of them ablations)" if n_ablation else ""
    text = f"Of {count(len(rows), 'cell')}{of_them} {', '.join(parts)}."
    hours = total_seconds(frame) / 3600
    if hours >= 0.1:
        text += f" Fitting and imputing took {hours:.1f} hours in all."
    return text


def _left_out(frame: pd.DataFrame) -> str:
    """Name the columns that no method could learn from."""
    names: dict[str, None] = {}
    n_cells = 0
    for record in frame.loc[frame["latest"], "record"]:
        lacking = record.get("columns_left_out") or []
        names |= dict.fromkeys(f"{name} of {record['dataset']}" for name in lacking)
        n_cells += bool(lacking)
    if not names:
        return ""
    return (
        f"In {count(n_cells, 'cell')} columns were taken out because every training "
        f"cell of theirs was hidden: {', '.join(names)}."
    )


def _where(frame: pd.DataFrame) -> list[str]:
    names = ["machine_id", "machine_cpu", "machine_n_cores"]
    sentences = []
    for (identity, cpu, cores), rows in frame.groupby(names, sort=False, dropna=False):
        parts = [cpu if isinstance(cpu, str) else "an unnamed processor"]
        if pd.notna(cores):
            parts.append(count(int(cores), "core"))
        devices = [d for d in rows["machine_device"].dropna().unique() if d != "cpu"]
        parts += list(devices)
        load = rows[["machine_n_threads", "machine_jobs"]].dropna().drop_duplicates()
        how = " or ".join(
            f"{count(int(jobs), 'job')} of {count(int(threads), 'thread')}"
            for threads, jobs in load.itertuples(index=False)
        )
        how = f"; {how}" if how else ""
        sentences.append(f"Machine {str(identity)[:8]}: {', '.join(parts)}{how}.")
    return sentences


def _versions(frame: pd.DataFrame) -> str:
    seen: dict[str, list[str]] = {}
    for record in frame["record"]:
        for name, version in (record.get("versions") or {}).items():
            if version not in seen.setdefault(name, []):
                seen[name].append(version)
    parts = [f"{name} {' and '.join(versions)}" for name, versions in seen.items()]
    began = sorted(r["began"][:10] for r in frame["record"] if r.get("began"))
    when = ""
    if began:
        when = (
            f" Run on {began[0]}"
            if began[0] == began[-1]
            else (f" Run from {began[0]} to {began[-1]}")
        )
        when += "."
    return f"Versions: {', '.join(parts)}.{when}" if parts else when.strip()


def _command(frame: pd.DataFrame) -> str:
    """The command that runs the main cells, from the records alone."""
    rows = main_cells(frame)
    rows = rows if len(rows) else frame
    own = next((r["table"] for r in rows["record"] if r.get("table")), None)
    lists = {
        "datasets": dict.fromkeys(r["dataset"] for r in rows["record"]),
        "methods": rows["method"].unique(),
        "mechanisms": rows["mechanism"].unique(),
        "rates": [f"{rate:g}" for rate in sorted(rows["rate"].unique())],
    }
    if own:
        given = {"table": own["file"], "target": own["target"]}
        given["categorical"] = ",".join(own["categorical"])
        del lists["datasets"]
        lists = {k: [shlex.quote(v)] for k, v in given.items() if v} | lists
    limits = {r.get("rows") for r in rows["record"]}
    if len(limits) == 1 and None not in limits:
        lists["rows"] = limits
    flags = [f"--{name} {','.join(map(str, values))}" for name, values in lists.items()]
    return f"macfm bench run {' '.join(flags)} --masks {rows['mask'].nunique()}"
