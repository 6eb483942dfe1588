"""Draw labels_asked.png: labels asked and test error, beside all labels and beside as many labels at random."""

import matplotlib.pyplot as plt
import numpy as np
import style
from style import BLUE, ORANGE

import ellipsoid

WAYS = {"all labels": "#b5b5b5", "as many at random": ORANGE, "asked": BLUE}
WIDTHS = {"all labels": 4.0, "as many at random": 1.8, "asked": 1.8}
DASHES = {"all labels": "-", "as many at random": (0, (1.5, 1.2)), "asked": "-"}


def separable(n, dim, margin, seed):
    """Unit rows on which a hidden unit vector has the margin."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(dim)
    truth /= np.linalg.norm(truth)
    X = rng.standard_normal((4 * n, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[np.abs(X @ truth) >= margin][:n]
    return X, X @ truth > 0.0


def synthetic(seed):
    """3000 rows to learn and 20000 to test, in three dimensions with margin 0.02."""
    X, y = separable(23_000, 3, 0.02, seed)
    return X[:3000], y[:3000], X[3000:], y[3000:]


def digits(seed):
    """Zero against the other digits, rows of unit length in a random order: 1297 to learn, 500 to test."""
    data = ellipsoid.datasets.load("digits")
    X = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], data.y[order] == 0
    return X[:-500], y[:-500], X[-500:], y[-500:]


def follow(model, rows, chosen, stops):
    """Labels asked and test error after each stop, learning from the chosen rows only."""
    X, y, X_test, y_test = rows
    asked, errors, start = [], [], 0
    for stop in stops:
        part = np.flatnonzero(chosen[start:stop]) + start
        if len(part):
            model = model.partial_fit(X[part], y[part], classes=[False, True])
        asked.append(model.asked_)
        errors.append(1.0 - model.score(X_test, y_test))
        start = stop
    return asked, errors


def compare(make, source, stops, seeds):
    """For each way the mean over seeds of labels and errors: arrays (2, stops)."""
    results = {way: [] for way in WAYS}
    for seed in range(seeds):
        rows = source(seed)
        everything = np.ones(len(rows[0]), dtype=bool)
        results["all labels"].append(follow(make(False, seed), rows, everything, stops))
        own = follow(make(True, seed), rows, everything, stops)
        results["asked"].append(own)
        # The same number of labels, spread over the stream; the first row is always among them.
        lottery = np.zeros_like(everything)
        picks = np.random.default_rng(1000 + seed).permutation(len(everything) - 1)[: own[0][-1] - 1] + 1
        lottery[picks] = True
        lottery[0] = True
        results["as many at random"].append(follow(make(False, seed), rows, lottery, stops))
    return {way: np.mean(runs, axis=0) for way, runs in results.items()}


def draw(axes, results, stops, floor):
    """Left the labels, right the error; what lies below the floor is drawn on it."""
    labels, error = axes
    for way, colour in WAYS.items():
        asked, wrong = results[way]
        kind = {"color": colour, "ls": DASHES[way], "lw": WIDTHS[way], "label": way}
        labels.plot(stops, asked, **kind)
        error.loglog(stops, np.maximum(100.0 * wrong, floor), **kind)
    for way in ("all labels", "asked"):
        number(labels, stops[-1], results[way][0][-1], f"{results[way][0][-1]:.0f}", way)
    labels.set(ylabel="labels used", xlabel="rows seen", ylim=(0, None), xlim=(0, 1.14 * stops[-1]))
    error.set(ylabel="test error (%)", xlabel="rows seen", xlim=(1, 2.2 * stops[-1]))


def number(axes, x, y, text, way):
    """The end of a curve in figures, in its colour."""
    axes.annotate(text, (x, y), xytext=(6, 0), textcoords="offset points", color=WAYS[way], va="center", fontsize=9)


def main():
    """Both data sets."""
    style.use()
    figure, axes = plt.subplots(2, 2, figsize=(9.4, 6.8), layout="constrained")

    def cellip(selective, seed):
        return ellipsoid.CELLIP(
            margin=0.02, cut="minvol", trigger="always", selective=selective, fit_intercept=False
        )  # fmt: skip

    def iellip(selective, seed):
        return ellipsoid.IELLIP(
            selective=selective, smoothing=0.3, average=True, random_state=seed, fit_intercept=False
        )  # fmt: skip

    stops = np.unique(np.geomspace(1, 3000, 30).astype(int))
    results = compare(cellip, synthetic, stops, seeds=30)
    draw(axes[0], results, stops, floor=1e-4)
    axes[0, 1].minorticks_off()
    axes[0, 1].set_yticks([1e-4, 1e-3, 1e-2, 1e-1, 1, 10], ["0", "0.001", "0.01", "0.1", "1", "10"])
    print({way: (run[0][-1], 100 * run[1][-1]) for way, run in results.items()})
    stops = np.unique(np.geomspace(1, 1297, 30).astype(int))
    results = compare(iellip, digits, stops, seeds=100)
    draw(axes[1], results, stops, floor=0.0)
    axes[1, 1].set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    axes[1, 1].minorticks_off()
    for way in WAYS:
        number(axes[1, 1], stops[-1], 100.0 * results[way][1][-1], f"{100.0 * results[way][1][-1]:.1f} %", way)
    print({way: (run[0][-1], 100 * run[1][-1]) for way, run in results.items()})
    axes[0, 0].set_title("CELLIP: three dimensions, margin 0.02", loc="left")
    axes[1, 0].set_title("IELLIP: digit 0 against the rest", loc="left")
    axes[0, 0].legend(loc="upper left")
    style.save(figure, "labels_asked.png")


if __name__ == "__main__":
    main()
