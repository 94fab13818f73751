"""Draw how time and memory grow with a table, from a record of `speed.py`.

    python scripts/plot_speed.py benchmarks/speed/cpu.json growth.png
    python scripts/plot_speed.py CPU.json growth.png --gpu GPU.json

Left against the rows that are filled after one fit of at most 10,000 of them, right
against the columns of 2,000 rows; above seconds, below the most memory held. Both
axes are logarithmic: what grows in proportion is parallel to the dotted line. A record
of a GPU adds, dashed, what filling takes there and the host's memory.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from macfm.plot import THEMES

COLORS = {"fit": "#0072b2", "fill": "#d55e00", "peak memory, MB": "#009e73"}
PANELS = {"rows": "rows filled, 16 columns", "columns": "columns, 2,000 rows"}
HEIGHTS = {"seconds": ("fit", "fill"), "MB": ("peak memory, MB",)}


def draw_gpu(ax: plt.Axes, record: dict[str, Any], name: str) -> None:
    """Draw what a GPU took against rows, with its last value."""
    results = record["results"]["rows"]
    sizes, values = ([result[key] for result in results] for key in ("rows", name))
    device = record["device"].removeprefix("NVIDIA ")
    label = f"{name}, {device}" if name == "fill" else f"{name}, host of {device}"
    ax.plot(sizes, values, "o--", color=COLORS[name], ms=3, lw=1.0, label=label)
    ax.annotate(
        f"{values[-1]:,.0f}",
        (sizes[-1], values[-1]),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=COLORS[name],
    )
    ax.legend(fontsize=8, labelcolor=THEMES["light"].ink, edgecolor="none")


def draw(
    ax: plt.Axes, sizes: list[int], results: list[dict[str, Any]], names: tuple
) -> None:
    """Draw one line a name, each with its last value, and the slope of proportion."""
    ink, rule = THEMES["light"].ink, THEMES["light"].rule
    lines = {name: [result[name] for result in results] for name in names}
    order = sorted(names, key=lambda name: lines[name][-1])
    for name, values in lines.items():
        ax.plot(sizes, values, "o-", color=COLORS[name], ms=4, lw=1.4, label=name)
        ax.annotate(
            f"{values[-1]:,.{0 if values[-1] >= 100 else 1}f}",
            (sizes[-1], values[-1]),
            xytext=(6, 9 * order.index(name) - 4),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=COLORS[name],
        )
    last = results[-1][names[-1]]
    line = [last * size / sizes[-1] for size in sizes]
    ax.plot(sizes, line, ":", color=ink, lw=0.8, label="in proportion")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.grid(color=rule, lw=0.6)
    ax.tick_params(length=0, labelsize=9, colors=ink, which="both")
    ax.spines[:].set_visible(False)
    ax.legend(fontsize=8, labelcolor=ink, framealpha=1, edgecolor="none")


def main() -> None:
    """Read a record and draw its growth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path, help="JSON file of speed.py")
    parser.add_argument("picture", type=Path, help="PNG file to write")
    parser.add_argument("--gpu", type=Path, help="JSON file of its part `rows` there")
    options = parser.parse_args()
    results = json.loads(options.record.read_text())["results"]
    figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharex="col")
    ink = THEMES["light"].ink
    for column, (part, words) in zip(axes.T, PANELS.items(), strict=True):
        sizes = [result[part] for result in results[part]]
        for ax, (unit, names) in zip(column, HEIGHTS.items(), strict=True):
            draw(ax, sizes, results[part], names)
            if options.gpu is not None and part == "rows":
                draw_gpu(ax, json.loads(options.gpu.read_text()), names[-1])
            ax.set_title(unit, loc="left", fontsize=9, color=ink)
        column[-1].set_xlabel(words, fontsize=9, color=ink)
    figure.tight_layout()
    figure.savefig(options.picture, dpi=150)


if __name__ == "__main__":
    main()
