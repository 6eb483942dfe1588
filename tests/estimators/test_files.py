"""Model files: what was learned comes back to the last bit."""

import copy
import json
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from ellipsoid import (
    AROW,
    IELLIP,
    MIRA,
    Calibrated,
    Committee,
    Conformal,
    IntervalRegressor,
    OnlineEllipsoidalSVC,
    OnlineSVM,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    QuasiAdditive,
    Scaled,
    UnitNorm,
    load,
)
from ellipsoid.estimators import LEARNERS

pytestmark = pytest.mark.few_learners

CLOSED = ("CELLIP", "Winnow")
# Other places where learned numbers are kept.
WRAPPED = {
    "a kernel": lambda: PassiveAggressive(kernel="rbf", gamma=0.1, budget=10),
    "a metric with a kernel": lambda: AROW(kernel="rbf", gamma=0.1),
    "a diagonal that drifts": lambda: AROW(shape="diagonal", drift=1e-3),
    "a covariance that drifts": lambda: AROW(drift=1e-3),
    "a sketch": lambda: AROW(shape="sketch"),
    "a window with a kernel": lambda: OnlineSVM(window=5, kernel="rbf", gamma=0.1),
    "a committee": lambda: Committee([PassiveAggressive(), AROW()]),
    "label sets": lambda: Conformal(AROW()),
    "probabilities": lambda: Calibrated(Scaled(AROW())),
    "intervals": lambda: IntervalRegressor(noise=10.0),
    "numbers": PassiveAggressiveRegressor,
}


def dense(learner, X, y):
    return learner().partial_fit(X, y, classes=range(3)), X


def sparse(learner, X, y):
    C = sp.csr_matrix(X)
    return learner().partial_fit(C, y, classes=range(3)), C


def averaged(learner, X, y):
    return learner(average=True, fit_intercept=False).partial_fit(X, y, classes=range(3)), X


def fitted(learner, X, y):
    return learner(random_state=np.random.RandomState(0), n_epochs=np.int64(2)).fit(X, y), X


def binary(learner, X, y):
    return learner().partial_fit(X, y % 2), X


def grown(learner, X, y):
    return learner(grow_features=True).partial_fit(X[:, :5], y % 2).partial_fit(X, y % 2), X


def lone(learner, X, y):
    """One class only."""
    return learner().partial_fit(X, np.zeros(len(y), dtype=int)), X


STORIES = [dense, sparse, averaged, fitted, binary, grown, lone]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # two passes are few
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_round_trip(name, story, blobs, state, tmp_path):
    # After so many rows some ellipsoids are still in the form that they began in, and others no more.
    X, y = (part[:60] for part in blobs)
    model, rows = story(LEARNERS[name], X, y)
    path = tmp_path / "a model"
    model.save(path)
    other = load(path)
    assert type(other) is type(model)
    assert state(other) == state(model)
    assert (other.decision_function(rows) == model.decision_function(rows)).all()
    assert other.certificates() == model.certificates()
    labels = model.classes_[y % len(model.classes_)]
    assert state(other.partial_fit(rows, labels)) == state(model.partial_fit(rows, labels))
    given, taken = model.get_params(), other.get_params()
    given.pop("random_state"), taken.pop("random_state")
    assert given == taken


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("mapped", [None, "r"])
@pytest.mark.parametrize("name", [*LEARNERS, *WRAPPED])
def test_joblib_gives_back_a_model_that_goes_on(name, mapped, blobs, tmp_path):
    X, y = blobs[0][:50], blobs[1][:50] % 2
    model = WRAPPED[name]() if name in WRAPPED else LEARNERS[name]()
    joblib.dump(model.partial_fit(X[:20], y[:20]), tmp_path / "pickled")
    other = joblib.load(tmp_path / "pickled", mmap_mode=mapped)
    for each in (model, other):
        each.partial_fit(X[20:40], y[20:40])
        for row, label in zip(X[40:], y[40:].tolist(), strict=True):
            each.learn_one(row, label)
        each.save(tmp_path / str(each is model))
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()


