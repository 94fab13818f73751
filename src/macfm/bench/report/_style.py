"""How figures look, and how they are kept."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, PALE = "#22303c", "#d5dbe1"
#: Okabe and Ito's colours for lines of datasets.
LINES = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#e69f00", "#7f7f7f", "#a6761d"),
)
MARKERS = "osD^vPX*"
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "macfm",
}


def require(package: str) -> None:
    """Raise an error that names the extra if a package of the report is absent."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ImportError(
            f'the report needs {package}: pip install "macfm[report]" (figures=False '
            "writes it without matplotlib)"
        )


@contextmanager
def style() -> Iterator[None]:
    """Draw in the report's style, leaving matplotlib's settings as they were."""
    require("matplotlib")
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def panels(n: int, *, width: float, height: float, columns: int) -> tuple[Figure, list]:
    """Return a figure with `n` panels in rows, each `width` × `height` inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_columns = min(n, columns)
    n_rows = -(-n // n_columns)
    figure = Figure((n_columns * width, n_rows * height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for spare in axes[n:]:
        spare.set_axis_off()
    return figure, list(axes[:n])


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG."""
    return _saved(figure, format="png", dpi=150, facecolor="white")


def svg(figure: Figure) -> bytes:
    """Return a figure as an SVG, the same bytes each time."""
    return _saved(figure, format="svg", metadata={"Date": None}, facecolor="white")


def _saved(figure: Figure, **how: Any) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, **how)
    return buffer.getvalue()


def inline_svg(drawing: bytes, *, slug: str, label: str) -> str:
    """Return an SVG to stand inside a page, in the colours of its text.

    Names inside it get a prefix, so that several can stand on one page; the white
    ground goes, and ink becomes the colour of the text around it.
    """
    text = drawing.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{slug}-', text)
    text = re.sub(r"url\(#", f"url(#{slug}-", text)
    text = re.sub(r'href="#', f'href="#{slug}-', text)
    # The first patch is the ground of the figure, others that of its axes.
    text = re.sub(r"fill: #ffffff(?=[;\"])", "fill: none", text)
    text = text.replace(INK, "currentColor").replace(PALE, "var(--rule)")
    label = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def data_uri(drawing: bytes) -> str:
    """Return a PNG as the address of an image inside a page."""
    return "data:image/png;base64," + base64.b64encode(drawing).decode("ascii")
