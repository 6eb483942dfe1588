"""Kernel values in tiles: those of the definition, and the same bits wherever a row or a pattern stands."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import MIRA
from ellipsoid.engine.rows import Dense
from ellipsoid.estimators.state import expansion as blocks
from ellipsoid.representation.kernel.functions import RBF, Linear, Poly, from_products
from ellipsoid.representation.kernel.norms import squared_row_norms
from ellipsoid.representation.kernel.packing import (
    LONG_ROW,
    GivenSums,
    Nonzeros,
    PatternSums,
    Picker,
    Values,
    laid_out,
    tiled,
)
from ellipsoid.representation.kernel.patterns import DensePatterns
from ellipsoid.representation.kernel.tiles import PATTERNS_OF_TILE, Compressed, Few, Many, Whole

RNG = np.random.default_rng(4)
KERNELS = {
    "rbf": (RBF(0.03), lambda x, z: np.exp(-0.03 * ((x - z) ** 2).sum())),
    "poly": (Poly(0.1, 6.0, 0.5), lambda x, z: (0.1 * x @ z + 0.5) ** 6),
    "linear": (Linear(), lambda x, z: x @ z),
}


def rows(count, width=LONG_ROW, zeros=0.8):
    X = RNG.normal(size=(count, width))
    X[RNG.random(X.shape) < zeros] = 0.0
    return X


def norms(X):
    return np.einsum("ij,ij->i", X, X)


def stored(X, whole):
    if whole:
        return Whole(X, norms(X))
    kept = Nonzeros().of(X, len(X), norms(X))
    assert kept is not None
    return kept


def values(kernel, patterns, count, X, far=None, **options):
    found = Values(kernel, patterns, np.arange(count), laid_out(X, norms(X), far), np.empty((count, len(X))), **options)
    found.work()
    return found.out


def scores(kernel, patterns, slots, coef, X, constant2, far=None):
    found = PatternSums(kernel, patterns, slots, Picker().pick(coef), laid_out(X, norms(X), far), constant2)
    found.work()
    return found.sums[:, : len(X)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "whole", "count"),
    [
        ("rbf", True, 3),
        ("rbf", True, 45),
        ("rbf", False, 45),
        ("poly", True, 45),
        ("poly", False, 3),
        ("linear", True, 45),
    ],
)
def test_values_are_those_of_the_definition(name, whole, count):
    kernel, definition = KERNELS[name]
    P, X = rows(70), rows(count)
    P[0] = X[0]
    K = np.array([[definition(x, z) for x in X] for z in P])
    found = values(kernel, stored(P, whole), 70, X)
    np.testing.assert_allclose(found, K, rtol=1e-13, atol=1e-13)
    half = values(kernel, stored(P, whole), 70, X, half=True)
    assert np.array_equal(np.triu(half), np.triu(found))
    coef = RNG.normal(size=(70, 5)) * (RNG.random((70, 5)) < 0.5)
    found = scores(kernel, stored(P, whole), np.arange(70), coef, X, 2.0)
    np.testing.assert_allclose(found, coef.T @ (K + 2.0), rtol=1e-12, atol=1e-12)
    few = np.array([66, 2, 2, 9, 30])
    found = scores(kernel, stored(P, whole), few, coef[:5], X, 0.0)
    np.testing.assert_allclose(found, coef[:5].T @ K[few], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_a_value_has_the_same_bits_in_any_tile_with_and_without_zeros(name):
    kernel = KERNELS[name][0]
    P, X = rows(67), rows(45)
    found = values(kernel, stored(P, whole=True), 67, X)
    assert np.array_equal(values(kernel, stored(P, whole=False), 67, X), found)
    assert np.array_equal(values(kernel, stored(P[5:], whole=True), 60, X[7:12]), found[5:65, 7:12])
    assert np.array_equal(values(kernel, stored(X, whole=False), 45, P), found.T)
    C = sp.csr_matrix(X)
    tiles = laid_out(C, norms(X))
    assert isinstance(tiles, Many)
    assert isinstance(laid_out(C[:8], norms(X)[:8]), Few)
    assert np.array_equal(tiles.X, laid_out(X, norms(X)).X)


@pytest.mark.long
@pytest.mark.parametrize("whole", [True, False])
def test_far_rows_have_the_digits_of_their_differences_and_change_no_other(whole):
    """Whether a row is far is its own affair: beside far rows and alone it has the same values."""
    kernel, spread = RBF(0.03), np.repeat([0.0, 1e3, 3e5], 15)
    P, X = rows(67), rows(45)
    X[:, 3], P[:, 3] = spread[RNG.permutation(45)], np.resize(spread[::5], 67)
    far = X[:, 3] > 0.0
    apart = ((P[:, None].astype(np.longdouble) - X) ** 2).sum(axis=2)
    mixed = values(kernel, stored(P, whole), 67, X, far=far)
    found, K = mixed[:, far], np.exp(-0.03 * apart)[:, far].astype(np.float64)
    assert (np.abs(found - K) <= 1e-14 * (1.0 + 0.03 * apart[:, far]) * K).all()
    assert (found > 0.1).any()
    near = values(kernel, stored(P, whole), 67, X)
    assert np.array_equal(mixed[:, ~far], near[:, ~far])
    assert not np.array_equal(found, near[:, far])
    assert np.array_equal(values(kernel, stored(P[5:], whole), 60, X[40:], far=far[40:]), mixed[5:65, 40:])
    half = values(kernel, stored(P, whole), 67, X, far=far, half=True, constant2=2.0)
    assert np.array_equal(np.triu(half), np.triu(mixed + 2.0))
    coef = RNG.normal(size=(67, 5)) * (RNG.random((67, 5)) < 0.5)
    summed = scores(kernel, stored(P, whole), np.arange(67), coef, X, 2.0, far=far)
    np.testing.assert_allclose(summed, coef.T @ (mixed + 2.0), rtol=1e-12, atol=1e-12)
    given = GivenSums(Picker().pick(coef), 2.0, np.zeros((5, 45)))
    given.add(mixed[:PATTERNS_OF_TILE].T)
    given.add(mixed[PATTERNS_OF_TILE:].T)
    assert np.array_equal(given.sums, summed)


def test_a_dense_row_is_far_by_its_own_norm():
    patterns, X = DensePatterns(4), rows(40, 4, zeros=0.0)
    X[7:9] += 100.0
    block = patterns.block(Dense(X, 0.0), slice(0, 40), np.zeros(0, dtype=np.int64))
    tiles = patterns.lay_out(RBF(1.0), block).tiles
    assert np.flatnonzero(tiles.marks.ravel()).tolist() == [7, 8]
    assert tiles.far.tolist() == [True, False]
    for kernel in (RBF(1e-4), Poly(1.0, 2.0, 0.0)):
        assert isinstance(patterns.lay_out(kernel, block).tiles, Many)
    gram = patterns.gram(RBF(1.0), block, 0.0)
    patterns.place(block, np.arange(40))
    found = patterns.values(RBF(1.0), block, slice(0, 40)).T
    np.fill_diagonal(found, 1.0)
    assert np.array_equal(gram, found)
    few = patterns.block(Dense(X, 0.0), slice(6, 9), np.zeros(0, dtype=np.int64))
    assert np.array_equal(patterns.gram(RBF(1.0), few, 0.0), gram[6:9, 6:9])


def test_huge_rows_have_finite_values():
    patterns, X = (
        DensePatterns(6),
        RNG.normal(size=(40, 6)) * np.array([1.0, 1e100, 1e140, 9e143])[np.arange(40) % 4, None],
    )
    for gamma in (1e-300, 1e-200, 1.0, 1e20):
        block = patterns.block(Dense(X, 0.0), slice(0, 40), np.zeros(0, dtype=np.int64))
        gram = patterns.gram(RBF(gamma), block, 0.0)
        assert ((gram >= 0.0) & (gram <= 1.0)).all()


@pytest.mark.parametrize("width", [3, 100, 9000])
def test_norms_and_products_are_turned_into_values_in_the_same_way_at_every_place(width):
    X = rows(21, width)
    norms, products = squared_row_norms(X), X @ X.T
    np.testing.assert_allclose(norms, np.diag(products), rtol=1e-13)
    assert np.array_equal(squared_row_norms(X[4:5]), norms[4:5])
    assert np.array_equal(squared_row_norms(sp.csr_matrix(X))[2:], squared_row_norms(sp.csr_matrix(X)[2:]))
    for kernel in (RBF(0.01), Poly(0.1, 5.0, 1.0)):
        found = products.copy()
        from_products(kernel, found, norms, norms)
        part = products[3:15, 5:6].copy()
        from_products(kernel, part, norms[3:15], norms[5:6])
        assert np.array_equal(part, found[3:15, 5:6])
        part = products[:, 2:].copy()
        from_products(kernel, part, norms, norms[2:])
        assert np.array_equal(part, found[:, 2:])


def test_rows_are_kept_without_zeros_while_these_are_many():
    kept, table, halves = Nonzeros(), rows(40), np.zeros(40)

    def dense(used):
        found = kept.of(table, used, halves)
        return sp.csr_matrix((found.data, found.indices, found.indptr[: used + 1]), (used, LONG_ROW)).toarray()

    for used in (1, 2, 9, 40):
        assert np.array_equal(dense(used), table[:used])
    kept.forget(7)
    table[7] = rows(1)[0]
    assert np.array_equal(dense(40), table)
    assert np.array_equal(
        pickle.loads(pickle.dumps(kept)).of(table, 40, halves).data[:-1], kept.data[: kept.indptr[40]]
    )
    full = np.ones((200, LONG_ROW))
    full[:40] = table
    assert kept.of(full, 200, halves) is None
    assert kept.of(table, 40, halves) is None
    assert kept.data.size == 0
    assert Nonzeros().of(np.zeros((3, LONG_ROW - 1)), 3, halves) is None


def test_dense_patterns_change_their_form_and_not_their_values():
    patterns, X = DensePatterns(LONG_ROW), rows(30)
    X[20:] = RNG.normal(size=(10, LONG_ROW)) + 3.0
    block = patterns.lay_out(RBF(0.01), patterns.block(Dense(X, 0.0), slice(0, 30), np.zeros(0, dtype=np.int64)))
    patterns.place(block, np.arange(20))
    assert isinstance(patterns.stored(), Compressed)
    before = patterns.values(RBF(0.01), block, slice(0, 20))
    patterns.place(block, np.arange(20, 30))
    assert isinstance(patterns.stored(), Whole)
    assert np.array_equal(patterns.values(RBF(0.01), block, slice(0, 20)), before)
    assert isinstance(patterns.as_stored(block), Whole)


def test_kernels_without_tiles():
    assert tiled(Poly(1.0, 4.0, 0.0))
    assert not tiled(Poly(1.0, 2.5, 0.0))
    assert not tiled(Poly(1.0, -1.0, 0.0))


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_stream_without_repetitions_may_be_cut_anywhere(kernel, monkeypatch):
    """To the last bit: the same values, summed in the same order, whatever is scored ahead."""
    monkeypatch.setattr(blocks, "SCORED_AHEAD", 50)
    X, y = rows(230, zeros=0.3), RNG.integers(0, 3, 230)
    settings = {"kernel": kernel, "gamma": 0.02, "degree": 3, "coef0": 1.0}
    whole = MIRA(margin=0.3, **settings).partial_fit(X, y, classes=range(3))
    for cuts in ([1], [49, 50, 51], [7, 8, 100], list(range(100, 130))):
        model = MIRA(margin=0.3, **settings)
        for part in np.split(np.arange(230), cuts):
            model.partial_fit(X[part], y[part], classes=range(3))
        assert np.array_equal(model.dual_coef_, whole.dual_coef_)
        assert np.array_equal(model.support_vectors_, whole.support_vectors_)
        assert np.array_equal(model.decision_function(X[:5]), whole.decision_function(X)[:5])


def test_coefficients_are_picked_again_only_where_they_have_changed():
    """Whatever was picked before, what is picked now are the coefficients that are not zero."""
    picker, coef = Picker(), RNG.normal(size=(310, 3)) * (RNG.random((310, 3)) < 0.4)

    def dense(picked, count, classes):
        out = np.zeros((count, classes))
        for tile, r in np.ndindex(-(-count // PATTERNS_OF_TILE), classes):
            inside = slice(picked.ends[tile, r], picked.ends[tile, r + 1])
            out[tile * PATTERNS_OF_TILE + picked.members[inside].astype(int), r] = picked.coefficients[inside]
        return out

    for count in (1, 70, 64, 300, 100, 128, 300, 310, 300):
        assert np.array_equal(dense(picker.pick(coef[:count]), count, 3), coef[:count])
    before, first = picker.end, picker.picked
    assert picker.pick(coef[:300]) is first
    for slot, value in ((299, 2.0), (65, 0.0), (0, -1.0), (130, 5.0)):
        coef[slot, 1] = value
        assert np.array_equal(dense(picker.pick(coef), 310, 3), coef)
    assert before < picker.end < before + 4 * 3 * PATTERNS_OF_TILE
    assert np.array_equal(dense(first, 300, 3)[1:65], coef[1:65])
    assert np.array_equal(dense(picker.pick(coef[:, :2]), 310, 2), coef[:, :2])
    last = picker.picked
    for told in [False, True] * 15:
        slots, count = RNG.integers(0, 200, 5), int(RNG.integers(200, 311))
        coef[slots, 0] = RNG.normal(size=5)
        last = picker.pick(coef[:count], (last, slots) if told else None)
        assert np.array_equal(dense(last, count, 3), coef[:count])
    # Somebody asks about others in between.
    assert np.array_equal(dense(picker.pick(-coef), 310, 3), -coef)
    assert np.array_equal(dense(picker.pick(coef, (last, slots[:1])), 310, 3), coef)
