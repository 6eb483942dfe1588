"""Draw an ellipsoid of classifiers closing in on the true one: version_space.png, and version_space.gif that moves."""

from itertools import pairwise
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import style
from matplotlib.animation import FuncAnimation, PillowWriter
from style import BLUE, GREEN, GREY, INK, ORANGE, PALE, SKY

import ellipsoid

MARGIN = 0.1
TRUTH = np.array([np.cos(0.62), np.sin(0.62)])
SIDE = np.linspace(-1.05, 1.05, 401)
GRID = np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2)


class Stage(NamedTuple):
    """The state after a row: how many were seen and asked, which rows cut, and what is left."""

    rows: int
    asked: list
    cuts: list
    body: ellipsoid.Ellipsoid


def stream(n=400, seed=5):
    """Rows of the unit disc on which the true classifier has the margin."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(8 * n, 2))
    X = X[(np.linalg.norm(X, axis=1) <= 1.0) & (np.abs(X @ TRUTH) >= MARGIN)][:n]
    return X, np.where(X @ TRUTH > 0.0, 1, -1)


def run(X, y):
    """One selective pass; a stage for the start and for every label asked, and the last row's."""
    model = ellipsoid.CELLIP(margin=MARGIN, cut="minvol", trigger="always", selective=True, fit_intercept=False)
    model = model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    stages = [Stage(0, [], [], ellipsoid.Ellipsoid.ball(np.zeros(2), 1.0))]
    asked, cuts, labels, updates = [], [], 0, 0
    for t in range(len(X)):
        if t > 0:
            model = model.learn_one(X[t], y[t])
        if model.updates_ > updates:
            cuts.append(t)
        if model.asked_ > labels:
            asked.append(t)
            stages.append(Stage(t + 1, list(asked), list(cuts), model.version_space_))
        labels, updates = model.asked_, model.updates_
    stages.append(stages[-1]._replace(rows=len(X)))
    return stages


def draw_classifiers(axes, stage, X, y, cutting=None):
    """The plane of classifiers: the disc, what the cuts leave of it, and the ellipsoid that covers this."""
    left = np.linalg.norm(GRID, axis=1) <= 1.0
    for t in stage.cuts:
        left &= y[t] * (GRID @ X[t]) >= MARGIN
    axes.contourf(SIDE, SIDE, left.reshape(len(SIDE), -1), levels=[0.5, 1.5], colors=[SKY], alpha=0.55)
    axes.add_patch(plt.Circle((0, 0), 1.0, fill=False, ec=GREY, lw=0.9, ls=(0, (4, 3))))
    axes.plot(*stage.body.boundary(400).T, color=BLUE, lw=2.0)
    axes.plot(*stage.body.centre, "o", color=BLUE, ms=5)
    if cutting is not None:
        z = y[cutting] * X[cutting]
        foot, along = MARGIN * z / (z @ z), np.array([-z[1], z[0]]) / np.linalg.norm(z)
        axes.plot(*np.array([foot - 3 * along, foot + 3 * along]).T, color=ORANGE, lw=1.6)
        axes.annotate("", foot + 0.22 * z / np.linalg.norm(z), foot, arrowprops={"arrowstyle": "->", "color": ORANGE})
    axes.plot(*TRUTH, "*", color=GREEN, ms=13, mec="white", mew=0.8, zorder=5)
    frame(axes, (-1.1, 1.75))


def draw_rows(axes, stage, X, y):
    """The plane of rows: where the ellipsoid disagrees, and which rows were asked."""
    doubt = np.abs(GRID @ stage.body.centre) <= stage.body.width(GRID)
    doubt = (doubt & (np.linalg.norm(GRID, axis=1) <= 1.0)).reshape(len(SIDE), -1)
    axes.contourf(SIDE, SIDE, doubt, levels=[0.5, 1.5], colors=[PALE])
    axes.add_patch(plt.Circle((0, 0), 1.0, fill=False, ec=GREY, lw=0.9, ls=(0, (4, 3))))
    quiet = np.setdiff1d(np.arange(stage.rows), stage.asked)
    axes.scatter(*X[quiet].T, s=3, color=GREY, lw=0)
    for sign, mark in ((1, "o"), (-1, "s")):
        own = [t for t in stage.asked if y[t] == sign]
        axes.scatter(*X[own].T, s=28, marker=mark, color=INK if sign < 0 else ORANGE, ec="white", lw=0.6, zorder=4)
    frame(axes, (-1.08, 1.08))


def frame(axes, limits):
    """Equal axes without numbers: directions are what matters."""
    axes.set(xlim=limits, ylim=limits, aspect="equal", xticks=[], yticks=[])
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def caption(stage):
    """How many rows and labels."""
    labels = len(stage.asked)
    return f"{stage.rows} rows, {labels} label{'' if labels == 1 else 's'}"


def picture(stages, X, y):
    """Five stages side by side."""
    chosen = [stages[k] for k in (0, 2, 4, 8)] + [stages[-1]]
    figure, axes = plt.subplots(2, len(chosen), figsize=(9.6, 4.3), layout="constrained")
    for column, stage in zip(axes.T, chosen, strict=True):
        draw_classifiers(column[0], stage, X, y)
        draw_rows(column[1], stage, X, y)
        column[0].set_title(caption(stage) if stage.rows else "before any row")
    for axes_, name in zip(axes[:, 0], ("classifiers", "rows"), strict=True):
        axes_.set_ylabel(name, fontsize=12)
    style.save(figure, "version_space.png", dpi=160)


def animation(stages, X, y):
    """For each asked label two frames: the cut, and what it leaves."""
    frames = [(stages[0], None)] * 2
    for before, after in pairwise(stages[:-1]):
        fresh = after.asked[-1]
        shown = before._replace(rows=after.rows, asked=after.asked)
        frames += [(shown, fresh), (after, None)]
    frames += [(stages[-1], None)] * 5
    figure, (plane, rows) = plt.subplots(1, 2, figsize=(5.6, 3.3), layout="constrained")

    def draw(k):
        stage, cutting = frames[k]
        plane.clear()
        rows.clear()
        draw_classifiers(plane, stage, X, y, cutting)
        draw_rows(rows, stage, X, y)
        plane.set_title("the ellipsoid of classifiers")
        rows.set_title("grey: where it disagrees")
        figure.supxlabel(caption(stage), fontsize=11)

    FuncAnimation(figure, draw, frames=len(frames)).save(
        style.FOLDER / "version_space.gif", writer=PillowWriter(fps=1.6), dpi=104
    )
    plt.close(figure)


if __name__ == "__main__":
    style.use()
    rows, labels = stream()
    history = run(rows, labels)
    picture(history, rows, labels)
    animation(history, rows, labels)
