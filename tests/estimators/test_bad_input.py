"""Bad input is refused with a sentence that names the row or the argument, and leaves no trace, for every learner."""

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid.estimators import LEARNERS

pytestmark = pytest.mark.few_learners

N, D = 120, 19
ROW = 77


def put(X, value, row=ROW):
    X = X.copy()
    X[row, 3] = value
    return X


def ragged():
    return [[0.0] * D, [0.0] * (D - 1)]


# name: (X, y, classes) from good X and y, and what the message must say.
DENSE = {
    "NaN": (lambda X, y: (put(X, np.nan), y), f"row {ROW} of X holds NaN or inf"),
    "inf": (lambda X, y: (put(X, np.inf), y), f"row {ROW} of X holds NaN or inf"),
    "-inf": (lambda X, y: (put(X, -np.inf), y), f"row {ROW} of X holds NaN or inf"),
    "too large": (lambda X, y: (put(X, 1e200), y), f"row {ROW} of X is too large"),
    "two bad rows": (lambda X, y: (put(put(X, np.nan, 99), np.inf), y), f"row {ROW} of X"),
    "the last row": (lambda X, y: (put(X, np.nan, N - 1), y), f"row {N - 1} of X"),
    "NaN, float32": (lambda X, y: (put(X, np.nan).astype(np.float32), y), f"row {ROW} of X holds NaN or inf"),
    "NaN, Fortran order": (lambda X, y: (np.asfortranarray(put(X, np.nan)), y), f"row {ROW} of X holds NaN or inf"),
    "NaN in one row": (lambda X, y: (put(X, np.nan)[ROW : ROW + 1], y[:1]), "row 0 of X holds NaN or inf"),
    "too narrow": (lambda X, y: (X[:, :-1], y), f"X has {D - 1} features"),
    "too wide": (lambda X, y: (np.column_stack([X, X]), y), f"X has {2 * D} features"),
    "one row too narrow": (lambda X, y: (X[:1, :-1], y[:1]), f"X has {D - 1} features"),
    "no columns": (lambda X, y: (X[:, :0], y), r"0 feature"),
    "no rows": (lambda X, y: (X[:0], y[:0]), r"X must hold at least one example"),
    "0-D": (lambda X, y: (np.array(5.0), [0]), "X must be 2-D"),
    "1-D": (lambda X, y: (X[0], [0]), "X must be 2-D"),
    "1-D of length 1": (lambda X, y: (X[0, :1], [0]), "X must be 2-D"),
    "3-D": (lambda X, y: (X[:, :, None], y), "X must be 2-D"),
    "None": (lambda X, y: (None, y), "X must be 2-D"),
    "ragged": (lambda X, y: (ragged(), [0, 1]), "inhomogeneous"),
    "complex": (lambda X, y: (X + 1j, y), "X must hold real numbers"),
    "strings": (lambda X, y: (np.full((2, D), "red"), [0, 1]), "X must hold numbers"),
    "object strings": (lambda X, y: (put(X.astype(object), "red"), y), f"row {ROW} of X holds 'red'"),
    "object dicts": (lambda X, y: (np.array([{"a": 1.0}, {"b": 2.0}]), [0, 1]), "row 0 of X holds {'a': 1.0}"),
    "object lists": (lambda X, y: (put(X.astype(object), [1, 2]), y), "X cannot be read|row .* of X holds"),
    "object None": (lambda X, y: (put(X.astype(object), None), y), f"row {ROW} of X"),
    "huge integer": (lambda X, y: (put(X.astype(object), 10**400), y), f"row {ROW} of X holds 1000"),
    "dates": (lambda X, y: (np.full((2, D), "2020-01-01", dtype="M8[D]"), [0, 1]), "X must hold numbers"),
    "records": (lambda X, y: (np.zeros((2, D), dtype=[("a", int)]), [0, 1]), "X must hold numbers"),
    "y too short": (lambda X, y: (X, y[:-1]), f"y has {N - 1} labels for the {N} rows"),
    "y too long": (lambda X, y: (X, np.append(y, 0)), f"y has {N + 1} labels for the {N} rows"),
    "y too long for one row": (lambda X, y: (X[:1], y[:2]), "y has 2 labels for the 1 rows"),
    "y is None": (lambda X, y: (X, None), "y to be passed"),
    "y is a number": (lambda X, y: (X, 1), "y must be 1-D"),
    "y has NaN": (lambda X, y: (X, np.where(np.arange(N) == ROW, np.nan, y)), f"row {ROW} of y is NaN"),
    "y has inf": (lambda X, y: (X, np.where(np.arange(N) == ROW, np.inf, y)), f"row {ROW} of y is NaN or inf"),
    "y is continuous": (lambda X, y: (X, y + 0.5), "y must hold labels"),
    "one y is continuous": (lambda X, y: (X[:1], [0.25]), "y must hold labels"),
    "y is complex": (lambda X, y: (X, y + 1j), "y must hold labels"),
    "y mixes kinds": (lambda X, y: (X[:2], np.array([0, "a"], dtype=object)), "y must hold labels of one kind"),
    "y has None": (lambda X, y: (X[:2], np.array(["a", None], dtype=object)), "y must hold labels of one kind"),
    "y has lists": (lambda X, y: (X[:2], np.array([[1], [2, 3]], dtype=object)), "y must hold labels of one kind"),
    "y has dicts": (lambda X, y: (X[:2], np.array([{}, {}], dtype=object)), "y must hold labels of one kind"),
    "y of records": (lambda X, y: (X[:2], np.zeros(2, dtype=[("a", int)])), "y must hold strings or numbers"),
    "y is 3-D": (lambda X, y: (X, np.zeros((N, 2, 2))), "y must be"),
}  # fmt: skip

