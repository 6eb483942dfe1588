"""Labels that come late: each prediction is that of the model of the rows whose labels have come."""

import numpy as np
import pytest
from scipy import sparse

from ellipsoid import PassiveAggressive, PassiveAggressiveRegressor, Perceptron, Scaled, datasets, prequential
from ellipsoid.evaluate.delayed_labels import DelayedLabels

DIGITS = datasets.load("digits").train


def predicted_late(make, rows, y, delay):
    """Row by row, from the definition."""
    model, told = make(), []
    for t, row in enumerate(rows):
        if t - delay > 0:
            model.learn_one(rows[t - delay - 1], y[t - delay - 1])
        told.append(model.predict_one(row) if hasattr(model, "classes_") else None)
    return told


@pytest.mark.parametrize("delay", [1, 7, 64])
@pytest.mark.parametrize("make", [PassiveAggressive, lambda: Scaled(Perceptron())], ids=["PA", "scaled"])
def test_each_row_is_predicted_by_the_model_of_the_rows_whose_labels_came(make, delay):
    X, y = DIGITS[0][:90], DIGITS[1][:90]
    expected = predicted_late(make, list(X), y, delay)
    for size in (90, 13, 1):
        late = DelayedLabels(make(), delay)
        parts = [late.learn_predict(X[i : i + size], y[i : i + size], None) for i in range(0, 90, size)]
        assert np.concatenate(parts).tolist() == expected
        late.finish()
        assert late.model.t_ == 90


def test_sparse_rows_that_widen_and_dicts():
    X, y = DIGITS[0][:60], DIGITS[1][:60]
    dicts = [{int(j): float(row[j]) for j in np.flatnonzero(row)} for row in X]
    expected = predicted_late(lambda: PassiveAggressive(grow_features=True), list(X), y, 5)
    late = DelayedLabels(PassiveAggressive(grow_features=True), 5)
    narrow = sparse.csr_matrix(X[:20, :50])
    told = [late.learn_predict(sparse.csr_matrix(X[i : i + 20]), y[i : i + 20], None) for i in (0, 20, 40)]
    assert np.concatenate(told).tolist() == expected
    grown = DelayedLabels(PassiveAggressive(grow_features=True), 5)
    grown.learn_predict(narrow, y[:20], None)
    grown.learn_predict(sparse.csr_matrix(X[20:40]), y[20:40], None)
    grown.finish()
    assert (grown.model.t_, grown.model.n_features_in_) == (40, 64)
    model = PassiveAggressive()
    run = prequential(model, zip(dicts, y.tolist(), strict=True), delay=5)
    assert model.t_ == 60
    assert run.errors == int((np.array(predicted_late(PassiveAggressive, dicts, y, 5), dtype=object) != y).sum())


def test_a_delay_costs_errors_and_is_counted():
    X, y = DIGITS[0][:600], DIGITS[1][:600]
    prompt, late = (prequential(PassiveAggressive(), (X, y), delay=delay) for delay in (0, 200))
    assert late.errors > prompt.errors
    assert late.errors >= 200  # nothing was known while the first label was awaited
    with pytest.raises(ValueError, match="delay"):
        prequential(PassiveAggressive(), (X, y), delay=-1)
    with pytest.raises(ValueError, match="one per row"):
        prequential(PassiveAggressive(), (X, np.eye(10, dtype=int)[y]), delay=3)


@pytest.mark.parametrize(("rows", "delay"), [(20, 19), (256, 256), (300, 280)])
def test_a_run_may_end_before_the_first_label_comes(rows, delay):
    X, y, steps = DIGITS[0][:rows], DIGITS[1][:rows], []
    model, plain = PassiveAggressive(), PassiveAggressive().partial_fit(X, y)
    run = prequential(model, (X, y), delay=delay, bounds=True, log=lambda numbers, step: steps.append(step))
    expected = predicted_late(PassiveAggressive, list(X), y, delay)
    assert run.errors == sum(told != label for told, label in zip(expected, y.tolist(), strict=True))
    assert (run.rows, run.mistakes, run.updates) == (rows, plain.mistakes_, plain.updates_)
    assert (model.coef_ == plain.coef_).all()
    assert steps[-1] == rows


@pytest.mark.interpreted
def test_a_regressor_may_wait_for_all_numbers():
    X, y, model = np.ones((5, 1)), np.full(5, 2.0), PassiveAggressiveRegressor()
    run = prequential(model, (X, y), delay=9, log=lambda numbers, step: None)
    assert (run.rows, run.mae, model.t_) == (5, 2.0, 5)
    assert run.updates == model.updates_ > 0


def test_a_log_hears_of_every_stop_and_of_the_end():
    heard = []
    X, y = DIGITS[0][:600], DIGITS[1][:600]
    run = prequential(PassiveAggressive(), (X, y), log=lambda numbers, step: heard.append((step, numbers)))
    assert [step for step, _ in heard] == [256, 512, 600]
    assert heard[-1][1]["error"] == run.error
    assert heard[-1][1]["kappa_temporal"] == run.kappa_temporal
    assert heard[0][1]["rows"] == 256


def test_a_metric_gets_every_prediction():
    class Count:
        def __init__(self):
            self.right = self.rows = 0

        def update(self, y_true, y_pred):
            self.rows += 1
            self.right += y_true == y_pred

    metric = Count()
    X, y = DIGITS[0][:300], DIGITS[1][:300]
    run = prequential(PassiveAggressive(), (X, y), metric=metric)
    assert (metric.rows, metric.right) == (299, 300 - run.errors)  # before the first row nothing was predicted
    with pytest.raises(TypeError, match="update"):
        prequential(PassiveAggressive(), (X, y), metric=len)


@pytest.mark.parametrize("dicts", [False, True])
@pytest.mark.parametrize("delay", [0, 3, 50])
def test_labels_announced_beforehand_are_known_when_the_first_row_is_learned(delay, dicts):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    model = PassiveAggressive()
    rows = [dict(zip("abc", row, strict=True)) for row in X.tolist()] if dicts else X
    prequential(model, (rows, y), classes=[2, 1, 0], delay=delay)
    assert model.classes_.tolist() == [2, 1, 0]
