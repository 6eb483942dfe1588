"""State as a pure function of the stream: chunks, files, pickles, growth, averages, bad input."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import ellipsoid
from ellipsoid import CELLIP, IELLIP


def stream(seed=0, n=160, d=12, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[:, 0] = 1.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    scores = X @ rng.normal(size=(d, classes))
    y = scores.argmax(axis=1)
    return X, np.where(rng.random(n) < 0.05, rng.integers(classes, size=n), y)


MODELS = {
    "CELLIP": CELLIP(margin=0.02),
    "CELLIP always": CELLIP(margin=0.02, trigger="always", average=True),
    "CELLIP minvol": CELLIP(margin=0.02, cut="minvol", trigger="margin"),
    "CELLIP restart": CELLIP(margin=0.2, on_infeasible="restart"),
    "CELLIP selective": CELLIP(margin=0.02, cut="minvol", trigger="margin", selective=True),
    "IELLIP": IELLIP(c=0.5, b=0.6),
    "IELLIP round": IELLIP(c=0.5, b=0.9, decay="round", trigger="margin", average=True),
    "IELLIP constant": IELLIP(c=0.2, b=1.0),
    "IELLIP selective": IELLIP(selective=True, smoothing=0.5, random_state=np.random.RandomState(3)),
}


def fresh(name):
    return copy.deepcopy(MODELS[name])


def pieces(n, size):
    return [slice(i, i + size) for i in range(0, n, size)]


@pytest.mark.gate("CELLIP", "CELLIP selective", "IELLIP")
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", MODELS)
def test_chunks_files_and_pickles_change_nothing(name, sparse, state, tmp_path):
    """In chunks of 1, 7 and all; with a file or a pickle in mid-stream: the same bits."""
    X, y = stream()
    rows = sp.csr_matrix(X) if sparse else X
    found = []
    for size in (1, 7, len(y)):
        model = fresh(name)
        for piece in pieces(len(y), size):
            model.partial_fit(rows[piece], y[piece], classes=[0, 1, 2])
        found.append(state(model))
    for carry in ("file", "pickle"):
        model = fresh(name).partial_fit(rows[:70], y[:70], classes=[0, 1, 2])
        if carry == "file":
            model.save(tmp_path / "model")
            model = ellipsoid.load(tmp_path / "model")
        else:
            model = pickle.loads(pickle.dumps(model))
        found.append(state(model.partial_fit(rows[70:], y[70:])))
    assert all(one == found[0] for one in found)
    assert model.updates_ > 10


@pytest.mark.parametrize("form", ["column", "product", "gram", "dense"])
def test_binary_chunks_and_files_in_every_form(form, state, tmp_path, plain):
    X, y = stream(classes=2)
    found = []
    for size in (1, 9, 160):
        model = IELLIP(c=0.5, b=0.8, shape=form)
        for piece in pieces(160, size):
            model.partial_fit(X[piece], y[piece], classes=[0, 1])
        found.append(state(model))
    half = IELLIP(c=0.5, b=0.8, shape=form).partial_fit(X[:50], y[:50], classes=[0, 1])
    half.save(tmp_path / "model")
    found.append(state(ellipsoid.load(tmp_path / "model").partial_fit(X[50:], y[50:])))
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("form", ["column", "gram"])
def test_a_form_that_was_replaced_by_products_can_be_saved(form, state, tmp_path, plain):
    """Little is kept of a direction here: digits would be lost, and products take over, whatever was asked for."""
    X, y = stream(classes=2)
    model = IELLIP(c=0.9, b=0.9, shape=form).partial_fit(X, y, classes=[0, 1])
    assert model._core.table.form.name == "product"
    model.save(tmp_path / "model")
    assert state(ellipsoid.load(tmp_path / "model")) == state(model)


def test_single_examples_are_chunks_of_one(state):
    X, y = stream()
    for name in ("CELLIP", "IELLIP"):
        whole = fresh(name).partial_fit(X, y, classes=[0, 1, 2])
        one = fresh(name).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
        for x, label in zip(X[1:], y[1:], strict=True):
            one.learn_one(x, label)
        assert state(one) == state(whole)
        assert [one.predict_one(x) for x in X] == one.predict(X).tolist()


@pytest.mark.long
@pytest.mark.parametrize("name", ["CELLIP always", "IELLIP round"])
def test_averages_are_the_mean_of_all_hypotheses(name):
    X, y = stream()
    for rows in (X, sp.csr_matrix(X)):
        plain, model = fresh(name).set_params(average=False), fresh(name)
        total = 0.0
        for t in range(60):
            plain.partial_fit(rows[t : t + 1], y[t : t + 1], classes=[0, 1, 2])
            model.partial_fit(rows[t : t + 1], y[t : t + 1], classes=[0, 1, 2])
            total = total + np.column_stack([plain.intercept_, plain.coef_])
        np.testing.assert_allclose(
            np.column_stack([model.intercept_, model.coef_]), total / 60, rtol=0, atol=1e-12 * np.abs(total).max()
        )
        assert (
            model.predict(rows) == model.classes_[(X @ model.coef_.T + model.intercept_).argmax(axis=1)]
        ).mean() > 0.98
        assert [model.predict_one(x) for x in X[:10]] == model.predict(X[:10]).tolist()


# -- growth -------------------------------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_third_label_turns_the_run_into_one_of_pairs(dense):
    """As if pairs of rows had been kept from the start, which the reference does; in every form."""
    X, y = stream(4)
    y[:60] = y[:60] % 2
    y[[0, 1]] = [0, 1]
    Y = [{int(k)} for k in y]
    for form, rows in [(f, X) for f in dense.forms] + [("auto", sp.csr_matrix(X))]:
        model = IELLIP(c=0.5, b=0.7, shape=form, fit_intercept=False).partial_fit(rows, y)
        assert model.classes_.tolist() == [0, 1, 2]
        # Its first row met no rival and taught nothing; before the third label the third block is not touched.
        first = dense.run(model, X[1:60], [{label} for label in y[1:60].tolist()], 2)[-1]
        w, P = np.zeros((3, 12)), np.eye(36).reshape(3, 12, 3, 12)
        w[:2] = first.w.reshape(2, 12)
        scale = np.prod(1.0 / (1.0 - 0.5 * 0.7 ** np.arange(float(first.updates))))
        P = scale * P
        P[:2, :, :2] = first.P.reshape(2, 12, 2, 12)
        shifted = _Shifted(model, first.updates)
        last = dense.run(shifted.model, X[60:], Y[60:], 3, start=(w.ravel(), P.reshape(36, 36)))[-1]
        np.testing.assert_allclose(model.coef_.ravel(), last.w, rtol=0, atol=1e-11 * np.abs(last.w).max())
        np.testing.assert_allclose(dense.shape(model), last.P, rtol=0, atol=1e-11 * np.abs(last.P).max())
        assert model.log_volume_ == pytest.approx(np.linalg.slogdet(last.P)[1], rel=1e-9)


class _Shifted:
    """The parameters of a run that already made so many updates."""

    def __init__(self, model, updates):
        p = model.get_params()
        self.model = IELLIP(**{**p, "c": p["c"] * p["b"] ** updates})


@pytest.mark.parametrize("rows", [1, 160])
def test_cellip_refuses_a_third_label_before_anything_changes(state, rows):
    X, y = stream()
    model = CELLIP(margin=0.02).partial_fit(X[:40], y[:40] % 2)
    before = state(model)
    with pytest.raises(ValueError, match="pass classes= with all labels"):
        model.partial_fit(X[:rows], np.full(rows, 2))
    with pytest.raises(ValueError, match="pass classes="):
        model.learn_one(X[0], 2)
    assert state(model) == before
    new = CELLIP()
    with pytest.raises(ValueError, match="pass classes="):
        new.partial_fit(X, y)
    assert not hasattr(new, "classes_")
    assert CELLIP(margin=0.02).fit(X, y).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["CELLIP minvol", "IELLIP", "IELLIP constant"])
def test_new_features_are_directions_not_met_yet(name, dense):
    """A wider row adds columns; for IELLIP that is the run of a start in the larger space."""
    X, y = stream(classes=2)
    X[:50, 8:] = 0.0
    narrow = fresh(name).set_params(grow_features=True, fit_intercept=False)
    narrow.partial_fit(np.ascontiguousarray(X[:50, :8]), y[:50], classes=[0, 1]).partial_fit(X[50:], y[50:])
    assert narrow.coef_.shape == (1, 12)
    if name.startswith("IELLIP"):
        wide = fresh(name).set_params(fit_intercept=False).partial_fit(X, y, classes=[0, 1])
        np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=0, atol=1e-11 * np.abs(wide.coef_).max())
        np.testing.assert_allclose(
            dense.shape(narrow), dense.shape(wide), rtol=0, atol=1e-10 * np.abs(dense.shape(wide)).max()
        )
        assert narrow.log_volume_ == pytest.approx(wide.log_volume_)
    assert all(c.observed <= c.bound for c in narrow.certificates())


def test_new_features_after_a_long_run():
    """Constant shrinking has lifted the matrix many times: a new direction has run ahead of all others."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(600, 4)), rng.choice([0, 1], 600)
    model = IELLIP(c=0.2, b=1.0, trigger="margin", fit_intercept=False, grow_features=True)
    model.partial_fit(np.ascontiguousarray(X[:, :3]), y, classes=[0, 1])
    old = model.coef_[0].copy()
    x = np.array([0.3, -0.2, 0.5, 0.7])
    wrong = int(old @ x[:3] < 0.0)
    model.partial_fit([x], [wrong])
    # All of the step goes where nothing was known.
    np.testing.assert_allclose(model.coef_[0, :3], old, rtol=1e-9)
    assert float(model.coef_[0] @ x) == pytest.approx(2.0 * wrong - 1.0)


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", [IELLIP, ellipsoid.Perceptron])
def test_rows_narrower_than_before_are_refused_one_by_one_too(kind):
    """Also where the wider row fitted into spare room."""
    model = kind(grow_features=True).partial_fit(sp.csr_matrix(np.ones((2, 3))), [0, 1])
    for width in (4, 5):
        model.partial_fit(np.ones((1, width)), [0])
        model.learn_one(np.ones(width), 1)
    for row in (np.ones(4), np.ones(3)):
        with pytest.raises(ValueError, match="is expecting 5 features"):
            model.learn_one(row, 1)
        with pytest.raises(ValueError, match="is expecting 5 features"):
            model.partial_fit([row, row], [0, 1])


