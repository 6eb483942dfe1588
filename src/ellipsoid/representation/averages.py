"""The averaged hypothesis in the middle of a run, for predicting each row just before it is learned.

``predict`` computes the whole average and scores rows with it. Before every row of a stream that would cost a pass over
all weights. Here the average replaces only the weights of the row's features, the row is scored by the usual code, and
the weights are put back: the same bits as ``predict``, for a few operations on each weight that the score reads.

A plain table's average after T rounds is ``W - U / T``, a scaled one's ``(S W - U) / T`` with S the sum of the scales
(see ``linear`` and ``scaled``).
"""

from typing import Any

import numpy as np

from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.protocol import keeps_average, swap_in_average, swap_out_average
from ellipsoid.engine.rows import feature_at, row_span

from .linear import ClassMajor, FeatureMajor


@keeps_average.register(ClassMajor | FeatureMajor)
def _(rep):
    return rep.U.shape[0] > 0


@swap_in_average.register(ClassMajor | FeatureMajor)
def _(rep, rows, t, n, rounds):
    return exchange(rep, rows, t, n, rounds, -1.0)


@swap_out_average.register(ClassMajor | FeatureMajor)
def _(rep, rows, t, n, kept):
    put_back(rep, rows, t, n, kept)


@helper()
def mean(w, u, rounds, past):
    """The average of one weight, or of arrays of them; ``past`` is negative for a table without a scale."""
    return w - u / rounds if past < 0.0 else (past * w - u) / rounds


@generic(1)
def exchange(table: Any, rows: Any, t: int, n: int, rounds: float, past: float) -> Any:
    """Put averages in the place of the weights that the score of row t reads; returns those, and room for a number."""


@generic(1)
def put_back(table: Any, rows: Any, t: int, n: int, kept: Any) -> None:
    """Put back what ``exchange`` returned."""


@exchange.register(ClassMajor)
def _(table, rows, t, n, rounds, past):
    W, U = table.W, table.U
    start, stop = row_span(rows, t)
    kept = np.empty((n + 1, 1 + stop - start))
    for r in range(n):
        kept[r, 0] = W[r, 0]
        W[r, 0] = mean(W[r, 0], U[r, 0], rounds, past)
        for k in range(start, stop):
            j = 1 + feature_at(rows, k)
            kept[r, 1 + k - start] = W[r, j]
            W[r, j] = mean(W[r, j], U[r, j], rounds, past)
    return kept


@put_back.register(ClassMajor)
def _(table, rows, t, n, kept):
    start, stop = row_span(rows, t)
    for r in range(n):
        table.W[r, 0] = kept[r, 0]
        for k in range(start, stop):
            table.W[r, 1 + feature_at(rows, k)] = kept[r, 1 + k - start]


@exchange.register(FeatureMajor)
def _(table, rows, t, n, rounds, past):
    W, U = table.W, table.U
    start, stop = row_span(rows, t)
    kept = np.empty((2 + stop - start, n))
    for r in range(n):
        kept[0, r] = W[0, r]
        W[0, r] = mean(W[0, r], U[0, r], rounds, past)
    for k in range(start, stop):
        j = 1 + feature_at(rows, k)
        for r in range(n):
            kept[1 + k - start, r] = W[j, r]
            W[j, r] = mean(W[j, r], U[j, r], rounds, past)
    return kept


@put_back.register(FeatureMajor)
def _(table, rows, t, n, kept):
    start, stop = row_span(rows, t)
    for r in range(n):
        table.W[0, r] = kept[0, r]
    for k in range(start, stop):
        for r in range(n):
            table.W[1 + feature_at(rows, k), r] = kept[1 + k - start, r]
