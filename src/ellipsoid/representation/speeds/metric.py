"""The ellipsoid in which a copy measures its steps: learned from the rows of its steps, shared by all classes.

``M`` holds two numbers for each column and copy: s, the largest size of the column's values, and B, the sum of their
squares, both over the rows of steps. The *diagonal* form of the metric is ``s sqrt(s^2 + B)`` for each column. The
*full* form keeps its inverse ``P``, and so the products of columns too: the inverse of ``D first^2`` on the diagonal,
``first`` a column's first value and D the number of columns met by then, plus the sum of x x'. It is used where rows are
narrow, and ``P`` is empty elsewhere.

Every column is measured by its own values alone: to scale a column changes no score.
"""

from math import sqrt

import numpy as np

from ellipsoid.engine.generic import helper

from .copies import ENERGY, MET, SHAPED

SIZE, SQUARES = range(2)


@helper()
def length_of(rep, s, size):
    """The length of the packed row, each value in units of the largest one that its column had."""
    M, index, value = rep.M, rep.index, rep.value
    total = 0.0
    for k in range(size):
        largest, x = M[np.uint64(index[np.uint64(k)]), 2 * s + SIZE], abs(value[np.uint64(k)])
        share = x / largest if x < largest else 1.0
        total += share * share
    return sqrt(total)


@helper()
def find_direction(rep, s, size, columns):
    """Write ``P x``, for all columns (full) or those of the packed row (diagonal); returns the energy ``x' P x``.

    Columns of the row that are new to copy s are met now: this is called only where a step is due.
    """
    P, M, index, value, v = rep.P, rep.M, rep.index, rep.value, rep.direction
    energy = 0.0
    if P.shape[1] > 0:
        for j in range(columns):
            v[j] = 0.0
        for k in range(size):
            rep.numbers[s, MET] += 1.0 if M[index[k], 2 * s + SIZE] == 0.0 else 0.0
        for k in range(size):
            j, x = index[k], value[k]
            if M[j, 2 * s + SIZE] == 0.0:
                P[s, j, j] = 1.0 / (rep.numbers[s, MET] * x * x)
            M[j, 2 * s + SIZE] = max(M[j, 2 * s + SIZE], abs(x))
        for k in range(size):
            j, x = index[k], value[k]
            for i in range(columns):
                v[i] += P[s, j, i] * x
        for k in range(size):
            energy += v[index[k]] * value[k]
    else:
        for k in range(size):
            j, x = np.uint64(index[np.uint64(k)]), value[np.uint64(k)]
            largest = max(M[j, 2 * s + SIZE], abs(x))
            M[j, 2 * s + SIZE] = largest
            v[k] = x / (largest * sqrt(largest * largest + M[j, 2 * s + SQUARES]))
            energy += v[k] * x
    return energy


@helper()
def mean_energy(rep, s, energy):
    """The mean energy of the steps of copy s, this one included; in the full form a bounded measure of it."""
    numbers = rep.numbers
    numbers[s, SHAPED] += 1.0
    numbers[s, ENERGY] += energy / (1.0 + energy) if rep.P.shape[1] > 0 else energy
    return numbers[s, ENERGY] / numbers[s, SHAPED]


@helper()
def absorb_row(rep, s, size, columns, energy):
    """Let the packed row, whose direction was found, change the shape."""
    P, M, index, value, v = rep.P, rep.M, rep.index, rep.value, rep.direction
    for k in range(size):
        j, x = np.uint64(index[np.uint64(k)]), value[np.uint64(k)]
        M[j, 2 * s + SQUARES] += x * x
    if P.shape[1] > 0:
        # Both triangles are written by the same products, so that P stays symmetric to the last bit.
        shrink = sqrt(1.0 / (1.0 + energy))
        for j in range(columns):
            v[j] *= shrink
        for i in range(columns):
            for j in range(columns):
                P[s, i, j] -= v[i] * v[j]
