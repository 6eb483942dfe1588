"""Equal rows of weights score equally, to the last bit, whatever the layout, the rows, the width and their number.

All learners start tied and ties are mistakes: a score that depends on a row's place changes whole runs.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid.engine import CSR, NO_WEIGHTS, Dense, Multiclass, call, decide, learn, scores_of
from ellipsoid.engine.protocol import SCORES, WORK_ROWS
from ellipsoid.engine.tally import SIZE, UPDATES
from ellipsoid.representation.linear import ClassMajor, FeatureMajor
from ellipsoid.rules.blame import MAX
from ellipsoid.rules.perceptron import PerceptronRule

WIDTHS = (1, 2, 3, 5, 8, 15, 16, 17, 33, 64, 100, 257)
CLASSES = range(1, 41)


def parts(layout, sparse, W, x):
    """A representation with spare capacity in both directions, and one row."""
    classes, columns = W.shape
    table = np.zeros((classes + 3, columns + 2))
    table[:classes, :columns] = W
    if layout is FeatureMajor:
        table = np.ascontiguousarray(table.T)
    if not sparse:
        return layout(table, np.zeros((0, 0))), Dense(np.array([x]), 1.0)
    X = sp.csr_matrix(x[None])
    return layout(table, np.zeros((0, 0))), CSR(X.data, X.indices, X.indptr, 1.0, len(x))


def learned_scores(rep, rows, classes):
    """The scores that the loop itself sees before it learns the row."""
    work, tally = np.zeros((WORK_ROWS, classes + 1)), np.zeros(SIZE)
    args = (
        PerceptronRule(MAX, 0.0, 1.0),
        Multiclass(np.zeros((1, 1), dtype=np.int64), 0, classes),
        rep,
        rows,
        tally,
        work,
        0,
        1,
        NO_WEIGHTS,
    )
    call(learn, *args)
    return work[SCORES, :classes].copy(), tally[UPDATES]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("layout", [ClassMajor, FeatureMajor])
def test_equal_rows_score_equally(layout, sparse):
    rng = np.random.default_rng(7)
    for width in WIDTHS:
        for classes in CLASSES:
            w, x = rng.normal(size=1 + width), rng.normal(size=width)
            rep, rows = parts(layout, sparse, np.tile(w, (classes, 1)), x)
            out = np.full((1, classes), np.nan)
            scores_of(rep, rows, classes, out)
            assert len(set(out[0].tolist())) == 1, (width, classes)
            assert out[0, 0] == pytest.approx(w[0] + w[1:] @ x, rel=1e-9, abs=1e-12)
            seen, updates = learned_scores(rep, rows, classes)
            # Learning, predicting in bulk and predicting one row are compiled apart and must sum alike.
            assert (seen == out[0]).all(), (width, classes)
            assert updates == (classes > 1)


@pytest.mark.long
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("layout", [ClassMajor, FeatureMajor])
def test_learning_predicting_and_deciding_see_the_same_scores(layout, sparse):
    rng = np.random.default_rng(8)
    for width in WIDTHS:
        for classes in (2, 3, 10, 26):
            # Rows that differ in the last bits: any other order of summation would show.
            W = rng.normal(size=1 + width) * (1.0 + 2e-16 * rng.integers(0, 3, size=(classes, 1)))
            rep, rows = parts(layout, sparse, W, rng.normal(size=width))
            out, work = np.empty((1, classes)), np.zeros((WORK_ROWS, classes))
            scores_of(rep, rows, classes, out)
            task = Multiclass(np.zeros((1, 1), dtype=np.int64), 0, classes)
            assert decide(task, rep, rows, work) == np.argmax(out[0])
            assert (work[SCORES] == out[0]).all()
            assert (learned_scores(rep, rows, classes)[0] == out[0]).all()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("layout", [ClassMajor, FeatureMajor])
def test_a_row_scores_the_same_in_every_place_of_a_chunk(layout, sparse):
    rng = np.random.default_rng(9)
    for width in (3, 16, 33):
        X = np.repeat(rng.normal(size=(1, width)), 9, axis=0)
        rep, _ = parts(layout, sparse, rng.normal(size=(5, 1 + width)), X[0])
        C = sp.csr_matrix(X)
        rows = CSR(C.data, C.indices, C.indptr, 1.0, width) if sparse else Dense(X, 1.0)
        out = np.empty((9, 5))
        scores_of(rep, rows, 5, out)
        assert (out == out[0]).all()
