"""Draw dual.png: one stream, six algorithms, the dual value they reach and the mistakes they make; print the table.

Digits, zero to four against five to nine, in a fixed order, the longest row of length one; margin 0.02.
"""

import matplotlib.pyplot as plt
import numpy as np
import style
from sklearn.datasets import load_digits
from style import BLUE, GREEN, ORANGE, PURPLE, SKY, YELLOW

from ellipsoid import QuasiAdditive

ALGORITHMS = {
    "Perceptron (euclidean, fixed)": {"link": "euclidean", "C": 0.03, "update": "fixed"},
    "euclidean, adaptive": {"link": "euclidean", "C": 0.03, "update": "adaptive"},
    "PA-I (euclidean, exact)": {"link": "euclidean", "C": 0.03, "update": "exact"},
    "p-norm, exact": {"link": "p-norm", "p": 4.0, "C": 0.03, "update": "exact"},
    "Winnow (balanced, fixed)": {"link": "balanced", "C": 0.5, "update": "fixed"},
    "balanced, exact": {"link": "balanced", "C": 0.5, "update": "exact"},
}
MARGIN, STEP = 0.02, 20


def stream():
    """Rows of length at most one, in an order of their own."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] / np.linalg.norm(X, axis=1).max(), (y[order] > 4).astype(int)


def curves(settings, X, y):
    """Rows seen, dual value and mistakes, every few rows; and the learner at the end."""
    model = QuasiAdditive(margin=MARGIN, fit_intercept=False, **settings)
    seen = []
    for start in range(0, len(y), STEP):
        model.partial_fit(X[start : start + STEP], y[start : start + STEP], classes=[0, 1])
        seen.append((model.t_, model.dual_objective_, model.mistakes_))
    return np.array(seen), model


def main():
    """Two panels and a table."""
    style.use()
    colours = BLUE, SKY, GREEN, PURPLE, ORANGE, YELLOW
    X, y = stream()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.6), layout="constrained")
    print(f"{'algorithm':32} {'mistakes':>8} {'updates':>8} {'dual':>8} {'rescaled':>9} {'primal':>8}")
    for (name, settings), colour in zip(ALGORITHMS.items(), colours, strict=True):
        seen, model = curves(settings, X, y)
        dashes = "solid" if settings["link"] == "euclidean" else (0, (4, 1.5))
        # In units of C margin, which is what a row of zeros is worth: the same for every link.
        unit = model.C * MARGIN
        left.plot(seen[:, 0], seen[:, 1] / unit, color=colour, linestyle=dashes, label=name)
        right.plot(seen[:, 0], seen[:, 2], color=colour, linestyle=dashes)
        named = {c.name: c for c in model.certificates()}
        loss = np.maximum(0.0, MARGIN - np.where(y == 1, 1, -1) * model.decision_function(X)).sum()
        primal = model._core.link.complexity(model.coef_) + model.C * loss
        print(f"{name:32} {model.mistakes_:8} {model.updates_:8} {model.dual_objective_ / unit:8.1f} "
              f"{named['rescaled dual objective'].observed / unit:9.1f} {primal / unit:8.1f}")  # fmt: skip
    left.set_title("Dual value, in units of C margin", loc="left")
    right.set_title("Mistakes", loc="left")
    for ax in (left, right):
        ax.set_xlabel("rows seen")
        ax.set_ylim(bottom=0)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    style.save(figure, "dual.png")


if __name__ == "__main__":
    main()
