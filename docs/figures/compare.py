"""Draw compare.png from a run of ``ellipsoid compare digits``: errors on the way, and mistakes beside their bounds."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import style
from click.testing import CliRunner
from style import BLUE, GREEN, GREY, INK, ORANGE, PALE, PURPLE

from ellipsoid.cli import main as ellipsoid_command

# One line for a learner and its averaged form, which make the same updates. The other two of the command's line-up have
# bounds that are no news here: CELLIP's is for separable data, and that of one-vs-rest adds up ten Perceptrons.
SHOWN = {
    "EllipsoidClassifier": ("EllipsoidClassifier", INK),
    "Perceptron (max)": ("Perceptron", BLUE),
    "IELLIP": ("IELLIP", ORANGE),
    "PA-I": ("passive-aggressive", GREEN),
    "MIRA": ("MIRA", PURPLE),
}


def results():
    """What the command writes to results.json, for each learner shown."""
    with TemporaryDirectory() as folder:
        run = CliRunner().invoke(ellipsoid_command, ["compare", "digits", "--quiet", "--output", folder])
        if run.exit_code != 0:
            raise RuntimeError(run.output)
        cells = json.loads((Path(folder) / "results.json").read_text("utf-8"))["cells"]
    return {cell["learner"]: cell["passes"][0] for cell in cells if cell["learner"] in SHOWN}


def errors(axes, runs):
    """Left: the error so far, each row predicted before it is learned."""
    for learner, (name, colour) in SHOWN.items():
        run = runs[learner]
        rows, error = np.array(run["checkpoints"]), 100.0 * np.array(run["cumulative_error"])
        axes.plot(rows[rows >= 60], error[rows >= 60], color=colour, label=name)
    axes.set(ylim=(0, 60), xlim=(0, 1438), xlabel="rows seen", yticks=range(0, 61, 20))
    axes.set_title("wrong so far, %", loc="left")
    axes.grid(axis="y", color=PALE, lw=0.7)
    axes.legend(loc="upper right", fontsize=9)


def bounds(axes, runs):
    """Right: mistakes of the whole run, and what the theory allows for this run."""
    for k, (learner, (name, colour)) in enumerate(reversed(SHOWN.items())):
        bound = [value for value in runs[learner]["mistake_bound"] if value is not None][-1]
        mistakes = runs[learner]["mistakes"]
        axes.plot([mistakes, bound], [k, k], color=PALE, lw=3, zorder=1)
        axes.plot(mistakes, k, "o", color=colour, ms=8)
        axes.plot(bound, k, "|", color=colour, ms=15, mew=2.4)
        note = {"textcoords": "offset points", "va": "center", "fontsize": 9}
        axes.annotate(f"{mistakes:,}", (mistakes, k), (-8, 0), ha="right", **note)
        axes.annotate(f"{bound:,.0f}", (bound, k), (7, 0), color=GREY, **note)
        axes.annotate(name, (mistakes, k), (0, 13), color=INK, **note)
    axes.set(xscale="log", xlim=(55, 2000), ylim=(-0.5, len(SHOWN) - 0.2), yticks=[], xlabel="mistakes in 1,438 rows")
    axes.set_xticks([100, 1000], ["100", "1,000"])
    axes.minorticks_off()
    axes.spines["left"].set_visible(False)
    axes.set_title("mistakes made ● and allowed |", loc="left")


def main():
    """One picture of two panels."""
    style.use()
    runs = results()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.7), layout="constrained")
    errors(left, runs)
    bounds(right, runs)
    style.save_small(figure, style.FOLDER / "compare.png")


if __name__ == "__main__":
    sys.exit(main())
