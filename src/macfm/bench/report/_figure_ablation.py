"""Pictures of ablations: curves over a number, dots over a choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from macfm.bench.report._frame import datasets_of
from macfm.bench.report._names import METRICS
from macfm.bench.report._style import INK, LINES, MARKERS, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_curves(
    rows: pd.DataFrame,
    *,
    arms: Sequence[str],
    numbers: Sequence[float],
    base: str,
    machine: str,
    xlabel: str,
) -> Figure:
    """Draw changes of the error and seconds against a number, by dataset.

    The tidy `rows` have a column ``arm`` of the values `arms`, which are `numbers` as
    numbers; changes are relative to `base`, and seconds are those of one `machine`.
    """
    datasets = datasets_of(rows)
    timed = rows[rows["machine_id"] == machine]
    seconds = timed["seconds_impute_in"] + timed["seconds_impute_out"]
    timed = timed.assign(seconds=seconds)
    with style():
        figure, axes = panels(3, width=3.3, height=3.1, columns=3)
        for axis, metric in zip(axes, METRICS, strict=False):
            for place, dataset in enumerate(datasets):
                here = rows[rows["dataset"] == dataset]
                for split in ("out", "in"):
                    means = here.groupby("arm")[f"{split}_{metric}"].mean()
                    means = means.reindex(list(arms))
                    change = 100 * (means / means[base] - 1)
                    _line(axis, numbers, change, place, inside=split == "in")
            axis.axhline(0, color=INK, lw=0.8)
            title = f"{METRICS[metric]}, change against {base}, %"
            axis.set_title(title, loc="left")
        for place, dataset in enumerate(datasets):
            here = timed[timed["dataset"] == dataset]
            means = here.groupby("arm")["seconds"].mean().reindex(list(arms))
            _line(axes[2], numbers, means, place, inside=False)
        axes[2].set_title("Seconds to impute", loc="left")
        axes[2].set_ylim(bottom=0)
        for axis in axes:
            axis.set_xlabel(xlabel)
            axis.set_xticks(numbers, [f"{number:g}" for number in numbers])
            axis.grid(axis="y")
        _dataset_legend(figure, datasets, curves=True)
    return figure


def _line(
    axis: Axes, x: Sequence[float], y: pd.Series, place: int, *, inside: bool
) -> None:
    """The line of the dataset at `place`, dashed for the training rows."""
    colour = LINES[place % len(LINES)]
    axis.plot(
        x,
        y.to_numpy(dtype=float),
        color=colour,
        marker=MARKERS[place % len(MARKERS)],
        ms=4,
        lw=1.4,
        ls="--" if inside else "-",
        mfc="none" if inside else colour,
    )


def draw_changes(
    groups: Sequence[tuple[str, str, Sequence[str], pd.DataFrame]],
) -> Figure:
    """Draw relative changes of the error, a group of rows for each choice.

    `groups` are (title, base, arms, changes), of which the last has columns ``arm``,
    ``dataset``, ``error`` and ``change`` (in %).
    """
    lines = _lay_out(groups)
    datasets = datasets_of(pd.concat([changes for *_, changes in groups]))
    with style():
        height = 1.1 + 0.24 * len(lines)
        figure, axes = panels(2, width=4.8, height=height, columns=2)
        for axis, metric in zip(axes, METRICS, strict=True):
            axis.axvline(0, color=INK, lw=0.8)
            for y, (_, changes) in enumerate(lines):
                if changes is not None:
                    part = changes[changes["error"] == f"out_{metric}"]
                    _dots(axis, y, part, datasets)
            axis.set_title(f"{METRICS[metric]}, out-of-sample", loc="left")
            axis.set_xlabel("change against the base, %")
            axis.set_ylim(len(lines) - 0.4, -0.6)
            axis.grid(axis="x")
            axis.tick_params(axis="y", length=0)
            labels = (
                [text for text, _ in lines] if axis is axes[0] else [""] * len(lines)
            )
            axis.set_yticks(range(len(lines)), labels)
            # Leave room around zero where every change is tiny.
            low, high = axis.get_xlim()
            axis.set_xlim(min(low, -1.0), max(high, 1.0))
        for text, (_, changes) in zip(axes[0].get_yticklabels(), lines, strict=True):
            text.set_fontweight("bold" if changes is None else "normal")
        _dataset_legend(figure, datasets, curves=False)
    return figure


def _lay_out(
    groups: Sequence[tuple[str, str, Sequence[str], pd.DataFrame]],
) -> list[tuple[str, pd.DataFrame | None]]:
    """Lines from top to bottom: a heading, then each value but the base."""
    lines: list[tuple[str, pd.DataFrame | None]] = []
    for title, base, arms, changes in groups:
        lines.append((f"{title} (base: {base})", None))
        lines += [(arm, changes[changes["arm"] == arm]) for arm in arms if arm != base]
    return lines


def _dots(axis: Axes, y: int, changes: pd.DataFrame, datasets: list[str]) -> None:
    means = changes.groupby("dataset")["change"].mean()
    shifts = np.linspace(-0.22, 0.22, len(datasets)) if len(datasets) > 1 else [0.0]
    for place, (dataset, shift) in enumerate(zip(datasets, shifts, strict=True)):
        if dataset in means:
            axis.plot(
                means[dataset],
                y + shift,
                MARKERS[place % len(MARKERS)],
                color=LINES[place % len(LINES)],
                ms=4.5,
                alpha=0.85,
            )
    if len(means):
        axis.plot(means.mean(), y, "D", color=INK, ms=6, mfc="none", mew=1.4)


def _dataset_legend(figure: Figure, datasets: list[str], *, curves: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=LINES[place % len(LINES)],
            marker=MARKERS[place % len(MARKERS)],
            ms=4.5,
            ls="-" if curves else "",
            label=dataset,
        )
        for place, dataset in enumerate(datasets)
    ]
    if curves:
        handles.append(Line2D([], [], color=INK, ls="--", label="in-sample"))
    else:
        handles.append(
            Line2D([], [], label="mean", color=INK, marker="D", mfc="none", ls="", ms=5)
        )
    figure.legend(
        handles=handles, loc="outside upper center", ncols=min(len(handles), 9)
    )
