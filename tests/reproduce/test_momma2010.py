"""The paired test, the consistent rows, and machines that choose their settings."""

import numpy as np
import pytest

from ellipsoid.reproduce.cuts import consistent
from ellipsoid.reproduce.entry import Spec
from ellipsoid.reproduce.machines import machine
from ellipsoid.reproduce.momma2010_small import corrected_p
from ellipsoid.streams.datasets import Dataset


def test_without_overlap_the_paired_test_is_students():
    from scipy.stats import ttest_1samp

    differences = [0.3, -0.1, 0.4, 0.2, 0.5]
    assert corrected_p(differences, 10**12, 1) == pytest.approx(ttest_1samp(differences, 0.0).pvalue)


def test_overlap_makes_it_more_careful():
    differences = [0.3, -0.1, 0.4, 0.2, 0.5]
    assert corrected_p(differences, 50, 50) > corrected_p(differences, 90, 10) > corrected_p(differences, 10**12, 1)


def test_contradictions_and_missing_values_are_left_out(monkeypatch):
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [np.nan, 0.0], [1.0, 2.0]])
    rows = Dataset("made", X=X, y=np.array([1, -1, -1, 1, 1]))
    monkeypatch.setattr("ellipsoid.reproduce.cuts.load", lambda name: rows)
    found = consistent("made")
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]
    assert found.y.tolist() == [1, -1, 1]


def test_a_grid_is_chosen_by_cross_validation():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where((X**2).sum(axis=1) > 1.2, 1, -1)
    model = machine(Spec("SVC", {"C": 100.0}, {"gamma": (1e-6, 1.0)})).fit(X, y)
    assert model.best_params_ == {"gamma": 1.0}
    assert model.estimator.C == 100.0
