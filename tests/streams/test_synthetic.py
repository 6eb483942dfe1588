"""Streams that are made: they begin alike, change where they say, and are as separable and as noisy as they promise."""

import itertools

import numpy as np
import pytest

from ellipsoid import datasets, open_stream
from ellipsoid.streams.sets.synthetic import RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_longer_stream_begins_with_the_shorter_one(name):
    short, long = datasets.stream(name, rows=3000, seed=5), datasets.stream(name, rows=7000, seed=5)
    for few, many in zip(short, long, strict=True):
        assert np.array_equal(few, many[:3000])
    assert long.changes[long.changes < 3000].tolist() == short.changes.tolist()
    assert not np.array_equal(datasets.stream(name, rows=3000, seed=6)[0], short[0])


@pytest.mark.parametrize("name", RECIPES)
def test_a_made_stream_is_a_data_set_and_a_source_of_rows(name):
    data, (X, y) = datasets.load(name, seed=0), datasets.stream(name)
    assert np.array_equal(data.X, X)
    assert data.changes.tolist() == datasets.stream(name).changes.tolist()
    assert datasets.names()[name] == "embedded"
    assert open_stream(datasets.stream(name, rows=10)).n_rows == 10
    assert len(y) == RECIPES[name].rows


@pytest.mark.parametrize(("name", "margin"), [("abrupt", 0.1), ("turn", 0.05)])
def test_between_changes_a_hyperplane_separates_with_the_margin(name, margin):
    made = datasets.stream(name, seed=3)
    X, y = made
    ends = [0, *made.changes, len(y)]
    for start, stop in list(itertools.pairwise(ends))[:3]:
        rows, signs = X[start:stop], np.where(y[start:stop] == 1, 1.0, -1.0)
        # The Perceptron with a margin ends on separable rows, and what it ends with proves that they are.
        w = np.zeros(X.shape[1])
        for _ in range(2000):
            short = np.flatnonzero(signs * (rows @ w) <= 0.99 * margin * np.linalg.norm(w))
            if not len(short):
                break
            w += signs[short[0]] * rows[short[0]] if len(short) < 3 else (signs[short, None] * rows[short]).mean(axis=0)
        assert (signs * (rows @ w) > 0.8 * margin * np.linalg.norm(w)).all()


@pytest.mark.parametrize(("name", "share"), [("sea", 0.1), ("rotating", 0.05), ("abrupt-noise", 0.1)])
def test_the_share_of_wrong_labels_is_the_documented_one(name, share):
    X, y = datasets.stream(name, rows=5000, seed=1)
    clean = {
        "sea": lambda: X[:, 0] + X[:, 1] <= 8.0,
        "abrupt-noise": lambda: datasets.stream("abrupt", seed=1)[1][:5000],
    }
    if name == "rotating":
        truth = np.linalg.lstsq(X[:500], 2.0 * y[:500] - 1.0, rcond=None)[0]
        assert (y[:500] != (X[:500] @ truth > 0.0)).mean() < 0.12
    else:
        assert abs((y != clean[name]()).mean() - share) < 0.02


def test_the_function_of_a_walk_moves_by_little_and_its_noise_is_bounded():
    X, y = datasets.stream("walk", rows=300, seed=2)
    # Any window of rows is fitted by one function to within the noise and the way that it can have gone.
    from scipy.optimize import linprog

    for start in range(0, 300, 60):
        rows, values = X[start : start + 30], y[start : start + 30]
        slack = 0.1 + 0.005 * np.arange(30) * np.linalg.norm(rows, axis=1)
        found = linprog(np.zeros(3), np.vstack([rows, -rows]), np.r_[values + slack, slack - values], bounds=(-1, 1))
        assert found.success


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: datasets.stream("sea", rows=0), "rows must be a positive integer, got 0"),
        (lambda: datasets.stream("sea", seed=-1), "seed must be an integer of at least 0, got -1"),
        (lambda: datasets.stream("digits", seed=1), "seed must be left out for 'digits'"),
        (lambda: datasets.stream("digits", rows=5000), "rows must be from 1 to 1797"),
    ],
)
def test_impossible_settings_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
