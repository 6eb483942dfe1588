"""Blocks of sums in registers: what compiled code computes is what the interpreter does."""

import numba
import numpy as np
import pytest

from ellipsoid.engine.native.vector_sums import LANES, add_products, highest_but, store_sums, zero_sums


@numba.njit
def compiled_foremost(scores, n, but):
    return highest_but(scores, n, but)


@numba.njit
def three_blocks(table, rows, xs, first, out):
    sums = zero_sums(3)
    for k in range(len(rows)):
        sums = add_products(sums, table, rows[k], first, xs[k])
    store_sums(sums, out, first)


def test_the_highest_score_but_one_is_found_with_ties_to_the_smallest_index():
    rng = np.random.default_rng(2)
    for n, but in [(length, place) for length in range(1, 41) for place in range(-1, length)]:
        # few values, so that ties are common within a block and across blocks
        scores = np.append(rng.integers(-2, 3, size=n).astype(float), [9.0] * 5)
        place, highest = compiled_foremost(scores, n, but)
        rest = [(value, -r) for r, value in enumerate(scores[:n].tolist()) if r != but]
        value, place_of_it = max(rest, default=(-np.inf, 0))
        assert (place, highest) == (-place_of_it, value)
        assert highest_but(scores, n, but) == (place, highest)


@pytest.mark.parametrize("first", [0, 1, 5])
def test_sums_of_blocks_are_the_products_added_in_order(first):
    rng = np.random.default_rng(1)
    table, out = rng.standard_normal((9, 20)), np.full(20, 7.0)
    rows, xs = rng.integers(0, 9, 50), rng.standard_normal(50)
    three_blocks(table, rows, xs, first, out)
    inside = slice(first, first + 3 * LANES)
    np.testing.assert_allclose(out[inside], xs @ table[rows][:, inside], rtol=1e-12, atol=1e-13)
    untouched = np.delete(out, np.r_[inside])
    assert np.array_equal(untouched, np.full(len(untouched), 7.0))
    interpreted = np.full(20, 7.0)
    three_blocks.py_func(table, rows, xs, first, interpreted)
    np.testing.assert_allclose(interpreted, out, rtol=1e-12, atol=1e-13)


checked_blocks = numba.njit(three_blocks.py_func)


@pytest.mark.parametrize(
    ("row", "first", "sound"), [(8, 8, True), (9, 8, False), (-1, 8, False), (0, 9, False), (0, -1, False)]
)
def test_blocks_beyond_a_table_are_found_where_bounds_are_checked(row, first, sound, monkeypatch):
    """NUMBA_BOUNDSCHECK=1, which `make bounds` sets: a block is one index to numba, and many numbers to the machine."""
    monkeypatch.setattr(numba.core.config, "BOUNDSCHECK", 1)
    table, out = np.ones((9, 20)), np.zeros(20)
    if sound:
        checked_blocks(table, np.array([row]), np.ones(1), first, out)
        assert out.sum() == 3 * LANES
    else:
        with pytest.raises(IndexError, match="out of bounds"):
            checked_blocks(table, np.array([row]), np.ones(1), first, out)


def test_scores_beyond_an_array_are_found_where_bounds_are_checked(monkeypatch):
    monkeypatch.setattr(numba.core.config, "BOUNDSCHECK", 1)
    checked = numba.njit(compiled_foremost.py_func)
    assert checked(np.arange(5.0), 5, 4) == (3, 3.0)
    with pytest.raises(IndexError, match="out of bounds"):
        checked(np.arange(5.0), 6, -1)
