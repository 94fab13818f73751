"""Draw what the presets take and give, from the records of `presets.toml`.

    python scripts/plot_presets.py

Reads benchmarks/presets/*.jsonl and writes docs/images/presets.png: seconds to fit and
to fill rows that were not fitted on, those of the default being 1, against the squared
error in these rows over that of the column mean. Both are geometric means over the
tables, and both axes are logarithmic. Our presets are joined by a line; a peer below it
and to the left of it would be the better choice, and is named as such.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from macfm.bench.records import latest, read_records
from macfm.judge.methods import METHODS
from macfm.plot import THEMES

ROOT = Path(__file__).resolve().parents[1]
PRESETS = ("fast", "default", "best")
LEFT_OUT = ("mean",)
"""Filling with the mean is what errors are measured by."""
OURS, OTHERS = "#d55e00", "#0072b2"


class Point(NamedTuple):
    """A preset, or a peer."""

    seconds: float
    """To fit and fill, over those of the default."""
    error: float
    """RMSE over that of the column mean."""


def points(records: Iterable[Mapping[str, Any]]) -> dict[str, Point]:
    """Return each preset and peer that has every table which any of them has."""
    cells: dict[str, dict[tuple, Point]] = defaultdict(dict)
    for record in latest(records):
        place = tuple(record[key] for key in ("dataset", "mechanism", "rate", "mask"))
        if record["status"] == "ok":
            took = record["seconds"]["fit"] + record["seconds"]["impute_out"]
            error = record["scores"]["out"]["rmse"]
            cells[_name(record)][place] = Point(took, error)
    places = {place for found in cells.values() for place in found}
    short = sorted(name for name, found in cells.items() if len(found) < len(places))
    if short:
        print("no result on every table, left out:", ", ".join(short))
    whole = {name: found for name, found in cells.items() if name not in short}
    for name in ("default", "mean"):
        if name not in whole:
            raise SystemExit(f"the records lack results of {name} on some table")
    return {
        name: Point(
            _over([(cell.seconds, whole["default"][p].seconds) for p, cell in of]),
            _over([(cell.error, whole["mean"][p].error) for p, cell in of]),
        )
        for name, of in ((name, found.items()) for name, found in whole.items())
        if name not in LEFT_OUT
    }


def _name(record: Mapping[str, Any]) -> str:
    return record["ablation"]["value"] if record["ablation"] else record["method"]


def _over(pairs: Iterable[tuple[float, float]]) -> float:
    """Geometric mean of ratios."""
    return math.exp(fmean(math.log(value / of) for value, of in pairs))


def beaten_by(name: str, found: Mapping[str, Point]) -> list[str]:
    """Return who is both faster and more accurate."""
    own = found[name]
    return [
        other
        for other, point in found.items()
        if point.seconds < own.seconds and point.error < own.error
    ]


def draw(ax: plt.Axes, found: Mapping[str, Point]) -> None:
    """Draw presets on a line, peers as points, each beside its name."""
    ink, rule = THEMES["light"].ink, THEMES["light"].rule
    ours = [name for name in PRESETS if name in found]
    line = [found[name] for name in ours]
    ax.plot(*zip(*line, strict=True), "-", color=OURS, lw=1.4, zorder=2)
    for name, point in found.items():
        color = OURS if name in ours else OTHERS
        size = 7 if name in ours else 5
        ax.plot(*point, "o", color=color, ms=size, mec="white", mew=0.5, zorder=3)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.margins(0.1, 0.12)
    # On a logarithmic axis of less than a decade the usual ticks are few.
    low, high = ax.get_ylim()
    ticks = [k / 20 for k in range(1, 41) if low <= k / 20 <= high]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter("{x:.2f}")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(color=rule, lw=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelsize=9, colors=ink, which="both")
    ax.spines[:].set_visible(False)
    ax.set_xlabel("seconds to fit and fill, default = 1", fontsize=9, color=ink)
    ax.set_title("RMSE over the column mean's", loc="left", fontsize=10, color=ink)
    write_names(ax, found, ours)


def write_names(ax: plt.Axes, found: Mapping[str, Point], ours: list[str]) -> None:
    """Write each name on the first side of its point where nothing else stands."""
    ax.figure.tight_layout()
    ax.figure.draw_without_rendering()
    spots = {name: ax.transData.transform(point) for name, point in found.items()}
    line = [spots[name] for name in ours]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in spots.values()]
    for (x_0, y_0), (x_1, y_1) in pairwise(line):
        along = [(k / 20, 1 - k / 20) for k in range(21)]
        middle = [(a * x_1 + b * x_0, a * y_1 + b * y_0) for a, b in along]
        taken += [(x - 2, y - 2, x + 2, y + 2) for x, y in middle]
    frame = ax.get_window_extent().extents
    for name, point in found.items():
        told = f'preset="{name}"' if name in ours else METHODS[name].title
        label = ax.annotate(
            "default" if name == "default" else told,
            point,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=9,
            fontweight="bold" if name in ours else None,
            color=OURS if name in ours else THEMES["light"].ink,
        )
        costs = []
        for dx, dy, ha, va in SIDES:
            label.set(position=(dx, dy), ha=ha, va=va)
            box = label.get_window_extent().extents
            outside = _area(box, box) - _area(box, frame)
            costs.append(outside + sum(_area(box, other) for other in taken))
        dx, dy, ha, va = SIDES[costs.index(min(costs))]
        label.set(position=(dx, dy), ha=ha, va=va)
        taken.append(tuple(label.get_window_extent().extents))


SIDES = (
    (7, 0, "left", "center"),
    (0, 7, "center", "bottom"),
    (-7, 0, "right", "center"),
    (0, -7, "center", "top"),
    (5, 5, "left", "bottom"),
    (5, -5, "left", "top"),
    (-5, 5, "right", "bottom"),
    (-5, -5, "right", "top"),
)
"""Where a name may stand: offset in points, and how it is aligned."""


def _area(one: Iterable[float], other: Iterable[float]) -> float:
    """Area that two boxes share."""
    (a_0, b_0, a_1, b_1), (c_0, d_0, c_1, d_1) = one, other
    width, height = min(a_1, c_1) - max(a_0, c_0), min(b_1, d_1) - max(b_0, d_0)
    return max(width, 0) * max(height, 0)


def main() -> None:
    """Read the records, say who is beaten by whom, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "records",
        type=Path,
        nargs="?",
        default=ROOT / "benchmarks" / "presets",
        help="file or folder of records",
    )
    parser.add_argument(
        "picture",
        type=Path,
        nargs="?",
        default=ROOT / "docs" / "images" / "presets.png",
        help="PNG file to write",
    )
    options = parser.parse_args()
    found = points(read_records(options.records))
    for name, point in sorted(found.items(), key=lambda item: item[1]):
        better = ", ".join(beaten_by(name, found))
        told = f"  beaten by {better}" if better else ""
        print(f"{name:<12} {point.seconds:8.3f} {point.error:.3f}{told}")
    figure, ax = plt.subplots(figsize=(7.2, 4.4), dpi=150)
    draw(ax, found)
    figure.savefig(options.picture, dpi=150)


if __name__ == "__main__":
    main()