CLASSES = {
    "of other labels": ([7, 8, 9], "classes=.* differs from the classes of"),
    "too few": ([0, 1], "classes=.* differs from the classes of"),
    "too many": ([0, 1, 2, 3], "classes=.* differs from the classes of"),
    "of lists": ([[0, 1, 2]], "classes must be a non-empty 1-D sequence"),
    "a number": (3, "classes must be a non-empty 1-D sequence"),
    "empty": ([], "classes must be a non-empty 1-D sequence"),
    "with NaN": ([0, 1, np.nan], "classes must not hold None or NaN"),
    "with None": ([0, 1, None], "classes must not hold None or NaN"),
}


def damage(name, index, value):
    """A matrix one of whose arrays was tampered with."""

    def tampered(C):
        array = getattr(C, name).copy()
        array[index] = value
        C = C.copy()
        setattr(C, name, array)
        return C

    return tampered


def cut(name, length):
    def tampered(C):
        C = C.copy()
        setattr(C, name, getattr(C, name)[:length])
        return C

    return tampered


def swapped(C):
    C = C.copy()
    start = C.indptr[ROW]
    C.indices[start : start + 2] = C.indices[start : start + 2][::-1].copy()
    return C


def at(C, k=0):
    return C.indptr[ROW] + k


SPARSE = {
    "NaN": (lambda C: damage("data", at(C), np.nan)(C), f"row {ROW} of X holds NaN or inf"),
    "too large": (lambda C: damage("data", at(C), 1e200)(C), f"row {ROW} of X is too large"),
    "negative index": (lambda C: damage("indices", at(C), -1)(C), f"row {ROW} of X has column indices"),
    "index out of range": (lambda C: damage("indices", C.indptr[ROW + 1] - 1, D)(C), f"row {ROW} of X has column"),
    "index far out of range": (lambda C: damage("indices", at(C, 1), 2**31 - 1)(C), f"row {ROW} of X has column"),
    "repeated index": (lambda C: damage("indices", at(C, 1), C.indices[at(C)])(C), f"row {ROW} of X has column"),
    "unsorted indices": (swapped, f"row {ROW} of X has column indices"),
    "falling indptr": (damage("indptr", ROW, 0), "X.indptr"),
    "negative indptr": (damage("indptr", ROW, -5), "X.indptr"),
    "indptr not from 0": (damage("indptr", 0, 1), "X.indptr"),
    "indptr beyond the data": (damage("indptr", -1, 10**6), "X.indptr"),
    "indptr too short": (cut("indptr", -1), "X.indptr"),
    "too little data": (cut("data", -5), "X.indptr"),
    "too few indices": (cut("indices", -5), "X.indptr"),
    "too narrow": (lambda C: C[:, :-1], f"X has {D - 1} features"),
    "too wide": (lambda C: sp.hstack([C, C], format="csr"), f"X has {2 * D} features"),
    "no rows": (lambda C: C[:0], "X must hold at least one example"),
}  # fmt: skip


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("form", "name", "index", "value", "message"),
    [
        ("csc", "indices", 0, 10**6, "row indices that are negative or too large"),
        ("csc", "indices", 0, -(10**6), "row indices that are negative or too large"),
        ("coo", "row", 0, 10**8, "row indices that are negative or too large"),
        ("coo", "col", 0, 10**8, "row 0 of X has column indices"),
        *((form, "indptr", 1, 10**8, "X.indptr") for form in ("csr", "csc", "bsr")),
    ],
)
def test_a_damaged_matrix_of_any_kind_is_not_converted(form, name, index, value, message):
    """scipy would write beyond its arrays, and the process would end."""
    X, y = np.eye(3) + 1.0, [0, 1, 0]
    model = LEARNERS["MIRA"]().partial_fit(sp.csr_matrix(X), y)
    damaged = damage(name, index, value)(sp.csr_matrix(X).asformat(form))
    for weights in (None, [1.0, 0.0, 1.0]):
        for call in (model.partial_fit, model.learn_predict, model.fit):
            with pytest.raises(ValueError, match=message):
                call(damaged, y, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        model.predict(damaged)
    assert model.t_ == 3


@pytest.fixture(params=LEARNERS)
def learner(request):
    return LEARNERS[request.param]


@pytest.fixture
def known(learner, blobs):
    """A learner that has seen the stream, and its twin."""
    X, y = blobs
    return tuple(learner().partial_fit(X, y, classes=range(3)) for _ in range(2))


def check_unharmed(model, twin, blobs, state):
    """All that was learned is as before, and learning goes on as if nothing had happened."""
    X, y = blobs
    assert state(model) == state(twin)
    assert state(model.partial_fit(X[:30], y[:30])) == state(twin.partial_fit(X[:30], y[:30]))


def test_dense_input(known, blobs, state):
    model, twin = known
    for name, (spoil, message) in DENSE.items():
        X, y = spoil(*blobs)
        for call in (model.partial_fit, model.learn_predict, model.fit):
            if call == model.fit and "features" in message:
                continue  # fit forgets, width and all
            with pytest.raises(ValueError, match=message):
                call(X, y)
            assert state(model) == state(twin), name
    check_unharmed(model, twin, blobs, state)


def test_dense_input_before_anything_was_learned(learner, blobs, state):
    X, y = blobs
    model = learner()
    plain = dict(vars(model))
    for name, (spoil, message) in DENSE.items():
        if "features" in message:
            continue
        for call in (model.partial_fit, model.fit):
            with pytest.raises(ValueError, match=message):
                call(*spoil(X, y))
            assert vars(model) == plain, name
    for call in (lambda: model.partial_fit(X[:, :0], y), lambda: model.learn_one({"a": np.nan}, 1)):
        with pytest.raises(ValueError, match=r"feature|row 0"):
            call()
        assert vars(model) == plain
    assert state(model.partial_fit(X, y, classes=range(3))) == state(learner().partial_fit(X, y, classes=range(3)))


def test_sparse_input(learner, blobs, state):
    X, y = blobs
    C = sp.csr_matrix(X)
    model, twin = (learner().partial_fit(C, y, classes=range(3)) for _ in range(2))
    fresh = learner()
    plain = dict(vars(fresh))
    for name, (spoil, message) in SPARSE.items():
        bad = spoil(C)
        labels = y[: bad.shape[0]]
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad, labels)
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
        assert state(model) == state(twin), name
        if "features" not in message:
            with pytest.raises(ValueError, match=message):
                fresh.partial_fit(bad, labels)
            assert vars(fresh) == plain, name
    assert state(model.partial_fit(C, y)) == state(twin.partial_fit(C, y))


