"""Labels that cost money: look at every row, and buy a label only where it is likely to teach something."""

import numpy as np

import ellipsoid


def rows(seed):
    """Zero against the other digits, rows of unit length in a random order: 1297 to learn from, 500 to test."""
    digits = ellipsoid.datasets.load("digits")
    X = digits.X / np.linalg.norm(digits.X, axis=1, keepdims=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], digits.y[order] == 0
    return X[:-500], y[:-500], X[-500:], y[-500:]


def buy(smoothing, seed):
    """Labels bought and test error of a learner that chooses; ``smoothing`` buys more."""
    X, y, X_test, y_test = rows(seed)
    choosy = {"selective": True, "smoothing": smoothing, "random_state": seed}
    model = ellipsoid.IELLIP(average=True, **choosy)
    model.partial_fit(X, y)
    return model.asked_, 1.0 - model.score(X_test, y_test)


def lottery(labels, seed):
    """Test error of the same learner with as many labels, drawn by lot."""
    X, y, X_test, y_test = rows(seed)
    drawn = np.random.default_rng(1000 + seed).permutation(len(X))[:labels]
    model = ellipsoid.IELLIP(average=True)
    model.partial_fit(X[drawn], y[drawn], classes=[False, True])
    return 1.0 - model.score(X_test, y_test)


def run(smoothings=(0.02, 0.05, 0.1, 0.3, 1.0, 3.0), seeds=30):
    """Means over random orders: labels bought, error when bought, error by lot, and the error with all labels."""
    bought, chosen, drawn = [], [], []
    for smoothing in smoothings:
        results = [buy(smoothing, seed) for seed in range(seeds)]
        bought.append(np.mean([asked for asked, _ in results]))
        chosen.append(np.mean([error for _, error in results]))
        drawn.append(np.mean([lottery(asked, seed) for seed, (asked, _) in enumerate(results)]))
    everything = np.mean([lottery(1297, seed) for seed in range(seeds)])
    return np.array(bought), np.array(chosen), np.array(drawn), everything


if __name__ == "__main__":
    for labels, chosen, drawn in zip(*run()[:3], strict=True):
        print(f"{labels:6.0f} labels: {100 * chosen:.2f} % when chosen, {100 * drawn:.2f} % by lot")
