"""Draw iellip_weights.png: IELLIP's shape only grows, and its oldest updates weigh most."""

import matplotlib.pyplot as plt
import numpy as np
import style
from style import BLUE, GREEN, ORANGE, PURPLE

import ellipsoid


def weights(c, b, updates):
    """Share of each update in P^{-1} after so many of them: c_i prod_{j > i} (1 - c_j), c_i = c b^i."""
    steps = c * float(b) ** np.arange(updates)
    later = np.cumprod((1.0 - steps)[::-1])[::-1]
    return steps * np.append(later[1:], 1.0)


def shapes():
    """IELLIP's ellipsoid before and after each of the first updates of a stream in the plane."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X @ [0.8, 0.6] + 0.4 * rng.standard_normal(400)) > 0.0
    model = ellipsoid.IELLIP(c=0.5, b=0.6, fit_intercept=False)
    found = [ellipsoid.Ellipsoid.ball(np.zeros(2), 1.0)]
    for x, label in zip(X, y, strict=True):
        model = model.partial_fit(x[None, :], [label], classes=[False, True] if len(found) == 1 else None)
        if model.updates_ == len(found) and len(found) < 7:
            found.append(model.ellipsoid_)
    return found


def main():
    """Two panels."""
    style.use()
    figure, (plane, bars) = plt.subplots(1, 2, figsize=(9.4, 3.9), layout="constrained", width_ratios=[1.0, 1.35])
    found = shapes()
    for k, body in enumerate(found):
        colour = plt.colormaps["viridis"](0.9 * k / (len(found) - 1))
        plane.plot(*(body.boundary(300) - body.centre).T, color=colour, lw=1.8)
    plane.annotate("start", (0.0, -1.0), xytext=(0.0, -0.78), ha="center", color=plt.colormaps["viridis"](0.0))
    plane.set(aspect="equal", title="the first six shapes, c = 0.5, b = 0.6")
    plane.set_xlabel("each contains the one before")

    updates = 40
    styles = [((0.1, 0.3), BLUE, "o"), ((0.3, 0.5), GREEN, "s"), ((0.5, 0.9), PURPLE, "D"), ((0.1, 1.0), ORANGE, "^")]
    for (c, b), colour, mark in styles:
        share = weights(c, b, updates)
        label = f"c = {c}, b = {b:g}"
        bars.semilogy(np.arange(1, updates + 1), share, color=colour, marker=mark, ms=3.5, lw=1.2, label=label)
    bars.set(title="weight of each update after forty", xlabel="update, oldest first", ylim=(1e-16, 3.0))
    bars.legend(loc="lower left")
    style.save(figure, "iellip_weights.png")


if __name__ == "__main__":
    main()
