"""Models that cannot be merged are refused by a sentence."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import (
    AROW,
    CELLIP,
    IELLIP,
    MIRA,
    NHERD,
    ROMMA,
    Calibrated,
    Committee,
    Conformal,
    OnlineEllipsoidalSVC,
    PassiveAggressive,
    Perceptron,
    Scaled,
    StandardStream,
    UnitNorm,
    Winnow,
    merge,
)

from .shards import stream

pytestmark = pytest.mark.interpreted

X, y, _ = stream(0, rows=40)


def fitted(learner, rows=X, labels=y, classes=(0, 1)):
    return learner.partial_fit(rows, labels, classes=classes)


REFUSED = {
    "one class": (lambda: [fitted(MIRA()), fitted(Perceptron())], "only models of one class"),
    "same parameters": (lambda: [fitted(MIRA()), fitted(MIRA(margin=0.5))], "same parameters.*margin=0.5"),
    "averages": (lambda: [fitted(MIRA()), fitted(MIRA(average=True))], "same parameters.*average=True"),
    "intercept": (lambda: [fitted(MIRA()), fitted(MIRA(fit_intercept=False))], "same parameters.*fit_intercept"),
    "labels": (lambda: [fitted(MIRA()), fitted(MIRA(), classes=(0, 1, 2))], "same labels in the same order"),
    "order of labels": (lambda: [fitted(MIRA()), fitted(MIRA(), classes=(1, 0))], "same labels in the same order"),
    "label sets": (
        lambda: [fitted(MIRA()), MIRA().partial_fit(X, np.eye(2, dtype=int)[y])], "same labels",
    ),
    "width": (lambda: [fitted(MIRA()), fitted(MIRA(), X[:, :3])], "same number of features"),
    "budget": (lambda: [fitted(MIRA(kernel="rbf", budget=3))] * 2, "its budget has dropped patterns"),
    "votes": (lambda: [fitted(Perceptron(kernel="rbf", average="vote"))] * 2, "votes of hypotheses cannot be mixed"),
    "a scale": (lambda: [fitted(ROMMA(kernel="rbf"))] * 2, "ROMMA rescales"),
    "metric": (lambda: [fitted(IELLIP(kernel="rbf"))] * 2, "IELLIP models with a kernel"),
    "covariance": (lambda: [fitted(AROW(kernel="rbf"))] * 2, "AROW models with a kernel"),
    "kinds of patterns": (
        lambda: [fitted(MIRA(kernel="rbf")), fitted(MIRA(kernel="rbf"), sp.csr_matrix(X))], "dense rows, the other",
    ),
    "version space": (lambda: [fitted(CELLIP()), fitted(CELLIP())], "replay the rows that cut"),
    "committees": (lambda: [fitted(Committee([AROW()]))] * 2, "Committee models cannot be merged: .* member by member"),
    "sets of labels": (lambda: [fitted(Conformal(AROW()))] * 2, "Conformal models cannot be merged"),
    "no proof": (lambda: [fitted(NHERD()), fitted(NHERD())], "NHERD models cannot be merged"),
    "no dual": (lambda: [fitted(OnlineEllipsoidalSVC()), fitted(OnlineEllipsoidalSVC())], "share of the rows"),
    "calibration": (lambda: [fitted(Calibrated(MIRA())), fitted(Calibrated(MIRA()))], "calibrated models"),
    "scaler": (lambda: [fitted(Scaled(MIRA()), X[::2], y[::2]), fitted(Scaled(MIRA()))], "different units"),
    "scaled and not": (lambda: [fitted(Scaled(MIRA(), scaler=UnitNorm())), fitted(MIRA())], "learned something"),
    "sketch": (lambda: [fitted(AROW(shape="sketch")), fitted(AROW(shape="sketch"))], "shape='dense' or 'diagonal'"),
    "drift": (lambda: [fitted(AROW(drift=0.01))] * 2, "AROW models with a drift cannot be merged"),
    "nothing learned": (lambda: [fitted(MIRA()), MIRA()], "learned something"),
    "nothing": (list, "at least one model"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_models_that_do_not_fit_are_refused(case):
    models, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        merge(models())


def test_weights_are_one_of_three():
    with pytest.raises(ValueError, match="weights must be uniform, mistakes or updates"):
        merge([fitted(MIRA())], weights="rows")
    with pytest.raises(ValueError, match="weights must be uniform, mistakes or updates"):
        merge([fitted(MIRA())] * 2, weights=[0.5, 0.5])


def scaled(learner, rows=X):
    return Scaled(learner, scaler=StandardStream()).partial_fit(rows, y, classes=(0, 1))


@pytest.mark.parametrize("weights", ["uniform", "mistakes", "updates"])
@pytest.mark.parametrize(
    ("models", "start", "sentence"),
    [
        ([MIRA()] * 2, MIRA().partial_fit(np.r_[X, X], np.r_[y, y], classes=(0, 1)), "model 1 has learned less"),
        ([MIRA()] * 2, MIRA(), "learned something"),
        ([MIRA()] * 2, fitted(MIRA(margin=0.5)), "start has margin=0.5"),
    ],
    ids=["later", "nothing", "other"],
)
def test_a_start_that_no_model_began_with_is_refused(models, start, sentence, weights):
    """Mistakes would be negative, and so would weights: no bound would hold."""
    with pytest.raises(ValueError, match=sentence):
        merge([fitted(deepcopy(model)) for model in models], start=start, weights=weights)


def test_the_start_of_scaled_models_is_scaled_alike():
    models = [scaled(MIRA())] * 2
    with pytest.raises(ValueError, match="all of them Scaled or none of them, but start"):
        merge(models, start=fitted(MIRA()))
    with pytest.raises(ValueError, match="scalers of model 1 and start differ"):
        merge(models, start=scaled(MIRA(), 2.0 * X))


def test_a_start_of_fewer_features_grows_with_its_models():
    start = fitted(Perceptron(grow_features=True), X[:10, :2], y[:10])
    models = [
        deepcopy(start).partial_fit(rows, labels) for rows, labels in ((X[10:20, :3], y[10:20]), (X[20:], y[20:]))
    ]
    merged = merge(models, start=start)
    padded = np.hstack([models[0].coef_, np.zeros((1, 1))])
    np.testing.assert_allclose(merged.coef_, 0.5 * (padded + models[1].coef_))
    assert (merged.t_, start.n_features_in_) == (40, 2)
    assert all(each.observed <= each.bound for each in merged.certificates())


def test_where_kernel_values_were_made_is_no_part_of_a_model():
    one, other = (fitted(MIRA(kernel="rbf", gamma=0.5, device=device)) for device in ("cpu", "auto"))
    assert merge([one, other]).t_ == 80


def test_rows_of_unit_length_are_in_the_same_units():
    models = [fitted(Scaled(PassiveAggressive(), scaler=UnitNorm()), X[i::2], y[i::2]) for i in range(2)]
    merged = merge(models)
    assert merged.learner_.shards_ == 2
    assert merged.score(X, y) > 0.6
    assert merged.partial_fit(X, y).learner_.t_ == 80


def test_one_scaler_before_all_shards_is_the_same_for_all():
    scaler = StandardStream().fit(X)
    models = [fitted(MIRA(), scaler.transform(X)[i::2], y[i::2]) for i in range(2)]
    assert merge(models).t_ == 40


def test_a_model_of_fewer_features_grows_where_features_may_be_added():
    narrow, wide = (fitted(Perceptron(grow_features=True), rows) for rows in (X[:, :3], X))
    merged = merge([narrow, wide])
    padded = np.hstack([narrow.coef_, np.zeros((1, 1))])
    np.testing.assert_allclose(merged.coef_, 0.5 * (padded + wide.coef_))
    with pytest.raises(ValueError, match="same number of features"):
        merge([fitted(Winnow(grow_features=True), rows) for rows in (X[:, :3], X)])


def test_a_shard_of_one_class_and_an_only_model():
    alone = fitted(MIRA(), X[y == 0], y[y == 0])
    merged = merge([alone, fitted(MIRA(), X[y == 1], y[y == 1])])
    assert all(each.observed <= each.bound for each in merged.certificates())
    same = merge([alone])
    assert same is not alone
    assert np.array_equal(same.coef_, alone.coef_)
    assert same.shards_ == 1


def test_merging_changes_no_model():
    models = [fitted(AROW(average=True), X[i::2], y[i::2]) for i in range(2)]
    before = [(model.coef_.copy(), model._core.tally.copy()) for model in models]
    merge(models).partial_fit(X, y)
    for model, (coef, tally) in zip(models, before, strict=True):
        assert np.array_equal(model.coef_, coef)
        assert np.array_equal(model._core.tally, tally)


def test_balanced_classes_count_the_rows_of_all_shards():
    models = [fitted(PassiveAggressive(class_weight="balanced"), X[i::2], y[i::2]) for i in range(2)]
    assert merge(models)._core.counts == {0: int((y == 0).sum()), 1: int((y == 1).sum())}
