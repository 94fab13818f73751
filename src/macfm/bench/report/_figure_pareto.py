"""Error against time, with the methods that no other beats in both joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from macfm.bench.report._names import FAMILY_COLOURS, METRICS, family
from macfm.bench.report._style import INK, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox


@dataclass(frozen=True)
class Point:
    """A method in the picture."""

    label: str
    method: str
    seconds: float
    #: Relative to mean imputation.
    error: float
    #: Whether it has all the cells that any method has.
    complete: bool


def front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other beats in both, fastest first.

    Examples
    --------
    >>> a, b = Point("a", "a", 1, 0.9, True), Point("b", "b", 2, 0.5, True)
    >>> c = Point("c", "c", 3, 0.6, True)
    >>> [point.label for point in front([c, b, a])]
    ['a', 'b']
    """
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.seconds, p.error)):
        if not kept or point.error < kept[-1].error:
            kept.append(point)
    return kept


def draw_pareto(points: dict[str, list[Point]]) -> Figure:
    """Draw one panel for each metric that has points."""
    present = {metric: found for metric, found in points.items() if found}
    with style():
        figure, axes = panels(len(present), width=5.2, height=4.2, columns=2)
        for axis, (metric, found) in zip(axes, present.items(), strict=True):
            _panel(axis, found)
            axis.set_title(f"{METRICS[metric]}, out-of-sample", loc="left")
            axis.set_xlabel("seconds to fit and impute (log scale)")
            axis.set_ylabel("error / error of mean imputation")
        figure.draw_without_rendering()
        for axis, found in zip(axes, present.values(), strict=True):
            place_labels(axis, found)
    return figure


def _panel(axis: Axes, points: list[Point]) -> None:
    axis.set_xscale("log")
    edge = front(points)
    seconds, errors = [p.seconds for p in edge], [p.error for p in edge]
    axis.plot(seconds, errors, drawstyle="steps-post", color=INK, lw=0.9, ls="--")
    for point in points:
        colour = FAMILY_COLOURS[family(point.method)]
        face = colour if point.complete else "none"
        size = 8 if family(point.method) == "ours" else 6
        axis.plot(point.seconds, point.error, "o", ms=size, mfc=face, mec=colour)
    axis.margins(0.28, 0.12)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.grid()


def place_labels(axis: Axes, points: Sequence[Point]) -> None:
    """Write each name where it covers no point and no other name, near its own.

    Places around each point are tried from near to far; the first free one is taken,
    and a thin line leads to it if it is far.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    canvas = axis.figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    frame = axis.get_window_extent(renderer)
    spots = axis.transData.transform([(p.seconds, p.error) for p in points])
    unit = axis.figure.dpi / 72
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10).padded(unit) for x, y in spots]
    taken += _steps(axis, front(points))
    order = sorted(range(len(points)), key=lambda i: family(points[i].method) != "ours")
    for point, spot in ((points[i], spots[i]) for i in order):
        best = None
        for dx, dy, ha, va in _places():
            label = axis.annotate(
                point.label,
                (point.seconds, point.error),
                (dx, dy),
                textcoords="offset points",
                ha=ha,
                va=va,
                fontsize=8,
                fontweight="bold" if family(point.method) == "ours" else "normal",
            )
            box = label.get_window_extent(renderer)
            cost = _covered(box, taken) + _outside(box, frame)
            leader = _leader(spot, dx * unit, dy * unit)
            cost += sum(_covered(part, taken) for part in leader)
            if best is None or cost < best[0]:
                if best is not None:
                    best[1].remove()
                best = (cost, label, box, (dx, dy), leader)
            else:
                label.remove()
            if cost == 0:
                break
        assert best is not None
        taken += [best[2].padded(unit), *best[4]]
        dx, dy = best[3]
        if best[4]:
            axis.annotate(
                "",
                (point.seconds, point.error),
                (dx, dy),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.5, "shrinkB": 4},
            )


def _steps(axis: Axes, edge: Sequence[Point]) -> list[Bbox]:
    """Thin boxes along the line that joins the points of the front."""
    from matplotlib.transforms import Bbox

    spots = axis.transData.transform([(p.seconds, p.error) for p in edge])
    boxes = []
    for (x_0, y_0), (x_1, y_1) in pairwise(spots):
        boxes.append(Bbox([[x_0, y_0 - 1], [x_1, y_0 + 1]]))
        boxes.append(Bbox([[x_1 - 1, y_1], [x_1 + 1, y_0]]))
    return boxes


def _leader(spot: np.ndarray, dx: float, dy: float) -> list[Bbox]:
    """Small boxes along the line to a label that is far from its point."""
    from matplotlib.transforms import Bbox

    length = float(np.hypot(dx, dy))
    if length < 15:
        return []
    steps = np.linspace(12 / length, 1, int(length // 4))
    return [
        Bbox.from_bounds(spot[0] + dx * s - 1, spot[1] + dy * s - 1, 2, 2)
        for s in steps
    ]


def _places() -> list[tuple[float, float, str, str]]:
    """Offsets in points with alignments, near ones first."""
    places = []
    for far in (7, 14, 22, 32, 44):
        near = far * 0.7
        places += [
            (far, 0, "left", "center"),
            (-far, 0, "right", "center"),
            (0, far, "center", "bottom"),
            (0, -far, "center", "top"),
            (near, near, "left", "bottom"),
            (near, -near, "left", "top"),
            (-near, near, "right", "bottom"),
            (-near, -near, "right", "top"),
        ]
    return places


def _covered(box: Bbox, taken: Sequence[Bbox]) -> float:
    """Area of a box that others cover."""
    total = 0.0
    for other in taken:
        width = min(box.x1, other.x1) - max(box.x0, other.x0)
        height = min(box.y1, other.y1) - max(box.y0, other.y0)
        total += max(width, 0) * max(height, 0)
    return total


def _outside(box: Bbox, frame: Bbox) -> float:
    """Area of a box outside a frame."""
    return box.width * box.height - _covered(box, [frame])
