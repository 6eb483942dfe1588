"""Scores and steps of linear weights: both layouts, both kinds of rows, against plain matrix products."""

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid.engine import CSR, Dense, compiled, inspect, scores_of
from ellipsoid.engine.protocol import TAU, WHO, WORK_ROWS, absorb
from ellipsoid.engine.rows import BAD_INDEX, FINE, HUGE, NOT_FINITE, TOO_LARGE, energy
from ellipsoid.engine.tally import ROUNDS, SIZE
from ellipsoid.representation.linear import ClassMajor, FeatureMajor
from ellipsoid.rules.blame import UNIFORM
from ellipsoid.rules.perceptron import PerceptronRule

cases = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
layouts = pytest.mark.parametrize("layout", [ClassMajor, FeatureMajor])


@compiled
def take_in(rep, rule, rows, t, moves, work, tally):
    return absorb(rep, rule, rows, t, moves, work, tally)


@compiled
def length(rows, t):
    return energy(rows, t)


def rows_of(X, sparse, constant):
    C = sp.csr_matrix(X)
    return (
        CSR(C.data, C.indices, C.indptr, constant, X.shape[1]) if sparse else Dense(np.ascontiguousarray(X), constant)
    )


def random_parts(layout, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 5))
    X[rng.random(X.shape) < 0.4] = 0.0
    W, U = rng.normal(size=(2, 4, 8))
    table = [np.array(M if layout is ClassMajor else M.T, order="C") for M in (W, U)]
    return X, W, U, layout(*table)


@cases
@layouts
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_scores_are_products(layout, sparse, constant):
    """Tables have more columns than the rows have features: they must not be read."""
    X, W, _, rep = random_parts(layout, 0)
    out = np.full((6, 3), np.nan)
    scores_of(rep, rows_of(X, sparse, constant), 3, out)
    np.testing.assert_allclose(out, X @ W[:3, 1:6].T + constant * W[:3, 0], rtol=1e-12, atol=1e-14)


@cases
@layouts
@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("average", [False, True])
def test_a_step_adds_multiples_of_the_row(layout, sparse, constant, average):
    X, W, U, rep = random_parts(layout, 1)
    rep = rep if average else rep._replace(U=np.zeros((0, 0)))
    work, tally = np.full((WORK_ROWS, 4), np.nan), np.zeros(SIZE)
    work[WHO, :2], work[TAU, :2], tally[ROUNDS] = [2, 0], [0.5, -0.25], 7.0
    assert take_in(rep, PerceptronRule(UNIFORM, 0.0, 1.0), rows_of(X, sparse, constant), 3, 2, work, tally)
    step = np.zeros((4, 8))
    step[2], step[0] = 0.5, -0.25
    step *= np.concatenate([[constant], X[3], [0.0, 0.0]])
    after = rep.W if layout is ClassMajor else rep.W.T
    np.testing.assert_allclose(after, W + step, rtol=1e-13)
    assert (after[[1, 3]] == W[[1, 3]]).all()
    if average:
        np.testing.assert_allclose(rep.U if layout is ClassMajor else rep.U.T, U + 7.0 * step, rtol=1e-13)


@cases
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_energy_counts_the_constant_and_sums_in_double_precision(sparse, kind):
    X = np.full((2, 1000), 0.1, dtype=kind)
    rows = rows_of(X, sparse, 1.0)
    assert length(rows, 1) == pytest.approx(1.0 + 1000 * float(kind(0.1)) ** 2, rel=1e-12)


@cases
def test_flaws_are_found_in_order(sparse):
    X = np.ones((5, 3))
    rows = rows_of(X, sparse, 1.0)
    assert inspect(rows) == (-1, FINE)
    for row, value, flaw in ((3, np.nan, NOT_FINITE), (2, np.inf, NOT_FINITE), (1, np.sqrt(HUGE) * 1.01, TOO_LARGE)):
        X[row, 1] = value
        assert inspect(rows_of(X, sparse, 1.0)) == (row, flaw)


def test_bad_indices_come_before_bad_values():
    """The values of a row cannot be looked up where its indices point outside."""
    data, indptr = np.array([1.0, np.nan, 1.0]), np.array([0, 1, 3], dtype=np.int32)
    for indices in ([0, 1, 3], [0, -1, 1], [0, 1, 1], [0, 2, 1]):
        rows = CSR(data, np.array(indices, dtype=np.int32), indptr, 1.0, 3)
        assert inspect(rows) == (1, BAD_INDEX)
    assert inspect(CSR(data, np.array([0, 1, 2], dtype=np.int32), indptr, 1.0, 3)) == (1, NOT_FINITE)
