"""The table of the page on weights: a rare class, one pass over w7a in a random order, predicted before it is learned.

Prints recall, precision and F1 of the rare class: without weights, with balanced ones, and with the roots of those.
"""

import numpy as np

from ellipsoid import AROW, PassiveAggressive
from ellipsoid.streams.opening import open_stream

SEEDS = range(5)


def scores(predicted: np.ndarray, y: np.ndarray, rare: object) -> tuple[float, float, float]:
    """Recall, precision and F1 of one label."""
    hits = np.sum((predicted == rare) & (y == rare))
    recall, precision = hits / np.sum(y == rare), hits / max(1, np.sum(predicted == rare))
    return float(recall), float(precision), float(2 * hits / (np.sum(y == rare) + np.sum(predicted == rare)))


def balanced(y: np.ndarray) -> dict[object, float]:
    """n / (K n_y) of all rows."""
    labels, counts = np.unique(y, return_counts=True)
    return {label: len(y) / (len(labels) * count) for label, count in zip(labels.tolist(), counts, strict=True)}


def main() -> None:
    """Print a line for each learner and each kind of weights."""
    X, y = open_stream("w7a").arrays()
    weights = balanced(y)
    rare = max(weights, key=lambda label: weights[label])
    roots = {label: float(np.sqrt(weight)) for label, weight in weights.items()}
    print(f"w7a: {len(y)} rows, {np.mean(y == rare):.1%} of the rare class; means of {len(SEEDS)} orders")
    learners = {"PassiveAggressive(C=0.1)": (PassiveAggressive, {"C": 0.1}), "AROW()": (AROW, {})}
    for name, (learner, parameters) in learners.items():
        for kind, class_weight in (("none", None), ("balanced", "balanced"), ("roots", roots)):
            found = []
            for seed in SEEDS:
                order = np.random.default_rng(seed).permutation(len(y))
                model = learner(class_weight=class_weight, **parameters)
                told = model.learn_predict(X[order], y[order], classes=np.unique(y))
                found.append((*scores(told, y[order], rare), float(np.mean(told != y[order]))))
            recall, precision, f1, error = np.mean(found, axis=0)
            print(f"| `{name}` | {kind} | {recall:.2f} | {precision:.2f} | {f1:.2f} | {error:.2%} |")


if __name__ == "__main__":
    main()
