"""Digits with a kernel: the same learner, linear, with a Gaussian kernel, and with a limit to what it may keep."""

import numpy as np

import ellipsoid

LEARNERS = {
    "linear": {},
    "kernel": {"kernel": "rbf", "gamma": 0.2},
    "kernel, 150 patterns": {"kernel": "rbf", "gamma": 0.2, "budget": 150},
}


def run(n=1797, seed=0):
    """Rows and labels; for each learner its model and what it predicted before it learned."""
    digits = ellipsoid.datasets.load("digits")
    order = np.random.default_rng(seed).permutation(len(digits.y))[:n]
    X, y = digits.X[order] / 16.0, digits.y[order]
    results = {}
    for name, settings in LEARNERS.items():
        model = ellipsoid.MIRA(**settings)
        results[name] = model, model.learn_predict(X, y, classes=range(10))
    return X, y, results


if __name__ == "__main__":
    X, y, results = run()
    for name, (model, predicted) in results.items():
        kept = len(model.support_vectors_) if "kernel" in name else 0
        print(f"{name:22} {np.mean(predicted != y):6.1%} wrong before being told, {kept} patterns kept")
