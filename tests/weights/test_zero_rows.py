"""Rows of weight 0 at the head of a stream: none of them was there, and the labels that came with them hold."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import (
    CELLIP,
    MIRA,
    Calibrated,
    Committee,
    Conformal,
    EmptyVersionSpace,
    IntervalRegressor,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
y = RNG.integers(0, 2, 40)
weights = np.where(np.arange(40) < 3, 0.0, 1.0)
LEARNERS = [
    PassiveAggressive(), MIRA(average=True), Scaled(MIRA()), Calibrated(MIRA()), Conformal(Scaled(MIRA())),
    Committee([MIRA(), PassiveAggressive()]), Calibrated(Committee([MIRA(), PassiveAggressive()])),
]  # fmt: skip
pytestmark = pytest.mark.interpreted


def one_by_one(model, rows, labels, own):
    for row, label, weight in zip(rows, labels, own, strict=True):
        model.learn_one(row, label, weight=weight)


def scores(model):
    return (model.learner_ if isinstance(model, Conformal) else model).decision_function(X)


WAYS = {
    "partial_fit": lambda model, rows, labels, own: model.partial_fit(rows, labels, sample_weight=own),
    "learn_predict": lambda model, rows, labels, own: model.learn_predict(rows, labels, sample_weight=own),
    "learn_one": one_by_one,
}


@pytest.mark.parametrize("later", WAYS)
@pytest.mark.parametrize("first", ["partial_fit", "learn_predict"])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_labels_named_with_them_hold_for_all_that_follows(learner, first, later):
    whole = clone(learner).partial_fit(X, y, classes=[2, 0, 1], sample_weight=weights)
    cut = clone(learner)
    getattr(cut, first)(X[:2], y[:2], classes=[2, 0, 1], sample_weight=weights[:2])
    cut = pickle.loads(pickle.dumps(cut))
    assert not hasattr(cut, "classes_")
    cut.partial_fit(X[2:3], y[2:3], sample_weight=[0.0])
    WAYS[later](cut, X[3:], y[3:], weights[3:])
    assert cut.classes_.tolist() == whole.classes_.tolist() == [2, 0, 1]
    assert cut.t_ == whole.t_ == 37
    assert np.array_equal(scores(cut), scores(whole))


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_labels_that_contradict_them_are_refused(learner):
    model = clone(learner).partial_fit(X[:2], y[:2], classes=[0, 1], sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="differs from the classes of earlier calls"):
        model.partial_fit(X[:2], y[:2], classes=[0, 1, 2], sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="non-empty"):
        model.partial_fit(X[:1], y[:1], classes=[], sample_weight=[0.0])
    # fit begins anew.
    assert set(model.fit(X, y + 1).classes_) == {1, 2}


@pytest.mark.parametrize("classes", [5, "ab", [], [[0, 1]], [0, 0]], ids=repr)
@pytest.mark.parametrize("own", [[0.0, 0.0], [1.0, 1.0]], ids=["none", "all"])
def test_invalid_lists_of_labels_are_refused(classes, own):
    with pytest.raises(ValueError, match="classes must"):
        MIRA().partial_fit(X[:2], [0, 1], classes=classes, sample_weight=own)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_labels_named_later_close_the_set_too(learner):
    model = clone(learner).partial_fit(X, y)
    model.partial_fit(X[:2], y[:2], classes=[0, 1], sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="must not repeat"):
        model.partial_fit(X[:2], y[:2], classes=[0, 1, 1])


@pytest.mark.parametrize("bad", [20, 30], ids=["of weight 0", "of weight 1"])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_what_is_refused_has_learned_nothing_and_names_its_row(learner, bad):
    """Rows are learned piece by piece between those of weight 0, and the last piece may be the one that is refused."""
    model, rows, own = clone(learner).partial_fit(X, y), X.copy(), np.ones(40)
    before, t = scores(model), model.t_
    rows[bad], own[[10, 20]] = np.nan, 0.0
    with pytest.raises(ValueError, match=f"^row {bad} of X holds NaN"):
        model.learn_predict(rows, y, sample_weight=own)
    assert model.t_ == t
    assert (scores(model) == before).all()
    assert len(model.learn_predict(X, y, sample_weight=own)) == 40
    assert model.t_ == t + 38


@pytest.mark.parametrize("wrap", [lambda learner: learner, lambda learner: Committee([learner]), Calibrated, Conformal])
@pytest.mark.parametrize("way", ["partial_fit", "learn_predict"])
def test_no_weight_leaves_a_column_of_a_precomputed_kernel_behind(way, wrap):
    model, own = wrap(PassiveAggressive(kernel="precomputed")), np.where(np.arange(6) == 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="row 1 has weight 0, but its column of a precomputed kernel"):
        WAYS[way](model, X[:6] @ X[:6].T, y[:6], own)


@pytest.mark.parametrize("way", ["fit", "partial_fit", "learn_predict"])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_refusal_counts_the_rows_of_weight_0(learner, way):
    rows, own = X.copy(), np.where(np.arange(40) % 3 == 0, 0.0, 1.0)
    rows[31] = np.nan
    with pytest.raises(ValueError, match=r"^row 31 of X holds NaN"):
        getattr(clone(learner), way)(rows, y, sample_weight=own)


WRAPS = [lambda model: model, Scaled, Calibrated, Conformal, lambda model: Committee([model])]


@pytest.mark.parametrize("stop", [2, 4, 8])
@pytest.mark.parametrize("wrap", WRAPS)
def test_where_a_call_is_broken_off_it_says_from_which_row_to_go_on(wrap, stop):
    calls, own = -100, np.where(np.arange(12) % 4 == 3, 0.0, 1.0)

    def kernel(A, B):
        nonlocal calls
        calls += 1
        if calls == stop:
            raise KeyboardInterrupt
        return (1.0 + A @ B.T) ** 2

    model, whole = (wrap(Perceptron(kernel=kernel)).partial_fit(X[20:22], [0, 1]) for _ in range(2))
    calls = 0
    with pytest.raises(KeyboardInterrupt) as caught:
        model.learn_predict(X[:12], y[:12], sample_weight=own)
    (note,) = caught.value.__notes__
    done = (
        0 if note.startswith("no row of") else int(note.split(" of the 12 rows of this call were learned or have")[0])
    )
    assert model.t_ == 2 + own[:done].sum()
    model.partial_fit(X[done:12], y[done:12], sample_weight=own[done:])
    assert np.allclose(scores(model), scores(whole.partial_fit(X[:12], y[:12], sample_weight=own)))


@pytest.mark.parametrize("wrap", WRAPS[2:4])
@pytest.mark.parametrize("way", ["partial_fit", "learn_predict"])
def test_rows_of_weight_0_before_a_contradiction_are_counted(wrap, way):
    own, labels = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]), np.array([1, 1, 1, 0, 0, 1, 1])
    model = CELLIP(margin=0.5, fit_intercept=False, on_infeasible="raise", trigger="always", cut="minvol")
    with pytest.raises(EmptyVersionSpace) as caught:
        WAYS[way](wrap(model), np.eye(2)[[0] * 7], labels, own)
    assert [note[:36] for note in caught.value.__notes__] == ["6 of the 7 rows of this call were le"]


JUDGED = {
    "learn_predict_set": [Conformal(MIRA()), Conformal(Scaled(MIRA())), Conformal(Scaled(Committee([MIRA()])))],
    "learn_predict_interval": [
        Conformal(Scaled(PassiveAggressiveRegressor()), window=5), IntervalRegressor(noise=5.0, radius=9.0),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "own", [weights, np.where(np.arange(40) % 3, 1.0, 0.0), np.zeros(40)], ids=["head", "some", "all"]
)
@pytest.mark.parametrize(("way", "learner"), [(way, each) for way in JUDGED for each in JUDGED[way]], ids=str)
def test_sets_and_intervals_of_rows_of_weight_0_are_returned_but_not_learned(way, learner, own):
    """Before, a scaler learned them, and what was told had fewer rows than X."""
    model, told = clone(learner), np.empty((3, 40), dtype=object)
    whole = clone(learner)
    found = getattr(whole, way)(X, y, sample_weight=own)
    for i in range(40):
        # What is told of a row does not depend on what it weighs, nor on where the stream is cut.
        asked = pickle.loads(pickle.dumps(model))
        told[:, i] = [each[0] for each in getattr(asked, way)(X[i : i + 1], y[i : i + 1])]
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=own[i : i + 1])
    if way == "learn_predict_set":
        assert [column.tolist() for column in found] == told.tolist()
    else:  # rounded outwards, by the loop and by the prediction each in its own way
        assert np.allclose(np.array(found), told.astype(np.float64), rtol=1e-9)
    assert whole.__sklearn_is_fitted__() == bool(own.any())
    if own.any():
        assert pickle.dumps(whole.predict(X)) == pickle.dumps(model.predict(X))
        assert whole.t_ == own.sum()


@pytest.mark.parametrize(
    "learner", [Scaled(PassiveAggressiveRegressor()), Conformal(PassiveAggressiveRegressor())], ids=str
)
def test_predictions_before_the_first_number_are_0(learner):
    found = learner.learn_predict(X, y, sample_weight=np.zeros(40))
    assert found.dtype == np.float64
    assert not found.any()


@pytest.mark.interpreted
@pytest.mark.parametrize("way", ["fit", "partial_fit", "learn_predict"])
@pytest.mark.parametrize("wrap", [lambda model: model, Scaled, Conformal], ids=["alone", "scaled", "conformal"])
def test_a_masked_number_is_no_number_beside_a_row_of_weight_0(wrap, way):
    X, y = np.eye(3), np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, False, True])
    with pytest.raises(ValueError, match="row 2 of y has masked entries"):
        getattr(wrap(PassiveAggressiveRegressor()), way)(X, y, sample_weight=[0.0, 1.0, 1.0])
