"""AROW, the second-order Perceptron and EllipsoidClassifier: what shards know adds up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from ellipsoid import AROW, EllipsoidClassifier, SecondOrderPerceptron, load, merge

from .shards import in_rounds, learned, parts, stream
from .test_mixing import KINDS, SEEDS, excess

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("learner", [AROW(r=0.5), AROW(trigger="mistake"), SecondOrderPerceptron(a=2.0)], ids=repr)
@pytest.mark.parametrize("shards", [2, 5])
def test_the_sum_is_the_ridge_solution_on_the_update_rows_of_all_shards(learner, shards):
    X, y, _ = stream(7, rows=120)
    pieces = parts(X, y, shards)
    models = learned(learner, pieces, 2)
    rows = np.vstack([X[model.update_rounds_ - 1] for model, (X, _) in zip(models, pieces, strict=True)])
    told = np.concatenate([y[model.update_rounds_ - 1] for model, (_, y) in zip(models, pieces, strict=True)])
    Z = np.hstack([np.ones((len(rows), 1)), rows])
    r = getattr(learner, "r", None) or learner.a
    ridge = np.linalg.solve(r * np.eye(Z.shape[1]) + Z.T @ Z, Z.T @ np.where(told == 1, 1.0, -1.0))
    merged = merge(models)
    np.testing.assert_allclose(merged._core.table.weights(1, 0)[0], ridge, rtol=1e-9, atol=1e-12)
    assert merged.updates_ == len(told)
    # In any order, and in any grouping.
    for other in (merge(models[::-1]), merge([models[-1], merge(models[:-1])])):
        np.testing.assert_allclose(other.coef_, merged.coef_, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "learner", [AROW(), AROW(trigger="mistake"), SecondOrderPerceptron(), AROW(shape="diagonal"), EllipsoidClassifier(),
                EllipsoidClassifier(shape="diagonal", speeds=1)], ids=repr,
)  # fmt: skip
@settings(max_examples=6)
@given(SEEDS, st.sampled_from([2, 3]), st.integers(2, 5), st.integers(1, 3), KINDS)
def test_no_certificate_of_a_sum_is_exceeded(learner, seed, classes, shards, rounds, kind):
    X, y, truth = stream(seed, classes, rows=40, kind=kind)
    model = in_rounds(learner, parts(X, y, shards, kind), classes, rounds)
    U = truth[1] - truth[0] if classes == 2 else truth
    assert not excess(model, U, np.random.default_rng(seed).normal(size=U.shape))
    model.partial_fit(X[:20], y[:20])
    assert not excess(model, U)
    assert not excess(merge([model, *learned(learner, parts(X, y, 2, kind), classes)]), U)


@pytest.mark.parametrize("learner", [AROW(), SecondOrderPerceptron()], ids=repr)
def test_rows_too_long_to_be_added_up_are_refused_with_a_sentence(learner):
    """Their squares leave nothing of the start; where directions suffice, sums of long rows are sums."""
    said = []
    for seed in range(6):
        X, y, _ = stream(seed, rows=20)
        for power in (60, 100, 140):
            try:
                merged = merge(learned(learner, parts(10.0**power * X, y, 2), 2))
            except ValueError as error:
                said.append(str(error))
            else:
                assert np.isfinite(merged.coef_).all()
    assert len(said) > 2
    assert all("features of size about 1" in sentence for sentence in said)


@pytest.mark.parametrize("learner", [AROW(), AROW(shape="diagonal"), SecondOrderPerceptron(a=2.0)], ids=repr)
def test_a_model_that_met_its_third_label_late_adds_to_one_that_knew_all(learner):
    """One began with I / 2, the other with I; their sum begins with I / 2, whichever comes first."""
    X, y, truth = stream(5, classes=3, rows=60)
    announced = clone(learner).partial_fit(X, y, classes=range(3))
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    late = clone(learner).partial_fit(X, y)
    merged = merge([announced, late])
    size = 3 * (X.shape[1] + 1)
    inverses = [np.linalg.inv(each.ellipsoid_.shape_matrix()) for each in (announced, late, merged)]
    np.testing.assert_allclose(inverses[2], inverses[0] + inverses[1] - np.eye(size), rtol=1e-9, atol=1e-9)
    means = [each._core.table.weights(3, 0).ravel() for each in (announced, late, merged)]
    pulls = [inverse @ mean for inverse, mean in zip(inverses, means, strict=True)]
    np.testing.assert_allclose(pulls[2], pulls[0] + pulls[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(merge([late, announced]).coef_, merged.coef_, rtol=1e-12, atol=1e-13)
    assert not excess(merged, truth)
    assert not excess(merge([merged, announced]), truth)
    assert not excess(merge([merged, late]), truth)


def test_the_squared_losses_of_shards_are_held_against_as_many_starts():
    X, y, truth = stream(1, rows=200)
    model = merge(learned(AROW(), parts(X, y, 4), 2))
    told = model.certificates(truth[1] - truth[0])
    assert all(np.isfinite(each.bound) for each in told)
    assert all("sums over 4 shards" in each.holds_if for each in told)


@pytest.mark.parametrize("learner", [AROW(average=True), AROW(shape="diagonal"), EllipsoidClassifier()], ids=repr)
def test_a_file_of_a_sum_is_the_sum(learner, tmp_path):
    X, y, _ = stream(4, classes=3, rows=90)
    model = in_rounds(learner, parts(X, y, 3), 3, 2)
    model.save(tmp_path / "sum.model")
    read = load(tmp_path / "sum.model")
    for each in (model, read):
        each.partial_fit(X, y)
    assert np.array_equal(read.decision_function(X), model.decision_function(X))
    assert read.certificates() == model.certificates()


def test_scaling_a_column_changes_no_score_of_merged_copies():
    """The learner's own promise holds for its sum, too."""
    X, y, _ = stream(2, classes=3, rows=90)
    factors = np.array([1.0, 8.0, 0.25, 1024.0])
    merged = merge(learned(EllipsoidClassifier(), parts(X, y, 3), 3))
    other = merge(learned(EllipsoidClassifier(), parts(X * factors, y, 3), 3))
    np.testing.assert_allclose(other.decision_function(X * factors), merged.decision_function(X), rtol=1e-6, atol=1e-9)


def test_a_diagonal_gains_by_rounds_and_does_not_go_too_far():
    X, y, truth = stream(3, rows=600, width=8)
    right = (X @ truth.T).argmax(axis=1)
    models = [in_rounds(AROW(shape="diagonal"), parts(X, y, 6), 2, rounds) for rounds in (1, 4)]
    errors = [(model.predict(X) != right).mean() for model in models]
    assert errors[1] <= errors[0] + 0.02 <= 0.15


def test_a_sum_keeps_no_list_of_updates():
    X, y, _ = stream(2)
    with pytest.raises(AttributeError, match="several shards"):
        merge(learned(AROW(), parts(X, y, 2), 2)).update_rounds_  # noqa: B018
