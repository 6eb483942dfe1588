"""Machines that see all their rows at once: the split is the seed's, and the scale that of the learned part."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from ellipsoid.evaluate import Protocol, compare


class Witness(ClassifierMixin, BaseEstimator):
    """Says -1 always, and keeps what it was shown."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.seen.append((X, y))
        return self

    def predict(self, X):
        self.seen.append(X)
        return np.full(len(X), -1)


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(3.0, 2.0, (50, 2))
    return X, np.where(np.arange(50) < 20, 1, -1)


def test_each_seed_draws_its_own_part_and_tests_on_all_others(rows):
    Witness.seen.clear()
    result = compare({"w": Witness()}, rows, Protocol(seeds=(0, 1), at_once=30))
    for seed, cell, ((X, y), X_test) in zip((0, 1), result.cells, (Witness.seen[:2], Witness.seen[2:]), strict=True):
        order = np.random.default_rng(seed).permutation(50)
        np.testing.assert_array_equal(X, rows[0][order[:30]])
        np.testing.assert_array_equal(y, rows[1][order[:30]])
        np.testing.assert_array_equal(X_test, rows[0][order[30:]])
        assert cell.test_errors == (np.mean(rows[1][order[30:]] == 1),)
        assert cell.passes == ()


def test_the_scale_is_that_of_the_learned_part(rows):
    Witness.seen.clear()
    compare({"w": Witness()}, rows, Protocol(seeds=(3,), at_once=30, scale="standard"))
    (X, _), X_test = Witness.seen
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    assert abs(X_test.mean(axis=0)).max() > 1e-3


def test_cells_are_stored_by_their_size_and_scale(rows, tmp_path):
    model = {"k": KNeighborsClassifier(1)}
    first = compare(model, rows, Protocol(seeds=(0, 1), at_once=30), store=tmp_path)
    again = compare(model, rows, Protocol(seeds=(0, 1), at_once=30), store=tmp_path)
    assert [cell.elapsed for cell in again.cells] == [cell.elapsed for cell in first.cells]
    compare(model, rows, Protocol(seeds=(0,), at_once=20), store=tmp_path)
    compare(model, rows, Protocol(seeds=(0,), at_once=30, scale="standard"), store=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 4


def test_the_weights_of_a_linear_machine_are_kept(rows, tmp_path):
    models = {"linear": SVC(kernel="linear"), "rbf": SVC()}
    for _ in range(2):  # computed, and read again
        linear, rbf = compare(models, rows, Protocol(seeds=(0,), at_once=30), store=tmp_path).cells
        order = np.random.default_rng(0).permutation(50)[:30]
        expected = SVC(kernel="linear").fit(rows[0][order], rows[1][order]).coef_[0]
        assert linear.weights == tuple(expected)
        assert rbf.weights == ()


def test_at_once_must_leave_rows_to_test_and_has_no_table(rows):
    with pytest.raises(ValueError, match="k: at_once must leave rows to test on, got 50 of 50"):
        compare({"k": KNeighborsClassifier(1)}, rows, Protocol(at_once=50))
    with pytest.raises(ValueError, match="no errors before learning"):
        compare({"k": KNeighborsClassifier(1)}, rows, Protocol(at_once=30)).table()
