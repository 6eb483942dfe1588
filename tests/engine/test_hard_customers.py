"""Parts that ask more of the loop than a table of weights: a kernel expansion that grows, and an entropic link.

Neither belongs to the package. They are written here, from outside, to hold the design to its claim: whoever answers
``score``, ``room`` and ``absorb`` runs in the one compiled loop, with every rule, on every kind of rows.
"""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid.engine import CSR, NO_WEIGHTS, Binary, Dense, Multiclass, call, generic, learn
from ellipsoid.engine.protocol import SCORES, TAU, WHO, WORK_ROWS, absorb, has_room, norm2, score, step
from ellipsoid.engine.tally import MISTAKES, SIZE, UPDATES
from ellipsoid.engine.tasks import PREDICTED, WATCHED
from ellipsoid.rules.mira import MIRARule
from ellipsoid.rules.passive_aggressive import PassiveAggressiveRule

# -- a kernel expansion --------------------------------------------------------------------------------------------


class Expansion(NamedTuple):
    """``sum_i C[i, r] exp(-gamma |x_i - x|^2)``: support patterns are appended until the table is full."""

    S: np.ndarray
    C: np.ndarray
    used: np.ndarray
    gamma: float


@has_room.register(Expansion)
def _(rep, rows, t):
    return rep.used[0] < rep.S.shape[0]


@score.register(Expansion, Dense)
def _(rep, rows, t, n, scores):
    for r in range(n):
        scores[r] = 0.0
    for i in range(rep.used[0]):
        distance = 0.0
        for j in range(rows.X.shape[1]):
            distance += (rep.S[i, j] - rows.X[t, j]) ** 2
        value = np.exp(-rep.gamma * distance)
        for r in range(n):
            scores[r] += rep.C[i, r] * value


@score.register(Expansion, CSR)
def _(rep, rows, t, n, scores):
    for r in range(n):
        scores[r] = 0.0
    for i in range(rep.used[0]):
        distance = 0.0
        for j in range(rep.S.shape[1]):
            distance += rep.S[i, j] ** 2
        for k in range(rows.indptr[t], rows.indptr[t + 1]):
            pattern, x = rep.S[i, rows.indices[k]], rows.data[k]
            distance += (pattern - x) ** 2 - pattern**2
        value = np.exp(-rep.gamma * distance)
        for r in range(n):
            scores[r] += rep.C[i, r] * value


@norm2.register(Expansion, Dense | CSR)
def _(rep, rows, t):
    return 1.0


@absorb.register(Expansion)
def _(rep, rule, rows, t, moves, work, tally):
    i = rep.used[0]
    write_row(rows, t, rep.S[i])
    for m in range(moves):
        rep.C[i, int(work[WHO, m])] = work[TAU, m]
    rep.used[0] = i + 1
    return True


@generic(1)
def write_row(rows, t, out):
    """Copy row t into ``out``."""


@write_row.register(Dense)
def _(rows, t, out):
    for j in range(rows.X.shape[1]):
        out[j] = rows.X[t, j]


@write_row.register(CSR)
def _(rows, t, out):
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        out[rows.indices[k]] = rows.data[k]


def grown(rep, capacity):
    """The Python side: the same expansion with room for more."""
    S, C = np.zeros((capacity, rep.S.shape[1])), np.zeros((capacity, rep.C.shape[1]))
    S[: len(rep.S)], C[: len(rep.C)] = rep.S, rep.C
    return rep._replace(S=S, C=C)


def kernel_run(rows, y, classes, chunk):
    """Chunks through the loop, which stops where the table is full; Python doubles it and the loop goes on."""
    rep = Expansion(np.zeros((1, 3)), np.zeros((1, classes)), np.zeros(1, dtype=np.int64), 0.5)
    tally, work, stops = np.zeros(SIZE), np.zeros((WORK_ROWS, classes + 1)), 0
    task = Multiclass(y[None].copy(), 0, classes)
    for start in range(0, len(y), chunk):
        stop = min(len(y), start + chunk)
        while start < stop:
            args = (MIRARule(0.05), task, rep, rows, tally, work, start, stop, NO_WEIGHTS)
            start = call(learn, *args)
            if start < stop:
                rep, stops = grown(rep, 2 * len(rep.S)), stops + 1
    used = rep.used[0]
    return rep.S[:used], rep.C[:used], tally, stops


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.2] = 0.0
    return X, np.digitize((X**2).sum(axis=1), [1.0, 3.0])


def rows_of(X, sparse):
    C = sp.csr_matrix(X)
    return CSR(C.data, C.indices, C.indptr, 0.0, X.shape[1]) if sparse else Dense(X, 0.0)


