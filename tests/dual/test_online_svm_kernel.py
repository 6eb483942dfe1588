"""OnlineSVM with kernels: the linear run in another guise, strong duality in feature space, chunks, files, growth."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import OnlineSVM, PassiveAggressive, load

RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 5))
X[:, :4][RNG.random((90, 4)) < 0.3] = 0.0
y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
X[60:64] = X[3]
RBF = {"kernel": "rbf", "gamma": 0.3}
LINEAR = {"kernel": "poly", "degree": 1, "gamma": 1.0}
GRAM = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))


def gaussian(A, B):
    A, B = (M.toarray() if sp.issparse(M) else M for M in (A, B))
    return np.exp(-0.3 * ((A[:, None] - B) ** 2).sum(axis=2))


def in_chunks(model, rows, labels, size, classes):
    for start in range(0, len(labels), size):
        part = slice(start, start + size)
        model.partial_fit(rows[part], labels[part], classes=classes if start == 0 else None)
    return model


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("window", [1, 2, 7, None])
def test_a_polynomial_of_degree_one_is_the_linear_run_in_any_chunks(window, classes):
    labels = y % classes
    linear = OnlineSVM(window=window, C=0.5, average=True).partial_fit(X, labels, classes=range(classes))
    patterns = set()
    for size in (90, 7, 1):
        model = in_chunks(OnlineSVM(window=window, C=0.5, average=True, **LINEAR), X, labels, size, range(classes))
        assert (model.mistakes_, model.updates_) == (linear.mistakes_, linear.updates_)
        assert model.dual_objective_ == pytest.approx(linear.dual_objective_, rel=1e-10)
        np.testing.assert_allclose(model.decision_function(X), linear.decision_function(X), atol=1e-10)
        for ours, theirs in zip(model.certificates(), linear.certificates(), strict=True):
            # Of what was observed the lower end is told, and the sums of an expansion may lose more digits.
            assert ours.observed == pytest.approx(theirs.observed, rel=1e-6, abs=1e-9)
        patterns.add(model.support_vectors_.tobytes())
    assert len(patterns) == 1


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        (RBF, sp.csr_matrix(X)),
        ({"kernel": gaussian}, X),
        ({"kernel": gaussian}, sp.csr_matrix(X)),
        ({"kernel": "precomputed"}, GRAM),
    ],
    ids=["csr", "function", "function of csr", "given"],
)
def test_the_same_kernel_in_any_guise_gives_the_same_model(settings, rows):
    settings = {"fit_intercept": False, **settings}
    whole = OnlineSVM(window=7, fit_intercept=False, **RBF).partial_fit(X, y, classes=range(3))
    model = OnlineSVM(window=7, **settings)
    for start, stop in ((0, 50), (50, 51), (51, 90)):
        model.partial_fit(rows[start:stop], y[start:stop], classes=range(3))
    assert (model.mistakes_, model.updates_) == (whole.mistakes_, whole.updates_)
    np.testing.assert_allclose(model.decision_function(rows), whole.decision_function(X), atol=1e-10)
    if settings["kernel"] != "precomputed":
        np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, atol=1e-10)


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_all_examples_strong_duality_in_the_feature_space(C):
    labels = y % 2
    model = OnlineSVM(window=None, C=C, **RBF)
    for t in range(len(X)):
        model.learn_one(X[t], labels[t]) if t else model.partial_fit(X[:1], labels[:1], classes=[0, 1])
        losses = np.maximum(0.0, 1.0 - (2 * labels[: t + 1] - 1) * model.decision_function(X[: t + 1]))
        K = gaussian(model.support_vectors_, model.support_vectors_) + 1.0
        square = model.dual_coef_[0] @ K @ model.dual_coef_[0] if len(K) else 0.0
        assert 0.5 * square + C * losses.sum() - model.dual_objective_ == pytest.approx(0.0, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_a_window_of_one_is_the_kernel_passive_aggressive(classes):
    svm, pa = (
        learner.partial_fit(X, y % classes, classes=range(classes))
        for learner in (OnlineSVM(window=1, C=0.3, **RBF), PassiveAggressive(variant="I", C=0.3, **RBF))
    )
    assert (svm.mistakes_, svm.updates_) == (pa.mistakes_, pa.updates_)
    np.testing.assert_allclose(svm.dual_coef_, pa.dual_coef_, atol=1e-12)


@pytest.mark.parametrize("window", [5, None])
@pytest.mark.parametrize("kind", ["dense", "sparse", "given"])
def test_files_and_pickles_go_on_as_if_nothing_had_happened(tmp_path, kind, window):
    rows = {"dense": X, "sparse": sp.csr_matrix(X), "given": GRAM}[kind]
    settings = {"kernel": "precomputed"} if kind == "given" else RBF
    model = OnlineSVM(window=window, **settings).partial_fit(rows[:50], y[:50], classes=range(3))
    model.save(tmp_path / "m")
    copies = [load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), model]
    for copy in copies:
        copy.partial_fit(rows[50:], y[50:])
    assert len({copy.dual_coef_.tobytes() for copy in copies}) == 1
    assert len({copy.dual_objective_ for copy in copies}) == 1


def test_labels_that_come_late_join_as_in_the_linear_learner():
    order = np.argsort(y != 0, kind="stable")[20:]
    linear, kernel = (OnlineSVM(window=8, C=0.4, **how).partial_fit(X[order], y[order]) for how in ({}, LINEAR))
    assert kernel.classes_.tolist() == linear.classes_.tolist()
    # Whether a row that is met again on its margin moves the last bit is a matter of rounding.
    assert kernel.mistakes_ == linear.mistakes_
    np.testing.assert_allclose(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_, atol=1e-10)
    assert kernel.dual_objective_ == pytest.approx(linear.dual_objective_, rel=1e-10)


def test_a_vote_needs_hypotheses_that_stay():
    with pytest.raises(ValueError, match="average must be True or False"):
        OnlineSVM(average="vote", **RBF).partial_fit(X, y)


def test_a_bad_row_changes_nothing():
    model = OnlineSVM(window=5, **RBF).partial_fit(X[:50], y[:50], classes=range(3))
    before = {name: array.tobytes() for name, array in model._core.table.state(3).items()}
    bad = X[50:].copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="row 7 of X holds NaN"):
        model.partial_fit(bad, y[50:])
    assert {name: array.tobytes() for name, array in model._core.table.state(3).items()} == before


def lopsided(A, B):
    """No kernel: k(a, b) is not k(b, a)."""
    return (1.0 + 0.1 * np.tanh(A[:, :1])) / (1.0 + np.abs(A[:, :1] - B[:, 0]))


def even(A, B):
    return np.exp(-np.abs(A[:, :1] - B[:, 0]))


@pytest.mark.interpreted
@pytest.mark.parametrize("kernel", [lopsided, even])
def test_values_that_are_those_of_no_kernel_have_no_bounds(kernel):
    refuted = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-2, 3, size=(25, 1)).astype(float), rng.integers(0, 2, 25)
        model = OnlineSVM(kernel=kernel, C=88.5, margin=0.0157, window=16).partial_fit(X, y, classes=[0, 1])
        bounds = model.certificates()
        assert all(bound.observed <= bound.bound for bound in bounds)
        refuted += "not those of a kernel" in bounds[0].holds_if
    assert (refuted > 0) == (kernel is lopsided)
