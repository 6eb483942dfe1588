"""Draw docs/_static/figures/esvm.png: a version space with the centres that three machines choose in it.

A version space of three weights is a patch of the sphere; it is shown from the origin on a plane (straight borders stay
straight). The right panel repeats the comparison on twelve random problems of four weights.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull
from sklearn.svm import SVC
from style import BLUE, GREEN, GREY, INK, ORANGE, PALE, SKY, save, use

from ellipsoid import EllipsoidalSVC
from ellipsoid.batch.billiard import billiard


def mirrored(X, y):
    """Every point with its mirror image: the bias is zero by symmetry."""
    return np.vstack([X, -X]), np.append(y, -y)


def ball(X, y, unit=True):
    """The SVM: the centre of the largest ball, and its radius."""
    both, labels = mirrored(X / np.linalg.norm(X, axis=1)[:, None] if unit else X, y)
    w = SVC(kernel="linear", C=1e9).fit(both, labels).coef_[0]
    return w / np.linalg.norm(w), 1.0 / np.linalg.norm(w)


def ellipsoid(X, y, **more):
    """The ellipsoidal SVM, hard margin."""
    both, labels = mirrored(X, y)
    return EllipsoidalSVC(kernel="linear", hard_margin=True, tol=1e-8, **more).fit(both, labels)


def bayes_point(X, y, start, seed=0):
    """The centre of mass of the version space."""
    signed = X * y[:, None] / np.linalg.norm(X, axis=1)[:, None]
    return billiard(signed, start, max_bounces=400_000, tol=1e-4, rng=np.random.default_rng(seed))[0]


def long_patch():
    """Points whose version space is a long, thin patch."""
    normals = np.array(
        [[0.15, 1.0, 0.28], [-0.1, -1.0, 0.33], [1.0, 0.3, 0.75], [-1.0, 0.15, 0.55], [-0.55, -1.0, 0.6]]
    )
    lengths = np.array([1.0, 0.5, 2.0, 1.5, 0.8])
    return normals / np.linalg.norm(normals, axis=1)[:, None] * lengths[:, None], np.ones(5)


def chart(centre):
    """Coordinates around ``centre``: points of the cone, seen from the origin on a plane."""
    east = np.cross([0.0, 1.0, 0.0], centre)
    east /= np.linalg.norm(east)
    frame = np.column_stack([east, np.cross(centre, east)])
    return lambda points: (np.atleast_2d(points) @ frame) / (np.atleast_2d(points) @ centre)[:, None]


def outline(points):
    """The convex outline of projected points, closed."""
    corners = points[ConvexHull(points).vertices]
    return np.vstack([corners, corners[:1]])


def draw_patch(axes):
    """The patch, the largest ball and the large ellipsoid in it, and the three centres."""
    X, y = long_patch()
    w_ball, radius = ball(X, y)
    model = ellipsoid(X, y)
    w_ellipsoid = model.coef_[0]
    exact = ellipsoid(X, y, formulation="exact")
    bayes = bayes_point(X, y, w_ball)
    view = chart(bayes)
    edges = [sign * np.cross(a, b) for a, b in combinations(X, 2) for sign in (1.0, -1.0)]
    corners = np.array([edge for edge in edges if (X @ edge > -1e-9).all()])
    axes.fill(*outline(view(corners)).T, color=PALE, alpha=0.4, ec=INK, lw=1.2, zorder=0)
    sphere = np.random.default_rng(0).standard_normal((20_000, 3))
    sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    shape = exact._models[0].shape
    axes.plot(*outline(view(w_ball + radius * sphere)).T, color=ORANGE, lw=1.4)
    axes.plot(*outline(view(exact.coef_[0] + sphere @ shape)).T, color=BLUE, lw=1.4)
    for w, mark, colour, name in (
        (w_ball, "s", ORANGE, "SVM: centre of the largest ball"),
        (w_ellipsoid, "o", BLUE, "e-SVM: centre of a large ellipsoid"),
        (bayes, "*", GREEN, "Bayes point: centre of mass"),
    ):
        angle = np.degrees(np.arccos(np.clip(w @ bayes / np.linalg.norm(w), -1, 1)))
        label = name if mark == "*" else f"{name} ({angle:.1f}°)"
        axes.plot(*view(w)[0], mark, color=colour, ms=13 if mark == "*" else 8, mec="white", label=label, zorder=3)
    axes.set_title("one version space, three centres", fontsize=10, color=INK)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), frameon=False, fontsize=8.5)
    axes.set_aspect("equal")
    axes.axis("off")


PROBLEMS = 12


def mean_angles():
    """Mean angle to the Bayes point on random separable problems: 14 points of very different lengths, 4 weights."""
    found = {"SVM": [], "SVM, unit rows": [], "e-SVM, paper scaling": [], "e-SVM": []}
    for seed in range(PROBLEMS):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((14, 4)) * np.exp(rng.uniform(-1.5, 1.5, (14, 1)))
        w = rng.standard_normal(4)
        y = np.where(X @ w > 0, 1, -1)
        bayes = bayes_point(X, y, w / np.linalg.norm(w), seed)
        centres = (
            ball(X, y, unit=False)[0],
            ball(X, y)[0],
            ellipsoid(X, y, margin_scaling="paper").coef_[0],
            ellipsoid(X, y).coef_[0],
        )
        for values, centre in zip(found.values(), centres, strict=True):
            cosine = centre @ bayes / np.linalg.norm(centre)
            values.append(float(np.degrees(np.arccos(np.clip(cosine, -1, 1)))))
    return {name: float(np.mean(values)) for name, values in found.items()}


def draw_angles(axes):
    """One bar a machine."""
    angles = mean_angles()
    bars = axes.barh(list(angles), list(angles.values()), color=[GREY, ORANGE, SKY, BLUE], height=0.6)
    axes.bar_label(bars, [f"{value:.1f}°" for value in angles.values()], padding=4, fontsize=9, color=INK)
    axes.invert_yaxis()
    axes.set_title(f"mean angle to the Bayes point, {PROBLEMS} problems", fontsize=10, color=INK)
    axes.set_xlim(0, 1.18 * max(angles.values()))
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(length=0, colors=INK, labelsize=9)
    axes.set_xticks([])
    return angles


def main():
    """Draw both panels and print the angles."""
    use()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), width_ratios=(1.25, 1.0))
    draw_patch(left)
    print({name: round(value, 2) for name, value in draw_angles(right).items()})
    figure.tight_layout()
    save(figure, "esvm.png")


if __name__ == "__main__":
    main()
