"""Synthetic streams: drawn row by row from a seed, with changes at places that are known.

A longer stream begins with the shorter one of the same seed: rows are drawn one after the other, and a change comes
after a fixed number of rows.

===============  =======  ====================================================================================
``sea``           60,000  Street and Kim (KDD 2001): three features from 0 to 10, the label is whether the first
                          two add up to a threshold at most, which is 8, 9, 7, 9.5 in turn for 15,000 rows each;
                          a tenth of the labels is wrong
``rotating``      60,000  ten features, a hyperplane that turns a little at every row, once around in 40,000; 5 % of
                          the labels are wrong
``abrupt``        40,000  five features, a new hyperplane every 5000 rows, no row nearer to it than 0.1
``abrupt-noise``  40,000  the same, with a tenth of the labels wrong
``turn``           4,000  three features of length 1, a hyperplane that turns by one radian after 2000 rows, no row
                          nearer to it than 0.05: for proofs of change
``walk``           2,000  numbers in place of labels: a linear function of three features that walks by 0.005 a row,
                          and noise of at most 0.1
``jump``           4,000  numbers: a linear function of three features that turns by 0.3 radians after 2000 rows, and
                          noise of at most 0.1
===============  =======  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, cos, pi, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


class MadeRows(NamedTuple):
    """Rows, their labels or numbers, and the rows before which something changed (none where it always changes)."""

    X: _Floats
    y: NDArray[Any]
    changes: NDArray[np.int64]


class Recipe(NamedTuple):
    """How a stream is made, its default number of rows, and whether it has numbers in place of labels."""

    make: Callable[[int, int], MadeRows]
    rows: int
    numbers: bool = False


def draw(name: str, rows: int | None, seed: int) -> MadeRows:
    """The first rows of a stream.

    >>> X, y, changes = draw("sea", 20_000, seed=0)
    >>> X.shape, changes.tolist()
    ((20000, 3), [15000])
    """
    recipe = RECIPES[name]
    count = recipe.rows if rows is None else rows
    if not isinstance(count, int | np.integer) or count < 1:
        raise ValueError(f"rows must be a positive integer, got {rows!r}")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be an integer of at least 0, got {seed!r}")
    return recipe.make(int(count), int(seed))


def _sources(seed: int) -> tuple[np.random.Generator, ...]:
    """Three generators: for rows, for what is wrong with their labels, for what the truth is."""
    rows, noise, truth = np.random.default_rng(seed).spawn(3)
    return rows, noise, truth


def _every(period: int, rows: int) -> NDArray[np.int64]:
    return np.arange(period, rows, period)


def _flipped(labels: NDArray[np.bool_], share: float, noise: np.random.Generator) -> NDArray[np.int64]:
    return np.asarray(labels ^ (noise.random(len(labels)) < share), dtype=np.int64)


def _unit(vectors: _Floats) -> _Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _plane(truth: np.random.Generator, width: int) -> tuple[_Floats, _Floats]:
    """Two random directions at a right angle."""
    first, other = _unit(truth.normal(size=(2, width)))
    return first, _unit(other - (first @ other) * first)


def _pushed(X: _Floats, truths: _Floats, margin: float) -> tuple[_Floats, NDArray[np.bool_]]:
    """Rows moved away from the hyperplanes with these unit normals until none is nearer than ``margin``; the sides."""
    scores = np.einsum("ij,ij->i", X, truths)
    sides = np.where(scores > 0.0, 1.0, -1.0)
    return X + truths * (sides * np.maximum(0.0, margin - sides * scores))[:, None], sides > 0.0


def _sea(rows: int, seed: int) -> MadeRows:
    source, noise, _ = _sources(seed)
    X = 10.0 * source.random((rows, 3))
    thresholds = np.array([8.0, 9.0, 7.0, 9.5])[np.arange(rows) // 15_000 % 4]
    return MadeRows(X, _flipped(X[:, 0] + X[:, 1] <= thresholds, 0.1, noise), _every(15_000, rows))


def _rotating(rows: int, seed: int) -> MadeRows:
    source, noise, truth = _sources(seed)
    first, other = _plane(truth, 10)
    X, angles = source.normal(size=(rows, 10)), 2.0 * pi * np.arange(rows) / 40_000
    scores = np.cos(angles) * (X @ first) + np.sin(angles) * (X @ other)
    return MadeRows(X, _flipped(scores > 0.0, 0.05, noise), np.zeros(0, dtype=np.int64))


def _abrupt(rows: int, seed: int, share: float = 0.0) -> MadeRows:
    source, noise, truth = _sources(seed)
    concepts = _unit(truth.normal(size=(ceil(rows / 5000), 5)))
    X, labels = _pushed(source.normal(size=(rows, 5)), concepts[np.arange(rows) // 5000], 0.1)
    return MadeRows(X, _flipped(labels, share, noise), _every(5000, rows))


def _turned(truth: np.random.Generator, rows: int, angle: float) -> _Floats:
    """The truth of every row: one direction for 2000 of them, then another at this angle to it."""
    first, other = _plane(truth, 3)
    late = (np.arange(rows) >= 2000)[:, None]
    return np.where(late, cos(angle) * first + sin(angle) * other, first)


def _turn(rows: int, seed: int) -> MadeRows:
    source, _, truth = _sources(seed)
    truths = _turned(truth, rows, 1.0)
    X, labels = _pushed(_unit(source.normal(size=(rows, 3))), truths, 0.06)
    # To length 1 again: pushing to 0.06 has lengthened a row so little that it stays 0.05 away.
    return MadeRows(_unit(X), labels.astype(np.int64), _every(2000, min(rows, 4000)))


def _jump(rows: int, seed: int) -> MadeRows:
    source, noise, truth = _sources(seed)
    X, truths = source.normal(size=(rows, 3)), _turned(truth, rows, 0.3)
    y = np.einsum("ij,ij->i", X, 0.9 * truths) + noise.uniform(-0.1, 0.1, rows)
    return MadeRows(X, y, _every(2000, min(rows, 4000)))


def _walk(rows: int, seed: int) -> MadeRows:
    source, noise, truth = _sources(seed)
    X, place = source.normal(size=(rows, 3)), 0.5 * _unit(truth.normal(size=3))
    places = np.empty((rows, 3))
    for i, step in enumerate(_unit(truth.normal(size=(rows, 3)))):
        places[i] = place
        # A step that would lead out of the ball of radius 0.9 is made the other way.
        place = place + 0.005 * (step if np.linalg.norm(place + 0.005 * step) < 0.9 else -_unit(place))
    y = np.einsum("ij,ij->i", X, places) + noise.uniform(-0.1, 0.1, rows)
    return MadeRows(X, y, np.zeros(0, dtype=np.int64))


RECIPES = {
    "sea": Recipe(_sea, 60_000),
    "rotating": Recipe(_rotating, 60_000),
    "abrupt": Recipe(_abrupt, 40_000),
    "abrupt-noise": Recipe(lambda rows, seed: _abrupt(rows, seed, 0.1), 40_000),
    "turn": Recipe(_turn, 4000),
    "walk": Recipe(_walk, 2000, numbers=True),
    "jump": Recipe(_jump, 4000, numbers=True),
}
