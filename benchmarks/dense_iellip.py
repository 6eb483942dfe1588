"""IELLIP as one would first write it: P as a matrix of (K d) x (K d) numbers, compiled.

    w <- w + ((margin - n) / v) P z,    P <- (P - c_k (P z)(P z)' / v) / (1 - c_k),    c_k = c b^k

on a mistake n = <w, z> <= 0, with z = (e_y - e_rival) (x) x and v = z' P z.

Yang, Jin, Ye, "Online learning by ellipsoid method" (ICML 2009), Eq. (15) and (16).
"""

from typing import Any, NamedTuple

import numba
import numpy as np


class Run(NamedTuple):
    """What a pass leaves: the label predicted for each row before it was learned, and which rows were mistakes."""

    W: Any
    predicted: Any
    mistaken: Any

    def predict(self, X: Any) -> Any:
        return (X @ self.W.T).argmax(axis=1)


def learn(X: Any, y: Any, classes: int, *, c: float, b: float, thrifty: bool = False) -> Run:
    """One pass. ``thrifty`` leaves out what changes nothing: zero blocks of z, and P once 1 - c_k rounds to 1."""
    W = np.zeros((classes, X.shape[1]))
    P = np.eye(W.size)
    predicted, mistaken = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.bool_)
    _pass(X, y, (W, P, predicted, mistaken), (c, b), thrifty)
    return Run(W, predicted, mistaken)


@numba.njit(cache=True)
def _pass(X, y, state, decay, thrifty):
    W, P, predicted, mistaken = state
    c, b = decay
    classes, d = W.shape
    flat = W.reshape(-1)
    scores, z, Pz = np.zeros(classes), np.zeros(classes * d), np.zeros(classes * d)
    for t in range(len(y)):
        x = X[t]
        for r in range(classes):
            scores[r] = _dot(W[r], x)
        predicted[t] = np.argmax(scores)
        rival = -1
        for r in range(classes):
            if r != y[t] and (rival < 0 or scores[r] > scores[rival]):
                rival = r
        n = scores[y[t]] - scores[rival]
        mistaken[t] = n <= 0.0
        if n > 0.0:
            continue
        z[:] = 0.0
        z[y[t] * d : (y[t] + 1) * d] = x
        z[rival * d : (rival + 1) * d] = -x
        if thrifty:
            for i in range(len(z)):
                own = _dot(P[i, y[t] * d : (y[t] + 1) * d], x)
                Pz[i] = own - _dot(P[i, rival * d : (rival + 1) * d], x)
        else:
            for i in range(len(z)):
                Pz[i] = _dot(P[i], z)
        v = _dot(z, Pz)
        if v <= 0.0:
            continue
        step = (1.0 - n) / v
        for i in range(len(z)):
            flat[i] += step * Pz[i]
        if not thrifty or 1.0 - c != 1.0:
            shrink, grow = c / v, 1.0 / (1.0 - c)
            for i in range(len(z)):
                row, own = P[i], shrink * Pz[i]
                for j in range(len(z)):
                    row[j] = (row[j] - own * Pz[j]) * grow
        c *= b


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total
