"""A run of one copy, row by row, with the metric made anew from the rows of its steps."""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    """A row with a step: metric, weights and scores before, shares, energy, divisor, margin, and if it was wrong."""

    x: np.ndarray
    y: int
    metric: np.ndarray
    W: np.ndarray
    scores: np.ndarray
    shares: np.ndarray
    energy: float
    divisor: float
    margin: float
    mistake: bool


class Metric:
    """The ellipsoid's matrix H, from its definition."""

    def __init__(self, columns, full):
        self.full = full
        self.first, self.largest, self.squares = np.zeros(columns), np.zeros(columns), np.zeros(columns)
        self.prior, self.gram = np.zeros(columns), np.zeros((columns, columns))

    def meet(self, x):
        new = (self.first == 0.0) & (x != 0.0)
        self.first[new] = x[new]
        self.prior[new] = np.count_nonzero(self.first) * x[new] ** 2
        self.largest = np.maximum(self.largest, np.abs(x))

    def matrix(self):
        if self.full:
            return np.diag(self.prior) + self.gram
        return np.diag(self.largest * np.sqrt(self.largest**2 + self.squares))

    def absorb(self, x):
        self.gram += np.outer(x, x)
        self.squares += x**2

    def length(self, x):
        share = np.ones_like(x)
        np.divide(np.abs(x), self.largest, out=share, where=(self.largest > 0.0) & (np.abs(x) < self.largest))
        return float(np.sqrt((share[x != 0.0] ** 2).sum()))


def columns_of(model):
    """Last weights of the first copy, a column for each class, the constant first."""
    table, scores = model._core.table, model._core.scores
    W = table.weights_of(0, 0, scores).T
    return np.column_stack([-0.5 * W[:, 0], 0.5 * W[:, 0]]) if scores == 1 else W


def replay(model, X, y, classes):
    """Learn the rows one by one; returns the steps, the mistakes without one, and the last weights."""
    steps, unanswered, energies, lengths = [], 0, [], []
    metric = Metric(1 + X.shape[1], model.shape == "full")
    W = np.zeros((1 + X.shape[1], classes))
    for t, (row, label) in enumerate(zip(X, y, strict=True)):
        x = np.concatenate([[1.0 if model.fit_intercept else 0.0], row])
        scores = W.T @ x
        mistake = scores[label] <= np.delete(scores, label).max()
        length = metric.length(x)
        made = model.updates_ if t else 0
        model.partial_fit(row[np.newaxis], [label], classes=range(classes) if t == 0 else None)
        after = columns_of(model)
        if model.updates_ == made:
            unanswered += mistake
            continue
        margin = max(1e-3, length / np.mean(lengths)) if model.margin == "length" and lengths else 1.0
        metric.meet(x)
        H = metric.matrix()
        seen = metric.first != 0.0
        v = np.zeros_like(x)
        v[seen] = np.linalg.solve(H[np.ix_(seen, seen)], x[seen])
        q = float(x @ v)
        energies.append(q / (1.0 + q) if metric.full else q)
        lengths.append(length)
        d = q + model.damping * np.mean(energies)
        steps.append(Step(x, label, H, W, scores, (after.T @ x - scores) / q, q, d, margin, mistake))
        metric.absorb(x)
        W = after
    return steps, unanswered, W, metric


def losses(V, step):
    """The hinge losses of a comparator against every rival."""
    scores = V.T @ step.x
    return np.maximum(0.0, step.margin - scores[step.y] + np.delete(scores, step.y))


def sides(steps, W, V):
    """Both sides of the identity for a comparator V."""
    left = sum(2.0 * s.shares @ (V.T @ s.x - s.scores) - s.energy * s.shares @ s.shares for s in steps)
    left += square(W - V, steps[-1].metric)
    right, before = 0.0, np.zeros_like(steps[0].metric)
    for s in steps:
        right += square(s.W - V, s.metric - before)
        before = s.metric
    return left, right


def square(D, H):
    """The sum of the squared lengths of the columns of D in the metric H."""
    return float(((H @ D) * D).sum())


def allowance(steps, W, V):
    """B(V) of the theorem."""
    left = sum(2.0 * s.shares @ (V.T @ s.x - s.scores) - s.energy * s.shares @ s.shares for s in steps)
    return left + 2.0 * sum(s.shares[s.y] * losses(V, s).max() for s in steps)
