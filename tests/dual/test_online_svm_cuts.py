"""OnlineSVM with a kernel: a stream cut anywhere and saved in between gives the model of one call, to the last bit."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import OnlineSVM, load
from ellipsoid.estimators.files import container, saving
from ellipsoid.streams.sets.datasets import load as data_set

X, y = (np.asarray(part)[:300] for part in data_set("digits").train)
# Nothing here is exact in binary. No row comes twice: for that see tests/estimators/test_kernel_cuts.py.
X = X / 17.0
LATE = np.where(np.arange(300) < 140, y % 2, y % 3)
RBF = {"kernel": "rbf", "gamma": 0.4, "window": 20}


def arrays_of(model):
    return {name: (array.shape, array.tobytes()) for name, array in saving.describe(model)[1].items()}


def again(model, path):
    model.save(path)
    return load(path)


def in_pieces(model, rows, labels, cuts, path):
    for start, stop in zip([0, *cuts], [*cuts, len(labels)], strict=True):
        model = again(model.partial_fit(rows[start:stop], labels[start:stop]), path)
    return model


CASES = {
    "classes": ({}, X, y),
    "averages": ({"average": True}, X, y),
    "two classes": ({}, X, y % 2),
    "two classes, averages": ({"average": True}, X, y % 2),
    "sparse": ({"average": True}, sp.csr_matrix(X), y),
    "one example": ({"window": 1}, X, y),
    "two examples": ({"window": 2}, X, y % 2),
    "all examples": ({"window": None, "C": 0.5}, X[:200], y[:200]),
    "hard margin": ({"C": np.inf}, X, y),
    "low cap": ({"C": 0.05, "average": True}, X, y),
    "a third label comes late": ({"average": True}, X, LATE),
    "all examples, a third label comes late": ({"window": None}, X[:200], LATE[:200]),
    "powers": ({"kernel": "poly", "degree": 3, "gamma": 0.05}, X, y),
    "no constant": ({"fit_intercept": False}, X, y),
    "gamma of its own": ({"gamma": "auto"}, X, y),
}


@pytest.mark.parametrize("case", CASES)
def test_no_cut_is_felt(case, tmp_path):
    settings, rows, labels = CASES[case]
    whole = OnlineSVM(**{**RBF, **settings}).partial_fit(rows, labels)
    for cuts in ([150], [2], [37, 38, 141, 190], [len(labels) - 1]):
        pieces = in_pieces(OnlineSVM(**{**RBF, **settings}), rows, labels, cuts, tmp_path / "m")
        assert arrays_of(pieces) == arrays_of(whole)
        assert pieces.decision_function(rows[:9]).tobytes() == whole.decision_function(rows[:9]).tobytes()
        assert pieces.dual_coef_.tobytes() == whole.dual_coef_.tobytes()


@pytest.mark.parametrize("window", [7, None])
def test_one_by_one_is_the_same_run(window, tmp_path):
    whole, single = (OnlineSVM(**{**RBF, "window": window, "average": True}) for _ in range(2))
    whole.partial_fit(X[:90], y[:90], classes=range(10))
    single.partial_fit(X[:30], y[:30], classes=range(10))
    for t in range(30, 60):
        single.predict_one(X[t])
        single.learn_one(X[t], y[t])
    single = again(single, tmp_path / "m").partial_fit(X[60:90], y[60:90])
    assert arrays_of(single) == arrays_of(whole)


def test_the_support_is_what_has_left_and_what_is_in_the_window():
    """Every example with an alpha is there, in the order of arrival, equal ones once."""
    rows, labels = X[:80].copy(), y[:80]
    rows[[20, 75, 78]] = rows[10]
    labels = np.where(np.arange(80) % 80 == 75, labels[10], labels)
    model = OnlineSVM(**{**RBF, "window": 10}).partial_fit(rows, labels, classes=range(10))
    alphas = model._core.table.slots.alphas()
    assert 0 < np.count_nonzero(alphas) < len(model.support_vectors_) == model.dual_coef_.shape[1]
    assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_vectors_)
    places = [int(np.flatnonzero((rows == row).all(axis=1))[0]) for row in model.support_vectors_]
    assert places == sorted(places)
    K = np.exp(-0.4 * ((rows[:, None] - model.support_vectors_) ** 2).sum(axis=2)) + 1.0
    np.testing.assert_allclose(model.decision_function(rows), K @ model.dual_coef_.T, atol=1e-12)


def test_a_hypothesis_read_in_the_middle_of_a_block_is_that_before_it(monkeypatch):
    model = OnlineSVM(**{**RBF, "window": 10}).partial_fit(X[:100], y[:100], classes=range(10))
    before, answers = model.decision_function(X[:5]), []
    table = model._core.table
    commit = table.commit

    def ask(*args):
        answers.append(model.decision_function(X[:5]))
        found = commit(*args)
        answers.append(model.decision_function(X[:5]))
        return found

    monkeypatch.setattr(table, "commit", ask)
    model.partial_fit(X[100:160], y[100:160])
    assert len(answers) == 2
    assert all(np.array_equal(answer, before) for answer in answers)
    assert not np.array_equal(model.decision_function(X[:5]), before)


def test_a_copy_reads_its_own_window():
    model = OnlineSVM(**RBF).partial_fit(X[:100], y[:100], classes=range(10))
    before = model.decision_function(X)
    copied = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[100:150], y[100:150])
    assert np.array_equal(copied.decision_function(X), before)


def as_it_was_written(model):
    """The content of a file before the window's coefficients were kept apart: in one row with all others."""
    header, arrays = saving.describe(model)
    del arrays["window_late"]
    reading, support = model._core.table.reading(), model.support_vectors_
    arrays["coef"] = np.ascontiguousarray(reading.coef[:, : model._core.scores])
    if model.average:
        arrays["late"] = np.ascontiguousarray(reading.late[:, : model._core.scores])
    if sp.issparse(support):
        arrays["SV_data"] = support.data
        arrays["SV_indices"], arrays["SV_indptr"] = (a.astype(np.int64) for a in (support.indices, support.indptr))
    else:
        arrays["SV"] = support
    return header, arrays


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("rows", [X, sp.csr_matrix(X)], ids=["dense", "sparse"])
def test_a_file_of_before_is_read_and_goes_on(rows, average, tmp_path):
    model = OnlineSVM(**RBF, average=average).partial_fit(rows[:150], y[:150], classes=range(10))
    container.write(tmp_path / "old", *as_it_was_written(model))
    old = load(tmp_path / "old")
    np.testing.assert_allclose(old.decision_function(rows), model.decision_function(rows), atol=1e-12)
    assert old.dual_objective_ == model.dual_objective_
    # Nothing was learned: it is the same file.
    old.save(tmp_path / "same")
    assert (tmp_path / "same").read_bytes() == (tmp_path / "old").read_bytes()
    for copy in (old, model):
        copy.partial_fit(rows[150:], y[150:])
    assert (old.mistakes_, old.updates_) == (model.mistakes_, model.updates_)
    np.testing.assert_allclose(old.decision_function(rows), model.decision_function(rows), atol=1e-9)
    assert "window_late" in arrays_of(old)


