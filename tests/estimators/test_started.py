"""Parameters are read when learning starts: what is set later changes nothing about what was learned before."""

from functools import partial

import numpy as np
import pytest

from ellipsoid import (
    BayesPointMachine,
    Calibrated,
    Committee,
    Conformal,
    EllipsoidalSVC,
    OnlineEllipsoidalSVC,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    QuasiAdditive,
    Scaled,
    Winnow,
    load,
)
from ellipsoid.estimators import LEARNERS
from ellipsoid.estimators.files.saving import describe

# For every parameter another value than any learner starts with here.
OTHERS = {
    "margin": 0.9, "C": 7.0, "a": 0.5, "radius": 3.0, "cut": "minvol", "on_infeasible": "freeze", "selective": True,
    "shape": "dense", "b": 0.9, "c": 0.5, "decay": "round", "trigger": "margin", "smoothing": 5.0, "kernel": "rbf",
    "gamma": 0.3, "degree": 2, "coef0": 1.0, "budget": 5, "variant": "II", "p": 5.0, "alpha": 0.3, "aggressive": True,
    "link": "p-norm", "version": 1, "eta": 0.7, "balanced": False, "window": 3, "nu": 0.1,
    "r": 0.3, "formulation": "trace", "tol": 0.5, "intercept_scaling": 2.0, "fit_intercept": False, "average": True,
    "n_epochs": 2, "shuffle": False, "random_state": 7, "grow_features": True, "multiclass": "uniform",
    "diagonal": "project", "size": 7, "certainty": 0.6, "class_weight": "balanced", "early_stopping": True,
    "validation_fraction": 0.3, "n_iter_no_change": 2, "device": "auto", "precision": "single", "drift": 0.01,
    "ceiling": 3.0,
}  # fmt: skip
MORE = {
    "QuasiAdditive": {"update": "fixed", "multiclass": "ovr"},
    "OnlineEllipsoidalSVC": {"average": False},
    "EllipsoidClassifier": {"margin": "unit", "shape": "diagonal", "speeds": 1, "damping": 0.5},
    "AROW": {"trigger": "mistake"},
    "Winnow, positive": {"balanced": True, "version": 2},
    "QuasiAdditive, balanced": {"update": "fixed", "multiclass": "ovr"},
}
KINDS = {
    **LEARNERS,
    "OnlineEllipsoidalSVC": OnlineEllipsoidalSVC,
    "Winnow, positive": partial(Winnow, balanced=False, version=1),
    "QuasiAdditive, balanced": partial(QuasiAdditive, link="balanced"),
}


def other_values(name, model):
    others = {**OTHERS, **MORE.get(name, {})}
    values = {key: others[key] for key in model.get_params(deep=False)}
    assert not [key for key, value in values.items() if model.get_params()[key] == value]
    return values


def answers(model, X):
    """All that a learner says of its run, and of rows."""
    found = [model.predict(X), model.decision_function(X), model.predict_one(X[0])]
    comparator = np.ones((1, X.shape[1])) / X.shape[1]
    found += [model.certificates(), model.certificates(comparator), model.certificates(-comparator)]
    for name in ("coef_", "intercept_", "log_volume_", "asked_", "infeasible_", "dual_objective_", "shape_"):
        found.append(getattr(model, name, None))
    if hasattr(model, "version_space_"):
        found += [model.version_space_.contains(0.01 * np.column_stack([np.ones(len(X)), X])), model.certain(X)]
    if hasattr(model, "query"):
        at_random = {} if hasattr(model, "certain") or hasattr(model, "confidence") else {"random_state": 0}
        found.append(model.query(X, **at_random))
    if hasattr(model, "least_loss"):
        found.append(model.least_loss(2.0))
    return [np.asarray(value).tolist() for value in found]