def test_growth_in_files_and_chunks_changes_nothing(state, tmp_path):
    """Rows of growing width, several classes: capacity differs, the bits do not."""
    X, y = stream(d=29)
    for name in ("CELLIP", "IELLIP", "IELLIP constant"):
        whole, carried = (fresh(name).set_params(grow_features=True) for _ in range(2))
        for i, width in enumerate(range(5, 30, 3)):
            part = slice(15 * i, 15 * i + 15)
            rows = np.ascontiguousarray(X[part, :width])
            whole.partial_fit(rows, y[part], classes=[0, 1, 2])
            carried.partial_fit(rows[:4], y[part][:4], classes=[0, 1, 2])
            carried.save(tmp_path / "model")
            carried = ellipsoid.load(tmp_path / "model").partial_fit(rows[4:], y[part][4:])
        assert state(carried) == state(whole)


@pytest.mark.long
def test_named_features_as_a_stream_of_dicts(dense):
    X, y = stream(classes=2)
    for name in ("CELLIP", "IELLIP"):
        model, array = fresh(name), fresh(name)
        order = {}
        for t in range(80):
            example = {f"f{j}": float(X[t, j]) for j in np.flatnonzero(X[t])}
            order.update(dict.fromkeys(example))
            model.learn_one(example, int(y[t]))
        columns = [int(key[1:]) for key in order]
        for t in range(80):
            array.learn_one(np.ascontiguousarray(X[t, columns]), int(y[t]))
        # Each form of a version space is rounded outwards by as much as that form needs.
        slack = 1e-10 if name == "CELLIP" else 1e-11
        np.testing.assert_allclose(model.coef_, array.coef_, rtol=0, atol=slack * np.abs(array.coef_).max())
        assert (model.mistakes_, model.updates_) == (array.mistakes_, array.updates_)
        assert model.log_volume_ == pytest.approx(array.log_volume_, rel=1e-9)