def again(model, folder):
    model.save(folder / "again")
    return load(folder / "again")


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in CLOSED])
def test_open_labels_go_on_after_loading(name, blobs, state, tmp_path):
    X, y = blobs
    labels = np.array(["één", "two", "drei\n\0"])[np.sort(y)]
    model = LEARNERS[name]().partial_fit(X[:50], labels[:50])
    for start in (50, 90):
        model.save(tmp_path / "m")
        other = load(str(tmp_path / "m"))
        model.partial_fit(X[start : start + 40], labels[start : start + 40])
        other.partial_fit(X[start : start + 40], labels[start : start + 40])
        # Saved and loaded once more, both have the same room to grow.
        assert state(again(other, tmp_path)) == state(again(model, tmp_path))
    assert model.classes_.tolist() == [*dict.fromkeys(labels.tolist())]


@pytest.mark.interpreted
@pytest.mark.parametrize("name", LEARNERS)
def test_dict_features_go_on_after_loading(name, state, tmp_path):
    model = LEARNERS[name](average=True)
    rng = np.random.default_rng(0)
    for i in range(40):
        example = {word: float(rng.normal()) for word in ("rain", "wind", 7, "ß")[: 1 + i // 10]}
        label = sum(example.values()) > 0.0
        if i in (15, 35):
            model.save(tmp_path / "m")
            other = load(tmp_path / "m")
            assert other.predict_one(example) == model.predict_one(example)
            assert state(other.learn_one(example, label)) == state(model.learn_one(example, label))
            model = other
        model.learn_one(example, label)
    assert model._core.features == {"rain": 0, "wind": 1, 7: 2, "ß": 3}


def test_closed_labels_stay_closed(blobs, tmp_path):
    X, y = blobs
    MIRA().partial_fit(X, y, classes=range(3)).save(tmp_path / "m")
    with pytest.raises(ValueError, match="not in classes"):
        load(tmp_path / "m").learn_one(X[0], 9)


def test_names_of_columns_come_back(blobs, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: data frames cannot be tested")
    X, y = blobs
    frame = pandas.DataFrame(X, columns=[f"feature {i}" for i in range(X.shape[1])])
    MIRA().fit(frame, y).save(tmp_path / "m")
    assert load(tmp_path / "m").feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        load(tmp_path / "m").predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("labels", [[True, False], [1.0, 2.0], [-5, 10**15], ["a", "b"]], ids=str)
def test_kinds_of_labels_come_back(labels, blobs, tmp_path):
    X, y = blobs
    model = PassiveAggressive(C=np.inf).partial_fit(X, np.array(labels)[y % 2])
    model.save(tmp_path / "m")
    other = load(tmp_path / "m")
    assert other.classes_.dtype == model.classes_.dtype
    assert other.classes_.tolist() == model.classes_.tolist()
    assert other.get_params()["C"] == np.inf


@pytest.mark.interpreted
@pytest.mark.parametrize("wrap", [lambda model: model, Scaled, lambda model: Committee([model])])
def test_numbers_that_no_file_holds_leave_the_old_file(wrap, tmp_path):
    """Before, the new file could not be loaded."""
    model = wrap(PassiveAggressive(variant="hard", margin=8e307, average=True))
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.4]])
    model.partial_fit(X[:1], [0], classes=[0, 1]).save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    with np.errstate(all="ignore"):
        model.partial_fit(X[1:], [1, 0, 1])
    with pytest.raises(
        ValueError, match=r"the model cannot be written to a file: its array '(0\.)?U' holds NaN or inf"
    ):
        model.save(tmp_path / "m")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [before]


