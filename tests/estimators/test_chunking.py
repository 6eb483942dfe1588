"""Any chunking of a stream gives the same model, to the last bit, whatever the memory that the rows lie in."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import ellipsoid
from ellipsoid import ALMA, MIRA, ROMMA, PassiveAggressive, Perceptron
from ellipsoid.estimators import LEARNERS
from ellipsoid.estimators.state.learner import Learner

pytestmark = pytest.mark.few_learners

LINEAR = {
    "uniform": Perceptron(multiclass="uniform", margin=0.2),
    "prop": Perceptron(multiclass="proportional", margin=0.2, fit_intercept=False),
    "max, averaged": Perceptron(multiclass="max", average=True),
    "one-vs-rest": Perceptron(multiclass="ovr", average=True),
    "PA": PassiveAggressive(variant="hard"),
    "PA-I, averaged": PassiveAggressive(variant="I", C=0.1, average=True),
    "PA-II": PassiveAggressive(variant="II", C=0.1),
    "MIRA": MIRA(),
    "MIRA, averaged": MIRA(margin=5.0, average=True),
}
SCALED = {
    "ROMMA, aggressive": ROMMA(aggressive=True, multiclass="uniform", average=True),
    "ALMA, p = 5": ALMA(p=5, alpha=0.3, average=True),
}
ALL = {**LINEAR, **SCALED, **{name: learner() for name, learner in LEARNERS.items()}}

# What starts as a version space, or as uniform weights, over two labels cannot go on with three.
CLOSED = ("CELLIP", "Winnow")


def mapped(X, folder):
    array = np.memmap(folder / "X.dat", dtype=np.float64, mode="w+", shape=X.shape)
    array[:] = X
    array.flush()
    return np.memmap(folder / "X.dat", dtype=np.float64, mode="r", shape=X.shape)


def frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def sparse(X, index=np.int32, kind=np.float64):
    C = sp.csr_matrix(X.astype(kind))
    C.indices, C.indptr = C.indices.astype(index), C.indptr.astype(index)
    return C


KINDS = {
    "float64": lambda X, _: X,
    "fortran": lambda X, _: np.asfortranarray(X),
    "strided rows": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "strided columns": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X, _: X[::-1].copy()[::-1],
    "read-only": lambda X, _: frozen(X),
    "memory-mapped": mapped,
    "big-endian": lambda X, _: X.astype(">f8"),
    "int8": lambda X, _: (8 * X).astype(np.int8),
    "bool": lambda X, _: X > 0.0,
    "float32": lambda X, _: X.astype(np.float32),
    "float32, strided rows": lambda X, _: np.repeat(X.astype(np.float32), 2, axis=0)[::2],
    "float32, fortran": lambda X, _: np.asfortranarray(X.astype(np.float32)),
    "float32, read-only": lambda X, _: frozen(X.astype(np.float32)),
    "csr int32": lambda X, _: sparse(X),
    "csr int64": lambda X, _: sparse(X, index=np.int64),
    "csr float32": lambda X, _: sparse(X, kind=np.float32),
}


@pytest.fixture(scope="module")
def newcomers(blobs):
    """Labels that appear one after another: one, two, three, four classes."""
    X, y = blobs
    y = y.copy()
    y[:9] = 2
    y[9:25][y[9:25] == 1] = 0
    y[70::5] = 7
    return X, y


def in_chunks(model, X, y, size, classes=None):
    model = clone(model)
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=classes)
        classes = None
    return model


def one_by_one(model, X, y):
    model = clone(model)
    for row, label in zip(X, y, strict=True):
        model.learn_one(row, label)
    return model


@pytest.mark.interpreted(*(kind for kind in KINDS if kind.startswith("float32")))
@pytest.mark.gate("max, averaged", "PA-I, averaged", "MIRA")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LINEAR)
def test_chunks_of_one_seven_and_all(name, kind, newcomers, state, tmp_path):
    X, y = newcomers
    rows = KINDS[kind](X, tmp_path)
    whole = in_chunks(LINEAR[name], rows, y, len(y))
    assert whole.updates_ > 20
    assert whole.classes_.tolist() == [2, 0, 1, 7]
    for size in (1, 7):
        assert state(in_chunks(LINEAR[name], rows, y, size)) == state(whole), size
    single = [rows[i : i + 1] for i in range(len(y))] if sp.issparse(rows) else rows
    assert state(one_by_one(LINEAR[name], single, y)) == state(whole)


@pytest.mark.parametrize("kind", ["float64", "csr int32"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_in_chunks(name, classes, kind, blobs, state, tmp_path):
    X, y = blobs
    rows, y = KINDS[kind](X, tmp_path), y % classes
    whole = in_chunks(ALL[name], rows, y, len(y), classes=range(classes))
    for size in (1, 7):
        assert state(in_chunks(ALL[name], rows, y, size, classes=range(classes))) == state(whole), size


@pytest.mark.gate("max, averaged", "PA-I, averaged", "MIRA", "AROW", "EllipsoidClassifier")
@pytest.mark.parametrize("name", [name for name in ALL if name not in CLOSED])
@settings(max_examples=15)
@given(data=st.data())
def test_any_mixture_of_calls_gives_the_same_model(name, data, newcomers, state):
    X, y = newcomers
    whole = in_chunks(ALL[name], X, y, len(y))
    model, start = clone(ALL[name]), 0
    while start < len(y):
        size = data.draw(st.integers(1, 40))
        rows, labels = X[start : start + size], y[start : start + size]
        how = data.draw(st.sampled_from(["partial_fit", "learn_one", "learn_predict", "strided", "list"]))
        if how == "learn_one":
            for row, label in zip(rows, labels, strict=True):
                model.learn_one(row, label)
        elif how == "strided":
            model.partial_fit(np.repeat(rows, 2, axis=0)[::2], labels)
        elif how == "list":
            model.partial_fit(rows.tolist(), labels.tolist())
        else:
            getattr(model, how)(rows, labels)
        # Predictions in between must leave no trace.
        model.predict(X[:3])
        model.predict_one(X[0])
        start += size
    assert state(model) == state(whole)


@pytest.mark.parametrize("kind", [str, float, object, np.int8, np.uint64, bool])
def test_labels_of_any_kind_in_any_chunking(kind, blobs, state):
    X, y = blobs
    y = (y > 0) if kind is bool else np.array([f"class {label}" for label in y]) if kind is str else y
    y = y if kind in (str, bool) else np.array(["a", "b", "c"], dtype=object)[y] if kind is object else y.astype(kind)
    whole = in_chunks(MIRA(), X, y, len(y))
    assert set(whole.predict(X).tolist()) == set(y.tolist())
    assert state(in_chunks(MIRA(), X, y, 7)) == state(whole)
    assert state(one_by_one(MIRA(), X, y)) == state(whole)


def test_dense_and_sparse_rows_agree_to_rounding(newcomers):
    X, y = newcomers
    for name, model in LINEAR.items():
        dense, sparse_ = (in_chunks(model, rows, y, len(y)) for rows in (X, sparse(X)))
        assert (dense.mistakes_, dense.updates_) == (sparse_.mistakes_, sparse_.updates_), name
        np.testing.assert_allclose(sparse_.coef_, dense.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.interpreted
def test_dense_rows_may_follow_sparse_ones_and_the_other_way_round(newcomers):
    X, y = newcomers
    mixed = clone(LINEAR["PA"]).partial_fit(X[:60], y[:60]).partial_fit(sparse(X[60:]), y[60:])
    other = clone(LINEAR["PA"]).partial_fit(sparse(X[:60]), y[:60]).partial_fit(X[60:], y[60:])
    plain = in_chunks(LINEAR["PA"], X, y, len(y))
    for model in (mixed, other):
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9, atol=1e-12)
        assert (model.predict(sparse(X)) == plain.predict(X)).all()


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("name", ["max, averaged", "PA", "MIRA"])
def test_fit_is_passes_over_known_classes(name, epochs, blobs, state):
    X, y = blobs
    fitted = clone(LINEAR[name]).set_params(shuffle=False, n_epochs=epochs).fit(X, y)
    passed = clone(LINEAR[name])
    for _ in range(epochs):
        passed.partial_fit(X, y, classes=range(3))
    known, seen = state(passed), state(fitted)
    assert seen["arrays"] == known["arrays"]
    assert fitted.t_ == epochs * len(y)


def test_shuffled_fit_repeats_with_its_seed_and_learns_each_row_once_an_epoch(blobs, state):
    X, y = blobs
    runs = [Perceptron(random_state=seed, n_epochs=2).fit(X, y) for seed in (1, 1, 2)]
    assert state(runs[0]) == state(runs[1])
    assert state(runs[0]) != state(runs[2])
    rng = np.random.RandomState(1)
    order = np.concatenate([rng.permutation(len(y)), rng.permutation(len(y))])
    by_hand = Perceptron().partial_fit(X[order], y[order], classes=range(3))
    assert (runs[0].coef_ == by_hand.coef_).all()


def test_fit_forgets(blobs, state):
    X, y = blobs
    fresh = MIRA(random_state=0).fit(X, y)
    again = MIRA(random_state=0).partial_fit(X[:, :4], np.array(["x", "y", "z"])[y]).fit(X, y)
    assert state(again) == state(fresh)


def test_parameters_are_read_when_learning_starts(blobs, state):
    """A switch of fit_intercept in mid-stream must not make chunks of one differ from others."""
    X, y = blobs
    runs = []
    for size in (1, 60):
        model = PassiveAggressive().partial_fit(X[:60], y[:60], classes=range(3)).set_params(fit_intercept=False)
        for start in range(60, 120, size):
            model.partial_fit(X[start : start + size], y[start : start + size])
        runs.append(state(model))
    assert runs[0] == runs[1]
    assert runs[0] == state(PassiveAggressive().partial_fit(X, y, classes=range(3)))


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["PA", "MIRA"])
def test_short_rows_with_many_classes(name, state, tmp_path, monkeypatch):
    # Their weights lie feature by feature, and are read in blocks of classes: 18 is no whole number of blocks.
    rng = np.random.default_rng(5)
    y = rng.integers(0, 18, 300)
    X = rng.standard_normal((18, 6))[y] + 0.3 * rng.standard_normal((300, 6))
    classes = range(18)
    whole = in_chunks(LINEAR[name], X, y, len(y), classes)
    assert whole._core.table.by_class is False
    assert state(in_chunks(LINEAR[name], X, y, 7, classes)) == state(whole)
    half = in_chunks(LINEAR[name], X[:150], y[:150], 150, classes)
    half.save(tmp_path / "half")
    assert state(one_by_one_after(ellipsoid.load(tmp_path / "half"), X[150:], y[150:])) == state(whole)
    monkeypatch.setattr(Learner, "by_class", lambda *_: True)
    usual = in_chunks(LINEAR[name], X, y, len(y), classes)
    assert usual._core.table.by_class is True
    assert (usual.mistakes_, usual.updates_) == (whole.mistakes_, whole.updates_)
    np.testing.assert_allclose(usual.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
    assert (usual.predict(X) == whole.predict(X)).all()


def one_by_one_after(model, X, y):
    for row, label in zip(X, y, strict=True):
        model.learn_one(row, label)
    return model