@pytest.mark.parametrize("name", KINDS)
def test_parameters_set_after_the_start_wait_for_the_next(name, blobs, state, tmp_path):
    X, y = blobs[0], blobs[1] % 2
    twin, model = (KINDS[name]().partial_fit(X[:60], y[:60], classes=[0, 1]) for _ in range(2))
    expected, arrays = answers(twin, X), describe(twin)[1]
    others = other_values(name, model)
    for key, value in others.items():
        before = model.get_params(deep=False)[key]
        model.set_params(**{key: value})
        assert answers(model, X) == expected, key
        model.set_params(**{key: before})
    model.set_params(**others)
    model.save(tmp_path / "changed.model")
    loaded = load(tmp_path / "changed.model")
    # A file says nothing of the machine.
    named = {"device": "cpu", "precision": "double"}
    kept = {key: named.get(key, value) for key, value in model.get_params().items()}
    assert loaded.get_params() == kept
    assert answers(loaded, X) == expected
    for found in (describe(model)[1], describe(loaded)[1]):
        assert {key: value.tobytes() for key, value in found.items()} == {k: v.tobytes() for k, v in arrays.items()}
    twin.partial_fit(X[60:], y[60:])
    for other in (model, loaded):
        other.partial_fit(X[60:], y[60:])
        assert state(other) == state(twin)
        assert answers(other, X) == answers(twin, X)
        # grow_features=True came too late for this run.
        with pytest.raises(ValueError, match="expecting 19 features"):
            other.partial_fit(np.ones((1, 20)), [0])


def test_a_third_label_is_judged_by_the_link_that_learns(blobs):
    """The Euclidean link may take it in mid-stream, the entropies may not, whatever was set in between."""
    X, y = blobs
    two = y < 2
    grows = QuasiAdditive().partial_fit(X[two], y[two]).set_params(link="balanced")
    assert len(grows.partial_fit(X, y).classes_) == 3
    refuses = QuasiAdditive(link="balanced").partial_fit(X[two], y[two]).set_params(link="euclidean")
    with pytest.raises(ValueError, match="pass classes= with all labels"):
        refuses.partial_fit(X, y)


def test_parameters_of_a_scaled_learner_wait_too(blobs):
    X, y = blobs[0], blobs[1] % 2
    twin, model = (Scaled(LEARNERS["CELLIP"]()).partial_fit(X[:60], y[:60], classes=[0, 1]) for _ in range(2))
    model.set_params(learner__margin=0.9, learner__cut="minvol")
    assert model.certificates() == twin.certificates()
    assert model.partial_fit(X[60:], y[60:]).certificates() == twin.partial_fit(X[60:], y[60:]).certificates()


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (EllipsoidalSVC, {"margin_scaling": "paper", "kernel": "precomputed", "nu": 0.3, "r": 0.9}),
        (BayesPointMachine, {"fit_intercept": False, "kernel": "precomputed", "method": "perceptrons"}),
    ],
)
def test_batch_solutions_answer_with_what_they_were_fitted_with(kind, changes, blobs):
    import scipy.sparse as sp

    X, y = blobs[0][:40], blobs[1][:40] % 2
    model = kind(kernel="rbf", random_state=0).fit(X, y)

    def found():
        said = [model.decision_function(X), model.decision_function(sp.csr_array(X)), model.predict(X)]
        return [s.tolist() for s in (*said, model.margin_ratio(X))] if hasattr(model, "margin_ratio") else said

    before = [np.asarray(s).tolist() for s in found()]
    model.set_params(**changes)
    assert [np.asarray(s).tolist() for s in found()] == before


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: Scaled(PassiveAggressive()), Committee()),
        (lambda: Scaled(Committee([PassiveAggressive(), Perceptron()], mix="margins")), Perceptron()),
        (lambda: Conformal(PassiveAggressive()), PassiveAggressiveRegressor()),
        (lambda: Calibrated(PassiveAggressive()), Committee()),
    ],
)
def test_a_wrapper_goes_on_with_the_learner_that_it_began_with(make, other):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)) * [1.0, 10.0, 100.0], np.array(["no", "yes"])[rng.integers(2, size=40)]
    alone, set_later = make().partial_fit(X[:20], y[:20]), make().partial_fit(X[:20], y[:20])
    set_later.set_params(learner=other)
    told = []
    for model in (alone, set_later):
        told.append([*model.learn_predict(X[20:30], y[20:30]), model.learn_one(X[30], str(y[30])).score(X, y)])
        model.partial_fit(X[31:], y[31:])
        told[-1] += [*model.predict(X), *(c.observed for c in model.certificates())]
    assert told[0] == told[1]
