"""Learning curves of a comparison: error and updates against the rows seen.

Colours are Okabe and Ito's ("Color universal design", 2008), which stay apart for colour-blind readers; a
learner and its averaged form share a colour, and the averaged one is dashed.
"""

import io
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.evaluate.cell import Cell
from ellipsoid.evaluate.compare import Comparison
from ellipsoid.streams.atomic import atomic_write

from .bounds import bounded, bounds_title, draw_bounds, legend_lines

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
DASHES = ("solid", (0, (4, 1.5)), (0, (1, 1.2)))


class Theme(NamedTuple):
    """Colours of everything that is not data."""

    ink: str = "#222222"
    grid: str = "#D9D9D9"
    paper: str = "white"


# Colours that occur nowhere else, so that they can be replaced by those of the page around the drawing.
PLACEHOLDERS = Theme(ink="#010203", grid="#040506", paper="none")


def need_matplotlib() -> None:
    """Raise before a long run whose results could not be drawn."""
    if find_spec("matplotlib") is None:
        raise ImportError("plots need matplotlib; install it with: pip install 'ellipsoid[plots]'")


def write_png(comparison: Comparison, path: str | Path) -> None:
    """The learning curves as a PNG file."""
    figure = learning_curves(comparison)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format="png", dpi=160)


def svg(comparison: Comparison) -> str:
    """The learning curves as an ``<svg>`` element, see `inline`."""
    return inline(learning_curves(comparison, PLACEHOLDERS), "learning curves")


def svg_text(figure: Any) -> str:
    """A figure as an SVG file's text: text stays text (it can be selected and takes the page's font), and a fixed
    salt and no date make equal figures equal files.
    """
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ellipsoid"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue()


def inline(figure: Any, label: str) -> str:
    """A figure drawn with `PLACEHOLDERS` as an ``<svg>`` element that takes text and grid colours from the page around
    it, and refers to nothing outside itself.
    """
    drawing = svg_text(figure)
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r'\s(xmlns(:\w+)?="[^"]*"|(width|height)="[^"]*pt")', "", drawing)
    drawing = drawing.replace("xlink:href", "href").replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return drawing.replace(PLACEHOLDERS.ink, "currentColor").replace(PLACEHOLDERS.grid, "var(--grid)")


def learning_curves(comparison: Comparison, theme: Theme | None = None) -> Any:
    """A matplotlib Figure: cumulative error and updates in the first pass; where there are several passes
    and a test part, also the test error after each. Several orders are drawn as their mean with a band of
    one deviation. Learners with the same curves everywhere share a line. Below, where a learner certifies
    its mistakes, these with their bounds in the first order.
    """
    need_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    theme = theme or Theme()
    panels = _panels(comparison)
    spacing = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08, wspace=0.04)
    styles = line_styles(comparison)
    lines = _shared_lines(comparison, panels)
    runs = {learner: comparison.of(learner)[0].passes[0] for learner in lines}
    runs = {learner: run for learner, run in runs.items() if bounded(run)}
    size = (10.4 if len(panels) == 2 else 13.2, 9.0 if runs else 5.0)
    figure = Figure(figsize=size, layout=spacing, facecolor=theme.paper)
    grid = figure.add_gridspec(2 if runs else 1, len(panels))
    axes: list[Any] = [figure.add_subplot(grid[0, i]) for i in range(len(panels))]
    for ax, panel in zip(axes, panels, strict=True):
        for learner, label in lines.items():
            _mean_line(ax, panel, comparison.of(learner), {**styles[learner], "label": label})
        _describe(ax, panel, theme)
    axes[0].set_ylim(0, _settled_error(comparison))
    for ax in axes[:2]:
        ax.set_xlim(0, comparison.setting["rows"])
    for ax in axes[2:]:
        ax.xaxis.get_major_locator().set_params(integer=True)
    if runs:
        below = figure.add_subplot(grid[1, :])
        drawn = draw_bounds(below, runs, styles)
        counted = "count, or loss / margin" if "hindsight" in drawn else "count"
        _describe(below, Panel(bounds_title(drawn), "rows seen", counted, lambda cell: (0, 0)), theme)
        below.set_xlim(0, comparison.setting["rows"])
        below.legend(handles=legend_lines(theme.ink, drawn), frameon=False, fontsize=9.5, labelcolor=theme.ink)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=_columns(labels, len(panels)),
        frameon=False,
        fontsize=10.5,
        labelcolor=theme.ink,
        handlelength=2.6,
    )
    return figure