@pytest.mark.interpreted
@pytest.mark.parametrize(("C", "size", "weight"), [(1.0, 1.0, 1e-310), (1.0, 1e-10, 1e-300), (1e-180, 1e-140, 1.0)])
def test_a_dual_vector_too_short_for_weights_goes_on_after_loading(C, size, weight, tmp_path):
    X, y, own = size * np.array([[1.0, 2.0], [-2.0, 1.0]]), [0, 1], [weight] * 2
    model = QuasiAdditive(link="p-norm", p=4.0, C=C).partial_fit(X, y, sample_weight=own)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    for later in (X, X / size):
        for each in (model, loaded):
            each.partial_fit(later, y)
        assert loaded.decision_function(later).tobytes() == model.decision_function(later).tobytes()


@pytest.mark.interpreted
def test_a_failed_write_is_reported_and_leaves_no_file(blobs, tmp_path):
    """A kernel that is a function is the only parameter that can be learned with and not be saved."""
    X, y = blobs
    model = Perceptron(kernel=lambda a, b: a @ b.T).partial_fit(X[:20], y[:20])
    with pytest.raises(ValueError, match=r"the parameter kernel=.* cannot be written to a model file"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", [False, True])
def test_parameters_set_for_the_next_start_do_not_touch_what_was_learned(before, blobs, state, tmp_path):
    X, y = blobs
    model = MIRA(average=before).partial_fit(X, y, classes=range(3)).set_params(average=not before, margin=0.5)
    model.save(tmp_path / "m")
    other = load(tmp_path / "m")
    assert other.get_params() == model.get_params()
    assert state(other) == state(model)
    assert state(other.partial_fit(X, y)) == state(model.partial_fit(X, y))
    assert other.certificates() == model.certificates()


NEXT_STARTS = [
    (Scaled(PassiveAggressive()), {"learner": MIRA()}),
    (Scaled(PassiveAggressive(), random_state=3), {"scaler": UnitNorm(), "learner__C": 7.0}),
    (Calibrated(PassiveAggressive()), {"learner__C": 7.0, "forget": 0.5}),
    (Calibrated(Scaled(PassiveAggressive())), {"learner__learner": MIRA(margin=0.25)}),
    (Calibrated(PassiveAggressive()), {"learner": Scaled(MIRA(), scaler=UnitNorm())}),
    (Conformal(PassiveAggressive()), {"learner__C": float("inf"), "window": 7}),
    (Committee([PassiveAggressive(), MIRA()], random_state=1), {"learners": [Perceptron()], "share": 0.5}),
    (Scaled(Committee([PassiveAggressive()])), {"learner__learners": [MIRA()]}),
]


@pytest.mark.interpreted
@pytest.mark.parametrize(("model", "later"), NEXT_STARTS, ids=repr)
def test_what_is_made_of_learners_keeps_its_next_start(model, later, blobs, tmp_path):
    """The run goes on as it began, and a new one begins as was set, also through a file."""
    X, y = blobs[0][:60], blobs[1][:60] % 2
    model = clone(model).partial_fit(X, y)
    model.save(tmp_path / "before")
    assert b'"next"' not in (tmp_path / "before").read_bytes().replace(rb"\"", b'"')
    model.set_params(**later)
    model.save(tmp_path / "m")
    other = load(tmp_path / "m")
    other.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    for name, each in (("one", model), ("two", other)):
        copy.deepcopy(each).set_params(random_state=0).fit(X, y).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert model.predict(X).tolist() == other.predict(X).tolist()
    assert model.partial_fit(X, y).predict(X).tolist() == other.partial_fit(X, y).predict(X).tolist()


def test_a_next_start_that_cannot_be_loaded_is_not_saved(blobs, tmp_path):
    model = Scaled(MIRA()).partial_fit(*blobs).set_params(learner=LogisticRegression())
    with pytest.raises(ValueError, match="no learner 'LogisticRegression'"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.gate("rbf")
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_kernel_models_go_on_after_loading(kernel, blobs, tmp_path):
    X, y = blobs
    for labels in (y, y % 2):
        model = LEARNERS["IELLIP"](kernel=kernel, average=True).partial_fit(X[:50], labels[:50])
        model.save(tmp_path / "m")
        other = load(tmp_path / "m")
        for each in (model, other):
            each.partial_fit(X[50:], labels[50:])
        assert other.dual_coef_.tobytes() == model.dual_coef_.tobytes()
        assert other.decision_function(X).tobytes() == model.decision_function(X).tobytes()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_online_ellipsoidal_svm_goes_on_after_loading(sparse, blobs, tmp_path):
    X, y = blobs
    rows = sp.csr_matrix(X) if sparse else X
    whole, half = OnlineEllipsoidalSVC().partial_fit(rows, y), OnlineEllipsoidalSVC().partial_fit(rows[:47], y[:47])
    half.save(tmp_path / "half")
    load(tmp_path / "half").partial_fit(rows[47:], y[47:]).save(tmp_path / "resumed")
    whole.save(tmp_path / "whole")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_the_same_model_is_the_same_bytes(blobs, tmp_path):
    X, y = blobs
    for name in "ab":
        MIRA(average=True).partial_fit(X, y, classes=range(3)).save(tmp_path / name)
    load(tmp_path / "a").save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


@pytest.mark.interpreted
def test_a_prediction_leaves_no_trace_in_a_file(blobs, tmp_path):
    """Sparse rows are met by a table of stored examples, in whose scratch memory each score leaves something."""
    X, y = blobs
    rows = sp.csr_matrix(X)
    model = IELLIP().partial_fit(rows[:60], y[:60], classes=range(3))
    model.save(tmp_path / "before")
    model.predict(rows[60:])
    model.save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()


VERSION_1 = Path(__file__).parent / "version_1"
EXPECTED = json.loads((VERSION_1 / "expected.json").read_text("utf-8"))


def rows_of_version_1(n):
    """What the models of version 1 were asked when their files were written."""
    table = np.arange(n * 6).reshape(n, 6)
    return ((table * 7 + np.arange(n)[:, None] ** 2) % 11 - 5) / 4.0


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_version_1_are_read_for_ever(name):
    model, expected = load(VERSION_1 / f"{name}.model"), EXPECTED[name]
    assert type(model).__name__ == expected["class"]
    assert model.classes_.tolist() == expected["classes"]
    assert (model.t_, model.mistakes_, model.updates_) == (expected["t"], expected["mistakes"], expected["updates"])
    X = rows_of_version_1(8)
    scores = model.decision_function(sp.csr_matrix(X) if name == "mira-dicts" else X)
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-10, atol=1e-12)
    found = [(c.name, c.observed, min(c.bound, 1e300)) for c in model.certificates()]
    for have, want in zip(found, expected["certificates"], strict=True):
        assert have[0] == want[0]
        assert have[1:] == pytest.approx(tuple(want[1:]))


@pytest.mark.parametrize(
    ("name", "now", "started"),
    [
        ("perceptron-one-vs-rest", {"multiclass": "ovr"}, {}),
        ("romma-proportional", {"multiclass": "proportional"}, {}),
        ("winnow-proportional", {"multiclass": "uniform"}, {"multiclass": "proportional"}),
        ("quasi-additive-rival", {"multiclass": "max", "update": "curvature"}, {}),
        ("quasi-additive-one-vs-rest", {"multiclass": "ovr", "update": "fixed"}, {}),
        ("online-ellipsoidal-svc", {"formulation": "relaxed"}, {}),
    ],
)
def test_old_names_of_parameters_are_read_as_the_new_ones(name, now, started, tmp_path):
    """As they are now, and as they were when learning started; what is written then has the new names."""
    model = load(VERSION_1 / f"{name}.model")
    for _ in range(2):
        assert now.items() <= model.get_params().items()
        assert (now | started).items() <= model._core.started.items()
        model = again(model, tmp_path)
