"""Kernel models that were learned apart: the mixture of their functions, over the patterns of all, with its bounds."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import MIRA, PassiveAggressive, Perceptron, load, merge

from .shards import in_rounds, learned, parts, stream

pytestmark = pytest.mark.interpreted

RBF, POLY = {"kernel": "rbf", "gamma": 0.5}, {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
LEARNERS = [
    Perceptron(**RBF), Perceptron(multiclass="uniform", margin=0.2, **POLY), MIRA(average=True, **RBF), MIRA(**POLY),
    PassiveAggressive(C=0.1, **RBF), PassiveAggressive(variant="hard", average=True, fit_intercept=False, **POLY),
]  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_mixture_scores_as_the_mean_of_the_models(learner, rows, classes, tmp_path):
    X, y, _ = stream(3, classes, rows=30)
    # Some rows are met by both, and so are support patterns of both.
    models = learned(learner, [(rows(X[:20]), y[:20]), (rows(X[10:]), y[10:])], classes)
    alone = [model.decision_function(rows(X)) for model in models]
    mixed = merge(models)
    weights = [20, 20] if learner.average else [1, 1]
    np.testing.assert_allclose(mixed.decision_function(rows(X)), np.average(alone, axis=0, weights=weights), atol=1e-12)
    kept = {tuple(row) for model in models for row in sp.csr_matrix(model.support_vectors_).toarray()}
    assert mixed.support_vectors_.shape[0] == len(kept)
    assert (mixed.t_, mixed.shards_) == (40, 2)
    mixed.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert np.array_equal(again.decision_function(rows(X)), mixed.decision_function(rows(X)))
    # The norm that bounds ask for is that of the mixture: a feature space of many coordinates has no other witness.
    assert repr(again.certificates()) == repr(mixed.certificates())


@pytest.mark.parametrize("learner", LEARNERS[1::2], ids=repr)
@settings(max_examples=3)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([2, 4]), st.integers(2, 5), st.integers(1, 3),
    st.sampled_from(["noisy", "separable", "sorted"]), st.sampled_from(["uniform", "mistakes"]),
)  # fmt: skip
def test_no_certificate_of_a_mixture_is_exceeded(learner, seed, classes, shards, rounds, kind, weights):
    X, y, _ = stream(seed, classes, rows=30, kind=kind)
    model = in_rounds(learner, parts(X, y, shards, kind), classes, rounds, weights)
    for _ in range(2):
        assert all(each.observed <= each.bound for each in model.certificates())
        # It learns on.
        model.partial_fit(X[:20], y[:20])
    assert model.t_ == rounds * len(y) + 2 * len(y[:20])


def test_a_linear_kernel_is_mixed_as_weights_are():
    X, y, _ = stream(1, 3, rows=60)
    pieces = parts(X, y, 3)
    for average in (False, True):
        as_kernel = in_rounds(MIRA(kernel="poly", degree=1, gamma=1.0, average=average), pieces, 3, 2)
        as_weights = in_rounds(MIRA(average=average), pieces, 3, 2)
        np.testing.assert_allclose(as_kernel.decision_function(X), as_weights.decision_function(X), atol=1e-10)
        for one, other in zip(as_kernel.certificates(), as_weights.certificates(), strict=True):
            assert (one.name, one.observed) == (other.name, pytest.approx(other.observed))
            assert one.bound == pytest.approx(other.bound, rel=1e-6)
        more = deepcopy(as_kernel).partial_fit(X, y)
        np.testing.assert_allclose(
            more.decision_function(X), deepcopy(as_weights).partial_fit(X, y).decision_function(X), atol=1e-10
        )
