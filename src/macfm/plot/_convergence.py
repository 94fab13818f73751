"""How training went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from macfm._errors import ParameterError
from macfm.plot._style import Theme, dress, legend_below, new_axes, say, theme_of, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def convergence(
    imputer: Any, *, ax: Axes | None = None, style: str | Theme = "light"
) -> Axes:
    """Draw the training curve of a fitted imputer.

    Parameters
    ----------
    imputer : MACFMImputer
        A fitted imputer; its ``history_`` is drawn.
    ax : Axes, default=None
        Where to draw; a new figure when None.
    style : {"light", "dark"} or Theme, default="light"
        The colours.

    Returns
    -------
    Axes
    """
    theme = theme_of(style)
    history = getattr(imputer, "history_", None)
    if history is None:
        raise ParameterError(
            "convergence needs a fitted imputer; call fit first", parameter="imputer"
        )
    _, ax = new_axes(ax, theme, size=(5.6, 3.4))
    if not len(history):
        return say(ax, theme, "Nothing was trained: no column varies.")
    networks = list(dict.fromkeys(history["network"]))
    validated = "val_error" in history and history["val_error"].notna().any()
    many = len(networks) > 1
    for number, network in enumerate(networks):
        part = history[history["network"] == network]
        look: dict[str, Any] = (
            {"marker": "o", "markersize": 3} if len(part) < 30 else {}
        )
        alpha = 0.7 if many else 1.0
        ax.plot(
            part["step"],
            part["loss"],
            color=theme.observed,
            linewidth=1.2,
            alpha=alpha,
            label=None if number else "training loss",
            **look,
        )
        if validated:
            curve = part["val_error"].to_numpy(dtype=float)
            colour = (
                theme.palette[number % len(theme.palette)] if many else theme.filled
            )
            best = int(np.nanargmin(curve)) if np.isfinite(curve).any() else None
            name = f"error on hidden cells{f', network {network + 1}' if many else ''}"
            ax.plot(
                part["step"], curve, color=colour, linewidth=1.8, label=name, **look
            )
            if best is not None:
                ax.plot(
                    part["step"].iloc[best],
                    curve[best],
                    marker="o",
                    markersize=7,
                    color="none",
                    markeredgecolor=theme.ink,
                    linestyle="none",
                    label="best, kept" if number == len(networks) - 1 else None,
                )
    dress(ax, theme, grid="y")
    ax.set(xlabel="training step", ylabel="error")
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    steps, seconds = (
        int(history.groupby("network")["step"].max().sum()),
        _seconds(history),
    )
    title(ax, theme, f"Training: {steps:,} steps{seconds}")
    legend_below(ax, theme, ncols=3 if len(networks) < 2 else 2)
    return ax


def _seconds(history: Any) -> str:
    """The time training took, if it is known."""
    if "seconds" not in history:
        return ""
    total = float(history["seconds"].max())
    return f", {total:.0f} s" if total >= 1 else f", {total:.1f} s"
