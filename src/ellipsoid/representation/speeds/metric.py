"""The ellipsoid in which steps are measured: learned from the rows of steps, shared by all classes and all copies.

The last two places of a row of ``W`` hold, of its column, s, the largest size of its values, and B, the sum of their
squares in units of s^2, both over the rows of steps. The *diagonal* form of the metric is ``s^2 sqrt(1 + B)``. The
*full* form keeps its inverse ``P``, and so the products of columns too: the inverse of ``D first^2`` on the diagonal,
``first`` a column's first value and D the number of columns met by then, plus the sum of x x'. It is used where rows
are narrow, and ``P`` is empty elsewhere.

Every column is measured by its own values alone: to scale a column changes no score.
"""

from math import sqrt

import numpy as np

from ellipsoid.engine.generic import FUSE, SUM, helper

from .copies import COLUMNS_SEEN, ENERGY, LENGTH, ROWS, SHAPED

# Counted from the end of a row of ``W``.
FEATURE_SIZE, SQUARES = 2, 1


@helper(fast=SUM)
def length_of(rep, size):
    """The length of the packed row, each value in units of the largest one that its column had."""
    W, index, value = rep.W, rep.positions, rep.value
    total, place = 0.0, np.uint64(W.shape[1] - FEATURE_SIZE)
    for k in range(size):
        largest, x = W[np.uint64(index[np.uint64(k)]), place], abs(value[np.uint64(k)])
        share = x / (largest if x < largest else x)
        total += share * share
    return sqrt(total)


@helper()
def note_size(W, j, x):
    """Update the largest size of column j, the unit of its squares, by the value x of a row; returns it."""
    sizes, squares = np.uint64(W.shape[1] - FEATURE_SIZE), np.uint64(W.shape[1] - SQUARES)
    largest = W[j, sizes]
    if abs(x) > largest:
        shrunk = largest / abs(x)
        W[j, squares] *= shrunk * shrunk
        W[j, sizes] = largest = abs(x)
    return largest


@helper()
def find_direction(rep, size):
    """Write ``P x``, for all columns (full) or those of the packed row (diagonal); returns the energy ``x' P x``, and
    the largest entry of ``P x`` in size.

    It counts new columns and adds the squares of all: it is called only where a step follows.
    """
    if rep.P.shape[0] > 0:
        return full_direction(rep, size)
    W, index, value, v = rep.W, rep.positions, rep.value, rep.direction
    squares = np.uint64(W.shape[1] - SQUARES)
    energy, reach = 0.0, 0.0
    for k in range(size):
        j, x = np.uint64(index[np.uint64(k)]), value[np.uint64(k)]
        largest = note_size(W, j, x)
        share = x / largest
        far = x / (largest * largest * sqrt(1.0 + W[j, squares]))
        W[j, squares] += share * share
        energy += far * x
        v[np.uint64(k)] = far
        reach = max(reach, abs(far))
    return energy, reach


@helper(fast=FUSE, inline=False)
def full_direction(rep, size):
    """``find_direction`` in the full form."""
    P, W, index, value, v = rep.P, rep.W, rep.positions, rep.value, rep.direction
    sizes, squares = np.uint64(W.shape[1] - FEATURE_SIZE), np.uint64(W.shape[1] - SQUARES)
    for k in range(size):
        rep.shared[COLUMNS_SEEN] += 1.0 if W[index[k], sizes] == 0.0 else 0.0
    for j in range(P.shape[0]):
        v[j] = 0.0
    for k in range(size):
        j, x = np.uint64(index[k]), value[k]
        if W[j, sizes] == 0.0:
            P[j, j] = 1.0 / (rep.shared[COLUMNS_SEEN] * x * x)
        share = x / note_size(W, j, x)
        W[j, squares] += share * share
        for i in range(P.shape[0]):
            v[i] += P[j, i] * x
    energy, reach = 0.0, 0.0
    for k in range(size):
        energy += v[index[k]] * value[k]
    for j in range(P.shape[0]):
        reach = max(reach, abs(v[j]))
    return energy, reach


@helper()
def absorb_row(rep, length, energy):
    """Update the metric by the row whose direction was found; overwrites the direction."""
    P, v, shared = rep.P, rep.direction, rep.shared
    shared[ROWS] += 1.0
    shared[LENGTH] += length
    if P.shape[0] > 0:
        shrink = sqrt(1.0 / (1.0 + energy))
        for j in range(P.shape[0]):
            v[j] *= shrink
        subtract_square(P, v)


@helper(fast=FUSE, inline=False)
def subtract_square(P, v):
    """``P - v v'``: both triangles are written by the same products, so that P stays symmetric to the last bit."""
    for i in range(P.shape[0]):
        for j in range(P.shape[0]):
            P[i, j] -= v[i] * v[j]


@helper()
def mean_energy(rep, energy):
    """The mean energy of the rows of steps, this one included; in the full form a bounded measure of it."""
    shared = rep.shared
    shared[SHAPED] += 1.0
    shared[ENERGY] += energy / (1.0 + energy) if rep.P.shape[0] > 0 else energy
    return shared[ENERGY] / shared[SHAPED]
