"""Plots of a learner's mistakes with their bounds.

Three lines for each learner: its mistakes (solid), the bound of its certificate at each moment (dashed), and, where it
climbs a dual, the loss in units of the margin that no weights as long as its own have avoided (dotted). A bound that
is not finite is not drawn.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ellipsoid.evaluate.run import Prequential
from ellipsoid.streams.atomic import atomic_write

CURVES: tuple[tuple[str, Any, str], ...] = (
    ("cumulative_mistakes", "solid", "mistakes"),
    ("mistake_bound", (0, (5, 2)), "bound on mistakes"),
    ("hindsight", (0, (1, 1.3)), "least possible loss / margin"),
)


def bounded(run: Prequential) -> bool:
    """Whether there is anything to draw beside the mistakes."""
    return bool(np.isfinite(run.mistake_bound).any() or np.isfinite(run.hindsight).any())


def draw_bounds(ax: Any, runs: dict[str, Prequential], styles: dict[str, dict[str, Any]]) -> set[str]:
    """The lines of several learners, coloured as their learning curves, on a logarithmic axis; returns their kinds."""
    drawn = set()
    for learner, run in runs.items():
        for name, dashes, _ in CURVES:
            values = getattr(run, name)
            shown = np.isfinite(values) & (values > 0.0)
            if shown.any():
                style = {**styles[learner], "linestyle": dashes, "linewidth": 1.6}
                marker = "." if shown.sum() == 1 else None
                ax.plot(run.checkpoints[shown], values[shown], marker=marker, **style)
                drawn.add(name)
    ax.set_yscale("log")
    return drawn


def bounds_title(drawn: set[str]) -> str:
    """The title of a plot with lines of these kinds."""
    return f"Mistakes and their bound{', and the least loss in hindsight' if 'hindsight' in drawn else ''}"


def legend_lines(colour: str, drawn: set[str]) -> list[Any]:
    """The legend of the lines that were drawn."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=colour, linestyle=dashes, label=label, linewidth=1.6)
        for name, dashes, label in CURVES
        if name in drawn
    ]


def write_run(run: Prequential, path: str | Path, title: str) -> None:
    """The error of one run, and below it its mistakes and bounds, as a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 7.0), layout="constrained")
    top, below = figure.subplots(2, 1, sharex=True)
    run.plot(top)
    # A name of a file may hold bytes that are no letters, and dollars, which would enclose a formula.
    top.set_title(title.encode("utf-8", "backslashreplace").decode(), loc="left", parse_math=False)
    top.set_xlabel("")
    drawn = draw_bounds(below, {"": run}, {"": {"color": "#0072B2"}})
    below.set_title(bounds_title(drawn), loc="left")
    below.set_xlabel("rows seen")
    below.legend(handles=legend_lines("#0072B2", drawn), frameon=False, fontsize=9)
    for ax in (top, below):
        ax.grid(axis="y", color="#D9D9D9", linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format="png", dpi=150)
