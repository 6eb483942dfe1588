"""Draw docs/_static/figures/convex.png: ellipsoids closing in on a minimum, and the gap they prove."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import ellipsoid

TARGET = Path(__file__).parent.parent / "_static" / "figures" / "convex.png"
CORNERS = np.array([[2.0, 1.0], [-1.0, 1.5], [-0.3, -1.2], [1.5, -0.4]])
INK, BLUE, ORANGE = "#333333", "#1f6fb2", "#d9730d"


def farthest(x):
    """The distance to the farthest of four points: least at the centre of the smallest disc around them."""
    offsets = x - CORNERS
    distances = np.linalg.norm(offsets, axis=1)
    far = int(np.argmax(distances))
    return float(distances[far]), offsets[far] / distances[far]


def above(x):
    """The constraint x_1 + x_2 >= 1.5."""
    return 1.5 - float(x.sum()), -np.ones(2)


def main():
    """Run the method once with each kind of cut and draw the two panels."""
    bodies = []
    result = ellipsoid.minimize(
        farthest,
        [0.0, 0.0],
        3.0,
        constraints=[above],
        callback=lambda step, body: bodies.append((step, body)),
    )
    figure, (plane, progress) = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")

    side = np.linspace(-3.2, 3.2, 161)
    levels = np.array([[farthest(np.array([a, b]))[0] for a in side] for b in side])
    plane.contour(side, side, levels, levels=12, colors="#cccccc", linewidths=0.7)
    plane.fill_between(side, -4, 1.5 - side, color="#000000", alpha=0.06, lw=0)
    shown = bodies[:10]
    for k, (_, body) in enumerate(shown):
        plane.plot(*body.boundary(300).T, color=plt.colormaps["viridis"](k / len(shown)), lw=1.1)
    plane.plot(*np.array([step.centre for step, _ in shown]).T, ".-", color=INK, ms=4, lw=0.5)
    plane.plot(*result.x, "*", color=ORANGE, ms=13, zorder=5)
    plane.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), aspect="equal", title="the first ten ellipsoids")
    plane.set_xlabel("the shaded half is infeasible, the star is the minimum", fontsize=9)

    for cut, colour in (("deep", BLUE), ("central", ORANGE)):
        run = ellipsoid.minimize(farthest, [0.0, 0.0], 3.0, constraints=[above], cut=cut, tol=1e-10)
        steps = [step for step in run.history if np.isfinite(step.best)]
        progress.semilogy(
            [step.iteration for step in steps],
            [step.best - step.lower_bound for step in steps],
            color=colour,
            label=f"{cut} cuts",
        )
    progress.set(title="the proven gap", xlabel="iteration", ylabel="best value - lower bound")
    progress.legend(frameon=False)
    progress.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
