"""Another route to every number: the dense ellipsoid methods, written from their formulas with P itself.

The learners keep P factored, in five forms; here P is a dim x dim matrix and no step knows of forms. ``plain`` runs the
learners' compiled bodies as Python, so that every form meets every task and every kind of row without being compiled.
"""

from math import inf, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import ellipsoid
from ellipsoid.estimators import cellip as cellip_estimator
from ellipsoid.estimators.state import learner

TOL = 1e-9
FORMS = ("auto", "column", "product", "gram", "dense")


def signed(w, x, y, classes):
    """The signed example z and its margin; None where there is nothing to compare.

    ``classes`` 1: binary, y is -1 or +1. Otherwise y is a set of right labels, and the lowest of them meets the highest
    of the others, ties to the smallest index.
    """
    if classes == 1:
        return y * x, y * float(w @ x)
    scores = w.reshape(classes, -1) @ x
    right, wrong = sorted(y), sorted(set(range(classes)) - set(y))
    if not right or not wrong:
        return None, inf
    low, high = min(right, key=lambda k: scores[k]), max(wrong, key=lambda k: scores[k])
    z = np.zeros((classes, len(x)))
    z[low] += x
    z[high] -= x
    return z.ravel(), float(scores[low] - scores[high])


def cellip(w, P, z, n, *, threshold, cut):
    """One cut: the new centre and matrix, and the outcome by alpha."""
    dim = len(w)
    v = float(z @ P @ z)
    alpha = (threshold - n) / sqrt(v) if v > 1e-300 else (inf if n < threshold else -inf)
    if alpha > 1.0 + TOL:
        return w, P, "infeasible", alpha
    if alpha <= (0.0 if cut == "paper" else -1.0 / dim):
        return w, P, "nothing", alpha
    Pg = P @ z / sqrt(v)
    if alpha >= 1.0 - TOL:
        return w + Pg, np.zeros_like(P), "exhausted", alpha
    rho = 0.0 if cut == "paper" else (1.0 - alpha) / (dim + 1)
    A = 1.0 - alpha - rho
    if dim == 1:
        return w + (alpha + rho) * Pg, A**2 * P, "cut", alpha
    mu2 = (1.0 - alpha**2) * (1.0 if cut == "paper" else dim**2 / (dim**2 - 1.0))
    return w + (alpha + rho) * Pg, mu2 * P + (A**2 - mu2) * np.outer(Pg, Pg), "cut", alpha


def iellip(w, P, z, n, *, goal, c):
    """One step to the margin."""
    v = float(z @ P @ z)
    if v <= 1e-300:
        return w, P, "nothing"
    Pz = P @ z
    return w + (goal - n) / v * Pz, (P - c / v * np.outer(Pz, Pz)) / (1.0 - c), "cut"


def run(model, X, Y, classes=1, start=None):
    """Every round of a learner's parameters on a stream: w, P, alpha, outcome, whether a mistake."""
    p = model.get_params()
    dim = classes * X.shape[1]
    classical = isinstance(model, ellipsoid.CELLIP)
    if classical:
        threshold = p["a"] * p["margin"]
        radius = 1.0 + (1.0 - p["a"]) * p["margin"] if p["radius"] is None else p["radius"]
        below = {"mistake": 0.0, "margin": threshold, "always": inf}[p["trigger"]]
    else:
        radius, below = 1.0, {"mistake": 0.0, "margin": p["margin"]}[p["trigger"]]
    w, P = np.zeros(dim), radius**2 * np.eye(dim)
    if start is not None:
        w, P = start
    rounds, updates = [], 0
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        z, n = signed(w, x, y, classes)
        outcome, alpha, before = "nothing", None, w
        if z is not None and (n <= 0.0 or n < below):
            if classical:
                w, P, outcome, alpha = cellip(w, P, z, n, threshold=threshold, cut=p["cut"])
            else:
                c = p["c"] * p["b"] ** (updates if p["decay"] == "update" else t)
                w, P, outcome = iellip(w, P, z, n, goal=p["margin"], c=c)
        updates += outcome in ("cut", "exhausted")
        rounds.append(
            SimpleNamespace(
                w=w, P=P, z=z, n=n, before=before, alpha=alpha, outcome=outcome, mistake=n <= 0.0, updates=updates
            )
        )
    return rounds


def labels(Y, classes):
    """The reference's labels as a learner takes them."""
    if classes == 1:
        return np.asarray(Y)
    if all(len(y) == 1 for y in Y):
        return np.array([min(y) for y in Y])
    return np.array([[int(k in y) for k in range(classes)] for y in Y])


def feed(model, X, Y, classes=1, *, sparse=False, sets=False, stops=None):
    """Learn row by row, yielding after every one, or up to each of the rows that are the ``stops``."""
    y = labels(Y, classes)
    if sets and y.ndim == 1:
        y = np.eye(classes, dtype=int)[y]
    known = None if y.ndim == 2 else ([-1, 1] if classes == 1 else range(classes))
    X = sp.csr_matrix(X) if sparse else X
    begin = 0
    for t in range(len(y)) if stops is None else stops:
        model.partial_fit(X[begin : t + 1], y[begin : t + 1], classes=known)
        begin = t + 1
        yield t


def weights(model):
    """All weights as one vector, the constant feature first where there is an intercept."""
    W = model.coef_
    return (np.column_stack([model.intercept_, W]) if model.fit_intercept else W).ravel()


def shape(model):
    """P."""
    body = model.version_space_ if isinstance(model, ellipsoid.CELLIP) else model.ellipsoid_
    return body.shape_matrix()


def separable(rng, n, d, margin, classes=1):
    """Unit rows, labels and a unit separator U with at least this margin on all of them."""
    U = rng.normal(size=(classes, d))
    U /= np.linalg.norm(U)
    rows, Y = [], []
    while len(rows) < n:
        x = rng.normal(size=d)
        x /= np.linalg.norm(x)
        scores = U @ x
        if classes == 1:
            if abs(scores[0]) >= margin:
                rows.append(x)
                Y.append(1 if scores[0] > 0.0 else -1)
        else:
            order = np.sort(scores)
            if order[-1] - order[-2] >= margin:
                rows.append(x)
                Y.append({int(scores.argmax())})
    return np.array(rows), Y, U


@pytest.fixture(scope="session")
def dense():
    """The dense reference and what goes with it."""
    return SimpleNamespace(
        run=run, feed=feed, labels=labels, weights=weights, shape=shape, signed=signed, cellip=cellip, iellip=iellip,
        separable=separable, forms=FORMS,
    )  # fmt: skip


@pytest.fixture
def plain(interpret):
    """Run the loop's bodies as the Python they are written in."""
    interpret(learner, cellip_estimator)


@pytest.fixture(scope="session")
def state():
    """Everything that a learner has learned, to the last bit, spare capacity left out."""

    def everything(model):
        core = model._core
        numbers = core.table.numbers.tobytes()
        P = shape(model).tobytes()
        counts = (model.t_, model.mistakes_, model.updates_, model.asked_, len(model.update_rounds_))
        return numbers, P, counts, weights(model).tobytes(), model.update_rounds_.tolist(), core.tally.tobytes()

    return everything
