"""A learner whose every prediction can be told by hand, for tests whose numbers are worked out by hand."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from ellipsoid.certificates import Certificate


class Parrot(ClassifierMixin, BaseEstimator):
    """Repeats the label it met last, and updates where the label changes; refuses rows that hold NaN."""

    def __init__(self, average=False, random_state=None):
        self.average = average
        self.random_state = random_state

    def learn_predict(self, X, y, classes=None):
        bad = np.flatnonzero(np.isnan(X).any(axis=1))
        if len(bad):
            raise ValueError(f"row {bad[0]} holds NaN")
        predicted = np.empty(len(y), dtype=object)
        for i, label in enumerate(y):
            predicted[i] = getattr(self, "last_", None)
            self._learn(label, predicted[i])
        return predicted

    def predict_one(self, x):
        return self.last_

    def learn_one(self, x, y):
        self._learn(y, getattr(self, "last_", None))
        return self

    def predict(self, X):
        return np.full(len(X), self.last_)

    def certificates(self, comparator=None):
        return [
            Certificate("mistakes", self.mistakes_, float("inf"), "never"),
            Certificate("rows", 1, 2.5, "always"),
        ]

    def _learn(self, label, predicted):
        wrong = label != predicted
        self.mistakes_ = getattr(self, "mistakes_", 0) + wrong
        self.updates_ = getattr(self, "updates_", 0) + wrong
        self.classes_ = np.array(sorted({*getattr(self, "classes_", []), label}))
        self.last_ = label


@pytest.fixture(scope="session")
def parrot():
    return Parrot
