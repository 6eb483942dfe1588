"""Rows prepared before a stream begins."""

import numpy as np
import pytest
from scipy import sparse

from ellipsoid.streams.scale import scale

X = np.arange(14.0).reshape(7, 2)


def test_unit_rows_have_length_one_and_zero_rows_stay():
    scaled, other = scale("unit", np.array([[3.0, 4.0], [0.0, 0.0]]), sparse.csr_matrix([[0.0, 2.0]]))
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), [1.0, 0.0])
    assert other.toarray().tolist() == [[0.0, 1.0]]


def test_standard_takes_its_statistics_from_the_training_part_alone():
    train, test = scale("standard", X, 10 * X)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), 1)
    np.testing.assert_allclose(test, (10 * X - X.mean(axis=0)) / X.std(axis=0))


def test_unknown_scale_lists_the_known_ones():
    with pytest.raises(ValueError, match="scale must be one of none, unit, standard, got 'log'"):
        scale("log", X)
