"""The online ellipsoidal SVM: its steps, its certificate, and streams in any pieces."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ellipsoid import OnlineEllipsoidalSVC
from ellipsoid.engine import Dense
from ellipsoid.estimators import load
from ellipsoid.estimators.state.binary_esvm import BinaryESVM, Terms, smallest_shift
from ellipsoid.estimators.wrappers.pipeline import Scaled


def cloud(seed, n=120, d=4, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(rng.uniform(-0.7, 0.7, (n, 1)))
    noisy = X[:, :classes] + 0.4 * rng.standard_normal((n, classes))
    return X, noisy.argmax(axis=1)


def by_the_book(X, y, order, *, nu, r, radius):
    """The algorithm as it is written down: S, an exact projection and w at every single step."""
    n = X.shape[1]
    S, w, average = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for t, i in enumerate(order, start=1):
        x, length = X[i], np.linalg.norm(X[i])
        shift = 1 - r if r else (n * radius if t == 1 else smallest_shift(np.linalg.eigvalsh(S), radius))
        B = np.linalg.inv(S + shift * np.eye(n)) * (r or 1.0)
        width = x @ B @ x / (length if r else 1.0)
        active = width - y[i] * (x @ w) >= 0
        weight = 1 / (nu * length * (length if r else 1.0))
        S = (1 - 1 / t) * S + active * weight * np.outer(x, x) / t
        if active:
            w = w + 0.3 / np.sqrt(t) * y[i] * x / length
            w = w / max(1.0, np.linalg.norm(w))
        average = average + 2 / (t + 1) * (w - average)
    return S, average


@pytest.mark.parametrize("r", [0.9, 0.0])
def test_amortised_steps_follow_the_algorithm(r):
    X, labels = cloud(0, n=400)
    y = np.where(labels == 1, 1.0, -1.0)
    radius = float(np.linalg.norm(X, axis=1).max())
    order = np.random.default_rng(0).permutation(np.tile(np.arange(len(y)), 3))
    S, average = by_the_book(X, y, order, nu=0.01, r=r, radius=radius)
    svm = BinaryESVM(Terms(0.01, r, 0, 0.0), 4)
    svm.state.scalars[3] = radius
    reached = 0
    while reached < len(order):
        if not svm.rows_left:
            svm.renew(radius)
        part = order[reached : reached + svm.rows_left]
        svm.learn(Dense(X, 0.0), part, y, np.empty(len(part)), np.zeros(len(part), bool))
        reached += len(part)
    # The two differ in which points near the border are active, while rho waits to be renewed, above all early on.
    assert np.linalg.norm(svm.mean_outer() - S) < 0.06 * np.linalg.norm(S)
    assert np.linalg.norm(svm.mean_weights() - average) < 0.05


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.floats(0.01, 100))
def test_shift_is_the_smallest_that_fits_the_trace(values, radius):
    values = np.array(values)
    shift = smallest_shift(values, radius)
    assert shift >= 0
    assert np.sum(1 / np.maximum(values + shift, 1e-300)) <= (1 + 1e-9) / radius
    if shift > 1e-9 * radius:
        assert np.sum(1 / (values + 0.999 * shift)) > 1 / radius


def optimum(X, y, *, nu, r, radius):
    """The problem without a bias, by cones."""
    cp = pytest.importorskip("cvxpy", reason="the conic solvers are the optional extra `exact`")
    n, d = X.shape
    lengths = np.linalg.norm(X, axis=1)
    B, w, xi = cp.Variable((d, d), PSD=True), cp.Variable(d), cp.Variable(n, nonneg=True)
    scale = 1 / lengths if r else np.ones(n)
    widths = cp.hstack([scale[i] * cp.trace(np.outer(X[i], X[i]) @ B) for i in range(n)])
    limits = [cp.multiply(y, X @ w) + xi >= widths, cp.norm(w) <= 1]
    cost = (1 / (nu * lengths) / n) @ xi
    if r:
        cost += -r * cp.log_det(B) + (1 - r) * cp.trace(B)
    else:
        cost += -cp.log_det(B)
        limits.append(cp.trace(B) <= 1 / radius)
    return cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("problem", ["relaxed", "trace"])
@pytest.mark.parametrize("nu", [0.1, 0.01])
def test_certificate_is_never_below_the_true_error(problem, nu):
    X, labels = cloud(1, n=60, d=3)
    y = np.where(labels == 1, 1.0, -1.0)
    r = 0.9 if problem == "relaxed" else 0.0
    radius = float(np.linalg.norm(X, axis=1).max())
    best = optimum(X, y, nu=nu, r=r, radius=radius)
    gaps = []
    for epochs in (1, 4, 30):
        model = OnlineEllipsoidalSVC(
            nu=nu, formulation=problem, fit_intercept=False, n_epochs=epochs, tol=1e-9, random_state=0
        )
        with pytest.warns(ConvergenceWarning, match="certified gap"):
            model.fit(X, y)
        gaps.append(model.duality_gap_)
        # The relaxed problem's dual is reported in kernel form, without its constant.
        dual = model.dual_objective_ + (0.9 * 3 * (1 + np.log(0.1 / 0.9)) if r else 0.0)
        assert dual <= best + 1e-6
        assert dual + model.duality_gap_ >= best - 1e-6
    assert gaps[2] < gaps[0]
    assert gaps[2] >= -1e-9


@given(cuts=st.lists(st.integers(1, 119), max_size=6), classes=st.sampled_from([2, 3]), csr=st.booleans())
@settings(max_examples=20)
def test_pieces_of_a_stream_do_not_matter(cuts, classes, csr):
    X, y = cloud(2, classes=classes)
    rows = sparse.csr_array(X) if csr else X
    whole = OnlineEllipsoidalSVC(random_state=0).partial_fit(rows, y)
    pieces = OnlineEllipsoidalSVC(random_state=0)
    edges = [0, *sorted(set(cuts)), len(y)]
    for start, stop in pairwise(edges):
        pieces.partial_fit(rows[start:stop], y[start:stop])
    assert (pieces.coef_ == whole.coef_).all()
    assert (pieces.intercept_ == whole.intercept_).all()
    assert (pieces.t_, pieces.mistakes_, pieces.updates_) == (whole.t_, whole.mistakes_, whole.updates_)


@given(
    cuts=st.lists(st.integers(1, 30), max_size=4),
    zeros=st.sampled_from([1, 2, 13]),
    classes=st.sampled_from([2, 3]),
    csr=st.booleans(),
    problem=st.sampled_from(["relaxed", "trace"]),
    options=st.sampled_from([{}, {"fit_intercept": False}, {"intercept_scaling": 3.0}]),
)
@settings(max_examples=60)
def test_pieces_do_not_matter_where_zero_rows_come_first(cuts, zeros, classes, csr, problem, options):
    """The size of the constant feature is not known before a row that is not zero, whatever the chunk it is in."""
    X, y = cloud(4, n=60, classes=classes)
    X[:zeros] = 0.0
    rows = sparse.csr_array(X) if csr else X
    whole, pieces = (OnlineEllipsoidalSVC(nu=0.01, formulation=problem, **options) for _ in range(2))
    # Labels that are announced: one that appears would cut the stream by itself.
    whole.partial_fit(rows, y, classes=range(classes))
    for start, stop in pairwise([0, *sorted({*cuts, zeros}), len(y)]):
        pieces.partial_fit(rows[start:stop], y[start:stop], classes=range(classes))
    for name in ("coef_", "intercept_", "shape_", "dual_objective_"):
        assert np.array_equal(getattr(pieces, name), getattr(whole, name)), name
    assert (pieces.t_, pieces.mistakes_, pieces.updates_) == (whole.t_, whole.mistakes_, whole.updates_)
    assert whole.updates_ > 0
    assert all(c.observed <= c.bound < np.inf for c in whole.certificates())


@pytest.mark.parametrize("problem", ["relaxed", "trace"])
def test_a_scaled_stream_is_the_same_in_pieces_and_from_a_file(problem, tmp_path):
    """The first row less the mean of the rows so far is zero, always."""
    X, y = cloud(5)
    whole, pieces = (Scaled(OnlineEllipsoidalSVC(formulation=problem)) for _ in range(2))
    whole.partial_fit(X, y, classes=[0, 1])
    pieces.partial_fit(X[:1], y[:1], classes=[0, 1]).save(tmp_path / "one row")
    for model in (pieces, load(tmp_path / "one row")):
        model.partial_fit(X[1:], y[1:])
        assert np.array_equal(model.coef_, whole.coef_)
        assert np.array_equal(model.intercept_, whole.intercept_)
        assert model.updates_ == whole.updates_


@pytest.mark.parametrize("problem", ["relaxed", "trace"])
def test_zero_rows_alone_bound_nothing(problem):
    model = OnlineEllipsoidalSVC(formulation=problem, fit_intercept=False).partial_fit(
        np.zeros((30, 3)), np.arange(30) % 2
    )
    assert (model.t_, model.updates_) == (30, 0)
    assert not model.coef_.any()
    assert all(c.observed <= c.bound for c in model.certificates())
    if problem == "trace":
        assert model.dual_objective_ == -np.inf
        with pytest.raises(AttributeError, match="all rows so far are zero"):
            _ = model.shape_
        assert "certificates" in dir(model), "what a model has can be listed though it has no shape yet"


def test_one_by_one_is_the_same_stream():
    X, y = cloud(3, n=60)
    whole = OnlineEllipsoidalSVC().partial_fit(X, y)
    single = OnlineEllipsoidalSVC()
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    assert (single.coef_ == whole.coef_).all()
    assert single.predict_one(X[0]) == whole.predict(X[:1])[0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_a_row_scores_the_same_alone_and_among_others(form):
    """Where two classes tie, the last bit would choose the label."""
    X, y = cloud(8, classes=3)
    rows = form(X)
    model = OnlineEllipsoidalSVC().partial_fit(rows, y)
    together = model.decision_function(rows)
    alone = np.vstack([model.decision_function(rows[i : i + 1]) for i in range(len(y))])
    assert alone.tobytes() == together.tobytes()


def test_dense_and_sparse_rows_agree():
    X, y = cloud(4)
    X[np.abs(X) < 0.5] = 0.0
    dense, csr = (OnlineEllipsoidalSVC(random_state=0, tol=0.5).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    assert csr.coef_ == pytest.approx(dense.coef_, abs=1e-12)
    assert csr.duality_gap_ == pytest.approx(dense.duality_gap_, rel=1e-9)


@pytest.mark.parametrize("problem", ["relaxed", "trace"])
def test_scale_of_the_data_does_not_matter(problem):
    X, y = cloud(5)
    small = OnlineEllipsoidalSVC(formulation=problem, random_state=0).partial_fit(X, y)
    large = OnlineEllipsoidalSVC(formulation=problem, random_state=0).partial_fit(8.0 * X, y)
    if problem == "trace":
        assert large.decision_function(8.0 * X) == pytest.approx(8.0 * small.decision_function(X), rel=1e-6)
    assert (large.predict(8.0 * X) == small.predict(X)).all()


def test_a_third_class_in_mid_stream():
    X, y = cloud(6, n=300, classes=3)
    late = np.r_[np.flatnonzero(y < 2), np.flatnonzero(y == 2)]
    model = OnlineEllipsoidalSVC().partial_fit(X[late], y[late])
    assert model.classes_.tolist() == sorted(set(y.tolist()), key=y[late].tolist().index)
    before = OnlineEllipsoidalSVC().partial_fit(X[y < 2], y[y < 2])
    again = OnlineEllipsoidalSVC().partial_fit(X[y < 2], y[y < 2]).partial_fit(X[y == 2][:1], y[y == 2][:1])
    assert before.decision_function(X[:5]).ndim == 1
    assert again.decision_function(X[:5]).shape == (5, 3)
    steady = OnlineEllipsoidalSVC(random_state=0, tol=0.5).fit(X, y)
    assert steady.score(X, y) > 0.8


def test_dicts_of_features_may_grow():
    model = OnlineEllipsoidalSVC()
    for _ in range(10):
        model.learn_one({"wind": 1.0}, "storm").learn_one({"sun": 1.0}, "calm").learn_one({"rain": 1.0}, "storm")
    assert model.predict_one({"sun": 2.0}) == "calm"
    assert model.predict_one({"rain": 1.0, "wind": 1.0}) == "storm"


def test_gap_of_a_stream_is_certified_on_its_data():
    X, y = cloud(7)
    model = OnlineEllipsoidalSVC(nu=0.05).partial_fit(X, y)
    assert not hasattr(model, "duality_gap_")
    assert model.certified_gap(X, y) >= 0
    with pytest.raises(ValueError, match="never learned"):
        model.certified_gap(X[:1], [9])


@given(
    seed=st.integers(0, 10_000),
    problem=st.sampled_from(["relaxed", "trace"]),
    nu=st.sampled_from([1e-4, 1e-2, 1.0, 30.0]),
    classes=st.sampled_from([2, 3]),
    intercept=st.booleans(),
)
@settings(max_examples=40)
def test_certificates_are_never_exceeded(seed, problem, nu, classes, intercept):
    rng = np.random.default_rng(seed)
    X, y = cloud(seed, n=int(rng.integers(3, 80)), classes=classes)
    X = X * rng.choice([1e-3, 1.0, 300.0])
    X[rng.random(len(y)) < 0.1] = 0.0
    model = OnlineEllipsoidalSVC(nu=nu, formulation=problem, fit_intercept=intercept)
    model.partial_fit(X, y, classes=range(classes))
    rows = 1 if classes == 2 else classes
    pulls = np.vstack([svm.state.pull[int(intercept) :] for svm in model._core.table.svms])
    for comparator in (
        None,
        rng.standard_normal((rows, 4)),
        rng.standard_normal((rows, 5)),
        pulls,
        np.zeros((rows, 4)),
    ):
        found = model.certificates(comparator)
        assert [c.name for c in found] == ["least objective", "margin"]
        assert all(c.observed <= c.bound < np.inf for c in found)
    if not intercept:
        # The best comparator is the weighted sum of the updates itself, and reaches the bound.
        assert model.certificates(pulls)[1].observed == pytest.approx(model.certificates()[1].bound)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("problem", ["relaxed", "trace"])
def test_the_certificate_of_a_fit_is_its_duality_gap(problem):
    X, y = cloud(10)
    model = OnlineEllipsoidalSVC(nu=0.01, formulation=problem, random_state=0).fit(X, y)
    objective = model.certificates()[0]
    assert objective.bound - objective.observed == pytest.approx(model.duality_gap_)
    # The attribute is the nearest number, what the certificate tells is rounded down.
    assert model.dual_objective_ * (1.0 - 1e-9) <= objective.observed <= model.dual_objective_
    # Another epoch makes it a stream again, of which only the ball is known; every row was still seen equally often.
    model.partial_fit(X, y)
    assert model.certificates()[0].bound > objective.bound
    assert model.certified_gap(X, y) >= 0


@pytest.mark.parametrize("problem", ["relaxed", "trace"])
def test_the_ball_is_a_feasible_solution(problem):
    X, labels = cloud(11)
    y, n, nu = np.where(labels == 1, 1.0, -1.0), 4, 0.02
    model = OnlineEllipsoidalSVC(nu=nu, formulation=problem, fit_intercept=False).partial_fit(X, y)
    norms = np.linalg.norm(X, axis=1)
    if problem == "relaxed":
        balls = np.logspace(-6, 3, 4000)
        values = -0.9 * n * np.log(balls) + 0.1 * n * balls + balls * np.mean(norms / (nu * norms))
        # The dual leaves out the constant r n (1 + log((1-r)/r)).
        values -= 0.9 * n * (1 + np.log(0.1 / 0.9))
    else:
        balls = np.logspace(-6, 0, 4000) / (n * norms.max())
        values = -n * np.log(balls) + balls * np.mean(norms**2 / (nu * norms))
    bound = model.certificates()[0].bound
    # The grid of radii is fine enough to miss the minimum by little.
    assert bound >= values.min() - 1e-4
    if problem == "relaxed":
        assert bound == pytest.approx(values.min(), abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_saved_stream_goes_on_as_if_nothing_had_happened(tmp_path, classes):
    X, y = cloud(9, classes=classes)
    model = OnlineEllipsoidalSVC(nu=0.01).partial_fit(X[:70], y[:70])
    model.save(tmp_path / "stream.model")
    back = load(tmp_path / "stream.model")
    assert (back.decision_function(X) == model.decision_function(X)).all()
    for stream in (model, back):
        stream.partial_fit(X[70:], y[70:])
    assert (back.coef_ == model.coef_).all()
    assert (back.t_, back.updates_) == (model.t_, model.updates_)


def test_the_papers_error_on_adult_is_reached(dataset):
    adult = dataset("a9a")
    model = OnlineEllipsoidalSVC(nu=3e-3, formulation="trace").partial_fit(adult.X_train, adult.y_train)
    assert 1 - model.score(adult.X_test, adult.y_test) < 0.156


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"nu": 0.0}, "nu must be positive"),
        ({"r": 1.0}, "r must lie strictly between 0 and 1"),
        ({"formulation": "five"}, "formulation must be 'relaxed' or 'trace'"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"n_epochs": 0}, "n_epochs must be a positive integer"),
        ({"intercept_scaling": -1.0}, "intercept_scaling must be positive"),
    ],
)
def test_parameters_out_of_range(parameters, sentence):
    X, y = cloud(0)
    with pytest.raises(ValueError, match=sentence):
        OnlineEllipsoidalSVC(**parameters).fit(X, y)


def test_rows_that_are_too_wide_are_refused():
    with pytest.raises(ValueError, match="at most 3999 features"):
        OnlineEllipsoidalSVC().partial_fit(sparse.csr_array((2, 5000)), [0, 1])


def test_zero_rows_are_seen_and_change_nothing_of_w():
    X, y = cloud(8)
    model = OnlineEllipsoidalSVC(fit_intercept=False).partial_fit(X, y)
    before = model.updates_
    model.partial_fit(np.zeros((3, 4)), [0, 1, 0])
    assert model.updates_ == before
    assert model.t_ == len(y) + 3


@pytest.mark.parametrize("formulation", ["trace", "relaxed"])
@pytest.mark.parametrize("scale", [0.0, 1e-160, 1e-200, 1e-310])
def test_rows_that_vanish_beside_one_leave_a_model(formulation, scale, tmp_path):
    """Their squares are nothing: nothing is learned or known, and that is said."""
    X, y = scale * np.array([[1.0], [2.0], [-1.0], [-2.0]]), [0, 0, 1, 1]
    for intercept in (True, False):
        model = OnlineEllipsoidalSVC(
            formulation=formulation, fit_intercept=intercept, intercept_scaling=None, n_epochs=2
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
            assert all(c.observed <= c.bound for c in model.certificates())
        model.save(tmp_path / "model")
        assert np.isfinite(load(tmp_path / "model").decision_function(X)).all()
