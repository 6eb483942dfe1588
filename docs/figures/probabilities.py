"""Draw probabilities.png and print the table of the page "Probabilities": log loss and calibration error on streams.

Every row is predicted, then learned. Run it with the data sets at hand: ``docs/figures/probabilities.py [ROWS]``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import style
from river import linear_model, multiclass, preprocessing
from sklearn.linear_model import SGDClassifier
from style import BLUE, GREEN, GREY, ORANGE

from ellipsoid import AROW, Calibrated, EllipsoidClassifier, PassiveAggressive, Scaled, StandardStream, datasets
from ellipsoid.estimators.wrappers.calibration import log_probabilities

STREAMS = ("elec2", "adult", "covtype", "letter")
LEARNERS = {
    "EllipsoidClassifier": EllipsoidClassifier(),
    "AROW": Scaled(AROW()),
    "PassiveAggressive": Scaled(PassiveAggressive()),
}
ROWS = 8_000
BINS = 15
DRAWN = "elec2"


def rows_of(name, most):
    """The first rows of a set in its order, the labels as indices."""
    data = datasets.load(name)
    X, y = data.train if hasattr(data, "train") else (data.X, data.y)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)[:most]
    return np.ascontiguousarray(X), np.unique(y[:most], return_inverse=True)[1]


def ours(learner, X, y):
    """Probabilities before each row: the softmax of the scores as they are, and after calibration."""
    labels = int(y.max()) + 1
    model = Calibrated(learner).partial_fit(X[:1], y[:1], classes=range(labels))
    raw, told = np.zeros((len(y) - 1, labels)), np.zeros((len(y) - 1, labels))
    for i in range(1, len(y)):
        scores = model.learner_.decision_function(X[i : i + 1])[0]
        raw[i - 1] = (0.0, scores) if labels == 2 else scores
        told[i - 1] = list(model.predict_proba_one(X[i]).values())
        model.learn_one(X[i], int(y[i]))
    return np.exp(log_probabilities(raw)), told


def logistic(X, y):
    """scikit-learn's logistic regression by gradient steps, on rows that are scaled as they come."""
    early, rows = StandardStream().learn_transform_both(X)
    model = SGDClassifier(loss="log_loss", random_state=0).partial_fit(rows[:1], y[:1], classes=np.arange(y.max() + 1))
    told = np.zeros((len(y) - 1, y.max() + 1))
    for i in range(1, len(y)):
        told[i - 1] = model.predict_proba(early[i : i + 1])[0]
        model.partial_fit(rows[i : i + 1], y[i : i + 1])
    return told


def rivers(X, y):
    """river's logistic regression behind its scaler; one for each label where there are more than two."""
    model = linear_model.LogisticRegression()
    model = preprocessing.StandardScaler() | (model if y.max() == 1 else multiclass.OneVsRestClassifier(model))
    told = np.zeros((len(y), y.max() + 1))
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        for k, chance in model.predict_proba_one(x).items():
            told[i, int(k)] = chance
        model.learn_one(x, label if y.max() > 1 else bool(label))
    told += 1e-15  # a label that it has not met has no probability
    return (told / told.sum(axis=1, keepdims=True))[1:]


PEERS = {'`SGDClassifier(loss="log_loss")`': logistic, "river's `LogisticRegression`": rivers}


def shares(chances, y):
    """For each bin of the highest probability: its mean, the share of right predictions, and how many rows."""
    top, right = chances.max(axis=1), chances.argmax(axis=1) == y
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    return [(top[bins == k].mean(), right[bins == k].mean(), (bins == k).sum()) for k in np.unique(bins)]


def judged(chances, y):
    """Log loss, calibration error and error."""
    loss = -np.log(np.maximum(chances[np.arange(len(y)), y], np.exp(-700.0))).mean()
    off = sum(abs(told - seen) * count for told, seen, count in shares(chances, y)) / len(y)
    return loss, off, (chances.argmax(axis=1) != y).mean()


def draw(panels, y):
    """Promised and kept, one panel a learner."""
    figure, axes = plt.subplots(1, len(panels), figsize=(9.6, 3.5), sharey=True, layout="constrained")
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        axis.plot([0.5, 1.0], [0.5, 1.0], color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
        for (label, chances), colour in zip(curves.items(), (ORANGE, BLUE, GREEN), strict=False):
            points = [(told, seen) for told, seen, count in shares(chances, y) if count > 50]
            axis.plot(*zip(*points, strict=True), "o-", color=colour, markersize=3.5, label=label)
        axis.set(title=name, xlabel="probability promised", xlim=(0.48, 1.02), ylim=(0.4, 1.02))
        axis.legend(loc="lower right", fontsize=8.5)
    axes[0].set_ylabel("share of right predictions")
    style.save(figure, "probabilities.png")


def main(most=ROWS):
    """Run every learner over every stream."""
    style.use()
    print("| stream | learner | log loss, scores as logits | `Calibrated` | calibration error before | after | error |")
    print("|---|---|---|---|---|---|---|")
    for name in STREAMS:
        X, y = rows_of(name, most)
        panels = {}
        for learner, model in LEARNERS.items():
            raw, told = ours(model, X, y)
            panels[learner] = {"scores as logits": raw, "Calibrated": told}
            (before, off, _), (after, left, error) = judged(raw, y[1:]), judged(told, y[1:])
            print(f"| {name} | `{learner}` | {before:.3f} | {after:.3f} | {off:.3f} | {left:.3f} | {error:.1%} |")
        for peer, follow in PEERS.items():
            loss, off, error = judged(follow(X, y), y[1:])
            print(f"| {name} | {peer} | {loss:.3f} | | {off:.3f} | | {error:.1%} |", flush=True)
        if name == DRAWN:
            draw(panels, y[1:])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