@pytest.mark.long
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_kernel_expansion_grows_through_the_one_loop(rings, sparse):
    X, y = rings
    S, C, tally, stops = kernel_run(rows_of(X, sparse), y, 3, 200)
    assert stops >= 5
    assert tally[UPDATES] == len(S) > 50
    # The same run by hand: MIRA's margin holds on every pattern once it was absorbed, tau sums to zero. K(x, x) = 1,
    # also for the zero row, which is an example like any other here.
    assert (X == 0.0).all(axis=1).any()
    kept = 0
    for x, label in zip(X, y, strict=True):
        B = np.exp(-0.5 * ((S[:kept] - x) ** 2).sum(axis=1)) @ C[:kept]
        if kept < len(S) and (S[kept] == x).all():
            after = B + C[kept]
            leads = after[label] - after[np.flatnonzero(C[kept] < 0.0)]
            capped = C[kept, label] >= 1.0 - 1e-12
            assert capped or np.allclose(leads, 0.05, atol=1e-9)
            assert C[kept].sum() == pytest.approx(0.0, abs=1e-12)
            kept += 1
        else:
            assert B[label] - np.delete(B, label).max() >= 0.05 - 1e-9
    assert kept == len(S)


def test_chunks_do_not_change_the_expansion(rings):
    X, y = rings
    whole = kernel_run(rows_of(X, False), y, 3, 200)
    for chunk in (1, 7):
        # One row at a time needs rows of its own: a chunk of one is inspected by the loop.
        S, C, tally, _ = kernel_run(rows_of(X, False), y, 3, chunk)
        assert S.tobytes() == whole[0].tobytes()
        assert C.tobytes() == whole[1].tobytes()
        assert tally.tobytes() == whole[2].tobytes()


# -- an entropic link ----------------------------------------------------------------------------------------------


class Balanced(NamedTuple):
    """theta, and u_i = sinh theta_i / sum_j cosh theta_j: balanced Winnow without doubled features."""

    theta: np.ndarray
    u: np.ndarray


class FixedStep(NamedTuple):
    """On a mistake, tau = C."""

    C: float
    margin: float = 0.0


@step.register(FixedStep)
def _(rule, margin, energy):
    return rule.C if margin <= 0.0 else 0.0


@score.register(Balanced, Dense)
def _(rep, rows, t, n, scores):
    total = 0.0
    for j in range(rows.X.shape[1]):
        total += rep.u[j] * rows.X[t, j]
    scores[0] = total


@score.register(Balanced, CSR)
def _(rep, rows, t, n, scores):
    total = 0.0
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        total += rep.u[rows.indices[k]] * rows.data[k]
    scores[0] = total


@absorb.register(Balanced)
def _(rep, rule, rows, t, moves, work, tally):
    x = np.zeros(rep.theta.shape[0])
    write_row(rows, t, x)
    largest = total = 0.0
    for j in range(len(x)):
        rep.theta[j] += work[TAU, 0] * x[j]
        largest = max(largest, abs(rep.theta[j]))
    for j in range(len(x)):
        up, down = np.exp(rep.theta[j] - largest), np.exp(-rep.theta[j] - largest)
        rep.u[j] = up - down
        total += up + down
    for j in range(len(x)):
        rep.u[j] /= total
    return True


GOLDEN_X = np.array([[0.5, 0.8], [0.7, -0.6], [-0.7, 0.4], [0.1, 0.9], [0.3, -0.1], [0.2, 0.9]])
GOLDEN_Y = np.array([1, 1, 0, 1, 0, 0])


@pytest.mark.long
@pytest.mark.parametrize("chunk", [1, 4, 6])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_balanced_winnow_meets_its_golden_vector(sparse, chunk):
    """gamma = 0.5, C = 0.4: mistakes 110011 and these weights after six rounds (Shalev-Shwartz & Singer 2006)."""
    rep, tally, work = Balanced(np.zeros(2), np.zeros(2)), np.zeros(SIZE), np.zeros((WORK_ROWS, 1))
    rows, ledger, mistakes = rows_of(GOLDEN_X, sparse), np.array([GOLDEN_Y, GOLDEN_Y]), []
    for start in range(0, 6, chunk):
        stop = min(6, start + chunk)
        args = (FixedStep(0.4), Binary(ledger, WATCHED), rep, rows, tally, work, start, stop, NO_WEIGHTS)
        assert call(learn, *args) == stop
        mistakes.append(tally[MISTAKES])
    if chunk == 1:
        assert np.diff([0, *mistakes]).tolist() == [1, 1, 0, 0, 1, 1]
    assert tally[MISTAKES] == tally[UPDATES] == 4
    np.testing.assert_allclose(rep.theta, [0.28, -0.24], rtol=1e-14)
    np.testing.assert_allclose(rep.u, [0.1371464331931611, -0.1171490994332302], rtol=1e-14)
    # The first score is exactly 0: a tie, predicted as the first label.
    assert ledger[PREDICTED, 0] == 0
    assert work[SCORES, 0] > 0.0


def test_a_linked_representation_takes_any_rule():
    rep, tally, work = Balanced(np.zeros(2), np.zeros(2)), np.zeros(SIZE), np.zeros((WORK_ROWS, 1))
    task = Binary(GOLDEN_Y[None].copy(), 0)
    args = (PassiveAggressiveRule(0.5, 0.4, 0.0), task, rep, rows_of(GOLDEN_X, False), tally, work, 0, 6, NO_WEIGHTS)
    assert call(learn, *args) == 6
    # |x| <= 1 bounds the curvature, so that every passive-aggressive step raises the dual: theta moves on every loss.
    assert tally[UPDATES] >= 4
    assert np.abs(rep.u).sum() < 1.0