def _columns(labels: list[str], panels: int) -> int:
    """Columns of the legend: few where names are long."""
    if sum(len(label) for label in labels) > 60 and max(len(label) for label in labels) > 40:
        return panels
    return min(len(labels), 2 * panels) if len(labels) <= 4 else 1 + panels


class Panel(NamedTuple):
    """One pair of axes; ``curve`` gives its points for a cell."""

    title: str
    x: str
    y: str
    curve: Callable[[Cell], tuple[Any, Any]]


def _panels(comparison: Comparison) -> list[Panel]:
    def error(cell: Cell) -> tuple[Any, Any]:
        run = cell.passes[0]
        # The error over the first few rows is close to 0 or 1, and would fill the picture.
        shown = run.checkpoints >= run.rows / 50
        return run.checkpoints[shown], 100 * run.cumulative_error[shown]

    def updates(cell: Cell) -> tuple[Any, Any]:
        run = cell.passes[0]
        known = ~np.isnan(run.cumulative_updates)
        return np.append(0, run.checkpoints[known]), np.append(0, run.cumulative_updates[known])

    def test_error(cell: Cell) -> tuple[Any, Any]:
        return np.arange(1, len(cell.test_errors) + 1), 100 * np.array(cell.test_errors)

    panels = [
        Panel("Error before learning each row", "rows seen", "cumulative error, %", error),
        Panel("Updates", "rows seen", "cumulative updates", updates),
    ]
    if comparison.setting["passes"] > 1 and comparison.setting["test_rows"] > 0:
        panels.append(Panel("Error on the test rows", "passes", "test error, %", test_error))
    return panels


def _shared_lines(comparison: Comparison, panels: list[Panel]) -> dict[str, str]:
    """The learners to draw, each with the label of its line."""
    first_with: dict[bytes, str] = {}
    together: dict[str, list[str]] = {}
    for learner in comparison.learners:
        cells = comparison.of(learner)
        points = b"".join(np.concatenate(panel.curve(cell)).tobytes() for panel in panels for cell in cells)
        together.setdefault(first_with.setdefault(points, learner), []).append(learner)
    return {first: ",\n".join(learners) for first, learners in together.items()}


def line_styles(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Colour and dashes for each learner."""
    families: dict[str, int] = {}
    styles = {}
    for learner, parameters in comparison.parameters.items():
        averaged = bool(parameters.get("average", False))
        kind = comparison.kinds[learner]
        family = families.setdefault(repr((kind, {**parameters, "average": None})), len(families))
        dashes = DASHES[2 if family >= len(COLOURS) else averaged]
        styles[learner] = {"color": COLOURS[family % len(COLOURS)], "linestyle": dashes, "linewidth": 1.9}
    return styles


def _mean_line(ax: Any, panel: Panel, cells: list[Cell], style: dict[str, Any]) -> None:
    x = panel.curve(cells[0])[0]
    curves = [panel.curve(cell)[1] for cell in cells]
    mean = np.mean(curves, axis=0)
    ax.plot(x, mean, **style)
    if len(curves) > 1:
        deviation = np.std(curves, axis=0, ddof=1)
        ax.fill_between(x, mean - deviation, mean + deviation, color=style["color"], alpha=0.15, linewidth=0)


def _describe(ax: Any, panel: Panel, theme: Theme) -> None:
    ax.set_title(panel.title, loc="left", fontsize=13, color=theme.ink, pad=10)
    ax.set_xlabel(panel.x, fontsize=11, color=theme.ink)
    ax.set_ylabel(panel.y, fontsize=11, color=theme.ink)
    ax.set_facecolor("none")
    ax.grid(axis="y", color=theme.grid, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(theme.ink)
    ax.tick_params(which="both", colors=theme.ink, labelsize=10.5, length=0, pad=5)
    ax.tick_params(axis="x", length=4)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:,.3g}" if "%" in panel.y else "{x:,.0f}")
    if ax.get_yscale() == "linear":
        ax.set_ylim(bottom=0)


def _settled_error(comparison: Comparison) -> float:
    """Where the axis of the error ends: a little above all curves after a twentieth of the rows."""
    runs = [cell.passes[0] for cell in comparison.cells]
    highest = max(float(run.cumulative_error[run.checkpoints >= run.rows / 20].max()) for run in runs)
    return min(100.0, 105 * highest) or 1.0
