"""A proof of inseparability: an ellipsoid of all classifiers that may still be right, until none is left."""

import numpy as np

import ellipsoid

MARGIN = 0.1
TRUTH = np.array([np.cos(0.62), np.sin(0.62)])


def stream(n=200, false_label=23, seed=5):
    """Rows of the unit disc with a margin to the true classifier, of which one has the wrong label."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(8 * n, 2))
    X = X[(np.linalg.norm(X, axis=1) <= 1.0) & (np.abs(X @ TRUTH) >= MARGIN)][:n]
    y = np.where(X @ TRUTH > 0.0, 1, -1)
    if false_label is not None:
        y[false_label] = -y[false_label]
    return X, y


def run(n=200, false_label=23):
    """The rows, the model at the end, and the ellipsoid after each row up to the proof."""
    X, y = stream(n, false_label)
    model = ellipsoid.CELLIP(
        margin=MARGIN, cut="minvol", trigger="always", on_infeasible="freeze", fit_intercept=False
    )  # fmt: skip
    model = model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    spaces = [model.version_space_]
    for x, label in zip(X[1:], y[1:], strict=True):
        model = model.learn_one(x, label)
        if model.infeasible_:
            break
        spaces.append(model.version_space_)
    return X, y, model, spaces


def best_margin(X, y, directions=20_000):
    """The largest margin that a classifier of length one has on the rows, by trying directions all around."""
    angles = np.linspace(0.0, 2.0 * np.pi, directions, endpoint=False)
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    return float((around @ (y[:, None] * X).T).min(axis=1).max())


if __name__ == "__main__":
    X, y, model, spaces = run()
    print(f"after {model.infeasible_round_} rows it is proved: no classifier has margin {MARGIN} on all of them")
    print(f"the best of them has {best_margin(X[: model.t_], y[: model.t_]):.3f}")