def test_a_binary_file_of_before_may_meet_a_third_label(tmp_path):
    model = OnlineSVM(**RBF, average=True).partial_fit(X[:139], LATE[:139])
    container.write(tmp_path / "old", *as_it_was_written(model))
    old = load(tmp_path / "old").partial_fit(X[139:], LATE[139:])
    model.partial_fit(X[139:], LATE[139:])
    np.testing.assert_allclose(old.decision_function(X), model.decision_function(X), atol=1e-9)


def test_forged_windows_are_refused(tmp_path):
    model = OnlineSVM(**RBF, average=True).partial_fit(X[:100], y[:100], classes=range(10))
    header, arrays = as_it_was_written(model)
    member = int(np.flatnonzero(arrays["window_alpha"])[0])
    arrays["window_X"] = arrays["window_X"].copy()
    arrays["window_X"][(member - arrays["window_numbers"][0].astype(int)) % 20] += 1.0
    container.write(tmp_path / "old", header, arrays)
    with pytest.raises(ValueError, match="no support pattern"):
        load(tmp_path / "old")
    header, arrays = saving.describe(model)
    for bad in (np.zeros(19), np.zeros((20, 1)), np.full(20, np.nan), np.zeros(20, dtype=np.int64)):
        container.write(tmp_path / "new", header, {**arrays, "window_late": bad})
        with pytest.raises(ValueError, match="is not a sound model"):
            load(tmp_path / "new")