# -- label sets and bad input -------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", [CELLIP, IELLIP])
def test_label_sets(kind, state):
    rng = np.random.default_rng(2)
    X, _ = stream()
    Y = (X @ rng.normal(size=(12, 4)) > 0.0).astype(int)
    Y[3], Y[4] = 0, 1  # no right label, no wrong one: nothing to learn
    model = kind(margin=0.02).partial_fit(X[:5], Y[:5])
    before = model.updates_
    model.partial_fit(X[3:5], Y[3:5])
    assert (model.updates_, model.t_) == (before, 7)
    model.partial_fit(X, Y)
    chunked = kind(margin=0.02).partial_fit(X[:5], Y[:5]).partial_fit(X[3:5], Y[3:5])
    for piece in pieces(160, 7):
        chunked.partial_fit(X[piece], Y[piece])
    assert state(chunked) == state(model)
    assert model.predict(X).shape == (160, 4)
    assert ((model.decision_function(X) > 0.0) == model.predict(X)).all()
    with pytest.raises(ValueError, match="0/1 matrix"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="label columns"):
        model.partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="row 2 of y"):
        model.partial_fit(X[:5], np.where(np.arange(5)[:, None] == 2, 3, Y[:5]))
    assert state(chunked) == state(model)


@pytest.mark.parametrize("name", ["CELLIP", "IELLIP"])
def test_bad_input_leaves_the_state_alone(name, state):
    X, y = stream()
    model = fresh(name).partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    before = state(model)
    for value in (np.nan, np.inf, 1e200):
        bad = X[60:70].copy()
        bad[4, 2] = value
        with pytest.raises(ValueError, match="row 4"):
            model.partial_fit(bad, y[60:70])
        with pytest.raises(ValueError, match="row 0"):
            model.learn_one(bad[4], y[4])
        with pytest.raises(ValueError, match="row 4"):
            model.partial_fit(sp.csr_matrix(bad), y[60:70])
    for rows, labels in ((X[:5], y[:4]), (X[:5], [0, 1, 2, 3, 0]), (X[:5, :3], y[:5]), (X[0], y[:1]), (X[:0], y[:0])):
        with pytest.raises(ValueError, match=r"X|y"):
            model.partial_fit(rows, labels)
    with pytest.raises(ValueError, match="row 1"):
        (model.certain if name == "CELLIP" else model.query)(np.array([X[0], X[1] * np.nan]))
    assert state(model) == before


def test_a_file_keeps_mistakes_without_a_step(tmp_path):
    """They count for the longest row; without weights a file leaves out the heaviest, which is the same."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    X[40:] *= 3.0
    model = CELLIP(margin=0.4, on_infeasible="skip").partial_fit(X, y)
    assert model.mistakes_ > model.updates_
    model.save(tmp_path / "m")
    assert ellipsoid.load(tmp_path / "m")._core.tally.tolist() == model._core.tally.tolist()