def test_classes_that_contradict(known, learner, blobs, state):
    model, twin = known
    X, y = blobs
    for name, (classes, message) in CLASSES.items():
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, classes=classes)
        assert state(model) == state(twin), name
    for label, message in ((5, "row 77 of y holds the label 5, which is not in classes"), (-1, "row 77 of y")):
        bad = y.copy()
        bad[ROW] = label
        for call in (model.partial_fit, model.learn_predict):
            with pytest.raises(ValueError, match=message):
                call(X, bad)
        with pytest.raises(ValueError, match="not in classes"):
            model.learn_one(X[0], label)
    check_unharmed(model, twin, blobs, state)
    fresh = learner()
    for classes, message in (([0, 1, 1], "must not repeat"), ([0, 1], "of y holds the label 2"), ([], "non-empty")):
        with pytest.raises(ValueError, match=message):
            fresh.partial_fit(X, y, classes=classes)
    assert "_core" not in vars(fresh)


def test_labels_of_another_kind(learner, blobs, state):
    X, y = blobs
    model, twin = (learner().partial_fit(X[:60], y[:60] % 2) for _ in range(2))
    with pytest.raises(ValueError, match=r"row 0 of y holds the label '.', of another kind than the known"):
        model.partial_fit(X, y.astype(str))
    with pytest.raises(ValueError, match="row 0 of y holds the label '1', of another kind than the known"):
        model.learn_one(X[0], "1")
    assert state(model) == state(twin)


