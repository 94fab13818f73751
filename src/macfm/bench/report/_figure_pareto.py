"""Error against time, with the methods that no other beats in both joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from macfm.bench.report._names import FAMILY_COLOURS, FAMILY_MARKERS, METRICS, family
from macfm.bench.report._style import INK, family_legend, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox


#: Offset in points, horizontal and vertical alignment.
Place = tuple[float, float, str, str]


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
    # Names need room, the more so the more there are.
    room = 1 + 0.015 * max(map(len, present.values()))
    with style():
        figure, axes = panels(
            len(present), width=5.2 * room, height=4.4 * room, columns=2
        )
        for axis, (metric, found) in zip(axes, present.items(), strict=True):
            _panel(axis, found)
            axis.set_title(f"{METRICS[metric]}, out-of-sample", loc="left")
            axis.set_xlabel("seconds to fit and impute")
            axis.set_ylabel("error / error of mean imputation")
        kinds = {family(p.method) for found in present.values() for p in found}
        family_legend(figure, kinds)
        figure.draw_without_rendering()
        for axis, found in zip(axes, present.values(), strict=True):
            place_labels(axis, found)
    return figure


def _panel(axis: Axes, points: list[Point]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_xscale("log")
    axis.set_yscale("log")
    edge = front(points)
    seconds, errors = [p.seconds for p in edge], [p.error for p in edge]
    axis.plot(seconds, errors, drawstyle="steps-post", color=INK, lw=0.9, ls="--")
    for point in points:
        kind = family(point.method)
        colour, marker = FAMILY_COLOURS[kind], FAMILY_MARKERS[kind]
        face = colour if point.complete else "none"
        size = 8 if kind == "ours" else 6
        axis.plot(point.seconds, point.error, marker, ms=size, mfc=face, mec=colour)
    axis.margins(0.15, 0.12)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, *range(2, 10))))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid()


def place_labels(axis: Axes, points: Sequence[Point]) -> None:
    """Write each name where it covers no point and no other name, near its own.

    Places around each point are tried from near to far; the first free one is taken,
    and a thin line leads to it if it is far. Points with many others around them
    choose first.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    canvas = axis.figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    frame = axis.get_window_extent(renderer)
    spots = axis.transData.transform([(p.seconds, p.error) for p in points])
    unit = axis.figure.dpi / 72
    signs = [Bbox.from_bounds(x - 5, y - 5, 10, 10).padded(unit) for x, y in spots]
    taken = [*signs, *_steps(axis, front(points))]
    for i in _crowded_first(spots):
        point, spot = points[i], spots[i]
        label = axis.annotate(
            point.label,
            (point.seconds, point.error),
            (0, 0),
            textcoords="offset points",
            fontsize=8,
            fontweight="bold" if family(point.method) == "ours" else "normal",
        )
        size = np.asarray(label.get_window_extent(renderer).size)
        others = [box for box in taken if box is not signs[i]]
        best: tuple[float, Place, list[Bbox]] | None = None
        for place in _places():
            dx, dy, ha, va = place
            box = _box(spot + unit * np.array([dx, dy]), size, ha, va)
            leader = _leader(spot, dx * unit, dy * unit)
            cost = _covered(box, taken) + _outside(box, frame)
            cost += sum(_covered(part, others) for part in leader)
            if best is None or cost < best[0]:
                best = (cost, place, [box.padded(unit), *leader])
            if cost == 0:
                break
        assert best is not None
        _, (dx, dy, ha, va), covered = best
        label.set(position=(dx, dy), ha=ha, va=va)
        taken += covered
        if len(covered) > 1:
            axis.annotate(
                "",
                (point.seconds, point.error),
                (dx, dy),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.5, "shrinkB": 4},
            )


def _crowded_first(spots: np.ndarray) -> list[int]:
    """Order of points by the distance of the third nearest other one."""
    apart = np.linalg.norm(spots[:, None] - spots, axis=2)
    near = np.sort(apart, axis=1)[:, : min(4, len(spots))][:, -1]
    return np.argsort(near, kind="stable").tolist()


def _box(spot: np.ndarray, size: np.ndarray, ha: str, va: str) -> Bbox:
    """Where a text of some size stands if it is put at a spot."""
    from matplotlib.transforms import Bbox

    shares = {"left": 0.0, "bottom": 0.0, "center": 0.5, "right": 1.0, "top": 1.0}
    corner = spot - size * np.array([shares[ha], shares[va]])
    return Bbox.from_bounds(*corner, *size)


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


def _places() -> list[Place]:
    """Where names may stand, near places first."""
    places: list[Place] = []
    for far in (7, 14, 22, 32, 44, 58, 74):
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
