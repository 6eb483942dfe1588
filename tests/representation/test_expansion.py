"""Kernel expansions: equal columns of coefficients score equally, patterns are found again, tables grow."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid.engine.rows import CSR, Dense
from ellipsoid.representation.kernel.expansion import ExpansionTable
from ellipsoid.representation.kernel.pattern_index import END
from ellipsoid.representation.kernel.patterns import DensePatterns, SparsePatterns
from ellipsoid.representation.rollback import Mark

RNG = np.random.default_rng(2)


def table_of(X, scores, sparse=False, kernel=("rbf", 0.2, 3.0, 0.0), constant=1.0):
    table = ExpansionTable(kernel, average=False, constant=constant, sparse=sparse)
    table.reserve(scores, X.shape[1])
    table.patterns.place(table.block(Dense(X, 1.0), slice(0, len(X))), np.arange(len(X)))
    return table


@pytest.mark.parametrize("scores", [2, 3, 10, 26, 33])
@pytest.mark.parametrize("rows", [1, 2, 5, 130])
def test_equal_columns_score_equally_to_the_last_bit(scores, rows):
    """As the labels that were never right do, whose columns stay equal for long."""
    X = RNG.normal(size=(1500, 4))
    table = table_of(X, scores)
    coef = np.repeat(RNG.normal(size=(1500, 1)), scores, axis=1)
    found = table.scores(table.block(Dense(RNG.normal(size=(rows, 4)), 1.0), slice(0, rows)), coef)
    assert (found == found[:, :1]).all()
    assert np.abs(found).max() > 0.0


@pytest.mark.parametrize("width", [5, 300, 9000])
def test_sparse_patterns_have_the_values_of_dense_ones(width):
    """Whatever the width, and with it the way the products are made."""
    X = np.zeros((60, width))
    for row in X:
        row[RNG.choice(width, 3, replace=False)] = RNG.normal(size=3)
    dense, sparse = table_of(X, 2), table_of(X, 2, sparse=True)
    coef = RNG.normal(size=(60, 2))
    C = sp.csr_matrix(X)
    rows = CSR(C.data, C.indices, C.indptr, 1.0, width)
    blocks = [
        (dense, dense.block(rows, slice(3, 50))),
        (sparse, sparse.block(rows, np.arange(3, 50))),
        (sparse, sparse.block(Dense(X, 1.0), slice(3, 50))),
    ]
    expected = dense.scores(dense.block(Dense(X, 1.0), slice(3, 50)), coef)
    for table, block in blocks:
        np.testing.assert_allclose(table.scores(block, coef), expected, rtol=0, atol=1e-12)
        gram = table.patterns.gram(table.make_kernel(), block, 0.0)
        np.testing.assert_allclose(gram, gram.T, atol=1e-14)
        assert (np.diag(gram) == 1.0).all()


@pytest.mark.parametrize("kind", [DensePatterns, SparsePatterns])
def test_a_pattern_is_known_by_its_content_in_any_kind_and_width(kind):
    """Whatever rows bring it, with zeros of either sign, stored or not, before and after features are added."""
    X = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, -0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    patterns = kind(3)
    for width in (3, 5):
        patterns.widen(width)
        wide = np.pad(X, ((0, 0), (0, width - 3)))
        full = sp.csr_matrix(np.ones_like(wide))
        for rows in (
            Dense(wide, 0.0),
            CSR(*_parts(wide), 0.0, width),
            CSR(wide.ravel(), full.indices, full.indptr, 0.0, width),
        ):
            block = patterns.block(rows, slice(0, 5), np.zeros(5, dtype=np.int64))
            assert patterns.place(block, np.arange(5)).tolist() == [0, 1, 0, 2, 3]
            assert patterns.find(block, np.arange(5)).tolist() == [0, 1, 0, 2, 3]
        assert patterns.used == 4
        other = patterns.block(Dense(2.0 * wide, 0.0), slice(0, 3), np.zeros(3, dtype=np.int64))
        assert patterns.find(other, np.arange(3)).tolist() == [END] * 3


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60))
@settings(deadline=None, max_examples=50)
def test_the_directory_finds_what_is_kept_and_nothing_else(steps):
    """Against a dictionary, through any order of placing and replacing; values that differ in few bits share chains."""
    values = [1.0 + i * 2.0**-52 for i in range(13)]
    patterns, slots = DensePatterns(1), {}
    for replacing, i in steps:
        block = patterns.block(Dense(np.array([[values[i]]]), 0.0), slice(0, 1), np.zeros(1, dtype=np.int64))
        if replacing and slots and i not in slots:
            gone = min(slots)
            slots[i] = slots.pop(gone)
            patterns.replace(slots[i], block, 0, Mark([], []))
        else:
            slots.setdefault(i, len(slots))
            assert patterns.place(block, np.array([0])).tolist() == [slots[i]]
        for j, value in enumerate(values):
            asked = patterns.block(Dense(np.array([[value]]), 0.0), slice(0, 1), np.zeros(1, dtype=np.int64))
            assert patterns.find_one(asked, 0) == slots.get(j, END)


def _parts(X):
    C = sp.csr_matrix(X)
    return C.data, C.indices, C.indptr


@pytest.mark.parametrize("sparse", [False, True])
def test_arrays_grow_by_doubling(sparse):
    """So that a copy of everything is made a logarithmic number of times."""
    table = ExpansionTable(("rbf", 1.0, 3.0, 0.0), average=False, constant=0.0, sparse=sparse)
    table.reserve(1, 2)
    sizes = set()
    for i in range(300):
        block = table.block(Dense(np.array([[1.0, i + 1.0]]), 0.0), slice(0, 1))
        table.patterns.place(block, np.array([0]))
        sizes.add(len(table.patterns.data if sparse else table.patterns.table))
    assert table.used == 300
    assert len(sizes) <= 11


@pytest.mark.parametrize("sparse", [False, True])
def test_a_pattern_given_up_leaves_its_place_to_another(sparse):
    X = np.diag([1.0, 2.0, 3.0, 4.0])
    table = table_of(X[:3], 1, sparse=sparse)
    new = np.array([[5.0, 6.0, 7.0, 0.0]])
    block = table.block(Dense(new, 1.0), slice(0, 1))
    mark = Mark(table.mutable_parts(), table.step_arrays())
    table.patterns.replace(1, block, 0, mark)
    kept = table.support()
    kept = kept.toarray() if sparse else kept
    assert kept.tolist() == [X[0].tolist(), new[0].tolist(), X[2].tolist()]
    old = table.block(Dense(X, 1.0), slice(0, 4))
    assert table.patterns.find_one(block, 0) == 1
    assert table.patterns.find(old, np.array([1])).tolist() == [END]
    # And gets it back, where the step is broken off.
    mark.restore()
    table.after_rollback()
    kept = table.support()
    assert (kept.toarray() if sparse else kept).tolist() == X[:3].tolist()
    assert table.patterns.find_one(block, 0) == END
    assert table.patterns.find(old, np.arange(4)).tolist() == [0, 1, 2, END]
