"""Panels of points as one picture, in the house's colours; a label has one colour in all panels."""

from __future__ import annotations

from typing import Any

from ellipsoid.report.plots import COLOURS, Theme, need_matplotlib

from .report import Panel

# Markers repeat after another number than colours, so that no two of many learners look the same.
MARKERS = "osD^vPX*"
PALETTE = (*COLOURS, "#8C510A")


def draw(panels: list[Panel], theme: Theme | None = None) -> Any:
    """A matplotlib Figure of all panels, at most four in a line."""
    need_matplotlib()
    from matplotlib.figure import Figure

    theme = theme or Theme()
    across = min(len(panels), 4 if len(panels) % 4 == 0 else 3)
    down = -(-len(panels) // across)
    # A column is as wide as the most names in it need.
    widths = [max(1.0, *(len(panel.names) / 6 for panel in panels[i::across])) for i in range(across)]
    size = (3.5 * sum(widths) + 0.6, 3.1 * down + 0.9)
    figure = Figure(figsize=size, layout="constrained", facecolor=theme.paper)
    axes = figure.subplots(down, across, squeeze=False, width_ratios=widths).ravel()
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    for ax, panel in zip(axes, panels, strict=False):
        _panel(ax, panel, labels, theme)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    handles: dict[str, Any] = {}
    for ax in axes:
        for line, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, line)
    figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=min(len(labels), round(sum(widths)) + 1),
        frameon=False,
        labelcolor=theme.ink,
    )
    return figure


def _panel(ax: Any, panel: Panel, labels: list[str], theme: Theme) -> None:
    for curve in panel.curves:
        place = labels.index(curve.label)
        # Beside each other where the axis has names: their bars would hide one another.
        aside = 0.6 * (place / max(len(labels) - 1, 1) - 0.5) if panel.names else 0.0
        ax.errorbar(
            [x + aside for x in curve.x],
            curve.y,
            yerr=curve.sd or None,
            xerr=curve.sd_x or None,
            label=curve.label,
            color=PALETTE[place % len(PALETTE)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=5,
            fillstyle="none" if curve.dashed else "full",
            linestyle=("--" if curve.dashed else "-") if panel.joined else "none",
            linewidth=1.6,
            capsize=2,
        )
    ax.set_title(panel.title, loc="left", fontsize=11, color=theme.ink)
    ax.set_xlabel(panel.x, color=theme.ink)
    ax.set_ylabel(panel.y, color=theme.ink)
    ax.set_facecolor("none")
    ax.grid(axis="y", color=theme.grid, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color(theme.ink)
    ax.tick_params(colors=theme.ink)
    if panel.logarithmic:
        ax.set_yscale("log")
    if panel.names:
        ax.set_xticks(range(len(panel.names)), panel.names, rotation=30, ha="right", rotation_mode="anchor")
    elif all(float(x).is_integer() for curve in panel.curves for x in curve.x):
        ax.xaxis.get_major_locator().set_params(integer=True)
