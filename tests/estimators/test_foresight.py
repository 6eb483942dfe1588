"""``learn_predict`` says what ``predict`` would have said just before each row was learned."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor

from ellipsoid import (
    MIRA,
    ROMMA,
    Calibrated,
    Committee,
    Conformal,
    OnlineEllipsoidalSVC,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    QuasiAdditive,
    Scaled,
    StandardStream,
    UnitNorm,
    Winnow,
    prequential,
)
from ellipsoid.estimators import LEARNERS

from ..fuzz.state import content

pytestmark = pytest.mark.few_learners

CLOSED = ("CELLIP", "Winnow")


def slowly(model, X, y, classes=None):
    """Predict a row, then learn it."""
    predicted = []
    for i in range(len(y)):
        predicted.append(model.predict(X[i : i + 1])[0] if model.__sklearn_is_fitted__() else None)
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=classes if i == 0 else None)
    return predicted


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in CLOSED])
def test_with_labels_that_appear_one_after_another(name, sparse, blobs, state):
    X, y = blobs
    y = y.copy()
    y[:5], y[5:12] = 2, np.where(y[5:12] == 1, 0, 2)
    y[60::7] = 40
    rows = sp.csr_matrix(X) if sparse else X
    watched, slow = LEARNERS[name](), LEARNERS[name]()
    chunks = [watched.learn_predict(rows[a:b], y[a:b]) for a, b in ((0, 1), (1, 8), (8, 120))]
    assert chunks[0].tolist() == [None]
    assert [label for chunk in chunks for label in chunk.tolist()] == slowly(slow, rows, y)
    assert state(watched) == state(slow)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_with_classes_announced(name, classes, blobs, state):
    X, y = blobs
    watched, slow = LEARNERS[name](), LEARNERS[name]()
    predicted = watched.learn_predict(X, y % classes, classes=range(classes))
    expected = slowly(slow, X, y % classes, classes=range(classes))
    assert predicted[1:].tolist() == expected[1:]
    # Before anything is learned all labels tie, and the first wins.
    assert predicted[0] == 0
    assert state(watched) == state(slow)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 5))
def test_where_ties_abound(seed, classes):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-1, 2, size=(25, 2)).astype(float), rng.integers(0, classes, 25)
    for update in ("uniform", "ovr"):
        watched = Perceptron(multiclass=update, fit_intercept=False)
        slow = Perceptron(multiclass=update, fit_intercept=False)
        assert watched.learn_predict(X, y).tolist() == slowly(slow, X, y)


def test_labels_keep_their_full_length_and_size(blobs):
    """Labels known from earlier may be longer than those of the chunk at hand."""
    X, y = blobs
    names = np.array(["a rather long name", "b", "c"])
    model = PassiveAggressive().partial_fit(X, names[y])
    assert set(model.learn_predict(X, names[1 + y % 2]).tolist()) == set(names.tolist())
    model = PassiveAggressive().partial_fit(X, np.array([300, 1, 2])[y])
    assert set(model.learn_predict(X, np.array([1, 2], dtype=np.int8)[y % 2]).tolist()) == {300, 1, 2}


def test_predictions_have_the_type_of_the_classes(blobs):
    X, y = blobs
    model = MIRA().partial_fit(X, y)
    for labels in (y, y.astype(np.int8), y.astype(float)):
        assert model.learn_predict(X, labels).dtype == model.predict(X).dtype


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", LEARNERS)
def test_averages_predict_as_averages(name, sparse, blobs, state):
    """``predict`` averages, and so does ``learn_predict``; the running hypothesis makes the mistakes of the theory."""
    X, y = blobs
    rows = sp.csr_matrix(X) if sparse else X
    plain, watched, slow = LEARNERS[name](), *(LEARNERS[name](average=True) for _ in range(2))
    cuts = ((0, 1), (1, 8), (8, 120))
    predicted = [watched.learn_predict(rows[a:b], y[a:b], classes=range(3) if a == 0 else None) for a, b in cuts]
    expected = slowly(slow, rows, y, classes=range(3))
    assert np.concatenate(predicted)[1:].tolist() == expected[1:]
    assert state(watched) == state(slow)
    running = plain.learn_predict(rows, y, classes=range(3))
    assert watched.mistakes_ == plain.mistakes_ >= (running != y).sum()


def test_averages_with_labels_that_appear_one_after_another(blobs, state):
    X, y = blobs
    y = np.where(np.arange(120) < 12, y % 2, y)
    for rows in (X, sp.csr_matrix(X)):
        watched, slow = MIRA(average=True), MIRA(average=True)
        assert watched.learn_predict(rows, y).tolist() == slowly(slow, rows, y)
        assert state(watched) == state(slow)


@pytest.mark.long
@pytest.mark.gate("vote")
@pytest.mark.parametrize("average", [True, "vote"])
@pytest.mark.parametrize("model", [Perceptron, ROMMA], ids=["told in hindsight", "asked row by row"])
def test_averages_and_votes_of_kernels(model, average, blobs, state):
    """With examples that come again: their patterns have several updates."""
    X, y = blobs
    X, y = np.vstack([X, X[:40]]), np.concatenate([y, (y[:40] + 1) % 3])
    watched, slow = (model(kernel="rbf", gamma=0.1, average=average) for _ in range(2))
    chunks = [watched.learn_predict(X[a:b], y[a:b]) for a, b in ((0, 1), (1, 50), (50, 160))]
    assert [label for chunk in chunks for label in chunk.tolist()] == slowly(slow, X, y)
    assert state(watched) == state(slow)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("scaler", [StandardStream, UnitNorm])
@pytest.mark.parametrize("average", [False, True])
def test_a_scaler_predicts_before_it_has_seen_the_row(average, scaler, sparse, blobs):
    X, y = blobs
    rows = sp.csr_matrix(X) if sparse else X
    watched, slow, one = (Scaled(MIRA(average=average), scaler=scaler()) for _ in range(3))
    chunks = [watched.learn_predict(rows[a:b], y[a:b]) for a, b in ((0, 1), (1, 50), (50, 120))]
    predicted = [label for chunk in chunks for label in chunk.tolist()]
    assert predicted == slowly(slow, rows, y)
    assert watched.coef_.tobytes() == slow.coef_.tobytes()
    for i in range(120):
        assert i == 0 or one.predict_one(X[i]) == predicted[i] or sparse
        one.learn_one(X[i], y[i])


@pytest.mark.parametrize("model", [OnlineEllipsoidalSVC(), Scaled(OnlineEllipsoidalSVC())], ids=["plain", "scaled"])
def test_the_online_ellipsoidal_svm_predicts_with_its_average(model, blobs):
    X, y = blobs
    watched, slow = clone(model), clone(model)
    predicted = np.concatenate([watched.learn_predict(X[a:b], y[a:b]) for a, b in ((0, 1), (1, 50), (50, 120))])
    assert predicted.tolist() == slowly(slow, X, y)


def test_an_evaluation_reports_the_error_of_predictions(blobs):
    X, y = blobs
    for model in (MIRA(average=True), Scaled(MIRA())):
        slow = clone(model)
        run = prequential(model, (X, y), chunk_size=7)
        assert run.errors == sum(label != right for label, right in zip(slowly(slow, X, y), y, strict=True))
        assert run.mistakes == model.mistakes_ == slow.mistakes_


def test_rows_far_from_all_before_them_are_predicted_too():
    """In deviations of the rows before it a row may be infinite; as a row of the stream it is an ordinary one."""
    X = np.array([[1.0, 1e-150], [2.0, 2e-150], [1.5, 1e140], [1.0, -1e140]])
    predicted = Scaled(MIRA()).learn_predict(X, [0, 1, 0, 1])
    assert set(predicted[1:].tolist()) <= {0, 1}


def test_an_average_that_was_asked_for_is_made_anew_for_wider_rows():
    """What was kept for predictions has the old width: to score wider rows with it would read beyond its end."""
    X, y = np.random.default_rng(5).normal(size=(40, 4)), np.arange(40) % 2
    watched, slow = (PassiveAggressive(average=True, grow_features=True).partial_fit(X[:10, :2], y[:10]) for _ in "ab")
    watched.predict(X[:3, :2])
    expected = []
    for x, label in zip(X[10:], y[10:], strict=True):
        expected.append(slow.predict_one(x))
        slow.learn_one(x, label)
    assert watched.learn_predict(X[10:], y[10:]).tolist() == expected
    assert (watched.coef_ == slow.coef_).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_a_row_that_brings_features_is_scaled_by_those_that_are_known(form):
    """Its length over all features would shift it against the intercept."""
    rng = np.random.default_rng(7)
    differ = 0
    for _ in range(40):
        X, y = rng.normal(size=(12, 4)), np.arange(12) % 2
        X[8:, 2:] *= 30.0
        model = Scaled(Perceptron(grow_features=True), scaler=UnitNorm()).partial_fit(form(X[:8, :2]), y[:8])
        said = model.predict(form(X[8:]))[0]
        differ += said != model.learner_.predict(UnitNorm().fit_transform(X[8:])[:1, :2])[0]
        assert model.learn_predict(form(X[8:]), y[8:])[0] == said
    assert differ > 0


def growing_rows(rng):
    """Dicts whose last name is new every fourth time, and large."""
    rows = []
    for i in range(16):
        known = [f"f{j}" for j in range(i // 4) if rng.random() < 0.7]
        rows.append({**{name: float(rng.normal()) for name in known}, f"f{i // 4}": float(5.0 * rng.normal())})
    return rows, [int(sum(row.values()) > 0.0) for row in rows]


RBF = PassiveAggressive(kernel="rbf", gamma=0.5)
PAIR = [PassiveAggressive(C=0.1), RBF]


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "learner",
    [
        RBF,
        Scaled(PassiveAggressive(C=0.1), scaler=UnitNorm()),
        Calibrated(Scaled(PassiveAggressive(C=0.1), scaler=UnitNorm())),
        Calibrated(Scaled(RBF)),
        Conformal(RBF, window=5, rate=0.2),
        Committee(PAIR, mix="margins"),
        Scaled(Committee(PAIR, mix="margins"), scaler=UnitNorm()),
        Calibrated(Scaled(Committee(PAIR), scaler=UnitNorm())),
    ],
    ids=lambda learner: " ".join(str(learner).split())[:70],
)
def test_new_names_in_a_call_do_not_change_its_earlier_predictions(learner):
    """Wherever the stream is cut, a row is judged by what ``predict`` says of it: also by who weighs or calibrates."""
    for seed in range(6):
        rows, y = growing_rows(np.random.default_rng(seed))
        whole, slow, single = (clone(learner).partial_fit(rows[:2], [0, 1]) for _ in range(3))
        expected = []
        for row, label in zip(rows[2:], y[2:], strict=True):
            expected.append(slow.predict([row])[0])
            assert slow.learn_predict([row], [label])[0] == expected[-1] == single.predict_one(row)
            single.learn_one(row, label)
        assert whole.learn_predict(rows[2:], y[2:]).tolist() == expected
        assert content(whole) == content(slow) == content(single)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "learner",
    [
        Conformal(Scaled(PassiveAggressiveRegressor(grow_features=True), scaler=UnitNorm())),
        Calibrated(Scaled(PassiveAggressive(grow_features=True), scaler=UnitNorm())),
        Calibrated(QuasiAdditive(link="entropy", grow_features=True)),
        Conformal(Winnow(balanced=False, grow_features=True)),
        Committee([QuasiAdditive(link="entropy")], grow_features=True),
    ],
    ids=lambda learner: " ".join(str(learner).split())[:70],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_an_observer_sees_a_row_without_its_new_features(learner, form):
    """Its length over all of them, or the weights that entropies give to new ones, would judge what nobody said."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        X, y = np.abs(rng.normal(size=(12, 4))), np.arange(12) % 2
        X[8:, 2:] *= 30.0
        classes = {} if is_regressor(learner) else {"classes": [0, 1]}
        model = clone(learner).partial_fit(form(X[:8, :2]), y[:8], **classes)
        said = model.predict(form(X[8:]))[0]
        assert model.learn_predict(form(X[8:]), y[8:])[0] == said