def test_one_example(known, blobs, state):
    model, twin = known
    X, _ = blobs
    cases = [
        (put(X, np.nan)[ROW], 0, "row 0 of X holds NaN or inf"),
        (put(X, 1e200)[ROW], 0, "row 0 of X is too large"),
        (X[0, :-1], 0, f"X has {D - 1} features"),
        (X[:1], 0, "x must be one example"),
        (X[:2], 0, "x must be one example"),
        (1.0, 0, "x must be one example"),
        ("red", 0, "x must be one example"),
        (["red"] * D, 0, "X must hold numbers"),
        (sp.csr_matrix(X[:2]), 0, "x must be one example"),
        ({"a": 1.0}, 0, "started on arrays"),
        (X[0], np.nan, "row 0 of y is NaN"),
        (X[0], 0.25, "y must hold labels"),
        (X[0], None, "y must hold labels"),
        (X[0], [0], "y must be one label"),
        (X[0], {0}, "y must hold labels"),
        (X[0], "0", "row 0 of y holds the label '0'"),
    ]
    for x, y, message in cases:
        with pytest.raises(ValueError, match=message):
            model.learn_one(x, y)
        assert state(model) == state(twin), message
        if y == 0:
            with pytest.raises(ValueError, match=message):
                model.predict_one(x)
    check_unharmed(model, twin, blobs, state)


def test_prediction(known, blobs, state):
    model, twin = known
    X, _ = blobs
    for spoil, message in DENSE.values():
        bad, _ = spoil(X, np.zeros(N, dtype=int))
        if "y" in message.split()[:2] or "labels" in message or "of y" in message:
            continue
        for call in (model.predict, model.decision_function):
            with pytest.raises(ValueError, match=message):
                call(bad)
    assert state(model) == state(twin)


def test_fit_needs_two_classes(known, learner, blobs, state):
    model, twin = known
    X, _ = blobs
    for fitted in (model, learner()):
        with pytest.raises(ValueError, match=r"two classes.*one class"):
            fitted.fit(X, np.ones(N))
    assert state(model) == state(twin)


BAD_PARAMETERS = {
    "margin": [-0.1, np.nan, np.inf, "wide", None, [1.0]],
    "C": [0.0, -1.0, np.nan, "big"],
    "update": ["sideways", None, []],
    "multiclass": ["sideways", None, []],
    "p": [1.9, np.nan, np.inf, "two", None],
    "alpha": [0.0, 1.1, np.nan, "all", None],
    "variant": ["III", 1],
    "n_epochs": [0, -1, 2.5, "many", None],
    "random_state": ["seed"],
}


OWNERS = [(name, p) for name in LEARNERS for p in BAD_PARAMETERS if p in LEARNERS[name]().get_params()]


@pytest.mark.parametrize(("name", "parameter"), OWNERS)
def test_parameters(name, parameter, blobs):
    X, y = blobs
    for value in BAD_PARAMETERS[parameter]:
        model = LEARNERS[name](**{parameter: value})
        plain = dict(vars(model))
        calls = [model.fit]
        if parameter not in ("n_epochs", "random_state"):
            calls += [model.partial_fit, model.learn_predict]
        for call in calls:
            with pytest.raises(ValueError, match=r"RandomState" if parameter == "random_state" else parameter):
                call(X, y)
        assert list(vars(model)) == list(plain)


def test_a_bad_row_in_a_large_chunk_stops_it_before_the_first(learner, state):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(140_000, 3)), rng.integers(0, 2, 140_000)
    model, twin = (learner().partial_fit(X[:10], y[:10], classes=[0, 1]) for _ in range(2))
    X[131_500, 1] = np.nan
    for rows in (X, np.asfortranarray(X), X.astype(np.float32)):
        with pytest.raises(ValueError, match="row 131500 of X holds NaN"):
            model.partial_fit(rows, y)
        assert state(model) == state(twin)


def test_huge_rows_never_make_weights_that_are_not_numbers(learner):
    """The largest rows that are taken, with both labels, over and over: every weight and score stays finite."""
    X = np.full((60, 2), 1e144) * np.where(np.arange(60) % 3, 1.0, -1.0)[:, None]
    model = learner(fit_intercept=False).partial_fit(X, np.arange(60) % 2, classes=[0, 1])
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_of_all_scales_are_learned(learner, intercept):
    """What is not refused is learned, next to rows that are larger or smaller by hundreds of orders of magnitude."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 3)) * rng.choice([1e-140, 1e-60, 1e-3, 1.0, 1e4, 1e60, 1e140], size=(30, 1))
        X[rng.random(X.shape) < 0.25] = 0.0
        model = learner(fit_intercept=intercept).partial_fit(X, rng.integers(0, 2, 30), classes=[0, 1])
        assert model.t_ == 30
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(X)).all()
